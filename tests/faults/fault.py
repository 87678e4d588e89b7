"""What all faults have in common."""

from __future__ import annotations

import abc


class Fault(abc.ABC):
    """One fault of a kind at one victim. `end` is called once, `seconds` after `begin`."""

    kind: str
    victim: str
    seconds: float
    # Names that no other active fault may touch meanwhile, besides the victim. Both learner
    # processes save together, so the end of one takes a minute while the other does not answer.
    touches: frozenset[str] = frozenset()
    # A victim that ends by itself during the fault starts again at once.
    lets_start: bool = False

    @abc.abstractmethod
    def begin(self) -> None: ...

    @abc.abstractmethod
    def end(self) -> None: ...

    def all_touched(self) -> frozenset[str]:
        return self.touches | {self.victim}
