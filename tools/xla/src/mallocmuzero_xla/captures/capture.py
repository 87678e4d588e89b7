"""capture(): compiles a JAX function under several placements and returns the texts."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from mallocmuzero_xla.captures.importer import import_program
from mallocmuzero_xla.captures.runner import Limits, Subject, Task, run_tasks
from mallocmuzero_xla.chips import Chip, chosen_chip
from mallocmuzero_xla.compiler.lowering import lower
from mallocmuzero_xla.compiler.options_file import require_folder
from mallocmuzero_xla.compiler.store import CaptureStore
from mallocmuzero_xla.compiler.variants import Variant, standard_variants
from mallocmuzero_xla.compiler.worker import Workers
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.progress import Progress


@dataclasses.dataclass(frozen=True)
class Captured:
    """A program as the compiler made it under several placements.

    Attributes:
        name: name of the program.
        chip: the chip that it is compiled for.
        hlo: scheduled HLO text by variant: "all_hbm", "default", "sample_0", ...
        failures: the reasons for missing samples, by variant.
        fast_memory_bytes: fast memory for tensors; None for the size in the chip's hardware file.
    """

    name: str
    chip: str
    hlo: dict[str, str]
    failures: dict[str, str]
    fast_memory_bytes: int | None = None

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes a program file for the `mallocmuzero` binary, by calling `mallocmuzero import`.

        Returns its report: the content of the program, and how well it predicts the compiler.

        The binary is MALLOCMUZERO_BINARY, the one in this package, the first on PATH, or the one in
        build/bin.
        """
        return import_program(self.hlo, self.chip, pathlib.Path(path), self.fast_memory_bytes)


def capture(
    fn: Callable[..., Any],
    *args: Any,
    chip: str | None = None,
    samples: int = 8,
    name: str | None = None,
    topology: str | None = None,
    output_dir: str | os.PathLike[str] | None = None,
    timeout: float = Limits.timeout,
    retries: int = Limits.retries,
    jobs: int = Limits.jobs,
    progress: bool = True,
    compiler_options: Mapping[str, Any] | None = None,
    **jit_options: Any,
) -> Captured:
    """Compiles `fn(*args)` for `chip` under several placements, on this machine's CPU.

    Args:
        fn: a function, or the result of jax.jit. This process traces it; child processes
            compile it.
        args: pytrees of arrays or jax.ShapeDtypeStruct; their values do not matter.
        chip: one of mallocmuzero_xla.CHIPS; this machine's own by default, where it has one.
        samples: the number of random placements, from which the latency table is fitted.
        name: name of the program; by default that of the function.
        topology: libtpu's name of a topology other than the chip's own, such as "v4:2x2x2".
        output_dir: folder for the texts and capture.json; texts that are there already are reused.
        timeout: time limit of one compile, in seconds.
        retries: further attempts after an abort or a timeout.
        jobs: the number of compile processes at a time.
        progress: whether to report on stderr.
        compiler_options: options of every compile.
        jit_options: keyword arguments of jax.jit: donate_argnums, in_shardings, ...

    Raises:
        UsageError: the arguments are wrong, jax or libtpu is missing, or
            `output_dir` holds the texts of another program or chip.
        CaptureError: the compile without fast memory, or the compiler's default, failed.
    """
    target = chosen_chip(chip, topology)
    variants = standard_variants(samples)
    if output_dir is not None:
        require_folder(pathlib.Path(output_dir), f"output_dir {os.fspath(output_dir)}")
    limits = Limits(timeout=timeout, retries=retries, jobs=jobs)
    program = lower(fn, args, target, jit_options, compiler_options)
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as scratch:
        lowered_path = pathlib.Path(scratch) / "lowered.json"
        program.write(lowered_path)
        folder = pathlib.Path(output_dir or pathlib.Path(scratch) / "capture").resolve()
        store = CaptureStore(folder, name or program.function, target)
        store.check_owner()
        subject = Subject(store, target, lowered_path)
        report = Progress(len(variants), quiet=not progress)
        return run_capture(subject, variants, limits, report)


def capture_reference(
    function: str, chip: Chip, folder: pathlib.Path, samples: int, limits: Limits
) -> Captured:
    """Captures the function that the builder MODULE:FUNCTION returns into `folder`."""
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as scratch:
        lowered_path = pathlib.Path(scratch) / "lowered.json"
        store = CaptureStore(folder.resolve(), function.rpartition(":")[2], chip)
        store.check_owner()
        subject = Subject(store, chip, lowered_path, lower_job(function, chip, lowered_path))
        return run_capture(subject, standard_variants(samples), limits)


def lower_job(
    function: str, chip: Chip, lowered_path: pathlib.Path, registry: pathlib.Path | None = None
) -> dict[str, Any]:
    """Returns the job by which a compile process lowers a builder's or a registry's function."""
    return {
        "action": "lower",
        "function": function,
        "registry": str(registry) if registry else "",
        "chip": dataclasses.asdict(chip),
        "compiler_options": {},
        "output": str(lowered_path),
    }


def run_capture(
    subject: Subject,
    variants: list[Variant],
    limits: Limits,
    report: Progress | None = None,
    workers: Workers | None = None,
) -> Captured:
    """Captures `variants` of one program; raises CaptureError if a required one failed.

    `report` is of the variants and is closed; `workers` is as for run_tasks.
    """
    report = report or Progress(len(variants))
    try:
        run_tasks([Task(subject, variant) for variant in variants], limits, report, workers)
    finally:
        report.close()
    if subject.error:
        raise subject.error
    store = subject.store
    captured = {item.name: store.read(item) for item in variants if store.has(item)}
    failures = {
        item.name: store.failures.get(item.name, "not captured")
        for item in variants
        if item.name not in captured
    }
    for item in variants:
        if item.required and item.name in failures:
            raise CaptureError(f"{store.name}: {item.name}: {failures[item.name]}")
    return Captured(store.name, subject.chip.name, captured, failures, store.fast_memory_bytes)
