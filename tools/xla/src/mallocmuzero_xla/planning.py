"""How optimize shares its budget out, given what is left of it and what a compile takes here.

What has to be compiled before there is anything to compare may take most of a budget. From there on
room for looks and for one compile of what they find comes first: without them there is no answer.
"""

from __future__ import annotations

import math

from mallocmuzero_xla.budget import Budget

# Shares of the budget at most: compiling under other limits of scoped memory; compiling samples;
# the first search for a mapping. Looks and compiles of candidates get the rest.
_LIMIT_SHARE = 0.35
_SAMPLE_SHARE = 0.2
_SOLVE_SHARE = 0.15
_SOLVE_SECONDS = 60.0

# Of what is left when it is due, at most.
_LIMIT_SHARE_LEFT = 0.5
_SOLVE_SHARE_LEFT = 0.25

# What looks should have before samples are compiled, as a share of what is left and at most.
_LOOK_SHARE_LEFT = 0.5
_LOOK_SECONDS = 20.0

# Compiles that a budget should have room for: two to compare with, a sample, looks and searches for
# about as long as two, and one of what was found; and two under other limits of scoped memory.
_COMPILES = 6
_COMPILES_OF_LIMITS = 2


def limit_seconds(budget: Budget, compile_seconds: float) -> float:
    """Returns the time for compiles under other limits of scoped memory."""
    # Everything in HBM and what the looks find are still to be compiled.
    room = budget.remaining() - 2 * compile_seconds
    return max(0.0, min(_LIMIT_SHARE * budget.seconds, _LIMIT_SHARE_LEFT * room))


def sample_seconds(budget: Budget, compile_seconds: float) -> float:
    """Returns the time for samples: for one in any case where there is room for it."""
    left = budget.remaining()
    room = left - compile_seconds - min(_LOOK_SECONDS, _LOOK_SHARE_LEFT * left)
    late = (_LIMIT_SHARE + _SAMPLE_SHARE) * budget.seconds - budget.elapsed()
    share = max(compile_seconds, min(_SAMPLE_SHARE * budget.seconds, late))
    return max(0.0, min(share, room))


def solve_seconds(budget: Budget) -> float:
    """Returns the time for the first search for a mapping."""
    share = min(_SOLVE_SECONDS, _SOLVE_SHARE * budget.seconds)
    return min(share, _SOLVE_SHARE_LEFT * budget.remaining())


def suggested_budget(compile_seconds: float, limits: bool) -> float:
    """Returns the seconds, in whole minutes, that a search should be granted at least."""
    compiles = _COMPILES + (_COMPILES_OF_LIMITS if limits else 0)
    return 60.0 * max(1, math.ceil(compiles * compile_seconds / 60.0))


def advice(compile_seconds: float, limits: bool) -> str:
    """Returns what to grant, in words."""
    minutes = suggested_budget(compile_seconds, limits) / 60
    return f"a compile takes about {compile_seconds:.0f} s here, grant at least {minutes:.0f}m"
