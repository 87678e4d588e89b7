"""Describes the outcome of the closed loop in a sentence."""

from __future__ import annotations

from mallocmuzero_xla.compiler.scoped_limit import OPTION
from mallocmuzero_xla.overrides import SORT_OVERRIDES, TENSOR_OVERRIDES
from mallocmuzero_xla.search.planning import advice
from mallocmuzero_xla.search.verified import Verified


def describe(verified: Verified, from_cache: bool = False) -> str:
    """Returns the outcome in words; `from_cache` says that it is of an earlier search."""
    default = f"default {verified.default_cycles / 1e6:,.3f} Mcycles"
    if verified.default_error is not None:
        default = (
            f"the default does not compile ({verified.default_error}), and these options do; under "
            f"the first limit that works {verified.default_cycles / 1e6:,.3f} Mcycles"
        )
    trials = counted(verified.trial_compiles, "trial compile")
    took = f"{trials}, {counted(verified.compiles, 'compile')}, {verified.seconds:.0f} s"
    if from_cache:
        took = f"from the cache: found by {took}; a larger budget searches again"
    if not verified.improves:
        return f"{default}: {_without_options(verified)} ({took})"
    if verified.out_of_budget and not verified.judged:
        took += "; budget spent before any placement was tried"
    ended = "interrupted; the best so far: " if verified.interrupted else ""
    better = (
        f"{ended}{default}, optimized {verified.optimized_cycles / 1e6:,.3f} ({verified.gain:z.2%} "
        f"less; predicted {verified.predicted_cycles / 1e6:,.3f}), "
    )
    if verified.executable is not None:
        return f"{better}{_executable(verified)} ({took})"
    settings = len(verified.options.keys() - {TENSOR_OVERRIDES, SORT_OVERRIDES, OPTION})
    followed = f", {verified.followed_share:.1%} of the accessed bytes where the mapping wants them"
    followed = followed if verified.mapping is not None else ""
    overrides = len(verified.kept) - settings
    return (
        f"{better}{_limit(verified)}{counted(overrides, 'override')}, "
        f"{counted(settings, 'setting')}{followed} ({took})"
    )


def counted(number: int, noun: str) -> str:
    """Returns "1 override", or "2 overrides"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _without_options(verified: Verified) -> str:
    """Says why there are no options; the user reacts differently to each reason."""
    steps = len(verified.tried) - 1  # beyond the default
    tried = counted(verified.trial_compiles, "trial compile")
    if not verified.trial_compiles and steps > 0:
        tried = counted(steps, "step")
    compiled = "nothing compiled to less" if verified.compiled_more else "nothing compiled"
    if verified.interrupted:
        return f"interrupted after {tried}, {_promise(verified)}{compiled}"
    if verified.undecided and verified.judged:
        return f"budget spent after {tried}, {_promise(verified)}{compiled}"
    if verified.undecided:
        words = "budget spent before any placement was tried"
        if verified.compile_seconds is None:
            return words
        grant = advice(verified.compile_seconds, verified.limit_cycles is not None)
        return f"{words}; {grant}; what has been compiled is kept"
    if verified.out_of_budget:
        return "nothing compiled to less within the budget, keep it"
    if not verified.judged and verified.limit_cycles is None:
        return "there is no other placement to try, keep it"
    return "nothing compiled to less, keep it"


def _promise(verified: Verified) -> str:
    best = verified.best_predicted_cycles
    if best is None:
        return ""
    return f"best predicted {max(0.0, 1 - best / verified.default_cycles):.2%}, "


def _executable(verified: Verified) -> str:
    limit = verified.executable_limit_kib
    under = "" if limit is None else f" under {limit / 1024:g} MiB of scoped memory"
    return f"a placed executable{under}"


def _limit(verified: Verified) -> str:
    if verified.limit_cycles is None or OPTION not in verified.options:
        return ""
    gain = 1 - verified.limit_cycles / verified.default_cycles
    mebibytes = int(verified.options[OPTION]) / 1024
    return f"scoped memory up to {mebibytes:g} MiB (by itself {gain:.2%} less), "
