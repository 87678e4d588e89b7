"""The tables of settings are there whatever the settings save."""

from __future__ import annotations

from typing import Any

from assignment_settings import covering_order, table
from mallocmuzero_xla.search.settings import setting_kinds

ONE, OTHER = setting_kinds()[:2]


def record(program: str, **saved: float | None) -> dict[str, Any]:
    return {"chip": "tpu_v6e", "program": program, "saved": saved}


def test_the_order_begins_with_the_setting_that_gains_most_of_the_best() -> None:
    records = [record("a", **{ONE: 0.01, OTHER: 0.02}), record("b", **{ONE: None, OTHER: 0.02})]
    first, *rest = covering_order(records)
    assert first == f"100.0% {OTHER}"
    assert len(rest) == len(setting_kinds()) - 1


def test_programs_on_which_no_setting_helps_have_no_order() -> None:
    # Such as `--only` with programs of the test split: the order is of the train split.
    assert list(covering_order([])) == []
    assert list(covering_order([record("a", **{ONE: 1e-4}), record("b", **{ONE: None})])) == []


def test_a_program_that_compiles_under_no_setting_is_in_the_table() -> None:
    shown = table([record("a", **{ONE: 0.02}), record("b", **{ONE: None})])
    assert "| tpu_v6e/b |  | 0.00% |" in shown
    assert "| mean | | 1.00% |" in shown
    assert f"| {ONE} | 1 of 1 | 2.00% |" in shown
