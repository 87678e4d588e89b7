"""Finds the list of overrides that the compiler makes most of.

Each override shifts what the compiler decides for other tensors, so what gains by the latency table
may hurt in company, and what a mapping wants may need more than its own overrides. A list is judged
by what the compiler really does with it. In turn:

1. all items of the mapping, less those that the compiler refuses;
2. the items with the largest promised gain only: 1, 2, 4, ... of them;
3. repair: moves for accesses that are not where the mapping wants them;
4. earlier starts of copies that the program waits for;
5. groups of items out or in, ever smaller groups;
6. a random walk over items and moves, downhill or level, until it finds nothing for a while.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterator, Sequence

from mallocmuzero_xla.binary import LateCopy
from mallocmuzero_xla.errors import BudgetSpentError, CompileError, WorkerLostError
from mallocmuzero_xla.overrides import Item, named_item, options_of, with_starts

# Less than this share of the default's cycles is no improvement worth a longer list of overrides.
_TOLERANCE = 1e-6

# Steps of the random walk without an improvement that end it.
_PATIENCE = 150

# Repairs that are tried, together and one by one, for the accesses that move most bytes.
_REPAIRS = 8

# Late copies that are started earlier, together and one by one, and the share of the program's
# cycles that must be lost to one.
_LATE_COPIES = 8
_LATE_SHARE = 1e-4

# Refused overrides that are taken out of a list before it is given up.
_REFUSALS = 4

Overrides = tuple[Item, ...]
_ItemKey = tuple[tuple[str, ...], tuple[str, ...]]
_Key = tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """An access that is not where the mapping wants it."""

    access: int
    wanted_fast: bool


@dataclasses.dataclass(frozen=True)
class Placement:
    """What the compiler did.

    Attributes:
        cycles: predicted.
        mismatches: what is not as wanted, most bytes first.
        late_copies: what the program waits for, most cycles first.
    """

    cycles: float
    mismatches: tuple[Mismatch, ...] = ()
    late_copies: tuple[LateCopy, ...] = ()

    @property
    def cycles_at_work(self) -> float:
        """Returns the cycles less those that the program waits for copies."""
        return self.cycles - sum(copy.wait_cycles for copy in self.late_copies)


# Prices overrides. Raises CompileError (refused), WorkerLostError (aborted) or BudgetSpentError.
Judge = Callable[[Overrides], Placement]


@dataclasses.dataclass(frozen=True)
class Trial:
    """Overrides that the compiler accepted, and what it did with them."""

    items: Overrides
    placement: Placement

    @property
    def cycles(self) -> float:
        """Returns the predicted cycles."""
        return self.placement.cycles


@dataclasses.dataclass(frozen=True)
class Dropped:
    """An item that was given up, and why."""

    item: Item
    reason: str


class OverrideSearch:
    """One search; call `run` once.

    `dropped` holds the items that the compiler would not have. The search is a function of its
    arguments and of what the compiler does.
    """

    def __init__(
        self,
        items: Sequence[Item],
        moves: Sequence[Item],
        judge: Judge,
        default: Placement,
        starts: Sequence[Overrides] = (),
        seed: int = 0,
    ) -> None:
        """Searches from a mapping's `items`, largest promised gain first.

        `moves` are all that may be asked of the compiler; `default` is what no overrides
        give; `starts` are lists to try early; `seed` is the random walk's.
        """
        self._items = list(items)
        self._starts = starts
        self._judge = judge
        self._trials: dict[_Key, Trial] = {(): Trial((), default)}
        self._tolerance = _TOLERANCE * default.cycles
        self._random = random.Random(seed)
        self.dropped: list[Dropped] = []
        wishes = [*itertools.chain(*starts), *items, *moves]
        orders = [order for order in (wish.insistence() for wish in wishes) if order is not None]
        self._moves = list({move.key: move for move in (*wishes, *orders)}.values())

    def run(self) -> bool:
        """Searches until nothing helps any more; False if the budget was spent before that."""
        try:
            for start in self._starts:
                self._try(start)
            self._settle_all()
            self._try_prefixes()
            self._repair()
            self._start_copies_earlier()
            self._climb()
            self._walk()
        except BudgetSpentError:
            return False
        return True

    def ranked(self) -> list[Trial]:
        """Returns the accepted lists, the best first; of equals, the shortest first."""
        return sorted(self._trials.values(), key=lambda trial: (trial.cycles, len(trial.items)))

    def _best(self) -> Trial:
        return min(self._trials.values(), key=lambda trial: (trial.cycles, len(trial.items)))

    def _settle_all(self) -> None:
        """Drops items until the compiler takes all that are left at once."""
        while self._items:
            try:
                self._price(tuple(self._items))
                return
            except CompileError as error:
                self._drop(named_item(str(error), self._items) or self._bisect(), str(error))
            except WorkerLostError as error:
                self._drop(self._bisect(), str(error))

    def _bisect(self) -> Item:
        """Returns the last item of the shortest failing prefix: all items together fail."""
        accepted, failing = 0, len(self._items)
        while failing - accepted > 1:
            middle = (accepted + failing) // 2
            if self._try(tuple(self._items[:middle])) is None:
                failing = middle
            else:
                accepted = middle
        return self._items[failing - 1]

    def _drop(self, item: Item, reason: str) -> None:
        self._items.remove(item)
        self.dropped.append(Dropped(item, reason))
        self._moves = [move for move in self._moves if move.key != item.key]

    def _try_prefixes(self) -> None:
        size = 1
        while size < len(self._items):
            self._try(tuple(self._items[:size]))
            size *= 2

    def _repair(self) -> None:
        """Adds moves for accesses of the best list that are not as wanted, while that helps."""
        improved = True
        while improved:
            best = self._best()
            repairs = self._repairs(best)
            tried = (repairs, *((repair,) for repair in repairs)) if repairs else ()
            improved = any(self._improve(best, (*more, *best.items)) for more in tried)

    def _repairs(self, trial: Trial) -> Overrides:
        """Returns moves that are not in `trial`, for its largest mismatches."""
        known = {item.key for item in trial.items}
        found: dict[_ItemKey, Item] = {}
        for mismatch in trial.placement.mismatches:
            fitting = (
                move
                for move in self._moves
                if move.key not in known
                and move.into_fast == mismatch.wanted_fast
                and mismatch.access in move.accesses
            )
            move = next(fitting, None)
            if move is not None:
                found.setdefault(move.key, move)
        return tuple(found.values())[:_REPAIRS]

    def _start_copies_earlier(self) -> None:
        """Starts copies earlier where waiting for them is what keeps a list from being the best."""
        self._hurry(min(self._trials.values(), key=lambda trial: trial.placement.cycles_at_work))
        self._hurry(self._best())

    def _hurry(self, trial: Trial) -> None:
        """Starts copies earlier that `trial` waits for, while that helps it."""
        found: Trial | None = trial
        while found is not None:
            here = found
            late = [
                copy.starts
                for copy in here.placement.late_copies[:_LATE_COPIES]
                if copy.wait_cycles > _LATE_SHARE * here.cycles
            ]
            together = zip(*late, strict=True)
            single = ((start,) for starts in late for start in starts)
            tried = (
                self._improve(here, with_starts(here.items, starts))
                for starts in (*together, *single)
            )
            found = next(filter(None, tried), None)

    def _climb(self) -> None:
        """Takes out or puts in groups of items, ever smaller ones, as long as that helps."""
        size = max(1, len(self._items) // 8)
        while True:
            improved = [self._toggle(group) for group in self._groups(size)]
            if size == 1 and not any(improved):
                return
            size = max(1, size // 2)

    def _groups(self, size: int) -> Iterator[Overrides]:
        for start in range(0, len(self._items), size):
            yield tuple(self._items[start : start + size])

    def _toggle(self, group: Overrides) -> bool:
        """Tries the best list without `group`, and with all of it; whether one is better."""
        best = self._best()
        moved = {item.key for item in group}
        outside = tuple(item for item in best.items if item.key not in moved)
        candidates = [outside, (*outside, *group)]
        return any(
            self._improve(best, candidate)
            for candidate in candidates
            if _key(candidate) not in self._trials
        )

    def _walk(self) -> None:
        """Changes the list at random; keeps what is no worse."""
        here = self._best()
        idle = 0
        while self._moves and idle < _PATIENCE:
            idle += 1
            candidate = self._step(here.items)
            known = _key(candidate) in self._trials
            trial = None if known else self._try(candidate)
            if trial is None or trial.cycles > here.cycles:
                continue
            if trial.cycles < here.cycles - self._tolerance:
                idle = 0
            here = trial

    def _step(self, items: Overrides) -> Overrides:
        """Returns `items` with one to three moves out of it, or into it at some place."""
        changed = list(items)
        count = self._random.choices((1, 2, 3), (6, 3, 1))[0]
        weights = [move.weight for move in self._moves]
        for move in self._random.choices(self._moves, weights, k=count):
            if any(item.key == move.key for item in changed):
                changed = [item for item in changed if item.key != move.key]
            else:
                changed.insert(self._random.randint(0, len(changed)), move)
        return tuple(changed)

    def _improve(self, best: Trial, candidate: Overrides) -> Trial | None:
        """Prices `candidate`, less what is refused of it; None if it is no better than `best`."""
        for _ in range(_REFUSALS):
            try:
                found = self._price(candidate)
                return found if found.cycles < best.cycles - self._tolerance else None
            except CompileError as error:
                culprit = named_item(str(error), candidate)
                if culprit is None:
                    return None
                candidate = tuple(item for item in candidate if item is not culprit)
            except WorkerLostError:
                return None
        return None

    def _try(self, items: Overrides) -> Trial | None:
        """Prices `items`; None if the compiler will not have them together."""
        try:
            return self._price(items)
        except (CompileError, WorkerLostError):
            return None

    def _price(self, items: Overrides) -> Trial:
        key = _key(items)
        if key not in self._trials:
            self._trials[key] = Trial(items, self._judge(items))
        return self._trials[key]


def _key(items: Overrides) -> _Key:
    return tuple(options_of(items).items())
