"""Lists of overrides and their placements by the compiler."""

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
    """The compiler's placement under some overrides.

    Attributes:
        cycles: the predicted cycles.
        mismatches: accesses that are not where the mapping wants them, most bytes first.
        late_copies: copies that the program waits for, most cycles first.
        fast_accesses: indices of the accesses in fast memory.
    """

    cycles: float
    mismatches: tuple[Mismatch, ...] = ()
    late_copies: tuple[LateCopy, ...] = ()
    fast_accesses: frozenset[int] = frozenset()

    @property
    def cycles_at_work(self) -> float:
        """Returns the cycles without the waits for copies."""
        return self.cycles - sum(copy.wait_cycles for copy in self.late_copies)


@dataclasses.dataclass(frozen=True)
class Trial:
    """Overrides that the compiler accepted, and their placement."""

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
        """Whether the placement already has every access of `item` where the item wants it."""
        if item.place is not None:
            return False
        fast = self.placement.fast_accesses
        return all((access in fast) == item.into_fast for access in item.accesses)
