"""Searches limits of scoped memory, settings and overrides together: does what strategy.py says."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import math
import statistics
import threading
import time
from collections.abc import Sequence
from typing import Any

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.errors import BudgetSpentError, CaptureError, UsageError
from mallocmuzero_xla.estimates import Estimates
from mallocmuzero_xla.lowering import LoweredProgram
from mallocmuzero_xla.override_rounds import OverrideRounds, Resources
from mallocmuzero_xla.overrides import Item
from mallocmuzero_xla.planning import advice, prepare_seconds, round_seconds, suggested_budget
from mallocmuzero_xla.scoped_limit import OPTION, limit_in_force, with_options
from mallocmuzero_xla.settings import assignment_settings
from mallocmuzero_xla.store import CaptureStore
from mallocmuzero_xla.strategy import (
    OVERTIME,
    Candidate,
    Costs,
    Kind,
    Outcome,
    Space,
    Step,
    best,
    next_steps,
)
from mallocmuzero_xla.trial_compiler import (
    TrialCompiler,
    compiles_at_once,
    trial_compiles_at_once,
)
from mallocmuzero_xla.variants import DEFAULT, Variant
from mallocmuzero_xla.verified import Verified

# A trial compile takes about this share of a whole compile, before one has been timed.
_TRIAL_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class Scope:
    """What a search may use.

    Attributes:
        variants: the compiles of a capture, for overrides.
        limits: whether to try other limits of scoped memory.
        settings: whether to try settings of the compiler's assignment.
        overrides: whether to search for overrides.
    """

    variants: Sequence[Variant] = ()
    limits: bool = True
    settings: bool = True
    overrides: bool = True


def costs_at_once(outcomes: Sequence[Outcome], seconds: float) -> list[Outcome]:
    """Divides the `seconds` that steps at once took among them: they shared the cores.

    An outcome that was stored by an earlier search keeps the share that it would have.
    """
    total = sum(each.seconds for each in outcomes)
    share = max(1 / len(outcomes), min(1.0, seconds / total)) if total > 0 else 1.0
    return [dataclasses.replace(each, seconds=share * each.seconds) for each in outcomes]


class JointSearch:
    """One search; call `run` once. `record` has the steps in order."""

    def __init__(self, program: LoweredProgram, resources: Resources, scope: Scope) -> None:
        chip = resources.chip
        self._program = program
        self._resources = resources
        self._chip = chip
        self._binary = resources.binary
        self._budget = resources.budget
        self._progress = resources.progress
        self._variants = scope.variants
        set_limit = limit_in_force(program.base_options)
        settings = assignment_settings(chip, program.base_options) if scope.settings else []
        self._settings: dict[str, Item] = {item.kind: item for item in settings}
        free = scope.limits and set_limit is None
        self._space = Space(
            own=set_limit if set_limit is not None else chip.scoped_vmem_kib,
            memory=(chip.shared_vmem_kib or 0) if free else 0,
            settings=tuple(self._settings),
            overrides=scope.overrides,
        )
        self._width = compiles_at_once()
        self._compiler = TrialCompiler(
            chip, width=trial_compiles_at_once(), compile_width=self._width
        )
        self._program.write(self._compiler.lowered)
        self._estimates: dict[int, Estimates] = {}
        self._estimating = threading.Lock()  # guards _estimates
        self._rounds: dict[Candidate, OverrideRounds] = {}
        self._default_error: str | None = None
        self._errors: dict[Candidate, CaptureError] = {}
        self.record: list[Outcome] = []
        self._interrupted = False
        self._cut_short = False

    def run(self) -> Verified:
        """Searches until nothing helps, the budget ends or Ctrl-C comes; returns the best.

        Raises CaptureError if the program compiles under no limit.
        """
        try:
            self._search()
            return self._verified()
        finally:
            self.close()

    def close(self) -> None:
        """Ends the compile processes."""
        self._compiler.close()
        for each in self._rounds.values():
            each.close()

    def _search(self) -> None:
        pool = concurrent.futures.ThreadPoolExecutor(self._width)
        try:
            while True:
                width = self._width if self._default() else 1
                steps = self._next(width)
                if not steps:
                    break
                started = time.monotonic()
                outcomes = list(pool.map(self._do, steps))
                self.record += costs_at_once(outcomes, time.monotonic() - started)
                if len(self.record) == 1 and self.record[0].cycles is not None:
                    self._advise(self.record[0].seconds)
        except KeyboardInterrupt:
            if self._default() is None:
                raise
            self._interrupted = True
            self._record_cut_rounds()
        finally:
            # Threads that still run after Ctrl-C end with the compile processes.
            pool.shutdown(wait=False, cancel_futures=True)
        if self._default() is None:
            raise self._errors[self.record[0].step.candidate]

    def _record_cut_rounds(self) -> None:
        """Records what rounds had found that Ctrl-C cut short."""
        for candidate, rounds in self._rounds.items():
            if rounds.result is not None and rounds.result.rounds:
                step = Step(Kind.OVERRIDES, candidate, "interrupted")
                self.record.append(Outcome(step, 0.0, rounds.result.optimized_cycles, True))

    def _next(self, width: int) -> list[Step]:
        left, whole = self._budget.remaining(), self._budget.seconds
        costs = self._costs()
        steps = next_steps(self._space, self.record, left, whole, costs, width)
        if not steps:
            anything = next_steps(self._space, self.record, math.inf, math.inf, costs)
            self._cut_short = bool(anything)
        if self.record and any(each.kind == Kind.COMPILE for each in steps):
            over = costs.compile - left
            if over > 0 and self._default():
                self._progress.note(f"a last compile, which may end {over:.0f} s after the budget")
        return steps

    def _costs(self) -> Costs:
        def typical(kind: Kind, otherwise: float) -> float:
            seconds = [each.seconds for each in self.record if each.step.kind == kind]
            return statistics.median(seconds) if seconds else otherwise

        compile_seconds = typical(Kind.COMPILE, 0.0)
        return Costs(
            compile=compile_seconds,
            trial=typical(Kind.TRIAL, _TRIAL_SHARE * compile_seconds),
            prepare=prepare_seconds(self._budget, compile_seconds),
            overrides=round_seconds(self._budget),
        )

    def _default(self) -> Outcome | None:
        """Returns the first compile that worked."""
        return next((each for each in self.record if each.cycles is not None), None)

    def _do(self, step: Step) -> Outcome:
        started = time.monotonic()
        cycles, finished, seconds = None, False, None
        try:
            match step.kind:
                case Kind.COMPILE:
                    cycles, seconds = self._compile(step.candidate)
                case Kind.TRIAL:
                    cycles = self._predict(step.candidate)
                case Kind.PREPARE:
                    cycles = self._prepare(step.candidate)
                case Kind.OVERRIDES:
                    rounds = self._rounds[step.candidate]
                    finished = not rounds.advance()
                    cycles = rounds.result.optimized_cycles if rounds.result else None
        except UsageError:
            raise
        except CaptureError as error:
            finished = True
            self._failed(step, error)
        seconds = time.monotonic() - started if seconds is None else seconds
        return Outcome(step, seconds, cycles, finished)

    def _failed(self, step: Step, error: CaptureError) -> None:
        self._errors[step.candidate] = error
        if isinstance(error, BudgetSpentError):
            self._cut_short = True
        elif self._default():
            self._progress.note(f"{self._words(step.candidate)}: {error}")
        elif self._default_error is None:
            self._default_error = str(error)
            if self._space.memory:
                self._progress.note(
                    f"the default does not compile ({error}); trying other limits of scoped memory"
                )

    def _compile(self, candidate: Candidate) -> tuple[float, float]:
        """Compiles to the end, unless an earlier run did; returns cycles and seconds."""
        options = self._options(candidate)
        default = self._default()
        # The default has all the time that it needs: without it there is no answer.
        budget = self._budget if default else Budget()
        started = time.monotonic()
        store, variant = None, Variant(DEFAULT)
        if not candidate.settings:
            program = with_options(self._program, options)
            store = CaptureStore(
                self._resources.captures / program.sha256, program.function, self._chip
            )
            store.begin(program)
        if store is not None and store.has(variant):
            text, seconds = store.read(variant), store.seconds(variant)
        else:
            grace = OVERTIME * self._budget.seconds
            text = self._compiler.compile(options, budget, grace if default else 0.0)
            seconds = time.monotonic() - started
            if store is not None:
                store.add_text(variant, text, seconds)
        with self._estimating:
            self._estimates.setdefault(candidate.limit, Estimates()).learn(text)
        cycles = self._binary.module_cycles(text, self._chip.name)
        if default and default.cycles:
            gain = 1 - cycles / default.cycles
            self._progress.note(f"{self._words(candidate)}: {gain:.2%} compiled")
        return cycles, seconds

    def _predict(self, candidate: Candidate) -> float:
        """Returns the cycles by a trial compile and the estimates of whole compiles."""
        text = self._compiler.compile_trial(self._options(candidate), self._budget)
        with self._estimating:
            filled = self._estimates[candidate.limit].fill(text)
        return self._binary.module_cycles(filled.text, self._chip.name)

    def _prepare(self, candidate: Candidate) -> float:
        program = with_options(self._program, self._options(candidate))
        rounds = OverrideRounds(program, self._resources)
        self._rounds[candidate] = rounds
        rounds.prepare(self._variants)
        return rounds.result.default_cycles if rounds.result else math.inf

    def _options(self, candidate: Candidate) -> dict[str, str]:
        settings = (self._settings[kind].setting for kind in candidate.settings)
        limit = {OPTION: str(candidate.limit)} if candidate.limit != self._space.own else {}
        return {**limit, **dict(each for each in settings if each is not None)}

    def _words(self, candidate: Candidate) -> str:
        limit = f"scoped memory up to {candidate.limit / 1024:g} MiB"
        return ", ".join((limit, *candidate.settings))

    def _advise(self, compile_seconds: float) -> None:
        limits = bool(self._space.memory)
        if self._budget.seconds < suggested_budget(compile_seconds, limits):
            self._progress.note(advice(compile_seconds, limits))

    def _verified(self) -> Verified:
        default, found = self._default(), best(self.record)
        assert default is not None
        assert default.cycles is not None
        assert found is not None
        assert found.cycles is not None
        candidate = found.step.candidate
        verified = Verified(default.cycles, found.cycles, found.cycles)
        rounds = self._rounds.get(candidate) if found.step.kind == Kind.OVERRIDES else None
        if rounds is not None and rounds.result is not None:
            rounds.keep_files()
            verified = rounds.result
        options = self._options(candidate)
        verified.options = {**options, **verified.options}
        if rounds is None:
            verified.kept = [self._settings[kind].id for kind in candidate.settings]
        self._add_costs(verified)
        verified.default_cycles = default.cycles
        verified.default_error = self._default_error
        verified.compile_seconds = default.seconds
        verified.interrupted = self._interrupted
        verified.out_of_budget = self._cut_short
        verified.tried = self._tried()
        if self._space.memory:
            plain = Candidate(candidate.limit)
            verified.limit_cycles = next(
                each.cycles
                for each in self.record
                if each.step.candidate == plain and each.step.kind == Kind.COMPILE
            )
        return verified

    def _add_costs(self, verified: Verified) -> None:
        """Adds up what all parts of the search have spent and seen."""
        loops = [each.result for each in self._rounds.values() if each.result is not None]
        verified.rounds = [entry for each in loops for entry in each.rounds]
        verified.dropped = {name: why for each in loops for name, why in each.dropped.items()}
        verified.trial_compiles = self._compiler.trial_compiles + sum(
            each.trial_compiles for each in loops
        )
        verified.compiles = self._compiler.compiles + sum(each.compiles for each in loops)
        verified.seconds = self._budget.elapsed()
        predicted = [each.best_predicted_cycles for each in loops]
        predicted += [each.cycles for each in self.record if each.step.kind == Kind.TRIAL]
        known = [cycles for cycles in predicted if cycles is not None]
        verified.best_predicted_cycles = min(known, default=None)

    def _tried(self) -> list[dict[str, Any]]:
        tried, so_far = [], math.inf
        for each in self.record:
            step, cycles = each.step, each.cycles
            measured = step.kind in (Kind.COMPILE, Kind.OVERRIDES) and cycles is not None
            gain = 1 - (cycles or 0.0) / so_far if measured and so_far < math.inf else 0.0
            tried.append(
                {
                    "step": step.kind.value,
                    "limit_kib": step.candidate.limit,
                    "settings": list(step.candidate.settings),
                    "why": step.why,
                    "seconds": round(each.seconds, 3),
                    "cycles": cycles,
                    "gain": max(0.0, gain),
                }
            )
            if measured and cycles is not None:
                so_far = min(so_far, cycles)
        return tried
