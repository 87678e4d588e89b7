"""The lists that the search for overrides tries, and their order."""

from __future__ import annotations

import math

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.errors import BudgetSpentError
from mallocmuzero_xla.overrides import Item
from mallocmuzero_xla.search.override_search import OverrideSearch
from mallocmuzero_xla.search.settings import assignment_settings, setting_kinds
from mallocmuzero_xla.search.trial import Mismatch, Overrides, Placement

REQUEST = Item("a", "keep_value", "a", 30.0, ("a",), (), "", (0,))
SETTINGS = assignment_settings(CHIPS["tpu_v4i"])


def lists_tried(most: int, settings_seconds: float = math.inf) -> list[Overrides]:
    """Returns the first lists of a search; one request saves 30 cycles, settings nothing."""
    lists: list[Overrides] = []

    def judge(items: Overrides) -> Placement:
        if len(lists) == most:
            raise BudgetSpentError("enough")
        lists.append(items)
        return Placement(970.0 if REQUEST in items else 1000.0)

    default = Placement(1000.0)
    search = OverrideSearch([REQUEST], SETTINGS, judge, default, settings_seconds=settings_seconds)
    assert not search.run()
    assert search.ranked()[0].items == (REQUEST,)
    return lists


def test_settings_that_helped_most_programs_are_tried_by_themselves_after_the_mapping() -> None:
    lists = lists_tried(9)
    assert lists[0] == (REQUEST,)
    assert [[item.kind for item in items] for items in lists[1:]] == [
        [kind] for kind in setting_kinds()[:8]
    ]


def test_settings_are_not_tried_by_themselves_when_their_time_is_over() -> None:
    lists = lists_tried(9, settings_seconds=0.0)
    assert not any(len(items) == 1 and items[0].setting for items in lists)


def test_a_setting_that_helps_at_once_does_not_end_work_on_the_list_without_it() -> None:
    # Under the setting nothing else helps; without it nine repairs gain more than the setting.
    helpful = next(item for item in SETTINGS if item.kind == setting_kinds()[0])
    repairs = [
        Item(f"r{k}", "assign_first", "r", 0.0, (f"r{k}",), (), "", (k,)) for k in range(1, 10)
    ]
    lists: list[Overrides] = []

    def judge(items: Overrides) -> Placement:
        if len(lists) == 60:
            raise BudgetSpentError("enough")
        lists.append(items)
        missing = tuple(Mismatch(item.accesses[0], True) for item in repairs if item not in items)
        cycles = 940.0 if helpful in items else 990.0 - 10 * (len(repairs) - len(missing))
        return Placement(cycles if REQUEST in items or helpful in items else 1000.0, missing)

    moves = [*repairs, *SETTINGS]
    search = OverrideSearch([REQUEST], moves, judge, Placement(1000.0))
    search.run()
    best = search.ranked()[0]
    assert helpful in lists[1]
    assert (best.cycles, best.has_settings) == (900.0, False)
