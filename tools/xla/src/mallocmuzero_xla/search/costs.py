"""What the next steps of a search are expected to take, by the steps so far."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.search.planning import (
    placed_rounds,
    placed_seconds,
    prepare_seconds,
    round_seconds,
)
from mallocmuzero_xla.search.steps import Costs, Kind, Outcome

# A trial compile takes about this share of a whole compile, before one has been timed.
_TRIAL_SHARE = 0.1

# A compile in phases takes at most about this share, before one has been timed.
_PHASED_SHARE = 1 / 3


def expected_costs(
    record: Sequence[Outcome], budget: Budget, in_phases: bool, has_placed: bool
) -> Costs:
    """Returns the expected seconds of a next step of each kind.

    `in_phases` says whether compiles may be made in phases, and `has_placed` whether there has been
    a step of placed modules: before the first one, this process compiles the function once, too.
    """

    def typical(kind: Kind, otherwise: float, estimated: bool = False) -> float:
        seconds = [
            each.seconds
            for each in record
            if each.step.kind == kind and each.estimated == estimated
        ]
        return statistics.median(seconds) if seconds else otherwise

    whole = typical(Kind.COMPILE, 0.0)
    costs = Costs(
        compile=typical(Kind.COMPILE, _PHASED_SHARE * whole, True) if in_phases else whole,
        trial=typical(Kind.TRIAL, _TRIAL_SHARE * whole),
        prepare=prepare_seconds(budget, whole),
        overrides=round_seconds(budget),
        whole=whole if in_phases else None,
    )
    first = 0.0 if has_placed else whole
    rounds = placed_rounds(seconds_left(budget, costs) - first, whole)
    return dataclasses.replace(
        costs,
        placed=first + placed_seconds(rounds, whole),
        placed_least=first + placed_seconds(1, whole),
    )


def seconds_left(budget: Budget, costs: Costs) -> float:
    """Returns the seconds for further steps.

    The rest of the budget is for the compile to the end of the best compile in phases.
    """
    return max(0.0, budget.remaining() - (costs.whole or 0.0))
