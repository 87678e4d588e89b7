"""optimize(): finds compiler options that make a JAX function faster."""

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

from mallocmuzero_xla.applying import AppliedFunction
from mallocmuzero_xla.artefact import Artefact
from mallocmuzero_xla.binary import Binary, Server
from mallocmuzero_xla.budget import Budget, parse_duration
from mallocmuzero_xla.capture import run_capture
from mallocmuzero_xla.chips import Chip, chosen_chip
from mallocmuzero_xla.closed_loop import Loop, Plan
from mallocmuzero_xla.environment import compiler_versions, recorded_settings
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.fitting import Registry
from mallocmuzero_xla.limit_search import LimitSearch, Tuned, limit_alone
from mallocmuzero_xla.lowering import LoweredProgram, lower
from mallocmuzero_xla.options_cache import CachedOptions, OptionsCache, cache_folder
from mallocmuzero_xla.outcome import describe
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
from mallocmuzero_xla.trial_compiler import TrialCompiler, trial_compiles_at_once
from mallocmuzero_xla.variants import DEFAULT, Variant, standard_variants
from mallocmuzero_xla.verified import Verified
from mallocmuzero_xla.version import VERSION

# Each loop works in a folder of its own among the captured texts. A folder of this age is
# abandoned.
_LOOP_PREFIX = "loop-"
_ABANDONED_SECONDS = 86400.0

# A sample may take this many times as long as the compiles before it, even late in the budget.
_SLOWEST_SAMPLE = 2.0


