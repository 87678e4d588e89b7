"""The result of an earlier search is renamed for a program that has changed."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

from mallocmuzero_xla.artefacts.artefact import Artefact
from mallocmuzero_xla.chips import find_chip
from mallocmuzero_xla.compiler.estimates import identities
from mallocmuzero_xla.compiler.scoped_limit import OPTION
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.overrides import SORT_OVERRIDES, TENSOR_OVERRIDES, options_of
from mallocmuzero_xla.search.earlier import Earlier, earlier_of, names_in

BEFORE = """
HloModule before, is_scheduled=true

%body (a: f32[8,128]) -> f32[8,128] {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %square = f32[8,128]{1,0:T(8,128)} multiply(%a, %a)
}

ENTRY %main (x: f32[8,128], y: f32[4,128]) -> f32[8,128] {
  %x = f32[8,128]{1,0:T(8,128)} parameter(0)
  %y = f32[4,128]{1,0:T(8,128)} parameter(1)
  %fusion.1 = f32[8,128]{1,0:T(8,128)S(1)} fusion(%x), kind=kLoop, calls=%body
  %negate.4 = f32[4,128]{1,0:T(8,128)S(1)} negate(%y)
  ROOT %fusion.2 = f32[8,128]{1,0:T(8,128)} fusion(%fusion.1), kind=kLoop, calls=%body
}
"""

# A weight and an instruction came in front, the negation is gone, and everything has other names.
AFTER = """
HloModule after, is_scheduled=true

%other_body (b: f32[8,128]) -> f32[8,128] {
  %b = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %product = f32[8,128]{1,0:T(8,128)} multiply(%b, %b)
}

