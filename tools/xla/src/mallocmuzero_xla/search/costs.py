"""What the next steps of a search are expected to take, by the steps so far."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.search.planning import (
    placed_round_seconds,
    placed_rounds,
    prepare_seconds,
    round_seconds,
)
from mallocmuzero_xla.search.steps import Costs, Kind, Outcome

# A trial compile takes about this share of a whole compile, before one has been timed.
_TRIAL_SHARE = 0.1

# A compile in phases takes at most about this share, before one has been timed.
_PHASED_SHARE = 1 / 3


def expected_costs(
    record: Sequence[Outcome],
    budget: Budget,
    in_phases: bool,
    placed_round: float | None,
    all_hbm_in_phases: bool = False,
    whole_for_placed: bool = False,
) -> Costs:
    """Returns the expected seconds of a next step of each kind, as those that did not fail took.

    `in_phases` says whether compiles may be made in phases, and `all_hbm_in_phases` whether the one
    with everything in HBM may. `placed_round` are the seconds that a round of placed modules has
    taken; None before the first. `whole_for_placed` says whether the first step of placed modules
    also compiles the function in this process.
    """

    def typical(kind: Kind, otherwise: float, estimated: bool = False) -> float:
        seconds = [
            each.seconds
            for each in record
            if each.step.kind == kind and each.estimated == estimated and each.cycles is not None
        ]
        return statistics.median(seconds) if seconds else otherwise

    whole = typical(Kind.COMPILE, 0.0)
    each_compile = typical(Kind.COMPILE, _PHASED_SHARE * whole, True) if in_phases else whole
    costs = Costs(
        compile=each_compile,
        trial=typical(Kind.TRIAL, _TRIAL_SHARE * whole),
        prepare=prepare_seconds(budget, each_compile if all_hbm_in_phases else whole, each_compile),
        overrides=round_seconds(budget),
        whole=whole if in_phases else None,
    )
    first = whole if whole_for_placed and placed_round is None else 0.0
    each = max(placed_round or 0.0, placed_round_seconds(whole))
    rounds = placed_rounds(seconds_left(budget, costs) - first, each)
    return dataclasses.replace(
        costs,
        placed=first + rounds * each,
        placed_least=first + each,
        placed_round=each,
    )


def seconds_left(budget: Budget, costs: Costs) -> float:
    """Returns the seconds for further steps.

    The rest of the budget is for the compile to the end of the best compile in phases.
    """
    return max(0.0, budget.remaining() - (costs.whole or 0.0))
