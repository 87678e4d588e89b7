"""Budgets have one spelling, and are spent once."""

from __future__ import annotations

import pytest

from mallocmuzero_xla.budget import Budget, parse_duration
from mallocmuzero_xla.errors import BudgetSpentError, UsageError, WorkerLostError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("5m", 300), ("1.5h", 5400), ("500ms", 0.5), (12, 12), (2.5, 2.5)],
)
def test_durations_are_seconds_minutes_or_hours(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "given", ["", "0", "0s", "-5m", "5 parsecs", "m", "nan", "inf", "1e3", 0, -2.5, "5"]
)
def test_anything_else_is_a_usage_error_that_shows_what_would_be_right(given: str | float) -> None:
    with pytest.raises(UsageError) as raised:
        parse_duration(given)
    expected = "expected a time above 0, such as 90s, 5m or 1h"
    assert str(raised.value) == f"budget {given!r}: {expected}"


def test_trial_compiles_and_compiles_run_out_separately() -> None:
    budget = Budget(60.0, trial_compiles=1, compiles=1)
    budget.spend_trial_compile()
    with pytest.raises(BudgetSpentError, match="trial compiles"):
        budget.spend_trial_compile()
    budget.spend_compile()
    with pytest.raises(BudgetSpentError, match="compiles"):
        budget.spend_compile()


def test_part_of_a_budget_is_spent_out_of_the_whole() -> None:
    whole = Budget(60.0, trial_compiles=2)
    part = whole.part(1000.0)
    assert part.remaining() <= 60.0
    part.spend_trial_compile()
    whole.spend_trial_compile()
    with pytest.raises(BudgetSpentError):
        part.spend_trial_compile()


def test_part_gets_a_share_of_the_trial_compiles_rounded_up() -> None:
    part = Budget(60.0, trial_compiles=3).part(60.0, trial_share=0.6)
    part.spend_trial_compile()
    part.spend_trial_compile()
    with pytest.raises(BudgetSpentError):
        part.spend_trial_compile()


def test_budget_without_time_left_grants_nothing() -> None:
    part = Budget(60.0).part(-5.0)
    with pytest.raises(BudgetSpentError):
        part.spend_compile()


def test_worker_that_is_lost_after_the_last_second_means_that_the_budget_is_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    budget = Budget(60.0)
    with pytest.raises(WorkerLostError, match="aborted"), budget.limits_worker():
        raise WorkerLostError("aborted")
    monkeypatch.setattr("time.monotonic", lambda: 61.0)
    with pytest.raises(BudgetSpentError, match="budget of seconds"), budget.limits_worker():
        raise WorkerLostError("aborted")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((60.0, -1), "the budget has -1 trial compiles: expected 0 or more"),
        ((60.0, 1, -2), "the budget has -2 compiles: expected 0 or more"),
        ((0.0,), "budget is 0 s: expected a time above 0"),
    ],
)
def test_negative_budgets_are_usage_errors(parts: tuple[float, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Budget(*parts)


@pytest.mark.parametrize(
    ("granted", "asked", "answered"), [(60.0, 60.0, 60.0), (55.0, 60.0, 60.0), (30.0, 60.0, 30.0)]
)
def test_search_with_nearly_all_of_what_was_asked_is_an_answer_for_it(
    granted: float, asked: float, answered: float
) -> None:
    assert Budget(granted, asked=asked).answered == answered
    assert Budget(90.0, asked=asked).answered == 90.0
