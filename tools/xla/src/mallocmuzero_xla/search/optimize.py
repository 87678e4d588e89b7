"""optimize(): finds compiler options that make a JAX function faster."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from mallocmuzero_xla.artefacts.artefact import SUFFIX, Artefact
from mallocmuzero_xla.artefacts.fitting import Registry
from mallocmuzero_xla.artefacts.placed_file import PlacedFile, save_pair
from mallocmuzero_xla.binary import Binary, Server
from mallocmuzero_xla.budget import Budget, parse_duration
from mallocmuzero_xla.chips import Chip, chosen_chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram, lower, trace
from mallocmuzero_xla.compiler.variants import standard_variants
from mallocmuzero_xla.environment import compiler_versions, recorded_settings
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.placed.executables import Executables
from mallocmuzero_xla.placed.loading import call_of
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.runtime.applying import AppliedFunction
from mallocmuzero_xla.search.earlier import (
    IDENTITIES,
    LIMIT,
    Earlier,
    earlier_of,
)
from mallocmuzero_xla.search.joint_search import JointSearch
from mallocmuzero_xla.search.options_cache import (
    Allowed,
    CachedOptions,
    OptionsCache,
    cache_folder,
    writable_cache,
)
from mallocmuzero_xla.search.outcome import describe
from mallocmuzero_xla.search.search_capture import Resources
from mallocmuzero_xla.search.step_runner import Scope
from mallocmuzero_xla.search.verified import Verified
from mallocmuzero_xla.version import VERSION

# The binary has seeds of 64 bits, and placed modules take a million for each of these.
MOST_SEED = 10**12

_PLACED = ".placed"


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
        artefact: the result as `save` writes it, but without the name of an executable's file.
        from_cache: whether an earlier call found the result.
        fn, jit_options: the function and the keyword arguments of jax.jit that were given.
        executable: the file of the placed executable that is the result; None if the options are.
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
    executable: PlacedFile | None = dataclasses.field(default=None, repr=False)

    @property
    def gain(self) -> float | None:
        """Returns the saved share of the default's cycles; None if the default does not compile."""
        return self.artefact.gain

    @property
    def undecided(self) -> bool:
        """Returns whether the search ended too early to say that the default is best."""
        found = bool(self.compiler_options) or self.executable is not None
        return not found and Verified.from_json(self.report).undecided

    @property
    def registry(self) -> Registry:
        """Returns the artefact and the placed executable, if that is the result, for `apply`."""
        file = self.executable
        unsaved = [] if file is None else [(self.artefact, file)]
        return Registry([self.artefact], unsaved=unsaved)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artefact for `apply`; a placed executable goes beside it, as NAME.placed.

        Raises UsageError if `path` is NAME.placed itself, or if the result is undecided.
        """
        if self.undecided:
            raise UsageError(f"{os.fspath(path)}: not written, {self.summary()}")
        if self.executable is None:
            self.artefact.save(path)
            return
        beside = executable_beside(path)
        save_pair(self.executable, beside, self.artefact, pathlib.Path(path))

    def jit(self) -> Any:
        """Returns what `apply` returns for this artefact: an AppliedFunction, or a PlacedCall."""
        if self.executable is not None:
            return call_of(
                self.executable, self.fn, self.jit_options, check=False, artefact=self.artefact
            )
        return AppliedFunction(self.fn, Registry([self.artefact]), "", self.jit_options)

    def summary(self) -> str:
        """Returns the result in a sentence."""
        return describe(Verified.from_json(self.report), self.from_cache)

    def __str__(self) -> str:
        return self.summary()


def executable_beside(path: str | os.PathLike[str]) -> pathlib.Path:
    """Returns where `Optimized.save(path)` writes a placed executable: NAME.placed for NAME.json.

    Raises UsageError if that is `path` itself, where the artefact goes.
    """
    name = pathlib.Path(path).name.removesuffix(SUFFIX).removesuffix(_PLACED)
    beside = pathlib.Path(path).with_name(name + _PLACED)
    if beside == pathlib.Path(path):
        raise UsageError(f"{beside}: the executable goes there, and its artefact into another file")
    return beside


def optimize(
    fn: Callable[..., Any],
    *args: Any,
    chip: str | None = None,
    budget: str | float | Budget = "5m",
    samples: int = 8,
    topology: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: bool = True,
    scoped_limit: bool = True,
    assignment: bool = True,
    placed: bool = False,
    seed: int = 0,
    server: str | None = None,
    server_security: str | os.PathLike[str] | None = None,
    start_from: str | os.PathLike[str] | Artefact | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    on_progress: Callable[[str], None] | None = None,
    **jit_options: Any,
) -> Optimized:
    """Searches for compiler options under which `fn(*args)` is faster on `chip`.

    Options are returned only if the program compiled with them is faster by the compiler's
    estimates. Ctrl-C ends the search with the best so far, once that is compiled to the end;
    another Ctrl-C leaves it out. The result and the captured texts are cached.

    Args:
        fn: a function, or the result of jax.jit.
        args: pytrees of arrays or jax.ShapeDtypeStruct; their values do not matter.
        chip: one of mallocmuzero_xla.CHIPS; this machine's own by default, where it has one.
        budget: time to take, such as "90s", "5m", "1h"; a number is in seconds. Each step goes
            where the last gain came from: to limits of scoped memory, settings, or overrides of
            single tensors. A short budget, such as "1m", has no overrides. The default's compile
            may take the whole budget. `report` then has no further steps, only the compiled texts
            are cached, and another call continues from them. A last compile may end a tenth of the
            budget late.
        samples: the largest number of random placements to compile.
        topology: libtpu's name of a topology other than the chip's own.
        cache_dir: a folder in place of the one that MALLOCMUZERO_CACHE names.
        progress: whether to report on stderr.
        scoped_limit: where instructions and tensors share VMEM, also search for the best limit of
            scoped memory (xla_tpu_scoped_vmem_limit_kib), unless `compiler_options` or
            LIBTPU_INIT_ARGS set it.
        assignment: whether options may change the compiler's assignment: settings, and overrides
            of single tensors. Without it there are only the limit and, if asked for, placed
            executables.
        placed: whether the result may be a placed executable, as `place` makes them, if that is
            faster than all options. The budget is then for both.
        seed: of the searches for mappings, 0 to MOST_SEED. The samples are the same for all
            seeds. Two searches of one seed may differ, because each step ends by the clock. The
            cache does not tell seeds apart.
        server: host:port of a `mallocmuzero serve` that searches for mappings; all compiles stay
            in this process. None: this machine searches.
        server_security: a file that names the certificates and the token for the server.
        start_from: an artefact, or its file, of an earlier search for this function, which may have
            changed since. The search begins with what of it fits: the limit, settings, and
            overrides of instructions that are still there. A result in the cache that answers for
            the budget comes first. None: the latest result in the cache for a function of this
            name, if there is one.
        compiler_options: options of every compile; not part of the result.
        on_progress: gets each line of progress, whether or not `progress` shows it.
        jit_options: keyword arguments of jax.jit.

    Raises:
        UsageError: the arguments are wrong, or a package or the binary is missing.
        CaptureError: the function does not compile.
    """
    granted = budget if isinstance(budget, Budget) else Budget(parse_duration(budget))
    if not 0 <= seed <= MOST_SEED:
        raise UsageError(f"seed is {seed}: expected 0 to {MOST_SEED}")
    target = chosen_chip(chip, topology)
    if server is None and server_security is not None:
        raise UsageError("server_security goes with server: the address of a `mallocmuzero serve`")
    remote = Server(server, server_security) if server is not None else None
    binary = Binary(server=remote, seed=seed)
    earlier = earlier_of(start_from, target) if start_from is not None else None
    variants = standard_variants(samples)
    folder = writable_cache(cache_dir)
    executables = None
    if placed:
        traced = trace(fn, args, target, jit_options, compiler_options)
        program = traced.program
        executables = Executables(traced, target, compiler_options or {}, folder)
    else:
        program = lower(fn, args, target, jit_options, compiler_options)
    shown = LoopProgress(not progress, on_progress)
    run = _Run(program, target, folder, binary, granted, shown)
    scope = Scope(variants, scoped_limit, assignment, assignment, executables)
    try:
        found = run.optimize(scope, earlier)
    finally:
        binary.close()
    return dataclasses.replace(found, fn=fn, jit_options=jit_options)


def load_options(
    fn: Callable[..., Any],
    *args: Any,
    chip: str | None = None,
    topology: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    scoped_limit: bool = True,
    assignment: bool = True,
    placed: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
    **jit_options: Any,
) -> dict[str, str]:
    """Returns the options that `optimize` found for the same function, chip and compiler.

    Empty if there are none. Empty, with a warning on stderr, if they belong to another version of
    the function or another compiler, or if the result is a placed executable. Compiles nothing.
    The arguments are those of `optimize`.
    """
    target = chosen_chip(chip, topology)
    program = lower(fn, args, target, jit_options, compiler_options)
    folder = pathlib.Path(cache_dir) if cache_dir else cache_folder()
    allowed = Allowed(scoped_limit, assignment, placed)
    cached = OptionsCache(program, target, folder, allowed).load()
    if cached is None:
        return {}
    if cached.verified.executable is not None:
        print(
            f"mallocmuzero-xla: {program.function}: the result is a placed executable, which "
            f"`optimize` returns: there are no options",
            file=sys.stderr,
        )
    return cached.verified.options


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

    def optimize(self, scope: Scope, earlier: Earlier | None) -> Optimized:
        """Returns the cached result if its budget was at least the asked one; otherwise searches.

        The search starts from `earlier`; None for what the cache has.
        """
        allowed = Allowed(scope.limits, scope.overrides, scope.executables is not None)
        options = OptionsCache(self._program, self._chip, self._cache, allowed)
        cached = _answer(options, scope.executables)
        if cached is not None and cached.budget_seconds >= self._budget.asked:
            return self._optimized(cached, from_cache=True)
        known = cached.verified if cached is not None else None
        if earlier is None:
            earlier = self._from_cache(options, known)
        try:
            verified = self._search(dataclasses.replace(scope, earlier=earlier))
        finally:
            self._progress.close()
        best, searched = verified, self._budget.seconds
        # Another search may have ended in the meantime.
        cached = _answer(options, scope.executables)
        # If neither has a result, the report is about the later search. This search may have made
        # anew what an entry has lost, so only an entry that was of use before wins a draw.
        if cached is not None and _is_better(cached.verified, verified, known is not None):
            best = dataclasses.replace(cached.verified, interrupted=verified.interrupted)
            searched = cached.budget_seconds
        if not (verified.interrupted or verified.undecided):
            before = cached.budget_seconds if cached is not None else 0.0
            options.store(CachedOptions(best, max(before, self._budget.answered)))
        return self._optimized(CachedOptions(best, searched), from_cache=best is not verified)

    def _from_cache(self, options: OptionsCache, known: Verified | None) -> Earlier:
        """Returns what the cache has found; `known` is for this program and compiler."""
        found = known if known is not None else options.earlier()
        if found is None:
            return Earlier()
        try:
            earlier = Earlier.of(found.options, found.identities, found.executable_limit_kib)
        except ValueError:
            return Earlier()  # an entry of another hand
        if found is known:
            # Its cycles are known, and count at the end.
            return Earlier(earlier.limit)
        self._progress.note(
            f"starting from an earlier search for {self._program.function}, which gained "
            f"{found.gain:.2%}"
        )
        return earlier

    def _optimized(self, result: CachedOptions, from_cache: bool) -> Optimized:
        verified = result.verified
        default = verified.default_cycles if verified.default_error is None else None
        program = self._program
        found = {"by": "optimize", "budget_seconds": result.budget_seconds}
        names = ("seconds", "compiles", "trial_compiles", "kept", "limit_cycles", "default_error")
        found |= {name: getattr(verified, name) for name in names}
        found |= {IDENTITIES: verified.identities, LIMIT: verified.executable_limit_kib}
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
            own_options=program.own_options,
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
            executable=PlacedFile.read(verified.executable) if verified.executable else None,
        )

    def _search(self, scope: Scope) -> Verified:
        resources = Resources(
            self._chip, self._captures, self._binary, self._budget, self._progress
        )
        return JointSearch(self._program, resources, scope).run()


def _answer(options: OptionsCache, executables: Executables | None) -> CachedOptions | None:
    """Returns the cached result; None if there is none, or if it is undecided or of no use.

    A placed executable is of no use without its file, or if the function is called otherwise now.
    """
    cached = options.load(warn_of_stale=False)
    if cached is None or cached.verified.undecided:
        return None
    path = cached.verified.executable
    if path is not None and (executables is None or not executables.takes(path)):
        return None
    return cached


def _is_better(one: Verified, other: Verified, wins_a_draw: bool) -> bool:
    if one.optimized_cycles == other.optimized_cycles:
        return one.improves and wins_a_draw
    return one.improves and one.optimized_cycles < other.optimized_cycles
