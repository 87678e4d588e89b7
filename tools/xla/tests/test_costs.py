"""What a search expects of its next steps, and the time that it keeps for its last compile."""

from __future__ import annotations

import pytest
from test_planning import Spent

from mallocmuzero_xla.search.costs import expected_costs, seconds_left
from mallocmuzero_xla.search.steps import Candidate, Costs, Kind, Outcome, Step

OWN = Candidate(32 * 1024)
DEFAULT = Outcome(Step(Kind.COMPILE, OWN), 45.0, 1000.0)


def estimated(seconds: float) -> Outcome:
    candidate = Candidate(48 * 1024)
    return Outcome(Step(Kind.COMPILE, candidate), seconds, 990.0, estimated=True)


def test_before_one_has_been_timed_a_compile_in_phases_is_expected_to_take_a_third() -> None:
    budget = Spent(300.0, 50.0)
    assert expected_costs([DEFAULT], budget, True, None).compile == pytest.approx(15.0)
    record = [DEFAULT, estimated(11.0), estimated(9.0), estimated(30.0)]
    assert expected_costs(record, budget, True, None).compile == 11.0
    assert expected_costs([DEFAULT], budget, False, None).compile == 45.0


def test_failed_compiles_do_not_say_how_long_a_compile_takes() -> None:
    step = Step(Kind.COMPILE, Candidate(96 * 1024))
    refused = Outcome(step, 2.0, None, error="no room")
    costs = expected_costs([DEFAULT, refused, refused], Spent(300.0, 50.0), True, None)
    assert costs.to_the_end == 45.0


def test_compiles_in_phases_leave_less_time_because_the_best_is_compiled_to_the_end() -> None:
    budget = Spent(300.0, 100.0)
    costs = expected_costs([DEFAULT], budget, True, None)
    assert seconds_left(budget, costs) == 155.0
    assert seconds_left(budget, expected_costs([DEFAULT], budget, False, None)) == 200.0
    assert seconds_left(Spent(300.0, 290.0), costs) == 0.0


def test_placed_modules_need_the_time_of_their_rounds() -> None:
    # A round takes 45 + 5 s. 155 s are left.
    costs = expected_costs([DEFAULT], Spent(300.0, 100.0), True, None)
    assert (costs.placed, costs.placed_least) == (3 * 50.0, 50.0)
    costs = expected_costs([DEFAULT], Spent(300.0, 100.0), True, 20.0)
    assert (costs.placed, costs.placed_least) == (3 * 50.0, 50.0)
    # One round is the least, even if no time is left for it.
    costs = expected_costs([DEFAULT], Spent(300.0, 290.0), True, None)
    assert (costs.placed, costs.placed_least) == (50.0, 50.0)


def test_the_first_placed_modules_may_need_a_compile_in_this_process() -> None:
    def costs(placed_round: float | None) -> Costs:
        budget = Spent(300.0, 100.0)
        return expected_costs([DEFAULT], budget, True, placed_round, whole_for_placed=True)

    # 110 s are left after that compile.
    first, later = costs(None), costs(20.0)
    assert (first.placed, first.placed_least) == (45.0 + 2 * 50.0, 45.0 + 50.0)
    assert (later.placed, later.placed_least) == (3 * 50.0, 50.0)


def test_a_mapping_needs_a_compile_with_everything_in_hbm_and_a_sample() -> None:
    budget = Spent(300.0, 100.0)  # 15 s are for the mapping

    def prepare(in_phases: bool, all_hbm: bool) -> float:
        return expected_costs([DEFAULT], budget, in_phases, None, all_hbm).prepare

    assert prepare(in_phases=False, all_hbm=False) == pytest.approx(45.0 + 45.0 + 15.0)
    assert prepare(in_phases=True, all_hbm=False) == pytest.approx(45.0 + 15.0 + 15.0)
    assert prepare(in_phases=True, all_hbm=True) == pytest.approx(15.0 + 15.0 + 15.0)


def test_rounds_of_placed_modules_that_took_longer_are_expected_to_take_as_long() -> None:
    costs = expected_costs([DEFAULT], Spent(300.0, 100.0), True, 70.0)
    assert (costs.placed, costs.placed_least, costs.placed_round) == (2 * 70.0, 70.0, 70.0)
