"""Divides the budget of `optimize`, given the time left and the duration of one compile.

The compiles that the search cannot do without may take most of a budget. After them, trial compiles
and one whole compile of the best list come first: without them `optimize` has no answer.
"""

from __future__ import annotations

import math

from mallocmuzero_xla.budget import Budget

# Largest shares of the budget: compiles under other limits of scoped memory, compiles of samples,
# and the first search for a mapping. Trial compiles and whole compiles of candidates get the rest.
_LIMIT_SHARE = 0.35
_SAMPLE_SHARE = 0.2
_SOLVE_SHARE = 0.15
_SOLVE_SECONDS = 60.0

# Largest shares of the time that is left when the step begins.
_LIMIT_SHARE_LEFT = 0.5
_SOLVE_SHARE_LEFT = 0.25

# Time kept for trial compiles before samples are compiled: a share of the time left, and a maximum.
_TRIAL_SHARE_LEFT = 0.5
_TRIAL_SECONDS = 20.0

# A budget should have room for this many compiles: the default, everything in HBM, a sample, the
# time of two for trial compiles and solvers, and the best list. Other limits of scoped memory need
# two more.
_COMPILES = 6
_COMPILES_OF_LIMITS = 2


def limit_seconds(budget: Budget, compile_seconds: float) -> float:
    """Returns the time for compiles under other limits of scoped memory."""
    # Two compiles are still to come: everything in HBM, and the best list.
    room = budget.remaining() - 2 * compile_seconds
    return max(0.0, min(_LIMIT_SHARE * budget.seconds, _LIMIT_SHARE_LEFT * room))


def sample_seconds(budget: Budget, compile_seconds: float) -> float:
    """Returns the time for samples: enough for one sample wherever the budget has room for it."""
    left = budget.remaining()
    room = left - compile_seconds - min(_TRIAL_SECONDS, _TRIAL_SHARE_LEFT * left)
    late = (_LIMIT_SHARE + _SAMPLE_SHARE) * budget.seconds - budget.elapsed()
    share = max(compile_seconds, min(_SAMPLE_SHARE * budget.seconds, late))
    return max(0.0, min(share, room))


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
