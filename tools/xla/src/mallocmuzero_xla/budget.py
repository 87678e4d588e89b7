"""Budgets: seconds, looks and compiles that may be spent, and their spelling."""

from __future__ import annotations

import math
import re
import time

from mallocmuzero_xla.errors import BudgetSpentError, UsageError

_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: str | float) -> float:
    """Returns the seconds that "90s", "5m" or "1.5h" stands for; a number is one of seconds.

    Text needs a unit, as everywhere in `mallocmuzero`: "5" is more often meant to be minutes.
    """
    text = text if isinstance(text, str) else f"{text}s"
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*", text)
    seconds = float(match.group(1)) * _SECONDS[match.group(2)] if match else 0.0
    if not match or seconds <= 0 or not math.isfinite(seconds):
        raise UsageError(f"budget {text!r}: expected a time above 0, such as 90s, 5m or 1h")
    return seconds


class Budget:
    """What is left of some seconds, looks and compiles. Time runs from its construction."""

    def __init__(
        self, seconds: float = math.inf, looks: float = math.inf, compiles: float = math.inf
    ) -> None:
        if seconds <= 0 or looks < 0 or compiles < 0:
            raise UsageError("expected seconds above 0, and 0 or more looks and compiles")
        self._seconds = seconds
        self._started = time.monotonic()
        self._looks = looks
        self._compiles = compiles
        self._whole: Budget | None = None

    def part(self, seconds: float, looks_share: float = 1.0) -> Budget:
        """Returns a budget of `seconds` and a share of the looks left, spent out of this one."""
        looks = self._looks if math.isinf(self._looks) else math.ceil(looks_share * self._looks)
        part = Budget(max(1e-6, min(seconds, self.remaining())), looks)
        part._whole = self
        return part

    @property
    def seconds(self) -> float:
        """The seconds that were granted."""
        return self._seconds

    def elapsed(self) -> float:
        """Returns the seconds since the start."""
        return time.monotonic() - self._started

    def remaining(self) -> float:
        """Returns the seconds that are left, 0 when there are none."""
        return max(0.0, self._seconds - self.elapsed())

    def spend_look(self) -> None:
        """Takes one look; raises BudgetSpentError if there is none, or no time."""
        if self._looks < 1 or not self.remaining():
            raise BudgetSpentError("the budget of looks is spent")
        if self._whole is not None:
            self._whole.spend_look()
        self._looks -= 1

    def spend_compile(self) -> None:
        """Takes one compile; raises BudgetSpentError if there is none, or no time."""
        if self._compiles < 1 or not self.remaining():
            raise BudgetSpentError("the budget of compiles is spent")
        if self._whole is not None:
            self._whole.spend_compile()
        self._compiles -= 1
