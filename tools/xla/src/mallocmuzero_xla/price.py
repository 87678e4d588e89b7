"""The price of a compiled module, by where its cycles come from."""

from __future__ import annotations

import dataclasses

from mallocmuzero_xla.errors import UsageError


@dataclasses.dataclass(frozen=True)
class Price:
    """Cycles of one run of a compiled module, as `simulate --hlo` counts them.

    Attributes:
        total: the sum of the other three.
        estimates: the compiler's own estimates of its instructions.
        copies: waits for copies between the memories, by the model of copies.
        roofline: instructions to which the compiler gives no estimate, by the peak rates of the
            chip.
    """

    total: float
    estimates: float
    copies: float
    roofline: float

    def saves(self, default: Price) -> dict[str, float]:
        """Returns the share of the cycles of `default` that each of the three parts saves.

        A part that costs more than that of `default` has a share below 0. The shares add up to the
        gain.
        """
        return {
            part: (getattr(default, part) - getattr(self, part)) / default.total
            for part in ("estimates", "copies", "roofline")
        }


def require_cycles(function: str, cycles: float) -> None:
    """Raises UsageError unless a compiled function takes any cycles: gains are shares of them."""
    if cycles <= 0:
        raise UsageError(
            f"{function} takes no cycles by the compiler's estimates: there is nothing to make "
            f"faster"
        )
