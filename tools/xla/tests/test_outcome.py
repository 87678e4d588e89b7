"""The description of a search without a result depends on the reason."""

from __future__ import annotations

from typing import Any

import pytest

from mallocmuzero_xla.search.outcome import describe
from mallocmuzero_xla.search.verified import Round, Verified


def step(kind: str, cycles: float | None, estimated: bool = False, **more: Any) -> dict[str, Any]:
    """Returns a step of a search with compiles in phases."""
    fields: dict[str, Any] = {
        "step": kind,
        "settings": [],
        "cycles": cycles,
        "estimated": estimated,
    }
    return {**fields, "error": None, **more}


DEFAULT = step("compile", 1000.0)


@pytest.mark.parametrize(
    ("fields", "words", "undecided"),
    [
        ({}, "there is no other placement to try, keep it", False),
        ({"trial_compiles": 3}, "nothing compiled to less, keep it", False),
        ({"out_of_budget": True}, "budget spent before any placement was tried", True),
        (
            {"out_of_budget": True, "trial_compiles": 3, "best_predicted_cycles": 1000.0},
            "nothing compiled to less within the budget, keep it",
            False,
        ),
        (
            {"out_of_budget": True, "trial_compiles": 3, "best_predicted_cycles": 900.0},
            "budget spent after 3 trial compiles, best predicted 10.00%, nothing compiled",
            True,
        ),
        (
            {
                "out_of_budget": True,
                "trial_compiles": 3,
                "best_predicted_cycles": 900.0,
                # The promised setting was compiled and saves nothing.
                "tried": [{"step": "compile", "settings": ["xla_a=1"]}],
            },
            "nothing compiled to less within the budget, keep it",
            False,
        ),
        (
            # Compiles in phases need no trial compiles.
            {
                "out_of_budget": True,
                "tried": [DEFAULT, step("compile", 1001.0, True), step("trial", 1002.0)],
                "best_predicted_cycles": 1002.0,
            },
            "nothing compiled to less within the budget, keep it",
            False,
        ),
        (
            {"tried": [DEFAULT, step("trial", 1002.0)], "best_predicted_cycles": 1002.0},
            "nothing compiled to less, keep it",
            False,
        ),
        (
            {"out_of_budget": True, "tried": [DEFAULT, step("prepare", 900.0)]},
            "budget spent before any placement was tried",
            True,
        ),
        (
            # The last step promised less, but the budget had no room for its machine code.
            {
                "out_of_budget": True,
                "tried": [DEFAULT, step("compile", 1200.0), step("compile", None, True)],
            },
            "budget spent after 2 steps, nothing compiled to less",
            True,
        ),
        (
            {"interrupted": True, "tried": [DEFAULT, step("compile", None, True)]},
            "interrupted after 1 step, nothing compiled",
            True,
        ),
        (
            {"interrupted": True, "trial_compiles": 3, "rounds": [Round(900.0, 1100.0, 1)]},
            "interrupted after 3 trial compiles, nothing compiled to less",
            True,
        ),
    ],
)
def test_reason_for_no_options_is_named(
    fields: dict[str, Any], words: str, undecided: bool
) -> None:
    verified = Verified(1000.0, 1000.0, 1000.0, **fields)
    assert f": {words} (" in describe(verified)
    assert verified.undecided == undecided


def test_options_of_an_interrupted_search_are_an_answer() -> None:
    verified = Verified(1000.0, 900.0, 900.0, options={"xla_a": "1"}, interrupted=True)
    assert describe(verified).startswith("interrupted; the best so far: ")
    assert not verified.undecided


def test_gain_by_compiles_in_phases_is_no_budget_spent_before_anything() -> None:
    tried = [DEFAULT, step("compile", 900.0)]
    fields: dict[str, Any] = {"options": {"xla_a": "1"}, "out_of_budget": True, "tried": tried}
    assert "before any placement" not in describe(Verified(1000.0, 900.0, 900.0, **fields))


def test_old_record_without_a_trial_compile_is_no_answer() -> None:
    old = Verified(1000.0, 1000.0, 1000.0).to_json()
    for name in ("out_of_budget", "best_predicted_cycles", "compile_seconds"):
        del old[name]
    assert Verified.from_json(old).undecided
    assert not Verified.from_json({**old, "looks": 5}).undecided


def test_old_record_calls_the_followed_share_honoured() -> None:
    verified = Verified(1000.0, 900.0, 900.0, followed_share=0.75)
    record = verified.to_json()
    record["honoured_share"] = record.pop("followed_share")
    assert Verified.from_json(record) == verified
