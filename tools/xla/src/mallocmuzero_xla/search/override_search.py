"""Finds the list of overrides under which the compiled program is fastest.

Each override also changes the compiler's decisions for other tensors. An item that gains by the
latency table may therefore lose beside others, and a mapping may need more than its own overrides.
The search judges each list by a trial compile. Its steps are:

1. It tries all items of the mapping, without those that the compiler refuses.
2. Without lists to start from, it tries the items with the largest gains: a half of them, an
   eighth, and so on. Then it tries settings of the compiler's assignment, one at a time. A setting
   that suits the program needs few overrides, and overrides chosen without it may hide its gain, so
   the later steps also improve the best list without settings.
3. It starts copies earlier that the program waits for.
4. It changes the best list until nothing helps for a while, in turns: a repair (a move for an
   access that is not where the mapping wants it), another setting, and fewer or more items of the
   mapping. These come in groups of neighbours by gain, large groups first, then as single moves
   that no mapping asks for.
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
from mallocmuzero_xla.search.trial import Overrides, Placement, Trial

# A list counts as better only if it saves more than this share of the default's cycles.
_TOLERANCE = 1e-6

# The search ends after this many lists in a row without an improvement.
_PATIENCE = 150

# The first shorter list has half of the items; each further one is shorter by this factor.
_SHORTENING = 4

# Settings to try by themselves: the first eight find nine tenths of the gain of all.
_SETTINGS_ALONE = 8

# The largest group that is added or left out is the mapping's items divided by this.
_LARGEST_GROUP = 8

# The late copies to start earlier, together and one by one; each must cost this share of the
# cycles.
_LATE_COPIES = 8
_LATE_SHARE = 1e-4

# A list is given up after this many refused overrides have been taken out.
_REFUSALS = 4

_ItemKey = tuple[tuple[str, ...], ...]
_Key = tuple[tuple[str, str], ...]


# Prices overrides; several threads may call it at once. Raises CompileError (refused),
# WorkerLostError (aborted), BudgetSpentError, or another CaptureError where a placement cannot be
# priced.
Judge = Callable[[Overrides], Placement]


@dataclasses.dataclass(frozen=True)
class Dropped:
    """A refused item and the reason."""

    item: Item
    reason: str


class OverrideSearch:
    """One search; call `run` once.

    `dropped` holds the items that the compiler refused. The result depends only on the arguments,
    the compiler and its speed.
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

        `moves` are all possible requests, the most helpful settings first; `default` is the
        placement without overrides; `starts` are lists to try early; `width` lists are judged at
        once. After `settings_seconds` no further setting is tried by itself, so that slow trial
        compiles leave time for overrides.
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
        requests = [*itertools.chain(*starts), *items, *moves]
        strict = [item for item in (each.strict_form() for each in requests) if item is not None]
        self._moves = list({move.key: move for move in (*requests, *strict)}.values())

    def run(self) -> bool:
        """Searches until nothing helps any more; returns False if the budget ends first."""
        try:
            self._price_all(self._starts)
            self._settle_all()
            # Lists of earlier searches say more about the items than shorter lists would.
            if not self._starts:
                self._shorten()
                self._set_alone()
            self._start_copies_earlier()
            self._follow()
        except BudgetSpentError:
            return False
        finally:
            # Threads that still run after Ctrl-C end with the compile processes.
            self._judges.shutdown(wait=False, cancel_futures=True)
        return True

    def ranked(self) -> list[Trial]:
        """Returns the accepted lists, the best first; the shorter first among equals."""
        return sorted(self._trials.values(), key=_cost)

    def _best(self) -> Trial:
        return min(self._trials.values(), key=_cost)

    def _best_plain(self) -> Trial:
        """Returns the best list without settings, which many overrides improve only slowly."""
        plain = (trial for trial in self._trials.values() if not trial.has_settings)
        return min(plain, key=_cost)

    def _settle_all(self) -> None:
        """Drops items until the compiler accepts all the others together."""
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
        """Tries shorter lists of the items with the largest gains."""
        sizes = []
        size = len(self._items) // 2
        while size:
            sizes.append(size)
            size //= _SHORTENING
        self._price_all([tuple(self._items[:size]) for size in sizes])

    def _set_alone(self) -> None:
        """Tries settings without overrides, those that help most programs first."""
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
        """Starts late copies earlier in the best lists and in the one best without waits."""
        self._hurry(min(self._trials.values(), key=lambda trial: trial.placement.cycles_at_work))
        self._hurry(self._best_plain())
        self._hurry(self._best())

    def _hurry(self, trial: Trial) -> None:
        """Starts the late copies of `trial` earlier, as long as that helps."""
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
                # The compiler already follows the others without a request.
                missing = [each for each in group if each.key not in listed and not best.has(each)]
                if missing:
                    yield (*best.items, *missing)
        for move in self._moves:
            known = move.setting is not None or move.key in listed or move.key in self._refused
            if not known and not best.has(move):
                yield (*best.items, move)

    def _improve(self, best: Trial, candidates: Sequence[Overrides]) -> Trial | None:
        """Prices lists without their refused items; returns the best that beats `best`, or None."""
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
        """Prices `items`; returns None if the compiler refuses them together."""
        (outcome,) = self._price_all([items])
        return outcome if isinstance(outcome, Trial) else None

    def _price(self, items: Overrides) -> Trial:
        (outcome,) = self._price_all([items])
        if isinstance(outcome, Trial):
            return outcome
        raise outcome

    def _price_all(self, lists: Sequence[Overrides]) -> list[Trial | CaptureError]:
        """Prices lists at once; keeps those in time before it raises BudgetSpentError."""
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
    """The order of lists: fewer cycles first, then fewer items."""
    return trial.cycles, len(trial.items)


def _group_sizes(items: int) -> Iterator[int]:
    """Yields the sizes of groups, each half of the one before it, down to 1."""
    size = max(1, items // _LARGEST_GROUP)
    while size:
        yield size
        size //= 2


def _by_turns(sources: Iterable[Iterator[Overrides]]) -> Iterator[Overrides]:
    """Yields one list of each source in turn, until all sources are empty."""
    left = collections.deque(sources)
    while left:
        source = left.popleft()
        items = next(source, None)
        if items is not None:
            yield items
            left.append(source)


def _unlike(lists: Iterable[Overrides], known: set[_Key]) -> Iterator[Overrides]:
    """Yields the lists whose options are not in `known`, and adds them to it."""
    for items in lists:
        key = _key(items)
        if key not in known:
            known.add(key)
            yield items


def _key(items: Overrides) -> _Key:
    return tuple(options_of(items).items())
