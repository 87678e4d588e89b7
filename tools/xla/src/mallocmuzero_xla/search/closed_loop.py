"""The closed loop: turns a mapping into compiler options and has the real compiler judge them."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import threading
from collections.abc import Callable, Iterator

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.saved_capture import SavedCapture
from mallocmuzero_xla.chips import find_chip
from mallocmuzero_xla.compiler.estimates import Estimates
from mallocmuzero_xla.compiler.phased_compiler import TextInPhases
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.compiler.variants import ALL_HBM, DEFAULT
from mallocmuzero_xla.errors import (
    BudgetSpentError,
    CaptureError,
    CompileError,
    WorkerLostError,
)
from mallocmuzero_xla.overrides import Item, options_of
from mallocmuzero_xla.price import require_cycles
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.search.outcome import counted
from mallocmuzero_xla.search.override_search import Judge, OverrideSearch
from mallocmuzero_xla.search.settings import assignment_settings
from mallocmuzero_xla.search.trial import Mismatch, Overrides, Placement, Trial
from mallocmuzero_xla.search.verified import Round, Verified

# The latency table is refitted after a compile that differs by this share from its prediction.
_SURPRISE = 0.001

# The largest and the least share of the time and of the trial compiles that one round takes. Whole
# compiles follow a round, and then perhaps another round.
_SEARCH_SHARE = 0.6
_LEAST_SEARCH_SHARE = 0.25
_LEAST_SEARCH_SECONDS = 20.0  # a few trial compiles, and the start of their process
_RESERVED_COMPILES = 2.5
_LEAST_GRACE = 30.0

# After this share of a round's time the search tries no further setting by itself.
_SETTINGS_SHARE = 0.3

# The next round starts from this many of the best lists of overrides.
_REMEMBERED = 40

# Share of the time left that finding another mapping may take: local search converges in seconds.
_SOLVE_SHARE = 0.05

# Mappings by the names that the binary gives them.
_DEFAULT_MAPPING, _EVERYTHING_FAST, _NOTHING_FAST = "default", "all_fast", "all_hbm"

# Writes a mapping of `program` to `output`, taking about the seconds given.
Solve = Callable[[pathlib.Path, pathlib.Path, float], object]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The inputs of the loop.

    Attributes:
        capture: the compiler's texts.
        program: the file imported from them.
        mapping: a file of a mapping of `program`.
        solve: finds another mapping after the latency table is refitted; None to keep `mapping`.
        folder: the loop writes its programs and mappings here.
        in_phases: compiles lists in phases; None to compile them to the end.
    """

    capture: SavedCapture
    program: pathlib.Path
    mapping: pathlib.Path
    folder: pathlib.Path
    solve: Solve | None = None
    in_phases: TextInPhases | None = None


