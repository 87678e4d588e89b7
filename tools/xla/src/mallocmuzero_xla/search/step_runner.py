"""Does the steps of a search: compiles, trials, rounds of overrides and of placed modules."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Mapping, Sequence

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.saved_capture import SavedCapture
from mallocmuzero_xla.compiler.estimates import Estimates, identities
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.phased_compiler import PhasedLanes, TextInPhases
from mallocmuzero_xla.compiler.scoped_limit import OPTION, with_options
from mallocmuzero_xla.compiler.store import CaptureStore, folder_of
from mallocmuzero_xla.compiler.trial_compiler import (
    TrialCompiler,
    compiles_at_once,
    trial_compiles_at_once,
)
from mallocmuzero_xla.compiler.variants import DEFAULT, Variant
from mallocmuzero_xla.environment import recorded_options
from mallocmuzero_xla.errors import CaptureError, CompileError
from mallocmuzero_xla.overrides import (
    SORT_OVERRIDES,
    TENSOR_OVERRIDES,
    Item,
    named_item,
    options_of,
)
from mallocmuzero_xla.placed.executables import Executables
from mallocmuzero_xla.price import Price
from mallocmuzero_xla.search.costs import seconds_left
from mallocmuzero_xla.search.earlier import Earlier, names_in
from mallocmuzero_xla.search.override_rounds import OverrideRounds
from mallocmuzero_xla.search.phased_capture import Phases, capture_in_phases
from mallocmuzero_xla.search.placed_rounds import PlacedRounds
from mallocmuzero_xla.search.planning import placed_rounds
from mallocmuzero_xla.search.search_capture import Resources, capture_for_search
from mallocmuzero_xla.search.settings import assignment_settings
from mallocmuzero_xla.search.steps import Candidate, Costs, Kind, Step
from mallocmuzero_xla.search.strategy import OVERTIME


@dataclasses.dataclass(frozen=True)
class Scope:
    """What a search may use.

    Attributes:
        variants: the compiles of a capture, for overrides and placed modules.
        limits: whether to try other limits of scoped memory.
        settings: whether to try settings of the compiler's assignment.
        overrides: whether to search for overrides.
        executables: makes files of placed executables; None if the result must be options.
        earlier: the result of an earlier search, to start from.
    """

    variants: Sequence[Variant] = ()
    limits: bool = True
    settings: bool = True
    overrides: bool = True
    executables: Executables | None = None
    earlier: Earlier = dataclasses.field(default_factory=Earlier)


@dataclasses.dataclass(frozen=True)
class Started:
    """What fits of an earlier search.

    Attributes:
        options: for the compiler.
        kept: ids of the items in `options`.
        price: of the compile to the end; None before it.
    """

    options: dict[str, str]
    kept: list[str]
    price: Price | None = None


class StepRunner:
    """Does the steps of one search; close it at the end.

    Several threads may call `compile`, `estimate` and `predict`. The other steps come alone. All
    raise CaptureError if they fail.

    Attributes:
        width: how many compiles may run at once.
        settings: the settings that may be tried, by kind.
        compiler: makes compiles and trial compiles, and counts them.
        prices: of the programs that `compile` has made, by candidate.
        rounds, placed: the searches for mappings, by the candidate that they are under.
        started: what `start` has compiled; None before it has.
    """

    def __init__(
        self, program: LoweredProgram, resources: Resources, scope: Scope, own_limit: int
    ) -> None:
        """`own_limit` is the limit of scoped memory that needs no option, in KiB."""
        chip = resources.chip
        self._program = program
        self._resources = resources
        self._chip = chip
        self._binary = resources.binary
        self._budget = resources.budget
        self._scope = scope
        self._own_limit = own_limit
        settings = assignment_settings(chip, program.base_options) if scope.settings else []
        self.settings: dict[str, Item] = {item.kind: item for item in settings}
        self.width = compiles_at_once()
        self.compiler = TrialCompiler(
            chip, width=trial_compiles_at_once(), compile_width=self.width
        )
        self._program.write(self.compiler.lowered)
        self._phases = PhasedLanes(self.compiler.lowered, self.width)
        self._estimates: dict[int, Estimates] = {}
        self.prices: dict[Candidate, Price] = {}
        self._estimating = threading.Lock()  # guards _estimates and prices
        self._captures: dict[Candidate, SavedCapture] = {}
        self.rounds: dict[Candidate, OverrideRounds] = {}
        self.placed: dict[Candidate, PlacedRounds] = {}
        self.started: Started | None = None
        self._start_identities: dict[Candidate, dict[str, str]] = {}

    def close(self) -> None:
        """Ends the compile processes and running searches."""
        self._resources.workers.close()
        self._phases.close()
        self.compiler.close()
        for overrides in self.rounds.values():
            overrides.close()
        for placed in self.placed.values():
            placed.close()

    @property
    def in_phases(self) -> bool:
        """Whether `estimate` may make compiles in phases."""
        return self._phases.usable

    @property
    def placed_round(self) -> float | None:
        """The most seconds that a round of placed modules took under a limit; None before one."""
        seconds = [each.round_seconds for each in self.placed.values()]
        return max((each for each in seconds if each is not None), default=None)

    def estimate(self, candidate: Candidate) -> tuple[float, float, bool]:
        """Compiles in phases if that is possible, else to the end.

        Returns cycles, seconds, and whether the compile was in phases. A compile to the end that
        an earlier run made is used.
        """
        store = self._store(candidate)
        if not self.in_phases or (store is not None and store.has(Variant(DEFAULT))):
            return (*self.compile(candidate, True), False)
        started = time.monotonic()
        text = self._phased(candidate)
        if text is None:
            return (*self.compile(candidate, True), False)
        cycles = self._binary.module_cycles(text, self._chip.name)
        if self._scope.earlier.items and candidate == Candidate(self._scope.earlier.limit or 0):
            self._start_identities[candidate] = identities(text)
        return cycles, time.monotonic() - started, True

    def _phased(self, candidate: Candidate, options: dict[str, str] | None = None) -> str | None:
        """Returns the text of a compile in phases with all estimates, or None.

        `options` are those of the candidate, unless others are given.
        """
        with self._estimating:
            estimates = self._estimates.setdefault(candidate.limit, Estimates())
        options = self.options(candidate) if options is None else options
        return self._phases.text(options, estimates, self._estimating, self._budget)

    def start(self, candidate: Candidate) -> tuple[float, float, bool]:
        """Compiles a candidate with the settings and overrides of the earlier search.

        The candidate must have been compiled without them. Leaves out the items that do not fit
        this program or that the compiler refuses. Returns as `estimate` does.
        """
        began = time.monotonic()
        items = self._accepted(
            candidate, self._scope.earlier.items_for(self._identities(candidate))
        )
        options = {**self.options(candidate), **options_of(items)}
        self.started = Started(options, [item.id for item in items])
        text = self._phased(candidate, options) if self.in_phases else None
        if text is None:
            cycles = self._compile_start(self._budget)
            return cycles, time.monotonic() - began, False
        cycles = self._binary.module_cycles(text, self._chip.name)
        return cycles, time.monotonic() - began, True

    def to_the_end(self, step: Step) -> tuple[float, float]:
        """Makes machine code of a step in phases, without a time limit; returns as `compile`."""
        began = time.monotonic()
        match step.kind:
            case Kind.START:
                return self._compile_start(Budget()), time.monotonic() - began
            case Kind.OVERRIDES:
                return self.rounds[step.candidate].confirm(), time.monotonic() - began
            case _:
                return self.compile(step.candidate, in_budget=False)

    def _compile_start(self, budget: Budget) -> float:
        """Compiles to the end what `start` has put together; returns the cycles."""
        assert self.started is not None
        grace = OVERTIME * self._budget.seconds
        text = self.compiler.compile(self.started.options, budget, grace)
        price = self._binary.module_price(text, self._chip.name)
        self.started = dataclasses.replace(self.started, price=price)
        return price.total

    def _accepted(self, candidate: Candidate, items: list[Item]) -> list[Item]:
        """Returns the items without those that the compiler refuses in trial compiles."""
        taken = {*self._program.base_options, *recorded_options()}
        items = [each for each in items if each.setting is None or each.setting[0] not in taken]
        while items:
            try:
                options = {**self.options(candidate), **options_of(items)}
                self.compiler.compile_trial(options, self._budget)
                return items
            except CompileError as error:
                refused = named_item(str(error), items)
                if refused is None:
                    raise
                items = [each for each in items if each is not refused]
        raise CaptureError("nothing of it fits this program")

    def identities_in(self, candidate: Candidate, options: Mapping[str, str]) -> dict[str, str]:
        """Returns what the instructions are that the overrides in `options` name.

        Only a later search needs it, so what cannot be read or written ends nothing.
        """
        texts = (options.get(option, "") for option in (TENSOR_OVERRIDES, SORT_OVERRIDES))
        names = [name for text in texts for name in names_in(text)]
        known: dict[str, str] = {}
        with contextlib.suppress(CaptureError, OSError):
            known = self._identities(candidate) if names else {}
        return {name: known[name] for name in names if name in known}

    def _identities(self, candidate: Candidate) -> dict[str, str]:
        """Returns what the instructions of a compiled candidate are; nothing if its text is gone.

        Texts of compiles in phases are kept in captures, and under the limit of the earlier search.
        """
        store, variant = self._store(candidate), Variant(DEFAULT)
        if store is not None and store.has(variant):
            return identities(store.read(variant))
        if candidate in self._captures:
            return identities(self._captures[candidate].read(DEFAULT))
        return self._start_identities.get(candidate, {})

    def _store(self, candidate: Candidate) -> CaptureStore | None:
        """Returns the folder of the candidate's compiles; None if it is not kept."""
        if candidate.settings:
            return None
        program = with_options(self._program, self.options(candidate))
        folder = folder_of(self._resources.captures, program)
        store = CaptureStore(folder, program.function, self._chip)
        store.begin(program)
        return store

    def compile(self, candidate: Candidate, in_budget: bool) -> tuple[float, float]:
        """Compiles to the end, unless an earlier run did; returns cycles and seconds.

        `in_budget` says whether the budget limits it.
        """
        options = self.options(candidate)
        budget = self._budget if in_budget else Budget()
        store, variant = self._store(candidate), Variant(DEFAULT)
        if store is not None and store.has(variant):
            text, seconds = store.read(variant), store.seconds(variant)
            self.compiler.note_duration(seconds)
        else:
            grace = OVERTIME * self._budget.seconds if in_budget else 0.0
            text, seconds = self.compiler.timed_compile(options, budget, grace)
            if store is not None:
                store.add_text(variant, text, seconds)
        price = self._binary.module_price(text, self._chip.name)
        with self._estimating:
            self._estimates.setdefault(candidate.limit, Estimates()).learn(text)
            self.prices[candidate] = price
        return price.total, seconds

    def predict(self, candidate: Candidate) -> float:
        """Returns the cycles by a compile in phases, or by a trial compile and known estimates."""
        phased = self._phased(candidate) if self.in_phases else None
        if phased is not None:
            return self._binary.module_cycles(phased, self._chip.name)
        text = self.compiler.compile_trial(self.options(candidate), self._budget)
        with self._estimating:
            filled = self._estimates[candidate.limit].fill(text)
        return self._binary.module_cycles(filled.text, self._chip.name)

    def prepare(self, candidate: Candidate) -> float:
        """Captures a candidate and searches for its first mapping; returns the promised cycles."""
        program = with_options(self._program, self.options(candidate))
        text = self._text_in_phases(candidate) if self.in_phases else None
        capture = self._capture(program, text)
        default = self._binary.module_cycles(capture.read(DEFAULT), self._chip.name)
        self._captures[candidate] = capture
        self.rounds[candidate] = OverrideRounds(program, capture, self._resources, text)
        saved = self.rounds[candidate].begin()
        self._resources.progress.note(f"{self.words(candidate)}: a mapping promises {saved:.2%}")
        return default * (1 - saved)

    def _text_in_phases(self, candidate: Candidate) -> TextInPhases:
        """Returns a function that compiles a candidate with further options in phases."""
        options = self.options(candidate)
        return lambda further: self._phased(candidate, {**options, **further})

    def _capture(self, program: LoweredProgram, in_phases: TextInPhases | None) -> SavedCapture:
        """Captures a program, in phases if there is a function for such compiles."""
        if in_phases is None:
            return capture_for_search(program, self._resources, self._scope.variants)
        phases = Phases(
            text=in_phases,
            compile_seconds=self.compiler.slowest_compile,
            folder=self.compiler.lowered.with_name(f"capture_{len(self._captures)}"),
        )
        return capture_in_phases(program, self._resources, self._scope.variants, phases)

    def override(self, candidate: Candidate) -> tuple[float | None, bool, bool]:
        """Runs a round of overrides.

        Returns the best cycles, whether another round is useless, and whether the cycles are of a
        compile in phases.
        """
        rounds = self.rounds[candidate]
        finished = not rounds.advance()
        cycles = rounds.result.optimized_cycles if rounds.result else None
        return cycles, finished, rounds.estimated

    def place(self, candidate: Candidate, costs: Costs) -> tuple[float | None, bool]:
        """Runs rounds of placed modules; returns the best cycles, and whether more are useless."""
        assert self._scope.executables is not None
        options = self.options(candidate)
        if candidate not in self.placed:
            # Options without machine code may make the compiler abort.
            self._scope.executables.prepare(self.options(next(iter(self.prices))))
            self.placed[candidate] = PlacedRounds(
                self._program, options, self._captures[candidate], self._resources
            )
        rounds = self.placed[candidate]
        left = seconds_left(self._budget, costs)
        # The first round may end late, others begin only if they end in time.
        seconds = max(left, costs.placed_round)
        gained = rounds.advance(seconds, placed_rounds(left, costs.placed_round))
        return (rounds.best.cycles if rounds.best is not None else None), not gained

    def options(self, candidate: Candidate) -> dict[str, str]:
        """Returns the compiler options of a candidate."""
        settings = (self.settings[kind].setting for kind in candidate.settings)
        limit = {OPTION: str(candidate.limit)} if candidate.limit != self._own_limit else {}
        return {**limit, **dict(each for each in settings if each is not None)}

    def words(self, candidate: Candidate) -> str:
        """Returns a candidate in words, for lines of progress."""
        limit = f"scoped memory up to {candidate.limit / 1024:g} MiB"
        return ", ".join((limit, *candidate.settings))
