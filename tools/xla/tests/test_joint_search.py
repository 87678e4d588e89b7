"""Steps at once share the time that they take."""

from __future__ import annotations

import pytest

from mallocmuzero_xla.search.steps import Candidate, Kind, Outcome, Step, costs_at_once


def outcome(seconds: float) -> Outcome:
    return Outcome(Step(Kind.COMPILE, Candidate(1024)), seconds, 1.0)


@pytest.mark.parametrize(
    ("each", "wall", "costs"),
    [
        ([30.0], 30.0, [30.0]),
        # 30 s and 10 s at once took 32 s.
        ([30.0, 10.0], 32.0, [24.0, 8.0]),
        # An earlier search has stored both.
        ([30.0, 10.0], 0.1, [15.0, 5.0]),
        # An earlier search has stored one, which took no time.
        ([30.0], 0.1, [30.0]),
        ([0.0, 0.0], 0.1, [0.0, 0.0]),
    ],
)
def test_costs_of_steps_at_once(each: list[float], wall: float, costs: list[float]) -> None:
    shared = costs_at_once([outcome(seconds) for seconds in each], wall)
    assert [found.seconds for found in shared] == pytest.approx(costs)
