"""Divides the budget of `optimize`, given the time left and the duration of one compile.

The compiles that the search cannot do without may take most of a budget. After them, trial compiles
and one whole compile of the best list come first: without them `optimize` has no answer.
"""

from __future__ import annotations

import math

from mallocmuzero_xla.budget import Budget

# Largest shares of the budget for compiles of samples and for the first search for a mapping.
_SAMPLE_SHARE = 0.2
_SOLVE_SHARE = 0.05
_SOLVE_SECONDS = 20.0

# Largest shares of the time that is left when the step begins.
_SAMPLE_SHARE_LEFT = 0.3
_SOLVE_SHARE_LEFT = 0.25
_ROUND_SHARE_LEFT = 0.6

# Time kept for trial compiles before samples are compiled: a share of the time left, and a maximum.
_TRIAL_SHARE_LEFT = 0.5
_TRIAL_SECONDS = 20.0

# A step of placed modules has this many rounds at most. Each round is a search for a mapping and a
# compile.
MOST_PLACED_ROUNDS = 3
PLACED_SOLVE_SECONDS = 5.0

# A budget should have room for this many compiles: the default, everything in HBM, a sample, the
# time of two for trial compiles and solvers, and the best list. Other limits of scoped memory need
# two more.
_COMPILES = 6
_COMPILES_OF_LIMITS = 2


def sample_seconds(budget: Budget, compile_seconds: float) -> float:
    """Returns the time for samples: enough for one sample wherever the budget has room for it."""
    left = budget.remaining()
    room = left - compile_seconds - min(_TRIAL_SECONDS, _TRIAL_SHARE_LEFT * left)
    share = min(_SAMPLE_SHARE * budget.seconds, _SAMPLE_SHARE_LEFT * left)
    return max(0.0, min(max(compile_seconds, share), room))


def prepare_seconds(budget: Budget, compile_seconds: float, sample_seconds: float) -> float:
    """Returns the least time for all that overrides need before their first round.

    They need a compile with everything in HBM, one sample and a mapping.
    """
    return compile_seconds + sample_seconds + solve_seconds(budget)


def round_seconds(budget: Budget) -> float:
    """Returns the time that a round of overrides is expected to take."""
    return _ROUND_SHARE_LEFT * budget.remaining()


def placed_round_seconds(compile_seconds: float) -> float:
    """Returns the time that a round of placed modules takes, before one has been timed."""
    return compile_seconds + PLACED_SOLVE_SECONDS


def placed_rounds(seconds: float, round_seconds: float) -> int:
    """Returns how many rounds of placed modules fit into some seconds; one at least."""
    return max(1, int(min(MOST_PLACED_ROUNDS, seconds / round_seconds)))


def solve_seconds(budget: Budget) -> float:
    """Returns the time for the first search for a mapping."""
    share = min(_SOLVE_SECONDS, _SOLVE_SHARE * budget.seconds)
    return min(share, _SOLVE_SHARE_LEFT * budget.remaining())


def suggested_budget(compile_seconds: float, limits: bool) -> float:
    """Returns the least sensible budget, in seconds, rounded up to whole minutes."""
    compiles = _COMPILES + (_COMPILES_OF_LIMITS if limits else 0)
    return 60.0 * max(1, math.ceil(compiles * compile_seconds / 60.0))


def advice(compile_seconds: float, limits: bool) -> str:
    """Returns a sentence that recommends a budget."""
    minutes = suggested_budget(compile_seconds, limits) / 60
    return f"a compile takes about {compile_seconds:.0f} s here, grant at least {minutes:.0f}m"
