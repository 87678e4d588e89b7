"""Limits of a search: seconds, trial compiles and whole compiles; parses such as "5m"."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Iterator

from mallocmuzero_xla.errors import BudgetSpentError, UsageError, WorkerLostError

_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(given: str | float) -> float:
    """Returns the seconds of a text such as "90s", "5m" or "1.5h"; a number is in seconds.

    A text needs a unit, as everywhere in `mallocmuzero`: users who write "5" mostly mean minutes.
    """
    text = given if isinstance(given, str) else f"{given}s"
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*", text)
    seconds = float(match.group(1)) * _SECONDS[match.group(2)] if match else 0.0
    if not match or seconds <= 0 or not math.isfinite(seconds):
        raise UsageError(f"budget {given!r}: expected a time above 0, such as 90s, 5m or 1h")
    return seconds


# A search that is granted this share of the seconds that were asked for is an answer for all.
_NEARLY_ALL = 0.8


class Budget:
    """The seconds, trial compiles and whole compiles that are left. Time runs from construction."""

    def __init__(
        self,
        seconds: float = math.inf,
        trial_compiles: float = math.inf,
        compiles: float = math.inf,
        asked: float | None = None,
    ) -> None:
        """`asked` are the seconds that the user asked for; by default `seconds`."""
        if not seconds > 0:
            raise UsageError(f"budget is {seconds:g} s: expected a time above 0")
        for name, value in (("trial compiles", trial_compiles), ("compiles", compiles)):
            if value < 0:
                raise UsageError(f"the budget has {value} {name}: expected 0 or more")
        self._seconds = seconds
        self.asked = seconds if asked is None else asked
        self._started = time.monotonic()
        self._trial_compiles = trial_compiles
        self._compiles = compiles
        self._whole: Budget | None = None

    def part(self, seconds: float, trial_share: float = 1.0) -> Budget:
        """Returns a part of this budget: `seconds`, and a share of the trial compiles left.

        What is spent of the part is spent of this budget as well.
        """
        trial_compiles = (
            self._trial_compiles
            if math.isinf(self._trial_compiles)
            else math.ceil(trial_share * self._trial_compiles)
        )
        part = Budget(max(1e-6, min(seconds, self.remaining())), trial_compiles)
        part._whole = self
        return part

    @property
    def seconds(self) -> float:
        """The seconds that were granted."""
        return self._seconds

    @property
    def answered(self) -> float:
        """The seconds of the longest search whose place the result of this one takes."""
        nearly = self._seconds >= _NEARLY_ALL * self.asked
        return max(self._seconds, self.asked) if nearly else self._seconds

    def elapsed(self) -> float:
        """Returns the seconds since the start."""
        return time.monotonic() - self._started

    def remaining(self) -> float:
        """Returns the seconds that are left, never below 0."""
        return max(0.0, self._seconds - self.elapsed())

    @contextlib.contextmanager
    def limits_worker(self) -> Iterator[None]:
        """Raises BudgetSpentError in place of WorkerLostError if no seconds are left."""
        try:
            yield
        except WorkerLostError as error:
            if not self.remaining():
                raise BudgetSpentError("the budget of seconds is spent") from error
            raise

    def spend_trial_compile(self) -> None:
        """Takes one trial compile; raises BudgetSpentError if there is none, or no time."""
        if self._trial_compiles < 1 or not self.remaining():
            raise BudgetSpentError("the budget of trial compiles is spent")
        if self._whole is not None:
            self._whole.spend_trial_compile()
        self._trial_compiles -= 1

    def spend_compile(self) -> None:
        """Takes one whole compile; raises BudgetSpentError if there is none, or no time."""
        if self._compiles < 1 or not self.remaining():
            raise BudgetSpentError("the budget of compiles is spent")
        if self._whole is not None:
            self._whole.spend_compile()
        self._compiles -= 1
