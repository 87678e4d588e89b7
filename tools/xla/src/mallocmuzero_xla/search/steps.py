"""The steps of a search for options, and what is known about them."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any


class Kind(enum.StrEnum):
    """The kinds of steps."""

    COMPILE = "compile"
    START = "start"
    TRIAL = "trial"
    PREPARE = "prepare"
    OVERRIDES = "overrides"
    PLACED = "placed"


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A limit of scoped memory in KiB, and settings as kinds (settings.py)."""

    limit: int
    settings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Step:
    """Something to do, and why, in words for the report."""

    kind: Kind
    candidate: Candidate
    why: str = dataclasses.field(compare=False, default="")

    @property
    def measures(self) -> bool:
        """Whether its cycles are the compiler's, and not only promised."""
        return self.kind not in (Kind.TRIAL, Kind.PREPARE)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A step that was done.

    Attributes:
        step: the step.
        seconds: its cost.
        cycles: compiled cycles, or those that a trial or the mapping of `prepare` promises; None
            if the step failed.
        finished: of overrides and placed modules: whether another step could not help.
        error: why the step failed, for the report; None if it did not.
        estimated: of compiles, starts and overrides: whether `cycles` come from a compile in
            phases, which makes no machine code.
    """

    step: Step
    seconds: float
    cycles: float | None
    finished: bool = False
    error: str | None = None
    estimated: bool = False

    @property
    def measures(self) -> bool:
        """Whether it has cycles that are the compiler's."""
        return self.cycles is not None and self.step.measures


@dataclasses.dataclass(frozen=True)
class Space:
    """What may be tried.

    Attributes:
        own: the limit of the program as it is, in KiB.
        memory: limits must be below this, in KiB; 0 if the limit is fixed.
        settings: kinds of settings, the most helpful first.
        overrides: whether to search for overrides.
        placed: whether to search for placed modules.
        start: the limit of an earlier search, in KiB; None without one.
        start_more: whether the earlier search found more than a limit.
    """

    own: int
    memory: int = 0
    settings: tuple[str, ...] = ()
    overrides: bool = True
    placed: bool = False
    start: int | None = None
    start_more: bool = False

    def limits(self, shares: Sequence[Fraction]) -> list[int]:
        """Returns the limits at these multiples of the program's own that leave room."""
        limits = (int(self.own * share) for share in shares)
        return [limit for limit in limits if 0 < limit < self.memory]


@dataclasses.dataclass(frozen=True)
class Costs:
    """Expected seconds of a step of each kind.

    Attributes:
        compile: a compile as the search makes it: in phases if it can.
        placed: a step of placed modules with as many rounds as fit.
        placed_least: the same with one round.
        placed_round: one of its rounds.
        whole: a compile to the end; None if that is how the search makes all compiles.
    """

    compile: float
    trial: float
    prepare: float
    overrides: float
    placed: float = 0.0
    placed_least: float = 0.0
    placed_round: float = 0.0
    whole: float | None = None

    @property
    def to_the_end(self) -> float:
        """Returns the seconds of a compile to the end."""
        return self.compile if self.whole is None else self.whole


def costs_at_once(outcomes: Sequence[Outcome], seconds: float) -> list[Outcome]:
    """Divides the `seconds` that steps at once took among them: they shared the cores.

    An outcome that was stored by an earlier search keeps the share that it would have.
    """
    total = sum(each.seconds for each in outcomes)
    share = max(1 / len(outcomes), min(1.0, seconds / total)) if total > 0 else 1.0
    return [dataclasses.replace(each, seconds=share * each.seconds) for each in outcomes]


def described(record: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Returns the steps for a report, in order; see Verified.tried."""
    steps, so_far = [], math.inf
    for each in record:
        cycles = each.cycles if each.measures and each.cycles is not None else math.inf
        gain = 1 - cycles / so_far if math.isfinite(so_far) and math.isfinite(cycles) else 0.0
        so_far = min(so_far, cycles)
        steps.append(
            {
                "step": each.step.kind.value,
                "limit_kib": each.step.candidate.limit,
                "settings": list(each.step.candidate.settings),
                "why": each.step.why,
                "seconds": round(each.seconds, 3),
                "cycles": each.cycles,
                "gain": max(0.0, gain),
                "error": each.error,
                "estimated": each.estimated,
            }
        )
    return steps
