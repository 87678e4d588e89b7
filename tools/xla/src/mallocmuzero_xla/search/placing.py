"""place(): finds an executable of a JAX function with a better placement of its tensors."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from mallocmuzero_xla.artefacts.artefact import SUFFIX, Artefact
from mallocmuzero_xla.artefacts.fitting import Registry
from mallocmuzero_xla.artefacts.placed_file import PlacedFile, save_pair
from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.budget import Budget, parse_duration
from mallocmuzero_xla.chips import Chip, chosen_chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram, Traced, trace
from mallocmuzero_xla.compiler.placed_payload import raw_executable
from mallocmuzero_xla.compiler.stub import CallNotes
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.environment import recorded_settings
from mallocmuzero_xla.errors import CaptureError, UsageError, in_one_line
from mallocmuzero_xla.placed.cache import PlacedCache
from mallocmuzero_xla.placed.call import PlacedCall
from mallocmuzero_xla.placed.loading import call_of
from mallocmuzero_xla.placed.packing import pack
from mallocmuzero_xla.placed.place_search import SearchLimits, search
from mallocmuzero_xla.price import require_cycles
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.search.earlier import LIMIT
from mallocmuzero_xla.search.options_cache import writable_cache
from mallocmuzero_xla.version import VERSION


@dataclasses.dataclass(frozen=True)
class Placed:
    """A function's best known executable. Cycles are the compiler's estimates.

    Attributes:
        default_cycles: cycles of the compiler's default; None if the default does not compile.
        optimized_cycles: cycles of this executable; never above default_cycles.
        report: the OptimizeReport of `mallocmuzero optimize --json`, and `from_cache`.
        file: the content that `save` writes.
        artefact: what the executable is for, without its file.
        fn: the function that was given.
        jit_options: the keyword arguments of jax.jit that were given.
    """

    default_cycles: float | None
    optimized_cycles: float
    report: dict[str, Any]
    file: PlacedFile = dataclasses.field(repr=False)
    artefact: Artefact = dataclasses.field(repr=False)
    fn: Any = dataclasses.field(repr=False)
    jit_options: Mapping[str, Any] = dataclasses.field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the executable for `load_placed`, and its artefact to `path` with .json added."""
        target = pathlib.Path(path)
        save_pair(self.file, target, self.artefact, target.with_name(target.name + SUFFIX))

    @property
    def registry(self) -> Registry:
        """Returns the artefact and the executable, for `apply`."""
        return Registry([self.artefact], unsaved=[(self.artefact, self.file)])

    @property
    def gain(self) -> float | None:
        """Returns the saved share of the default's cycles; None if the default does not compile."""
        return self.artefact.gain

    def load(self, **jit_options: Any) -> PlacedCall:
        """Returns the function on this machine's TPU; without a TPU, jax.jit's with a warning.

        `jit_options` are for jax.jit, which cannot use shardings over devices of a topology.
        """
        return call_of(self.file, self.fn, jit_options or self.jit_options, check=False)