@dataclasses.dataclass(frozen=True)
class Optimized:
    """A function's best known placement. Cycles are the compiler's estimates.

    Attributes:
        compiler_options: for jax.jit(..., compiler_options=...) or compile(compiler_options=...);
            empty where the compiler's default is best.
        default_cycles: cycles of the compiler's default; None if the default does not compile.
        optimized_cycles: cycles of the program compiled with the options; never above
            default_cycles.
        followed_share: share of the accessed bytes that are where the mapping wants them.
        mapping: the mapping file, in the cache, that the options come from; None if there is none.
        report: verified.Verified as JSON, and `from_cache`, for logs.
        artefact: the result as `save` writes it.
        from_cache: whether an earlier call found the result.
        fn, jit_options: the function and the keyword arguments of jax.jit that were given.
    """

    compiler_options: dict[str, str]
    default_cycles: float | None
    optimized_cycles: float
    followed_share: float
    mapping: pathlib.Path | None
    report: dict[str, Any]
    artefact: Artefact
    from_cache: bool = False
    fn: Any = dataclasses.field(default=None, repr=False)
    jit_options: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def gain(self) -> float | None:
        """Returns the saved share of the default's cycles; None if the default does not compile."""
        return self.artefact.gain

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artefact for `apply`."""
        self.artefact.save(path)

    def jit(self) -> AppliedFunction:
        """Returns the function, compiled with the options where they fit; see `apply`."""
        return AppliedFunction(self.fn, Registry([self.artefact]), "", self.jit_options)

    def summary(self) -> str:
        """Returns the result in a sentence."""
        return describe(Verified.from_json(self.report), self.from_cache)

    def __str__(self) -> str:
        return self.summary()


def optimize(
    fn: Callable[..., Any],
    *args: Any,
    chip: str | None = None,
    budget: str | float = "5m",
    samples: int = 8,
    topology: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: bool = True,
    scoped_limit: bool = True,
    server: str | None = None,
    server_security: str | os.PathLike[str] | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    on_progress: Callable[[str], None] | None = None,
    **jit_options: Any,
) -> Optimized:
    """Searches for compiler options under which `fn(*args)` is faster on `chip`.

    Options are returned only if the program compiled with them is faster by the compiler's
    estimates. Ctrl-C ends the search with the best so far. The result and the captured texts are
    cached.

    Args:
        fn: a function, or the result of jax.jit.
        args: pytrees of arrays or jax.ShapeDtypeStruct; their values do not matter.
        chip: one of mallocmuzero_xla.CHIPS; this machine's own by default, where it has one.
        budget: time to take, such as "90s", "5m", "1h". At most 35 % go to compiles under other
            limits of scoped memory; a fifth to samples, of which slow compiles allow fewer;
            three twentieths, and at most a minute, to the search for a mapping; the rest to trial
            compiles and whole compiles. The required compiles may take the whole budget. `report`
            then has no trial compiles and no rounds, only the compiled texts are cached, and
            another call continues from them. A compile that runs when the time is up gets some
            more.
        samples: the largest number of random placements to compile.
        topology: libtpu's name of a topology other than the chip's own.
        cache_dir: a folder in place of the one that MALLOCMUZERO_CACHE names.
        progress: whether to report on stderr.
        scoped_limit: where instructions and tensors share VMEM, also search for the best limit of
            scoped memory (xla_tpu_scoped_vmem_limit_kib), unless `compiler_options` or
            LIBTPU_INIT_ARGS set it.
        server: host:port of a `mallocmuzero serve` that searches for mappings; all compiles stay
            in this process. None: this machine searches.
        server_security: a file that names the certificates and the token for the server.
        compiler_options: options of every compile; not part of the result.
        on_progress: gets each line of progress, whether or not `progress` shows it.
        jit_options: keyword arguments of jax.jit.

    Raises:
        UsageError: the arguments are wrong, or a package or the binary is missing.
        CaptureError: the function does not compile.
    """
    granted = Budget(parse_duration(budget))
    target = chosen_chip(chip, topology)
    binary = Binary(server=Server(server, server_security) if server is not None else None)
    variants = standard_variants(samples)
    program = lower(fn, args, target, jit_options, compiler_options)
    folder = pathlib.Path(cache_dir) if cache_dir else cache_folder()
    shown = LoopProgress(not progress, on_progress)
    run = _Run(program, target, folder.resolve(), binary, granted, shown)
    found = run.optimize(variants, scoped_limit)
    return dataclasses.replace(found, fn=fn, jit_options=jit_options)


def load_options(
    fn: Callable[..., Any],
    *args: Any,
    chip: str | None = None,
    topology: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    scoped_limit: bool = True,
    compiler_options: Mapping[str, Any] | None = None,
    **jit_options: Any,
) -> dict[str, str]:
    """Returns the options that `optimize` found for the same function, chip and compiler.

    Empty if there are none. Empty, with a warning on stderr, if they belong to another version of
    the function or another compiler. Compiles nothing. The arguments are those of `optimize`.
    """
    target = chosen_chip(chip, topology)
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
        progress: LoopProgress,
    ) -> None:
        self._program = program
        self._chip = chip
        self._binary = binary
        self._budget = budget
        self._cache = cache
        self._captures = cache / "captures" / chip.name
        self._progress = progress
        self._quiet = progress.quiet

    def optimize(self, variants: list[Variant], scoped_limit: bool) -> Optimized:
        """Returns the cached result if its budget was at least this one; otherwise searches."""
        options = OptionsCache(self._program, self._chip, self._cache, scoped_limit)
        cached = options.load()
        # An undecided entry is no answer: its search ended before a trial compile.
        cached = None if cached is not None and cached.verified.undecided else cached
        if cached is not None and cached.budget_seconds >= self._budget.seconds:
            return self._optimized(cached.verified, from_cache=True)
        is_set = limit_in_force(self._program.base_options) is not None
        if scoped_limit and not is_set and self._chip.shared_vmem_kib is not None:
            verified = self._play_under(self._tune(), variants)
        else:
            verified = self._play(self._program, variants)
        self._progress.close()
        best, earlier = verified, cached.verified if cached is not None else None
        # If neither has options, the report is about the later search.
        if earlier and earlier.options and earlier.optimized_cycles <= verified.optimized_cycles:
            best = dataclasses.replace(earlier, interrupted=verified.interrupted)
        if not (verified.interrupted or verified.undecided):
            options.store(CachedOptions(best, self._budget.seconds))
        return self._optimized(best, from_cache=best is not verified)

    def _optimized(self, verified: Verified, from_cache: bool) -> Optimized:
        default = verified.default_cycles if verified.default_error is None else None
        program = self._program
        found = {"by": "optimize", "budget_seconds": self._budget.seconds}
        names = ("seconds", "compiles", "trial_compiles", "kept", "limit_cycles", "default_error")
        found |= {name: getattr(verified, name) for name in names}
        artefact = Artefact(
            function=program.function,
            chip=self._chip.name,
            topology=program.topology_name,
            devices=len(program.device_ids),
            versions=compiler_versions(),
            fingerprint=program.fingerprint,
            default_cycles=default,
            expected_cycles=verified.optimized_cycles,
            compiler_options=verified.options,
            found={**found, "package": VERSION, "environment": recorded_settings()},
        )
        return Optimized(
            compiler_options=verified.options,
            default_cycles=default,
            optimized_cycles=verified.optimized_cycles,
            followed_share=verified.followed_share,
            mapping=pathlib.Path(verified.mapping) if verified.mapping else None,
            report={**verified.to_json(), "from_cache": from_cache},
            artefact=artefact,
            from_cache=from_cache,
        )

    def _tune(self) -> Tuned:
        with TrialCompiler(self._chip) as compiler:
            self._program.write(compiler.lowered)
            search = LimitSearch(
                self._program, self._captures, compiler, self._chip, self._binary, self._progress
            )
            default = search.compile_default()
            self._advise(default.seconds, limits=True)
            return search.run(limit_seconds(self._budget, default.seconds))

    def _advise(self, compile_seconds: float, limits: bool) -> None:
        if self._budget.seconds < suggested_budget(compile_seconds, limits):
            self._progress.note(advice(compile_seconds, limits))

    def _play_under(self, tuned: Tuned, variants: list[Variant]) -> Verified:
        """Searches under the best limit, or under the chip's own if that capture fails.

        After Ctrl-C before the first result, the options hold only the limit.
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
            if best.options == tuned.default.options:
                raise
            self._progress.note(f"on with the first limit of scoped memory that works: {error}")
            first = tuned.default.options
            verified = self._play(with_options(self._program, first), variants)
            verified.options = {**first, **verified.options}
            if best.cycles < verified.optimized_cycles:
                verified = limit_alone(best, verified)
        verified.default_cycles = tuned.default.cycles
        verified.default_error = tuned.default_error
        verified.limit_cycles = best.cycles
        verified.compiles += tuned.compiles
        return verified

    def _play(self, program: LoweredProgram, variants: list[Variant]) -> Verified:
        """Captures a program and runs the closed loop on it."""
        folder = self._captures / program.sha256
        with TrialCompiler(self._chip, width=trial_compiles_at_once()) as compiler:
            program.write(compiler.lowered)
            store = CaptureStore(folder, program.function, self._chip)
            self._capture(Subject(store, self._chip, compiler.lowered), variants)
            if not self._budget.remaining():
                return self._without_trial_compile(folder)
            return self._search(folder, compiler)

    def _without_trial_compile(self, folder: pathlib.Path) -> Verified:
        """Returns the report for a budget that the required compiles use up."""
        capture = open_capture(folder)
        cycles = self._binary.module_cycles(capture.read(DEFAULT), self._chip.name)
        verified = Verified(cycles, cycles, cycles, out_of_budget=True)
        verified.compile_seconds = capture.compile_seconds
        verified.seconds = self._budget.elapsed()
        return verified

    def _capture(self, subject: Subject, variants: list[Variant]) -> None:
        """Makes the required compiles, and samples as far as the budget allows."""
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

    def _search(self, folder: pathlib.Path, compiler: TrialCompiler) -> Verified:
        """Runs the loop in a folder of its own, which no process with the same function shares."""
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
            verified = Loop(plan, compiler, self._binary, self._budget, self._progress).run()
            for kind in ("program", "mapping"):
                path = getattr(verified, kind)
                setattr(verified, kind, str(_kept(pathlib.Path(path), folder)) if path else None)
            return verified


def _sweep(folder: pathlib.Path) -> None:
    """Removes folders of killed loops, which are older than any running loop."""
    for path in folder.glob(f"{_LOOP_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(path)


def _kept(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Moves a file of a loop's into `folder`, named by its content; returns where it is."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return path.replace(folder / f"{digest}{path.suffix}")
