"""optimize(): a JAX function in, compiler options out that make it faster."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget, parse_duration
from mallocmuzero_xla.capture import run_capture
from mallocmuzero_xla.chips import Chip, find_chip
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.limit_search import LimitSearch, Tuned, limit_alone
from mallocmuzero_xla.looker import Looker, looks_at_once
from mallocmuzero_xla.lowering import LoweredProgram, lower
from mallocmuzero_xla.options_cache import CachedOptions, OptionsCache, cache_folder
from mallocmuzero_xla.planning import (
    advice,
    limit_seconds,
    sample_seconds,
    solve_seconds,
    suggested_budget,
)
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.runner import Limits, Subject
from mallocmuzero_xla.saved_capture import open_capture
from mallocmuzero_xla.scoped_limit import limit_in_force, with_options
from mallocmuzero_xla.store import CaptureStore
from mallocmuzero_xla.variants import DEFAULT, Variant, standard_variants
from mallocmuzero_xla.verified import Verified
from mallocmuzero_xla.verify import Loop, Plan

# A loop's own folder among the captured texts, and its age after which nobody works in it.
_LOOP_PREFIX = "loop-"
_ABANDONED_SECONDS = 86400.0

# A sample may take this many times as long as the compiles before it, late as it may be.
_SLOWEST_SAMPLE = 2.0


@dataclasses.dataclass(frozen=True)
class Optimized:
    """A function's best known placement. Cycles are the compiler's estimates.

    Attributes:
        compiler_options: for jax.jit(..., compiler_options=...) or compile(compiler_options=...);
            empty where the compiler's default is best.
        default_cycles: of the program as the compiler makes it by default.
        optimized_cycles: of the program compiled with the options; never above the former.
        honoured_share: of the bytes accessed, those that are where the mapping wants them.
        mapping: the mapping file that the options come from, in the cache; None if there is none.
        report: fields of verified.Verified, and `from_cache`, for logs.
        from_cache: whether it was found by an earlier call.
    """

    compiler_options: dict[str, str]
    default_cycles: float
    optimized_cycles: float
    honoured_share: float
    mapping: pathlib.Path | None
    report: dict[str, Any]
    from_cache: bool = False


def optimize(
    fn: Callable[..., Any],
    *args: Any,
    chip: str = "tpu_v4i",
    budget: str | float = "5m",
    samples: int = 8,
    topology: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: bool = True,
    scoped_limit: bool = True,
    compiler_options: Mapping[str, Any] | None = None,
    **jit_options: Any,
) -> Optimized:
    """Searches for compiler options under which `fn(*args)` is faster on `chip`.

    The compiler itself has the last word: options are returned only if the program compiled with
    them is faster by the compiler's estimates. Ctrl-C ends the search with the best so far. What
    is found is cached, and so are the captured texts.

    Args:
        fn: a function, or the result of jax.jit.
        args: pytrees of arrays or jax.ShapeDtypeStruct; values are not looked at.
        chip: one of mallocmuzero_xla.CHIPS.
        budget: time to take, such as "90s", "5m", "1h". At most 35 % go to compiles under other
            limits of scoped memory; a fifth to compiling samples, fewer than `samples`, or none, if
            they are slow; three twentieths, and at most a minute, to the search for a mapping; the
            rest to looks and compiles that judge it. The compiles without which there is no
            comparing may take all of it: `report` then has neither looks nor rounds, nothing is
            cached but what was compiled, and another call goes on from there. A compile under way
            when the time is up is given some more.
        samples: random placements to compile at most.
        topology: libtpu's name of a topology other than the chip's own.
        cache_dir: instead of the folder that MALLOCMUZERO_CACHE names.
        progress: report on stderr.
        scoped_limit: where instructions and tensors share VMEM, try how much instructions may best
            take for themselves (xla_tpu_scoped_vmem_limit_kib), unless `compiler_options` or
            LIBTPU_INIT_ARGS say it.
        compiler_options: for every compile; not part of the options returned.
        jit_options: keyword arguments of jax.jit.

    Raises:
        UsageError: something is wrong with the arguments, or a part is missing.
        CaptureError: the function does not compile.
    """
    granted = Budget(parse_duration(budget))
    target = find_chip(chip, topology)
    binary = Binary()
    variants = standard_variants(samples)
    program = lower(fn, args, target, jit_options, compiler_options)
    folder = pathlib.Path(cache_dir) if cache_dir else cache_folder()
    run = _Run(program, target, folder.resolve(), binary, granted, not progress)
    return run.optimize(variants, scoped_limit)


def load_options(
    fn: Callable[..., Any],
    *args: Any,
    chip: str = "tpu_v4i",
    topology: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    scoped_limit: bool = True,
    compiler_options: Mapping[str, Any] | None = None,
    **jit_options: Any,
) -> dict[str, str]:
    """Returns the options that `optimize` found for the same function, chip and compiler.

    Empty, and a warning on stderr, if they were found for another version of the function or with
    another compiler; empty if there are none. Compiles nothing. Arguments are those of `optimize`.
    """
    target = find_chip(chip, topology)
    program = lower(fn, args, target, jit_options, compiler_options)
    folder = pathlib.Path(cache_dir) if cache_dir else cache_folder()
    cached = OptionsCache(program, target, folder, scoped_limit).load()
    return cached.verified.options if cached else {}


class _Run:
    """The steps of one call of optimize."""

    def __init__(
        self,
        program: LoweredProgram,
        chip: Chip,
        cache: pathlib.Path,
        binary: Binary,
        budget: Budget,
        quiet: bool,
    ) -> None:
        self._program = program
        self._chip = chip
        self._binary = binary
        self._budget = budget
        self._quiet = quiet
        self._cache = cache
        self._captures = cache / "captures" / chip.name
        self._progress = LoopProgress(quiet)

    def optimize(self, variants: list[Variant], scoped_limit: bool) -> Optimized:
        """Returns what is cached if no less time was taken for it, or else searches."""
        options = OptionsCache(self._program, self._chip, self._cache, scoped_limit)
        cached = options.load()
        # Earlier versions kept searches that had no time to look at anything.
        cached = None if cached is not None and cached.verified.undecided else cached
        if cached is not None and cached.budget_seconds >= self._budget.seconds:
            return _optimized(cached.verified, from_cache=True)
        is_set = limit_in_force(self._program.base_options) is not None
        if scoped_limit and not is_set and self._chip.shared_vmem_kib is not None:
            verified = self._play_under(self._tune(), variants)
        else:
            verified = self._play(self._program, variants)
        self._progress.close()
        best, earlier = verified, cached.verified if cached is not None else None
        # Where neither has options, the later search is the one to tell of.
        if earlier and earlier.options and earlier.optimized_cycles <= verified.optimized_cycles:
            best = dataclasses.replace(earlier, interrupted=verified.interrupted)
        if not (verified.interrupted or verified.undecided):
            options.store(CachedOptions(best, self._budget.seconds))
        return _optimized(best, from_cache=best is not verified)

    def _tune(self) -> Tuned:
        with Looker(self._chip) as looker:
            self._program.write(looker.lowered)
            search = LimitSearch(
                self._program, self._captures, looker, self._chip, self._binary, self._progress
            )
            default = search.compile_default()
            self._advise(default.seconds, limits=True)
            return search.run(limit_seconds(self._budget, default.seconds))

    def _advise(self, compile_seconds: float, limits: bool) -> None:
        if self._budget.seconds < suggested_budget(compile_seconds, limits):
            self._progress.note(advice(compile_seconds, limits))

    def _play_under(self, tuned: Tuned, variants: list[Variant]) -> Verified:
        """Plays under the best limit, or under the chip's own if that one cannot be captured.

        Ctrl-C before there is more than a limit leaves the limit.
        """
        best = tuned.best
        verified = Verified(best.cycles, best.cycles, best.cycles, interrupted=tuned.interrupted)
        verified.compile_seconds = tuned.default.seconds
        verified.seconds = self._budget.elapsed()
        try:
            if not self._budget.remaining():
                verified.out_of_budget = True
            elif not tuned.interrupted:
                verified = self._play(with_options(self._program, best.options), variants)
            verified.options = {**best.options, **verified.options}
        except KeyboardInterrupt:
            verified = limit_alone(best, dataclasses.replace(verified, interrupted=True))
        except CaptureError as error:
            if not best.options:
                raise
            self._progress.note(f"on with the chip's own limit of scoped memory: {error}")
            verified = self._play(self._program, variants)
            if best.cycles < verified.optimized_cycles:
                verified = limit_alone(best, verified)
        verified.default_cycles = tuned.default.cycles
        verified.limit_cycles = best.cycles
        verified.compiles += tuned.compiles
        return verified

    def _play(self, program: LoweredProgram, variants: list[Variant]) -> Verified:
        """Captures a program and runs the closed loop on it."""
        folder = self._captures / program.sha256
        with Looker(self._chip, width=looks_at_once()) as looker:
            program.write(looker.lowered)
            store = CaptureStore(folder, program.function, self._chip)
            self._capture(Subject(store, self._chip, looker.lowered), variants)
            if not self._budget.remaining():
                return self._without_a_look(folder)
            return self._search(folder, looker)

    def _without_a_look(self, folder: pathlib.Path) -> Verified:
        """Returns what there is to say where the budget ends with what must be compiled."""
        capture = open_capture(folder)
        cycles = self._binary.module_cycles(capture.read(DEFAULT), self._chip.name)
        verified = Verified(cycles, cycles, cycles, out_of_budget=True)
        verified.compile_seconds = capture.compile_seconds
        verified.seconds = self._budget.elapsed()
        return verified

    def _capture(self, subject: Subject, variants: list[Variant]) -> None:
        """Captures what there must be, and samples as far as the budget allows."""
        required = [item for item in variants if item.required]
        samples = [item for item in variants if not item.required]
        run_capture(subject, required, Limits(), self._quiet)
        compile_seconds = open_capture(subject.store.folder).compile_seconds
        if self._chip.shared_vmem_kib is None:
            self._advise(compile_seconds, limits=False)
        left = sample_seconds(self._budget, compile_seconds)
        count = int(left / compile_seconds)
        if not count:
            return
        timeout = min(Limits.timeout, max(_SLOWEST_SAMPLE * compile_seconds, left))
        limits = Limits(timeout=timeout, retries=1)
        run_capture(subject, required + samples[:count], limits, self._quiet)

    def _search(self, folder: pathlib.Path, looker: Looker) -> Verified:
        """Runs the loop in a folder of its own: others may search for the same function."""
        capture = open_capture(folder)
        _sweep(folder)
        with tempfile.TemporaryDirectory(prefix=_LOOP_PREFIX, dir=folder) as name:
            scratch = pathlib.Path(name)
            program, mapping = scratch / "imported.program", scratch / "first.mapping"
            capture.import_to(program)
            seconds = solve_seconds(self._budget)
            self._progress.note(f"searching for a mapping for {max(1.0, seconds):.0f} s")
            self._binary.solve(program, mapping, seconds)
            plan = Plan(capture, program, mapping, scratch, solve=self._binary.solve)
            verified = Loop(plan, looker, self._binary, self._budget, self._progress).run()
            for kind in ("program", "mapping"):
                path = getattr(verified, kind)
                setattr(verified, kind, str(_kept(pathlib.Path(path), folder)) if path else None)
            return verified


def _sweep(folder: pathlib.Path) -> None:
    """Removes folders of loops that were killed: nobody else will, and no loop takes a day."""
    for path in folder.glob(f"{_LOOP_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(path)


def _kept(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Moves a file of a loop's into `folder`, named by its content; returns where it is."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return path.replace(folder / f"{digest}{path.suffix}")


def _optimized(verified: Verified, from_cache: bool) -> Optimized:
    return Optimized(
        compiler_options=verified.options,
        default_cycles=verified.default_cycles,
        optimized_cycles=verified.optimized_cycles,
        honoured_share=verified.honoured_share,
        mapping=pathlib.Path(verified.mapping) if verified.mapping else None,
        report={**verified.to_json(), "from_cache": from_cache},
        from_cache=from_cache,
    )