ENTRY %main (new: f32[2,128], z: f32[8,128], y: f32[4,128]) -> f32[8,128] {
  %new = f32[2,128]{1,0:T(8,128)} parameter(0)
  %z = f32[8,128]{1,0:T(8,128)} parameter(1)
  %y.1 = f32[4,128]{1,0:T(8,128)} parameter(2)
  %abs.1 = f32[4,128]{1,0:T(8,128)} abs(%y.1)
  %loop.7 = f32[8,128]{1,0:T(8,128)} fusion(%z), kind=kLoop, calls=%other_body
  ROOT %loop.9 = f32[8,128]{1,0:T(8,128)S(1)} fusion(%loop.7), kind=kLoop, calls=%other_body
}
"""


def use(name: str, what: str = "keep_in_default_memory {}") -> str:
    quoted = name.replace(".", "\\\\.")
    matcher = f'instruction_name_regex: "^{quoted}$" operand_number: 0 tuple_index {{}}'
    return f"overrides {{ hlo_operand_filter {{ {matcher} }} {what} }}"


def search(tensors: list[str], sort: list[str] | None = None, **settings: str) -> Earlier:
    texts = {TENSOR_OVERRIDES: " ".join(tensors), SORT_OVERRIDES: " ".join(sort or [])}
    options = {**settings, **{name: text for name, text in texts.items() if text}}
    return Earlier.of(options, identities(BEFORE))


def options_after(earlier: Earlier, text: str = AFTER) -> dict[str, str]:
    return options_of(earlier.items_for(identities(text)))


def test_identities_depend_on_what_is_computed_and_not_on_names_or_memories() -> None:
    before, after = identities(BEFORE), identities(AFTER)
    assert before["fusion.1"] == after["loop.7"]
    assert before["fusion.2"] == after["loop.9"]
    assert before["x"] == after["z"]  # though it is another parameter now
    assert len({*before.values()}) == len(before)
    assert before["negate.4"] not in after.values()
    assert before["fusion.1"] != before["fusion.2"]


def test_an_unchanged_program_gets_the_same_options() -> None:
    tensors = [use("fusion.1"), use("fusion.2", "prefetch { prefetch_eagerness: 0 }")]
    sort = [use("x", "override_options { assign_first: true }")]
    earlier = search(tensors, sort, some_setting="2")
    expected = {"some_setting": "2", TENSOR_OVERRIDES: " ".join(tensors), SORT_OVERRIDES: sort[0]}
    assert options_after(earlier, BEFORE) == expected


def test_overrides_get_the_names_of_this_program() -> None:
    before = 'prefetch { before_instruction { instruction_name_regex: "^fusion\\\\.1$" } }'
    after = before.replace("fusion", "loop").replace(".1", ".7")
    earlier = search([use("fusion.1"), use("fusion.2", before)], [use("x", "assign")])
    assert options_after(earlier) == {
        TENSOR_OVERRIDES: " ".join([use("loop.7"), use("loop.9", after)]),
        SORT_OVERRIDES: use("z", "assign"),
    }


def test_overrides_of_instructions_that_are_gone_are_left_out() -> None:
    earlier = search([use("fusion.1"), use("negate.4"), use("fusion.2")])
    assert options_after(earlier) == {TENSOR_OVERRIDES: " ".join([use("loop.7"), use("loop.9")])}


def test_a_minority_of_the_overrides_is_no_placement() -> None:
    earlier = search([use("fusion.1"), use("negate.4"), use("gone")], some_setting="2")
    assert options_after(earlier) == {"some_setting": "2"}


def test_the_limit_is_apart_from_the_items() -> None:
    earlier = Earlier.of({OPTION: "49152", "some_setting": "2"}, {})
    assert earlier.limit == 49152
    assert options_of(earlier.items) == {"some_setting": "2"}
    assert Earlier.of({}, {}) == Earlier()


def test_names_with_any_letter_of_hlo_are_found() -> None:
    assert names_in(use("all-reduce.1.remat_2")) == ["all-reduce.1.remat_2"]
    assert names_in("overrides { a }") == []


def artefact(**changes: object) -> Artefact:
    whole = Artefact(
        function="f",
        chip="tpu_v6e",
        topology="v6e:1x1",
        devices=1,
        versions={},
        fingerprint="0" * 64,
        default_cycles=10.0,
        expected_cycles=9.0,
        compiler_options={OPTION: "49152", TENSOR_OVERRIDES: use("fusion.1")},
        found={"identities": identities(BEFORE), "limit_kib": None},
    )
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]


def test_an_artefact_has_all_that_a_search_needs(tmp_path: pathlib.Path) -> None:
    artefact().save(tmp_path / "a.json")
    earlier = earlier_of(tmp_path / "a.json", find_chip("tpu_v6e"))
    assert earlier == earlier_of(artefact(), find_chip("tpu_v6e"))
    assert earlier.limit == 49152
    assert options_after(earlier) == {TENSOR_OVERRIDES: use("loop.7")}


def test_an_artefact_of_a_placed_executable_has_its_limit() -> None:
    placed = artefact(compiler_options={}, found={"limit_kib": 65536})
    assert earlier_of(placed, find_chip("tpu_v6e")) == Earlier(65536)


def test_an_artefact_of_an_older_package_has_limit_and_settings() -> None:
    older = artefact(found={})
    earlier = earlier_of(older, find_chip("tpu_v6e"))
    assert earlier.limit == 49152
    assert options_after(earlier) == {}


def test_overrides_whose_quotes_do_not_end_take_no_time() -> None:
    text = 'overrides { a: "' + '\\"' * 200_000
    assert Earlier.of({TENSOR_OVERRIDES: text}, {}).items == ()


@pytest.mark.parametrize(
    "damage",
    [
        {"compiler_options": {OPTION: "much"}},
        {"found": {"identities": ["fusion.1"]}},
        {"found": {"limit_kib": "much"}},
        {"found": {"limit_kib": float("inf")}},
    ],
)
def test_a_damaged_artefact_is_a_usage_error(damage: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="start_from: damaged artefact"):
        earlier_of(artefact(**damage), find_chip("tpu_v6e"))


def test_an_artefact_for_another_chip_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="found for tpu_v6e, the search is for tpu_v5e"):
        earlier_of(artefact(), find_chip("tpu_v5e"))
