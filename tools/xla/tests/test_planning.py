"""The shares of a budget leave time to find an answer."""

from __future__ import annotations

import pytest

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.search.planning import (
    advice,
    prepare_seconds,
    round_seconds,
    sample_seconds,
    solve_seconds,
    suggested_budget,
)


class Spent(Budget):
    """A budget of which a given time is spent."""

    def __init__(self, seconds: float, gone: float) -> None:
        super().__init__(seconds)
        self._gone = gone

    def elapsed(self) -> float:
        return self._gone


def test_large_budget_is_shared_by_its_shares() -> None:
    # 1000 s give 20 % to samples and 20 s to a mapping.
    assert sample_seconds(Spent(1000.0, 20.0), 10.0) == pytest.approx(200.0)
    assert solve_seconds(Spent(1000.0, 220.0)) == 20.0


def test_slow_compiles_leave_out_samples_before_trial_compiles_and_a_compile() -> None:
    # 240 s, of which two compiles of 80 s have taken 160: 80 are left for trial compiles and a
    # compile.
    assert sample_seconds(Spent(240.0, 160.0), 80.0) == 0.0
    # 5 % of 240 s, and a quarter of what is left if that is less.
    assert solve_seconds(Spent(240.0, 160.0)) == pytest.approx(12.0)
    assert solve_seconds(Spent(240.0, 200.0)) == pytest.approx(10.0)


def test_one_sample_is_compiled_late_where_there_is_room_for_it() -> None:
    # 240 s are left, and 240 - 100 - 20 s after a compile and trial compiles; three tenths are 72.
    assert sample_seconds(Spent(600.0, 360.0), 100.0) == pytest.approx(100.0)


def test_overrides_need_two_compiles_a_mapping_and_a_round() -> None:
    # 200 of 300 s are left: 2 * 20 s, 15 s for a mapping, and six tenths of 200 s.
    assert prepare_seconds(Spent(300.0, 100.0), 20.0, 20.0) == pytest.approx(55.0)
    assert round_seconds(Spent(300.0, 100.0)) == pytest.approx(120.0)


@pytest.mark.parametrize(("seconds", "limits", "minutes"), [(0.5, False, 1), (100.0, False, 10)])
def test_suggested_budget_has_room_for_six_compiles(
    seconds: float, limits: bool, minutes: int
) -> None:
    assert suggested_budget(seconds, limits) == 60 * minutes
    assert f"{seconds:.0f} s here, grant at least {minutes}m" in advice(seconds, limits)


def test_suggested_budget_has_room_for_two_limits_more() -> None:
    assert suggested_budget(60.0, limits=True) == 8 * 60