class Loop:
    """One run of the closed loop: call `run` once, or `advance` for each round.

    Attributes:
        result: the best so far.
        estimated: whether its cycles are of a compile in phases; `confirm` makes its machine code.
    """

    def __init__(
        self,
        plan: Plan,
        compiler: TrialCompiler,
        binary: Binary,
        budget: Budget,
        progress: LoopProgress,
    ) -> None:
        self._plan = plan
        self._compiler = compiler
        self._binary = binary
        self._budget = budget
        self._progress = progress
        # `_program` prices placements; `_wanted` says which accesses should be in fast memory. They
        # are two programs after a refit without a new mapping.
        self._program = plan.program
        self._wanted = (plan.program, str(plan.mapping))
        self._pricing = threading.Lock()  # serialises readback: trial compiles may end at once
        # After Ctrl-C, `confirm` may be called while another thread is still in `advance`.
        self._keeping = threading.Lock()  # guards what follows, and the best list in `result`
        self._is_final = False
        self._surprises: dict[str, str] = {}
        self._compiled: set[str] = set()
        self._best_predicted: float | None = None
        self.estimated = plan.in_phases is not None
        self._estimates = Estimates()
        for text in plan.capture.texts().values():
            self._estimates.learn(text)
        self.result = self._start()
        self._steps = self._rounds(self.result)

    def run(self) -> Verified:
        """Runs until nothing helps, the budget ends or Ctrl-C comes; returns the best so far.

        Raises CaptureError for a failure before the first whole compile.
        """
        try:
            while self.advance():
                pass
        except KeyboardInterrupt:
            self.result.interrupted = True
        return self.result

    def advance(self) -> bool:
        """Runs one round, which improves `result` or not; returns whether another may help.

        Raises CaptureError for a failure before the first whole compile.
        """
        result = self.result
        try:
            next(self._steps)
        except StopIteration:
            return False
        except BudgetSpentError:
            result.out_of_budget = True
            self._progress.note("the budget is spent")
            return False
        except CaptureError as error:
            if not result.rounds:
                raise
            self._progress.note(f"ends here: {error}")
            return False
        finally:
            result.trial_compiles = self._compiler.trial_compiles
            result.compiles = self._compiler.compiles
            result.best_predicted_cycles = self._best_predicted
            result.seconds = self._budget.elapsed()
        return True

    def confirm(self) -> None:
        """Compiles the best list to the end, without a time limit; changes `result`.

        A round that is still running keeps no other list. Raises CaptureError if the compile fails.
        """
        with self._keeping:
            self._is_final = True
        result = self.result
        text = self._compiler.compile(result.options, Budget())
        price = self._binary.module_price(text, self._plan.capture.chip)
        result.optimized_cycles, result.optimized_price = price.total, price
        result.compiles = self._compiler.compiles
        self.estimated = False

    def _start(self) -> Verified:
        capture = self._plan.capture
        default = capture.read(DEFAULT)
        price = self._binary.module_price(default, capture.chip)
        require_cycles(capture.program, price.total)
        result = Verified(price.total, price.total, price.total)
        result.default_price = result.optimized_price = price
        result.followed_share = self._followed_share(default)
        result.compile_seconds = capture.compile_seconds
        return result

    def _rounds(self, result: Verified) -> Iterator[None]:
        """Searches, compiles and refits until a compile brings nothing new; yields each time."""
        items = self._items(*self._wanted)
        moves = self._items(*self._wanted, "uses")
        for everything in (_EVERYTHING_FAST, _NOTHING_FAST):
            moves += self._items(self._program, everything)
        moves += assignment_settings(
            find_chip(self._plan.capture.chip), self._compiler.base_options
        )
        starts: list[Overrides] = []
        while True:
            trial_compiles, surprises = self._compiler.trial_compiles, len(self._surprises)
            default = self._price(self._plan.capture.read(DEFAULT))
            judge = self._judge(default.cycles)
            seconds = _SETTINGS_SHARE * self._search_seconds()
            width = self._compiler.width
            search = OverrideSearch(items, moves, judge, default, starts, width, seconds)
            finished = search.run()
            result.dropped |= {dropped.item.id: dropped.reason for dropped in search.dropped}
            # The next round prices these lists again without a trial compile: only the table
            # changes.
            starts = [trial.items for trial in search.ranked()[:_REMEMBERED]]
            compiled = self._compile_best(search, result)
            if len(self._surprises) > surprises:
                items = self._learn(items)
            elif finished or not (compiled or self._compiler.trial_compiles > trial_compiles):
                result.out_of_budget = not finished
                return
            yield

    def _learn(self, items: list[Item]) -> list[Item]:
        """Refits the latency table; returns a new mapping's items, or `items` without a solver."""
        self._refit()
        if self._plan.solve is None:
            return items
        mapping = self._plan.folder / f"refit_{len(self._surprises)}.mapping"
        self._plan.solve(self._program, mapping, _SOLVE_SHARE * self._budget.remaining())
        self._wanted = (self._program, str(mapping))
        return self._items(*self._wanted)

    def _items(self, program: pathlib.Path, mapping: str, scope: str = "values") -> list[Item]:
        fields = self._binary.overrides(program, mapping, scope)
        return [Item.from_json(entry) for entry in fields]

    def _compile_best(self, search: OverrideSearch, result: Verified) -> bool:
        """Compiles the best list that the compiler accepts; False if its cycles are known."""
        for trial in search.ranked():
            options = options_of(trial.items)
            key = json.dumps(options)
            if not options or key in self._compiled:
                return False
            self._compiled.add(key)
            if self._known_to_lose(options, result):
                return False  # the other lists promise less
            phased = self._plan.in_phases(options) if self._plan.in_phases is not None else None
            try:
                text = self._made_to_the_end(options) if phased is None else phased
            except (CompileError, WorkerLostError) as error:
                self._progress.note(f"{len(trial.items)} overrides do not compile: {error}")
                continue
            self._weigh(trial, text, result, estimated=phased is not None)
            return True
        return False

    def _made_to_the_end(self, options: dict[str, str]) -> str:
        """Compiles to the end."""
        # Without grace the end of the budget would waste the trial compiles that chose this list.
        grace = max(_LEAST_GRACE, self._reserve())
        return self._compiler.compile(options, self._budget, grace)

    def _known_to_lose(self, options: dict[str, str], result: Verified) -> bool:
        """Whether earlier compiles have all estimates of a list that is no better than the best."""
        # The search has made this trial compile, so its text is at hand.
        text = self._compiler.compile_trial(options, self._budget)
        filled = self._estimates.fill(text)
        if filled.guessed:
            return False
        cycles = self._binary.module_cycles(filled.text, self._plan.capture.chip)
        return cycles >= result.optimized_cycles

    def _judge(self, default: float) -> Judge:
        """Returns a function that prices overrides by a trial compile, within this round's time."""
        part = self._budget.part(self._search_seconds(), _SEARCH_SHARE)
        best = default

        def judge(items: Overrides) -> Placement:
            nonlocal best
            text = self._compiler.compile_trial(options_of(items), part)
            with self._pricing:
                placement = self._price(text)
                best = min(best, placement.cycles)
                self._best_predicted = min(placement.cycles, self._best_predicted or math.inf)
                self._progress.status(
                    f"{counted(self._compiler.trial_compiles, 'trial compile')}, "
                    f"{counted(self._compiler.compiles, 'compile')}, "
                    f"{self._budget.elapsed():.0f} s: {1 - best / default:z.2%} predicted"
                )
            return placement

        return judge

    def _reserve(self) -> float:
        """Returns the seconds to reserve for the compile of a list, and for that of the best."""
        whole = max(self._plan.capture.compile_seconds, self._compiler.slowest_compile)
        return whole if self._plan.in_phases is not None else _RESERVED_COMPILES * whole

    def _search_seconds(self) -> float:
        """Returns the time for trial compiles, which leaves enough for whole compiles."""
        left = self._budget.remaining()
        least = max(_LEAST_SEARCH_SHARE * left, _LEAST_SEARCH_SECONDS)
        return min(_SEARCH_SHARE * left, max(least, left - self._reserve()))

    def _weigh(self, trial: Trial, text: str, result: Verified, estimated: bool) -> None:
        """Keeps the compiled program if it is the fastest so far, and its text if it surprises."""
        self._estimates.learn(text)
        price = self._binary.module_price(text, self._plan.capture.chip)
        cycles = price.total
        result.rounds.append(Round(trial.cycles, cycles, len(trial.items)))
        self._progress.note(
            f"{counted(len(trial.items), 'override')} after "
            f"{counted(self._compiler.trial_compiles, 'trial compile')}, "
            f"{self._budget.elapsed():.0f} s: {1 - trial.cycles / result.default_cycles:z.2%} "
            f"predicted, {1 - cycles / result.default_cycles:z.2%} "
            f"{'estimated' if estimated else 'compiled'}"
        )
        if cycles < result.optimized_cycles:
            followed_share = self._followed_share(text)
            with self._keeping:
                if not self._is_final:
                    self.estimated = estimated
                    result.options = options_of(trial.items)
                    result.optimized_cycles = cycles
                    result.optimized_price = price
                    result.predicted_cycles = trial.cycles
                    result.followed_share = followed_share
                    result.kept = [item.id for item in trial.items]
                    result.program, result.mapping = str(self._wanted[0]), self._wanted[1]
        if abs(cycles / trial.cycles - 1.0) > _SURPRISE:
            self._surprises[f"surprise_{len(self._surprises)}"] = text

    def _refit(self) -> None:
        """Imports the program again, with the surprising compiles added to the latency fit."""
        self._program = self._plan.folder / f"refit_{len(self._surprises)}.program"
        self._plan.capture.import_to(self._program, self._surprises)

    def _price(self, text: str) -> Placement:
        """Prices a text by the refitted table and compares it with the wanted mapping."""
        program, mapping = self._wanted
        all_hbm = self._plan.capture.path(ALL_HBM)
        compared = program == self._program
        mapping = mapping if compared else _DEFAULT_MAPPING
        found = self._binary.readback(self._program, all_hbm, text, mapping)
        return Placement(
            found.mapped_cycles,
            tuple(Mismatch(*entry) for entry in found.mismatches) if compared else (),
            found.late_copies,
            frozenset(found.fast_accesses),
        )

    def _followed_share(self, text: str) -> float:
        program, mapping = self._wanted
        all_hbm = self._plan.capture.path(ALL_HBM)
        return self._binary.readback(program, all_hbm, text, mapping).followed_share
