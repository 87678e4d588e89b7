"""What the search for a list of overrides looks at, and in which order."""

from __future__ import annotations

import math

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.errors import BudgetSpentError
from mallocmuzero_xla.overrides import Item
from mallocmuzero_xla.search import OverrideSearch
from mallocmuzero_xla.settings import assignment_settings
from mallocmuzero_xla.surrogate import learnt_prior
from mallocmuzero_xla.trial import Overrides, Placement

WISH = Item("a", "keep_value", "a", 30.0, ("a",), (), "", (0,), 1.0, 10.0)
SETTINGS = assignment_settings(CHIPS["tpu_v4i"])


def looked_at(most: int, settings_seconds: float = math.inf) -> list[Overrides]:
    """Returns the first lists that are looked at: the wish saves 30 cycles, settings nothing."""
    lists: list[Overrides] = []

    def judge(items: Overrides) -> Placement:
        if len(lists) == most:
            raise BudgetSpentError("enough")
        lists.append(items)
        return Placement(970.0 if WISH in items else 1000.0, fast_memory_bytes=100.0)

    default = Placement(1000.0, fast_memory_bytes=100.0)
    search = OverrideSearch([WISH], SETTINGS, judge, default, settings_seconds=settings_seconds)
    assert not search.run()
    assert search.ranked()[0].items == (WISH,)
    return lists


def test_settings_that_helped_most_programs_are_tried_by_themselves_after_the_mapping() -> None:
    lists = looked_at(9)
    assert lists[0] == (WISH,)
    assert [[item.kind for item in items] for items in lists[1:]] == [
        [kind] for kind in learnt_prior().settings[:8]
    ]


def test_settings_are_not_tried_by_themselves_when_their_time_is_over() -> None:
    lists = looked_at(9, settings_seconds=0.0)
    assert not any(len(items) == 1 and items[0].setting for items in lists)
