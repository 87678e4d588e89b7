"""Finds the list of overrides that the compiler makes most of.

Each override shifts what the compiler decides for other tensors, so what gains by the latency table
may hurt in company, and what a mapping wants may need more than its own overrides. A list is judged
by what the compiler really does with it. In turn:

1. all items of the mapping, less those that the compiler refuses;
2. the items with the largest promised gain only: a half, an eighth, ... of them, unless there are
   lists to start from; then settings of the compiler's assignment, each by itself: under one that
   suits the program few overrides are needed, and a list made without it may keep it from helping,
   so from there on the best list without settings is worked on, too;
3. earlier starts of copies that the program waits for;
4. by turns, until nothing helps for a while, changes of the best list: repairs, which are moves for
   accesses that are not where the mapping wants them; another setting; fewer or more items of the
   mapping, in groups of neighbours by promise, large groups first, and at last single moves that
   no mapping asks for.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from mallocmuzero_xla.errors import (
    BudgetSpentError,
    CaptureError,
    CompileError,
    UsageError,
)
from mallocmuzero_xla.overrides import Item, named_item, options_of, with_added
from mallocmuzero_xla.trial import Overrides, Placement, Trial

# Less than this share of the default's cycles is no improvement worth a longer list of overrides.
_TOLERANCE = 1e-6

# Lists in a row that bring no improvement, and end the search.
_PATIENCE = 150

# Each shorter list of items is this part of the one before it; the first is half of all.
_SHORTENING = 4

# Settings that are tried by themselves: the first eight find nine tenths of what all would.
_SETTINGS_ALONE = 8

# The largest group of items that is added or left out is this part of the mapping's items.
_LARGEST_GROUP = 8

# Late copies that are started earlier, together and one by one, and the share of the program's
# cycles that must be lost to one.
_LATE_COPIES = 8
_LATE_SHARE = 1e-4

# Refused overrides that are taken out of a list before it is given up.
_REFUSALS = 4

_ItemKey = tuple[tuple[str, ...], ...]
_Key = tuple[tuple[str, str], ...]


# Prices overrides, in several threads at once. Raises CompileError (refused), WorkerLostError
# (aborted), BudgetSpentError, or another CaptureError where a placement cannot be priced.
Judge = Callable[[Overrides], Placement]


@dataclasses.dataclass(frozen=True)
class Dropped:
    """An item that was given up, and why."""

    item: Item
    reason: str


class OverrideSearch:
    """One search; call `run` once.

    `dropped` holds the items that the compiler would not have. The search is a function of its
    arguments, of what the compiler does and of how fast.
    """

    def __init__(
        self,
        items: Sequence[Item],
        moves: Sequence[Item],
        judge: Judge,
        default: Placement,
        starts: Sequence[Overrides] = (),
        width: int = 1,
        settings_seconds: float = math.inf,
    ) -> None:
        """Searches from a mapping's `items`, largest promised gain first.

        `moves` are all that may be asked of the compiler, the most helpful settings first;
        `default` is what no overrides give; `starts` are lists to try early; `width` lists are
        judged at once. After `settings_seconds` no further setting is tried by itself: where a
        look takes long, they would leave no time for overrides.
        """
        self._items = list(items)
        self._starts = starts
        self._judge = judge
        self._width = width
        self._settings_end = time.monotonic() + settings_seconds
        self._judges = concurrent.futures.ThreadPoolExecutor(width)
        self._trials: dict[_Key, Trial] = {(): Trial((), default)}
        self._tolerance = _TOLERANCE * default.cycles
        self._refused: set[_ItemKey] = set()
        self._missing_options: set[object] = set()
        self.dropped: list[Dropped] = []
        wishes = [*itertools.chain(*starts), *items, *moves]
        orders = [order for order in (wish.insistence() for wish in wishes) if order is not None]
        self._moves = list({move.key: move for move in (*wishes, *orders)}.values())

    def run(self) -> bool:
        """Searches until nothing helps any more; False if the budget was spent before that."""
        try:
            self._price_all(self._starts)
            self._settle_all()
            # Lists of earlier searches say more about the items than fewer of them would.
            if not self._starts:
                self._shorten()
                self._set_alone()
            self._start_copies_earlier()
            self._follow()
        except BudgetSpentError:
            return False
        finally:
            # What still runs after Ctrl-C ends with the compile processes.
            self._judges.shutdown(wait=False, cancel_futures=True)
        return True

    def ranked(self) -> list[Trial]:
        """Returns the accepted lists, the best first; of equals, the shortest first."""
        return sorted(self._trials.values(), key=_cost)

    def _best(self) -> Trial:
        return min(self._trials.values(), key=_cost)

    def _best_plain(self) -> Trial:
        """Returns the best list without settings: many overrides take longer to get good."""
        plain = (trial for trial in self._trials.values() if not trial.has_settings)
        return min(plain, key=_cost)

    def _settle_all(self) -> None:
        """Drops items until the compiler takes all that are left at once."""
        while self._items:
            try:
                self._price(tuple(self._items))
                return
            except CompileError as error:
                self._drop(named_item(str(error), self._items) or self._bisect(), str(error))
            except (BudgetSpentError, UsageError):
                raise
            except CaptureError as error:  # an abort, or a placement that cannot be priced
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

    def _shorten(self) -> None:
        """Tries fewer items, those that promise most."""
        sizes = []
        size = len(self._items) // 2
        while size:
            sizes.append(size)
            size //= _SHORTENING
        self._price_all([tuple(self._items[:size]) for size in sizes])

    def _set_alone(self) -> None:
        """Tries settings without any override, those that have helped most programs."""
        alone = iter([(setting,) for setting in self._settings()[:_SETTINGS_ALONE]])
        while time.monotonic() < self._settings_end:
            some = list(itertools.islice(alone, self._width))
            if not some:
                return
            self._improve(self._best(), some)

    def _settings(self) -> list[Item]:
        """Returns the settings that the compiler has, the most helpful first."""
        missing = self._missing_options
        return [move for move in self._moves if move.setting and move.place not in missing]

    def _repairs(self, trial: Trial) -> Iterator[Item]:
        """Yields moves that are not in `trial`, for its largest mismatches."""
        known = {item.key for item in trial.items}
        for mismatch in trial.placement.mismatches:
            fitting = (
                move
                for move in self._moves
                if move.key not in known
                and move.key not in self._refused
                and move.into_fast == mismatch.wanted_fast
                and mismatch.access in move.accesses
            )
            move = next(fitting, None)
            if move is not None:
                yield move

    def _start_copies_earlier(self) -> None:
        """Starts copies earlier where waiting for them is what keeps a list from being the best."""
        self._hurry(min(self._trials.values(), key=lambda trial: trial.placement.cycles_at_work))
        self._hurry(self._best_plain())
        self._hurry(self._best())

    def _hurry(self, trial: Trial) -> None:
        """Starts copies earlier that `trial` waits for, while that helps it."""
        found: Trial | None = trial
        while found is not None:
            here, found = found, None
            late = [
                copy.starts
                for copy in here.placement.late_copies[:_LATE_COPIES]
                if copy.wait_cycles > _LATE_SHARE * here.cycles
            ]
            together = zip(*late, strict=True)
            single = ((start,) for starts in late for start in starts)
            lists = (with_added(here.items, starts) for starts in (*together, *single))
            while found is None and (some := list(itertools.islice(lists, self._width))):
                found = self._improve(here, some)

    def _follow(self) -> None:
        """Tries changes of the best list until nothing has helped for a while."""
        idle = 0
        known: set[_Key] = set()
        for turn in itertools.count():
            best = self._best()
            sources = [self._repaired(best), self._set_otherwise(best), self._regrouped(best)]
            if best.has_settings:
                sources.append(self._repaired(self._best_plain()))
            known |= self._trials.keys()
            new = collections.deque(_unlike(lists, known) for lists in sources)
            new.rotate(-turn)
            lists = _by_turns(new)
            candidates = list(itertools.islice(lists, self._width))
            if not candidates:
                return
            found = self._improve(best, candidates)
            idle = 0 if found is not None else idle + len(candidates)
            if idle >= _PATIENCE:
                return

    def _repaired(self, best: Trial) -> Iterator[Overrides]:
        """Yields `best` with one more move that puts an access where the mapping wants it."""
        return ((repair, *best.items) for repair in self._repairs(best))

    def _set_otherwise(self, best: Trial) -> Iterator[Overrides]:
        """Yields `best` with another setting, and without each of its own."""
        for setting in self._settings():
            if setting not in best.items:
                yield with_added(best.items, [setting])
        for item in best.items:
            if item.setting is not None:
                yield tuple(other for other in best.items if other is not item)

    def _regrouped(self, best: Trial) -> Iterator[Overrides]:
        """Yields `best` without some of the mapping's items, with others, and with other moves."""
        listed = {item.key for item in best.items}
        wanted = [item for item in self._items if item.key not in self._refused]
        for size in _group_sizes(len(wanted)):
            for start in range(0, len(wanted), size):
                group = wanted[start : start + size]
                keys = {item.key for item in group}
                if keys & listed:
                    yield tuple(item for item in best.items if item.key not in keys)
                # What is so already is not asked for.
                missing = [each for each in group if each.key not in listed and not best.has(each)]
                if missing:
                    yield (*best.items, *missing)
        for move in self._moves:
            known = move.setting is not None or move.key in listed or move.key in self._refused
            if not known and not best.has(move):
                yield (*best.items, move)

    def _improve(self, best: Trial, candidates: Sequence[Overrides]) -> Trial | None:
        """Prices lists, less what is refused of them; None if none is better than `best`."""
        found = []
        for _ in range(_REFUSALS):
            refused = []
            for items, outcome in zip(candidates, self._price_all(candidates), strict=True):
                if isinstance(outcome, Trial):
                    found.append(outcome)
                elif isinstance(outcome, CompileError):
                    culprit = named_item(str(outcome), items)
                    if culprit is not None:
                        self._refuse(culprit)
                        refused.append(self._without(culprit, items))
            if not refused:
                break
            candidates = refused
        better = min(found, key=lambda trial: trial.cycles, default=best)
        return better if better.cycles < best.cycles - self._tolerance else None

    def _refuse(self, culprit: Item) -> None:
        if culprit.setting is None:
            self._refused.add(culprit.key)
        else:
            self._missing_options.add(culprit.setting[0])

    def _without(self, culprit: Item, items: Overrides) -> Overrides:
        missing = self._missing_options
        return tuple(item for item in items if item is not culprit and item.place not in missing)

    def _try(self, items: Overrides) -> Trial | None:
        """Prices `items`; None if the compiler will not have them together."""
        (outcome,) = self._price_all([items])
        return outcome if isinstance(outcome, Trial) else None

    def _price(self, items: Overrides) -> Trial:
        (outcome,) = self._price_all([items])
        if isinstance(outcome, Trial):
            return outcome
        raise outcome

    def _price_all(self, lists: Sequence[Overrides]) -> list[Trial | CaptureError]:
        """Prices lists side by side; raises BudgetSpentError once those in time are known."""
        new = {_key(items): items for items in lists if _key(items) not in self._trials}
        outcomes = dict(zip(new, self._judges.map(self._outcome, new.values()), strict=True))
        for key, outcome in outcomes.items():
            if isinstance(outcome, Trial):
                self._trials[key] = outcome
        for outcome in outcomes.values():
            if isinstance(outcome, BudgetSpentError):
                raise outcome
        return [self._trials.get(_key(items)) or outcomes[_key(items)] for items in lists]

    def _outcome(self, items: Overrides) -> Trial | CaptureError:
        try:
            return Trial(items, self._judge(items))
        except UsageError:
            raise
        except CaptureError as error:
            return error


def _cost(trial: Trial) -> tuple[float, int]:
    """What the best list has least of: cycles, and among equals items."""
    return trial.cycles, len(trial.items)


def _group_sizes(items: int) -> Iterator[int]:
    """Yields the sizes of groups, each half of the one before it, down to 1."""
    size = max(1, items // _LARGEST_GROUP)
    while size:
        yield size
        size //= 2


def _by_turns(sources: Iterable[Iterator[Overrides]]) -> Iterator[Overrides]:
    """Yields one of each source in turn, until none has any left."""
    left = collections.deque(sources)
    while left:
        source = left.popleft()
        items = next(source, None)
        if items is not None:
            yield items
            left.append(source)


def _unlike(lists: Iterable[Overrides], known: set[_Key]) -> Iterator[Overrides]:
    """Yields the lists that ask for something that is not in `known`, and adds them to it."""
    for items in lists:
        key = _key(items)
        if key not in known:
            known.add(key)
            yield items


def _key(items: Overrides) -> _Key:
    return tuple(options_of(items).items())
