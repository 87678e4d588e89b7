"""Lists of overrides, and what the compiler did with them."""

from __future__ import annotations

import dataclasses

from mallocmuzero_xla.binary import LateCopy
from mallocmuzero_xla.overrides import Item

Overrides = tuple[Item, ...]


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """An access that is not where the mapping wants it."""

    access: int
    wanted_fast: bool


@dataclasses.dataclass(frozen=True)
class Placement:
    """What the compiler did.

    Attributes:
        cycles: predicted.
        mismatches: what is not as wanted, most bytes first.
        late_copies: what the program waits for, most cycles first.
        fast_accesses: indices of the accesses in fast memory.
    """

    cycles: float
    mismatches: tuple[Mismatch, ...] = ()
    late_copies: tuple[LateCopy, ...] = ()
    fast_accesses: frozenset[int] = frozenset()

    @property
    def cycles_at_work(self) -> float:
        """Returns the cycles less those that the program waits for copies."""
        return self.cycles - sum(copy.wait_cycles for copy in self.late_copies)


@dataclasses.dataclass(frozen=True)
class Trial:
    """Overrides that the compiler accepted, and what it did with them."""

    items: Overrides
    placement: Placement

    @property
    def cycles(self) -> float:
        """Returns the predicted cycles."""
        return self.placement.cycles

    @property
    def has_settings(self) -> bool:
        """Returns whether any item is a setting."""
        return any(item.setting is not None for item in self.items)

    def has(self, item: Item) -> bool:
        """Whether all that `item` is about is as it would have it, asked for or not."""
        if item.place is not None:
            return False
        fast = self.placement.fast_accesses
        return all((access in fast) == item.into_fast for access in item.accesses)
