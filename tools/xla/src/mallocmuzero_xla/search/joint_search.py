"""Searches limits of scoped memory, settings and overrides together: does what strategy.py says."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import math
import time

from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.scoped_limit import limit_in_force
from mallocmuzero_xla.errors import BudgetSpentError, CaptureError, UsageError, WorkerKilledError
from mallocmuzero_xla.price import require_cycles
from mallocmuzero_xla.search.costs import expected_costs, seconds_left
from mallocmuzero_xla.search.phased_capture import all_hbm_in_phases
from mallocmuzero_xla.search.planning import advice, suggested_budget
from mallocmuzero_xla.search.search_capture import Resources
from mallocmuzero_xla.search.seen import best
from mallocmuzero_xla.search.step_runner import Scope, StepRunner
from mallocmuzero_xla.search.steps import (
    Candidate,
    Costs,
    Kind,
    Outcome,
    Space,
    Step,
    costs_at_once,
    described,
)
from mallocmuzero_xla.search.strategy import OVERTIME, next_steps
from mallocmuzero_xla.search.verified import Verified


class JointSearch:
    """One search; call `run` once. `record` has the steps in order."""

    def __init__(self, program: LoweredProgram, resources: Resources, scope: Scope) -> None:
        chip = resources.chip
        self._program = program
        self._chip = chip
        self._budget = resources.budget
        self._progress = resources.progress
        self._executables = scope.executables
        self._binary = resources.binary
        set_limit = limit_in_force(program.base_options)
        own = set_limit if set_limit is not None else chip.scoped_vmem_kib
        free = scope.limits and set_limit is None
        self._runner = StepRunner(program, resources, scope, own)
        memory = (chip.shared_vmem_kib or 0) if free else 0
        earlier = scope.earlier
        start = earlier.limit if earlier.limit is not None and earlier.limit < memory else own
        start_more = scope.settings and scope.overrides and bool(earlier.items)
        self._space = Space(
            own=own,
            memory=memory,
            settings=tuple(self._runner.settings),
            overrides=scope.overrides,
            placed=scope.executables is not None,
            start=start if start_more or start != own else None,
            start_more=start_more,
        )
        self._default_error: str | None = None
        self._errors: dict[Candidate, CaptureError | OSError] = {}
        self.record: list[Outcome] = []
        self._interrupted = False
        self._cut_short = False

    def run(self) -> Verified:
        """Searches until nothing helps, the budget ends or Ctrl-C comes; returns the best.

        Raises CaptureError if the program compiles under no limit.
        """
        try:
            self._search()
            self._confirm()
            return self._verified()
        finally:
            self.close()

    def close(self) -> None:
        """Ends the compile processes."""
        self._runner.close()

    def _search(self) -> None:
        pool = concurrent.futures.ThreadPoolExecutor(self._runner.width)
        try:
            while True:
                width = self._runner.width if self._default() else 1
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
            raise self._compiles_under_no_limit(self._errors[self.record[0].step.candidate])

    def _confirm(self) -> None:
        """Makes machine code of the best options, unless it is there; drops what comes out worse.

        The first of these compiles may end late, others only by a tenth of the budget. Ctrl-C
        meanwhile leaves options without machine code out.
        """
        first = True
        while (found := best(self.record)) is not None and found.estimated:
            room = self._budget.remaining() + OVERTIME * self._budget.seconds
            if not first and self._costs().to_the_end > room:
                self._cut_short = True
                self._leave_estimates_out()
                return
            first = False
            try:
                self._replace(found, self._compiled(found))
            except KeyboardInterrupt:
                self._interrupted = True
                self._leave_estimates_out()

    def _replace(self, found: Outcome, compiled: Outcome) -> None:
        """Puts a compile to the end in the place of one in phases.

        Earlier rounds of the same step count as no better, because only the best list is kept.
        """
        record = []
        for each in self.record:
            if each is found:
                record.append(compiled)
            elif each.step == found.step and each.estimated and each.cycles is not None:
                cycles = None if compiled.cycles is None else max(each.cycles, compiled.cycles)
                record.append(dataclasses.replace(each, cycles=cycles, estimated=False))
            else:
                record.append(each)
        self.record = record

    def _leave_estimates_out(self) -> None:
        """Makes compiles in phases count as failed."""
        self.record = [
            dataclasses.replace(each, cycles=None) if each.estimated else each
            for each in self.record
        ]

    def _compiled(self, found: Outcome) -> Outcome:
        """Returns a compile in phases as a compile to the end, which has no time limit."""
        seconds = self._costs().to_the_end
        over = seconds - self._budget.remaining()
        if self._interrupted:
            self._progress.note(
                f"compiling the best so far to the end, about {seconds:.0f} s; "
                f"another Ctrl-C leaves it out"
            )
        elif over > 0:
            self._progress.note(
                f"a last compile, which may end {math.ceil(over)} s after the budget"
            )
        try:
            cycles, seconds = self._runner.to_the_end(found.step)
        except (CaptureError, OSError) as error:
            self._failed(found.step, error)
            return dataclasses.replace(found, cycles=None, error=str(error), estimated=False)
        if cycles != found.cycles:
            words = self._words(found.step)
            self._progress.note(
                f"{words}: {cycles:.0f} cycles, not {found.cycles:.0f} as estimated"
            )
        return dataclasses.replace(
            found, seconds=found.seconds + seconds, cycles=cycles, estimated=False
        )

    def _compiles_under_no_limit(self, error: CaptureError | OSError) -> CaptureError:
        """Returns `error`, the default's, with what to do about it."""
        also = f", nor under {len(self.record) - 1} other limits of scoped memory"
        return CaptureError(
            f"{self._program.function} does not compile for {self._chip.name} as it is"
            f"{also if len(self.record) > 1 else ''}: make jax.jit compile it first, for example "
            f"with smaller shapes ({error})"
        )

    def _record_cut_rounds(self) -> None:
        """Records what rounds had found that Ctrl-C cut short."""
        for candidate, rounds in self._runner.rounds.items():
            if rounds.result is not None and rounds.result.rounds:
                step = Step(Kind.OVERRIDES, candidate, "interrupted")
                cycles, estimated = rounds.result.optimized_cycles, rounds.estimated
                self.record.append(Outcome(step, 0.0, cycles, True, estimated=estimated))

    def _next(self, width: int) -> list[Step]:
        if self._executables is not None and not self._executables.savable:
            self._space = dataclasses.replace(self._space, placed=False)
        costs = self._costs()
        left, whole = seconds_left(self._budget, costs), self._budget.seconds
        steps = next_steps(self._space, self.record, left, whole, costs, width)
        if not steps:
            anything = next_steps(self._space, self.record, math.inf, math.inf, costs)
            self._cut_short = bool(anything)
        if self.record and any(each.kind == Kind.COMPILE for each in steps):
            over = costs.compile - left
            if over > 0 and self._default():
                self._progress.note(
                    f"a last compile, which may end {math.ceil(over)} s after the budget"
                )
        return steps

    def _costs(self) -> Costs:
        runner = self._runner
        return expected_costs(
            self.record,
            self._budget,
            runner.in_phases,
            runner.placed_round,
            all_hbm_in_phases=runner.in_phases and all_hbm_in_phases(self._chip),
            whole_for_placed=self._executables is not None and self._executables.compiles_whole,
        )

    def _default(self) -> Outcome | None:
        """Returns the first compile that worked."""
        return next((each for each in self.record if each.cycles is not None), None)

    def _do(self, step: Step) -> Outcome:
        started = time.monotonic()
        runner = self._runner
        cycles, finished, seconds, failure = None, False, None, None
        estimated = False
        try:
            match step.kind:
                case Kind.COMPILE if self._default() is None:
                    # The default has all the time that it needs: without it there is no answer.
                    cycles, seconds = runner.compile(step.candidate, in_budget=False)
                    require_cycles(self._program.function, cycles)
                case Kind.COMPILE:
                    cycles, seconds, estimated = runner.estimate(step.candidate)
                case Kind.START:
                    cycles, seconds, estimated = runner.start(step.candidate)
                case Kind.TRIAL:
                    cycles = runner.predict(step.candidate)
                case Kind.PREPARE:
                    cycles = runner.prepare(step.candidate)
                case Kind.OVERRIDES:
                    cycles, finished, estimated = runner.override(step.candidate)
                case Kind.PLACED:
                    cycles, finished = runner.place(step.candidate, self._costs())
            self._note_gain(step, cycles, estimated)
        except (CaptureError, OSError) as error:
            # A request that is wrong fails with its first compile, and so does a file that cannot
            # be written. A killed first compile says nothing of the default, to which all is
            # compared. After that, the search keeps what it has.
            wrong = isinstance(error, UsageError | OSError) and not self._default()
            if wrong or (isinstance(error, WorkerKilledError) and not self.record):
                raise
            finished, failure = True, str(error)
            self._failed(step, error)
        seconds = time.monotonic() - started if seconds is None else seconds
        return Outcome(step, seconds, cycles, finished, failure, estimated)

    def _note_gain(self, step: Step, cycles: float | None, estimated: bool) -> None:
        """Shows what a step gained; rounds of overrides show it themselves."""
        default = self._default()
        if step.kind == Kind.OVERRIDES or not step.measures or cycles is None or default is None:
            return
        gain = 1 - cycles / (default.cycles or cycles)
        how = "estimated" if estimated else "compiled"
        self._progress.note(f"{self._words(step)}: {gain:.2%} {how}")

    def _words(self, step: Step) -> str:
        """Returns what a step makes, in words."""
        further = {Kind.PLACED: ", placed", Kind.START: ", with what an earlier search has found"}
        return f"{self._runner.words(step.candidate)}{further.get(step.kind, '')}"

    def _failed(self, step: Step, error: CaptureError | OSError) -> None:
        self._errors[step.candidate] = error
        if isinstance(error, BudgetSpentError):
            self._cut_short = True
        elif self._default():
            self._progress.note(self._without(step, error))
        elif self._default_error is None:
            self._default_error = str(error)
            if self._space.memory:
                self._progress.note(
                    f"the default does not compile ({error}); trying other limits of scoped memory"
                )

    def _without(self, step: Step, error: CaptureError | OSError) -> str:
        """Returns a sentence that says what failed, and how the search goes on."""
        words = self._runner.words(step.candidate)
        overrides, placed = "overrides of single tensors", "placed executables"
        what = {Kind.OVERRIDES: overrides, Kind.PLACED: placed, Kind.PREPARE: overrides}
        if step.kind not in what:
            return f"{self._words(step)}: {error}; the search goes on without it"
        missing = what[step.kind]
        if step.kind == Kind.PREPARE and self._space.placed:
            missing = f"{overrides} or {placed}"
        return f"no {missing} under {words}: {error}; limits and settings are searched all the same"

    def _advise(self, compile_seconds: float) -> None:
        limits = bool(self._space.memory)
        if self._budget.seconds < suggested_budget(compile_seconds, limits):
            self._progress.note(advice(compile_seconds, limits))

    def _verified(self) -> Verified:
        found = best(self.record)
        assert found is not None
        if found.step.kind != Kind.PLACED:
            return self._complete(self._with_options(found), found)
        try:
            return self._complete(self._with_executable(found), found)
        except (CaptureError, OSError) as error:
            self._progress.note(f"the best placed executable is of no use: {error}")
            self.record = [
                dataclasses.replace(each, cycles=None, error=str(error))
                if each.step.kind == Kind.PLACED and each.measures
                else each
                for each in self.record
            ]
        self._confirm()  # the best options may have been compiled in phases only
        return self._verified()

    def _with_executable(self, found: Outcome) -> Verified:
        """Keeps a placed executable; raises CaptureError if it is not one of this function."""
        assert self._executables is not None
        placed = self._runner.placed[found.step.candidate].best
        assert placed is not None
        promised = (each.get("promised_cycles") for each in placed.report.get("rounds", []))
        predicted = min((float(each) for each in promised if each), default=placed.cycles)
        verified = Verified(placed.cycles, placed.cycles, predicted)
        verified.optimized_price = self._binary.module_price(placed.module, self._chip.name)
        verified.executable = str(self._executables.keep(placed))
        verified.executable_limit_kib = found.step.candidate.limit
        return verified

    def _with_options(self, found: Outcome) -> Verified:
        candidate, cycles = found.step.candidate, found.cycles
        assert cycles is not None
        verified = Verified(cycles, cycles, cycles)
        rounds = self._runner.rounds.get(candidate) if found.step.kind == Kind.OVERRIDES else None
        if rounds is not None and rounds.result is not None:
            rounds.keep_files()
            verified = rounds.result
        verified.options = {**self._runner.options(candidate), **verified.options}
        started = self._runner.started
        if found.step.kind == Kind.START and started is not None:
            verified.options, verified.kept = started.options, started.kept
            verified.optimized_price = started.price
        elif rounds is None:
            verified.kept = [self._runner.settings[kind].id for kind in candidate.settings]
            verified.optimized_price = self._runner.prices[candidate]
        verified.identities = self._runner.identities_in(candidate, verified.options)
        return verified

    def _complete(self, verified: Verified, found: Outcome) -> Verified:
        """Fills in what does not depend on the kind of the result."""
        default = self._default()
        assert default is not None
        assert default.cycles is not None
        self._add_costs(verified)
        verified.default_cycles = default.cycles
        verified.default_price = self._runner.prices[default.step.candidate]
        verified.default_error = self._default_error
        verified.compile_seconds = default.seconds
        verified.interrupted = self._interrupted
        verified.out_of_budget = self._cut_short or any(
            each.out_of_budget for each in self._loops()
        )
        verified.tried = described(self.record)
        if self._space.memory:
            plain = Candidate(found.step.candidate.limit)
            verified.limit_cycles = next(
                each.cycles
                for each in self.record
                if each.step.candidate == plain and each.step.kind == Kind.COMPILE
            )
        return verified

    def _loops(self) -> list[Verified]:
        """Returns what the rounds of overrides have found, one for each limit that had some."""
        rounds = self._runner.rounds.values()
        return [each.result for each in rounds if each.result is not None]

    def _add_costs(self, verified: Verified) -> None:
        """Adds up what all parts of the search have spent and seen."""
        loops = self._loops()
        verified.rounds = [entry for each in loops for entry in each.rounds]
        verified.dropped = {name: why for each in loops for name, why in each.dropped.items()}
        verified.trial_compiles = self._runner.compiler.trial_compiles + sum(
            each.trial_compiles for each in loops
        )
        verified.compiles = self._runner.compiler.compiles + sum(each.compiles for each in loops)
        verified.seconds = self._budget.elapsed()
        predicted = [each.best_predicted_cycles for each in loops]
        predicted += [each.cycles for each in self.record if each.step.kind == Kind.TRIAL]
        known = [cycles for cycles in predicted if cycles is not None]
        verified.best_predicted_cycles = min(known, default=None)
