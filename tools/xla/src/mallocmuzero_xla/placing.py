"""place(): a JAX function in, an executable out that has its tensors where they are best."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from mallocmuzero_xla.budget import parse_duration
from mallocmuzero_xla.chips import Chip, chip_here, find_chip
from mallocmuzero_xla.errors import CaptureError, UsageError, in_one_line
from mallocmuzero_xla.importer import find_binary
from mallocmuzero_xla.lowering import Traced, trace
from mallocmuzero_xla.options_cache import cache_folder
from mallocmuzero_xla.place_search import SearchLimits, search
from mallocmuzero_xla.placed_cache import PlacedCache
from mallocmuzero_xla.placed_call import PlacedCall
from mallocmuzero_xla.placed_file import PlacedFile
from mallocmuzero_xla.placed_loading import call_of
from mallocmuzero_xla.placed_packing import pack
from mallocmuzero_xla.placed_payload import check_entry, raw_executable
from mallocmuzero_xla.progress import LoopProgress


@dataclasses.dataclass(frozen=True)
class Placed:
    """A function's best known executable. Cycles are the compiler's estimates.

    Attributes:
        default_cycles: of the program as the compiler makes it by default; None if it refuses to.
        optimized_cycles: of this one; never above the former.
        report: an OptimizeReport as `mallocmuzero optimize --json` prints it, and `from_cache`.
        file: what `save` writes.
        fn: the function, as given.
        jit_options: those of jax.jit, as given.
    """

    default_cycles: float | None
    optimized_cycles: float
    report: dict[str, Any]
    file: PlacedFile = dataclasses.field(repr=False)
    fn: Any = dataclasses.field(repr=False)
    jit_options: Mapping[str, Any] = dataclasses.field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the executable, and what jax needs to call it, for `load_placed`."""
        self.file.write(path)

    def load(self, **jit_options: Any) -> PlacedCall:
        """Returns the function on this machine's TPU; jax.jit's, and a warning, without one.

        `jit_options` are for jax.jit's: shardings over devices of a topology are none it can use.
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

    Unlike `optimize`, whose options ask the compiler for a placement, this hands the compiler
    programs that are placed already, and keeps the executable of the best; the compiler's own
    where none is better by its estimates. Ctrl-C ends the search with the best so far. What is
    found is cached. The function is compiled once in this process, too, before the search.

    Args:
        fn: a function, or the result of jax.jit.
        args: pytrees of arrays or jax.ShapeDtypeStruct; values are not looked at.
        chip: one of mallocmuzero_xla.CHIPS; this machine's own by default, where it has one.
        budget: time to search, such as "90s", "5m", "1h".
        topology: libtpu's name of a topology other than the chip's own.
        compiler_options: for every compile.
        rounds: placed programs to compile at most.
        threads: of the search.
        scoped_limit: whether to try other limits of scoped memory than the chip's own, where
            instructions and tensors share VMEM.
        cache_dir: instead of the folder that MALLOCMUZERO_CACHE names.
        progress: report on stderr.
        jit_options: keyword arguments of jax.jit.

    Raises:
        UsageError: something is wrong with the arguments, or a part is missing.
        CaptureError: the function does not compile, or its executable cannot be kept.
    """
    limits = _limits(budget, rounds, threads, scoped_limit)
    target = find_chip(chip or chip_here(), topology)
    binary = find_binary()
    traced = trace(fn, args, target, jit_options, compiler_options)
    compiled = _compiled(traced, target, compiler_options or {})
    # What cannot be packed is better known before the search than after it.
    pack(traced, compiled, raw_executable(compiled), target.name, {})
    folder = pathlib.Path(cache_dir) if cache_dir else cache_folder()
    cache = PlacedCache(traced.program, target, folder)
    found = cache.load(limits)
    if found is None:
        shown = LoopProgress(quiet=not progress)
        with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as scratch:
            found = search(
                binary, traced.program, target, limits, pathlib.Path(scratch), shown.note
            )
        check_entry(compiled, found.module)
        found = cache.keep(found, limits)
    file = pack(traced, compiled, found.executable, target.name, found.report)
    return Placed(
        default_cycles=found.report.get("default_cycles"),
        optimized_cycles=float(found.report["optimized_cycles"]),
        report=found.report,
        file=file,
        fn=fn,
        jit_options=jit_options,
    )


def _limits(
    budget: str | float, rounds: int | None, threads: int | None, scoped_limit: bool
) -> SearchLimits:
    for name, value in (("rounds", rounds), ("threads", threads)):
        if value is not None and value < 1:
            raise UsageError(f"{name} {value}: expected 1 or more")
    return SearchLimits(parse_duration(budget), rounds, threads, scoped_limit)


def _compiled(traced: Traced, chip: Chip, compiler_options: Mapping[str, Any]) -> Any:
    """Compiles as jax does: what it notes of arguments and results is needed to call any other.

    With everything in HBM where the compiler's own placement fails: that changes none of it.
    """
    errors = []
    for placement in ({}, {chip.msa_option: False}):
        try:
            return traced.lowered.compile(compiler_options={**compiler_options, **placement})
        except Exception as error:  # the compiler raises several unrelated types
            errors.append(in_one_line(error))
    raise CaptureError(f"{traced.program.function} does not compile: {errors[0]}")
