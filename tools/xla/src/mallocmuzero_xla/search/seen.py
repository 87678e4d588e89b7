"""What the steps of a search have shown so far, for the choice of the next steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mallocmuzero_xla.search.steps import Candidate, Kind, Outcome, Space, Step

# Settings come only under limits whose cycles are within this share of the best.
_NEAR = 0.03


def best(record: Sequence[Outcome]) -> Outcome | None:
    """Returns the step with the fewest cycles by the compiler; the first among equals."""
    compiled = [each for each in record if each.measures]
    return min(compiled, key=lambda each: each.cycles or math.inf, default=None)


class Seen:
    """The record of a search's steps, by what its next step depends on.

    Attributes:
        space: what may be tried.
        record: the steps so far, in order.
        default: the cycles of the first limit that compiled; None before one has.
        best: the fewest compiled cycles; infinite before the first.
    """

    def __init__(self, space: Space, record: Sequence[Outcome]) -> None:
        self.space = space
        self.record = record
        self._compiled = {
            each.step.candidate: each.cycles
            for each in record
            if each.step.kind == Kind.COMPILE and each.cycles is not None
        }
        plain = [cycles for each, cycles in self._compiled.items() if not each.settings]
        self.default = plain[0] if plain else None
        found = best(record)
        self.best = found.cycles if found is not None and found.cycles is not None else math.inf

    def steps(self, kind: Kind, candidate: Candidate) -> list[Outcome]:
        """Returns the steps of a kind under a candidate, in order."""
        step = Step(kind, candidate)
        return [each for each in self.record if each.step == step]

    def tried(self, kind: Kind, candidate: Candidate) -> bool:
        """Whether there has been a step of a kind under a candidate."""
        return bool(self.steps(kind, candidate))

    def cycles(self, candidate: Candidate) -> float:
        """Returns the compiled cycles; infinite if it was not compiled or failed."""
        return self._compiled.get(candidate, math.inf)

    def limits(self) -> list[int]:
        """Returns the limits that compile, the fastest first."""
        plain = [each.limit for each in self._compiled if not each.settings]
        return sorted(plain, key=lambda limit: self.cycles(Candidate(limit)))

    def near_best(self) -> list[int]:
        """Returns the limits that are worth more than the compile that they had."""
        limits = self.limits()
        most = (1 + _NEAR) * min((self.cycles(Candidate(each)) for each in limits), default=0.0)
        return [each for each in limits if self.cycles(Candidate(each)) <= most]

    def gains(self, kind: Kind) -> list[float]:
        """Returns what each step of a kind gained over the best before it, in order."""
        so_far, gains = math.inf, []
        for each in self.record:
            cycles = each.cycles if each.cycles is not None else math.inf
            if each.step.kind == kind:
                share = 1 - cycles / so_far if math.isfinite(so_far) else 0.0
                gains.append(max(0.0, share))
            if each.measures:
                so_far = min(so_far, cycles)
        return gains
