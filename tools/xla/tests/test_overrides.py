"""Options are the texts of their items, and an error of the compiler names one item."""

from __future__ import annotations

import pytest

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.overrides import Item, named_item, options_of, with_added
from mallocmuzero_xla.search.settings import assignment_settings

# As libtpu 0.0.51 puts it: no room among the others, and no room at all.
REFUSAL = (
    "JaxRuntimeError: FAILED_PRECONDITION: MSA strict override failed for instruction 'fusion.21' "
    "operand 0, shape bf16[4096,64,256], defining instruction 'fusion.22': Out of alternate memory "
    "/ spatial placement conflict (requested schedule time: 37)"
)

TOO_LARGE = (
    "JaxRuntimeError: RESOURCE_EXHAUSTED: Cannot allocate pinned tensor in alternate memory: "
    "tensor size (268435456 bytes) exceeds available heap size (117440512 bytes) for "
    "defining instruction 'fusion.22'"
)


def item(name: str, action: str, gain: float = 1.0) -> Item:
    matcher = f'instruction_name_regex: "^{name.replace(".", chr(92) * 2 + ".")}$"'
    text = f"overrides {{ hlo_position_matcher {{ {matcher} }} {action} {{}} }}"
    return Item(f"{action} {name}", action, name, gain, (text,), (), "", ())


def test_options_join_texts_in_the_order_of_the_items() -> None:
    first = Item("1", "pin", "a", 1.0, ("overrides { t1 }",), ("overrides { s1 }",), "", ())
    second = Item("2", "keep", "b", 9.0, ("overrides { t2 }", "overrides { t3 }"), (), "", ())
    assert options_of([first, second]) == {
        "xla_tpu_msa_tensor_overrides": "overrides { t1 } overrides { t2 } overrides { t3 }",
        "xla_tpu_msa_sort_order_overrides": "overrides { s1 }",
    }


def test_no_items_are_no_options() -> None:
    assert options_of([]) == {}


def test_order_alone_needs_no_tensor_overrides() -> None:
    only_order = Item("1", "assign_first", "a", 1.0, (), ("overrides { s1 }",), "", ())
    assert options_of([only_order]) == {"xla_tpu_msa_sort_order_overrides": "overrides { s1 }"}


@pytest.mark.parametrize("about", ["fusion.21", "fusion.22"])
def test_refusal_is_about_the_user_or_the_definer_it_names(about: str) -> None:
    items = [item("fusion.2", "pin_in_alternate_memory"), item(about, "pin_in_alternate_memory")]
    assert named_item(REFUSAL, items) is items[1]


def test_tensor_that_is_too_large_is_named_by_its_definer() -> None:
    items = [item("fusion.2", "pin_in_alternate_memory"), item("fusion.22", "prefetch")]
    assert named_item(TOO_LARGE, items) is items[1]


def test_wish_that_is_not_strict_is_never_at_fault() -> None:
    assert named_item(REFUSAL, [item("fusion.21", "keep_in_default_memory")]) is None


def test_least_of_several_items_on_one_instruction_is_taken() -> None:
    items = [item("fusion.22", "prefetch", gain) for gain in (3.0, 1.0, 2.0)]
    assert named_item(REFUSAL, items) is items[1]


def test_other_errors_name_no_item() -> None:
    assert named_item("INTERNAL: fusion.22", [item("fusion.22", "prefetch")]) is None


def setting(kind: str) -> Item:
    return next(each for each in assignment_settings(CHIPS["tpu_v4i"]) if each.kind == kind)


ONE_SLICE = setting("xla_tpu_sliced_prefetch_max_slices=1")
EIGHT_SLICES = setting("xla_tpu_sliced_prefetch_max_slices=8")
ONE_RETRY = setting("max_retries=1")


def test_settings_are_options_beside_the_overrides() -> None:
    keep = item("fusion.1", "keep_in_default_memory")
    assert options_of([keep, EIGHT_SLICES, ONE_RETRY]) == {
        "xla_tpu_cmem_max_retries": "1",
        "xla_tpu_sliced_prefetch_max_slices": "8",
        "xla_tpu_msa_tensor_overrides": keep.tensor_overrides[0],
    }


def test_added_setting_replaces_the_same_options_other_value_and_nothing_else() -> None:
    keep = item("fusion.1", "keep_in_default_memory")
    assert with_added([ONE_SLICE, keep, ONE_RETRY], [EIGHT_SLICES]) == (
        keep,
        ONE_RETRY,
        EIGHT_SLICES,
    )


def test_refusal_of_an_option_names_its_setting() -> None:
    refusal = "INVALID_ARGUMENT: No such compile option: 'xla_tpu_sliced_prefetch_max_slices'"
    assert named_item(refusal, [ONE_RETRY, EIGHT_SLICES]) is EIGHT_SLICES
    assert named_item(refusal, [ONE_RETRY]) is None
