"""What is proposed follows from what the looks have shown."""

from __future__ import annotations

import itertools

from mallocmuzero_xla.overrides import Item
from mallocmuzero_xla.proposals import Proposer
from mallocmuzero_xla.surrogate import KINDS, Effects, Prior, Scene
from mallocmuzero_xla.trial import Overrides, Placement, Trial

SCENE = Scene(cycles=1000.0, fast_memory_bytes=100.0, fast_accesses=frozenset())
PRIOR = Prior(dict.fromkeys(KINDS, Effects(0.5, 0.0, 1.0, 0.0, 0.0)), 0.0, 0.01)


def item(name: str, gain: float, access: int, kind: str = "assign_first") -> Item:
    return Item(name, kind, name, gain, (name,), (), "", (access,), 1.0, 10.0)


def look(items: Overrides, cycles: float) -> Trial:
    """All items of the list are honoured."""
    fast = frozenset(access for each in items for access in each.accesses if each.into_fast)
    return Trial(items, Placement(cycles, fast_accesses=fast))


A, B, C = item("a", 30.0, 0), item("b", 20.0, 1), item("c", 10.0, 2)
DEFAULT = look((), 1000.0)


def proposals(
    items: list[Item], looks: list[Trial], refusals: tuple[object, ...] = ()
) -> list[str]:
    """The lists proposed, as the sorted names of their items."""
    proposer = Proposer([A, B, C], SCENE, PRIOR, seed=1)
    lists = itertools.islice(proposer.propose(items, looks, refusals), 50)
    return [" ".join(sorted(each.id for each in items)) for items in lists]


def test_item_that_looks_show_to_hurt_is_taken_out_first() -> None:
    looks = [DEFAULT, look((A, B, C), 980.0), look((A,), 970.0), look((A, B), 990.0)]
    # a saves 30, b costs 20, c saves 10.
    assert proposals([A, B, C], looks)[0] == "a c"


def test_lists_that_were_looked_at_are_not_proposed() -> None:
    looks = [DEFAULT, look((A, B, C), 980.0), look((A,), 970.0)]
    found = proposals([A, B, C], looks)
    assert len(set(found)) == len(found)
    assert not {"", "a", "a b c"} & set(found)


def test_all_subsets_are_proposed_sooner_or_later_and_then_none() -> None:
    looks = [DEFAULT]
    proposer = Proposer([A, B], SCENE, PRIOR, seed=3)
    for _ in range(3):
        looks.append(look(next(proposer.propose([A, B], looks)), 1000.0))
    assert {frozenset(each.items) for each in looks} == {
        frozenset(),
        frozenset({A}),
        frozenset({B}),
        frozenset({A, B}),
    }
    assert list(proposer.propose([A, B], looks)) == []


def test_what_is_so_already_is_not_asked_for() -> None:
    found_there = Trial((), Placement(1000.0, fast_accesses=frozenset({1})))
    assert proposals([A, B], [found_there]) == ["a"]


def test_order_is_proposed_later_the_more_orders_were_refused() -> None:
    order = Item("pin", "assign_first", "p", 31.0, ("pin_in_alternate_memory",), (), "", (9,), 1, 1)
    calm = proposals([A, order], [DEFAULT])
    wary = proposals([A, order], [DEFAULT], tuple(range(20)))
    assert wary.index("pin") > wary.index("a")
    assert wary.index("pin") >= calm.index("pin")


def test_start_of_a_copy_replaces_another_start_of_it() -> None:
    early, late = item("early", 5.0, 4, "start_copy"), item("late", 5.0, 4, "start_copy")
    found = proposals([late], [look((A, early), 970.0)])
    assert "a late" in found
    assert not any("early late" in names for names in found)


def setting(option: str, value: str) -> Item:
    kind = "xla_tpu_sliced_prefetch_max_slices=8"
    name = f"{option}={value}"
    return Item(name, kind, "", 0.0, (), (), "", (), 0.0, 0.0, (option, value))


def test_settings_are_combined_but_no_two_values_of_one_option() -> None:
    some, many, quick = setting("slices", "1"), setting("slices", "8"), setting("retries", "1")
    prior = Prior(dict.fromkeys(KINDS, Effects(0.5, 0.1, 0.0, 0.5, 0.0)), 0.0, 0.01)
    looks = [DEFAULT, look((some,), 980.0)]
    found = set()
    for _ in range(40):
        proposer = Proposer([A, B, C], SCENE, prior, seed=len(looks))
        proposal = next(proposer.propose([A, some, many, quick], looks), None)
        if proposal is None:
            break
        found.add(frozenset(each.id for each in proposal))
        looks.append(look(proposal, 1000.0 - 10 * len(proposal)))
    assert frozenset({"a", "slices=8", "retries=1"}) in found
    assert not any({"slices=1", "slices=8"} <= names for names in found)


def test_same_seed_proposes_the_same() -> None:
    looks = [DEFAULT, look((A, B, C), 980.0)]
    assert proposals([A, B, C], looks) == proposals([A, B, C], looks)