def place(
    fn: Callable[..., Any],
    *args: Any,
    chip: str | None = None,
    budget: str | float = "5m",
    topology: str | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    rounds: int | None = None,
    threads: int | None = None,
    scoped_limit: bool = True,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **jit_options: Any,
) -> Placed:
    """Searches for an executable of `fn(*args)` that is faster on `chip`.

    The options of `optimize` ask the compiler for a placement. This function compiles placed
    modules instead, and keeps the fastest executable by the compiler's estimates, which may be the
    default. Ctrl-C ends the search with the best so far. The result is cached. Before the search,
    a stub of the function is compiled in this process, or the function itself (stub.py).

    Args:
        fn: a function, or the result of jax.jit.
        args: pytrees of arrays or jax.ShapeDtypeStruct; their values do not matter.
        chip: one of mallocmuzero_xla.CHIPS; this machine's own by default, where it has one.
        budget: time of the search, such as "90s", "5m", "1h".
        topology: libtpu's name of a topology other than the chip's own.
        compiler_options: options of every compile.
        rounds: the largest number of placed modules to compile.
        threads: threads of the search.
        scoped_limit: whether to try other limits of scoped memory than the chip's own, where
            instructions and tensors share VMEM.
        cache_dir: a folder in place of the one that MALLOCMUZERO_CACHE names.
        progress: whether to report on stderr.
        jit_options: keyword arguments of jax.jit.

    Raises:
        UsageError: the arguments are wrong, or a package or the binary is missing.
        CaptureError: the function does not compile, or its executable cannot be saved.
    """
    limits = _limits(budget, rounds, threads, scoped_limit)
    target = chosen_chip(chip, topology)
    binary = find_binary()
    folder = writable_cache(cache_dir)
    traced = trace(fn, args, target, jit_options, compiler_options)
    own = compiler_options or {}
    notes = CallNotes(traced.lowered, own, lambda: _compiled(traced, target, own))
    # Fail before the search, not after it, if the function cannot be packed.
    pack(traced, notes.compiled, raw_executable(notes.compiled), target.name, {})
    cache = PlacedCache(traced.program, target, folder, scoped_limit)
    found = cached = cache.load(limits)
    if found is None:
        shown = LoopProgress(quiet=not progress)
        with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as scratch:
            found = search(
                binary, traced.program, target, limits, pathlib.Path(scratch), shown.note
            )
        require_cycles(traced.program.function, found.cycles)
    notes.require(found.module)
    if cached is None:
        found = cache.keep(found, limits)
    file = pack(traced, notes.compiled, found.executable, target.name, found.report)
    return Placed(
        default_cycles=found.report.get("default_cycles"),
        optimized_cycles=float(found.report["optimized_cycles"]),
        report=found.report,
        file=file,
        artefact=_artefact(traced.program, target, found.report, limits, file),
        fn=fn,
        jit_options=jit_options,
    )


def _artefact(
    program: LoweredProgram,
    chip: Chip,
    report: Mapping[str, Any],
    limits: SearchLimits,
    file: PlacedFile,
) -> Artefact:
    names = ("best_round", "best_scoped_limit_bytes", "default_error", "from_cache")
    found = {name: report[name] for name in names if name in report}
    limit = int(report.get("best_scoped_limit_bytes", 0)) // 1024
    default = report.get("default_cycles")
    return Artefact(
        function=program.function,
        chip=chip.name,
        topology=program.topology_name,
        devices=len(program.device_ids),
        versions=dict(file.header.versions),
        fingerprint=program.fingerprint,
        default_cycles=None if default is None else float(default),
        expected_cycles=float(report["optimized_cycles"]),
        compiler_options={},
        found={
            "by": "place",
            "budget_seconds": limits.seconds,
            **found,
            LIMIT: limit or None,
            "package": VERSION,
            "environment": recorded_settings(),
        },
        own_options=program.own_options,
    )


# The bounds of the binary's flags.
_MOST_ROUNDS, _MOST_THREADS = 1000, 1024


def _limits(
    budget: str | float, rounds: int | None, threads: int | None, scoped_limit: bool
) -> SearchLimits:
    for name, value, most in (
        ("rounds", rounds, _MOST_ROUNDS),
        ("threads", threads, _MOST_THREADS),
    ):
        if value is not None and not 1 <= value <= most:
            raise UsageError(f"{name} is {value}: expected 1 to {most}")
    return SearchLimits(parse_duration(budget), rounds, threads, scoped_limit)


def _compiled(traced: Traced, chip: Chip, compiler_options: Mapping[str, Any]) -> Any:
    """Compiles as jax does, for its notes on arguments and results, which every call needs.

    If the compiler's default fails, compiles with everything in HBM: the notes are the same. Some
    programs make the compiler abort there, so a child process tries it first.
    """
    try:
        return traced.lowered.compile(compiler_options=dict(compiler_options))
    except Exception as error:  # the compiler raises several unrelated types
        reason = in_one_line(error)
    all_hbm = {chip.msa_option: False}
    try:
        with TrialCompiler(chip) as compiler:
            traced.program.write(compiler.lowered)
            compiler.compile(dict.fromkeys(all_hbm, "false"), Budget())
        return traced.lowered.compile(compiler_options={**compiler_options, **all_hbm})
    except Exception as error:
        raise CaptureError(
            f"{traced.program.function} does not compile ({reason}), nor with everything in HBM "
            f"({error}): optimize looks for a limit of scoped memory under which it does"
        ) from error
