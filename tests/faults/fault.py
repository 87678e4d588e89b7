"""What all faults have in common."""

from __future__ import annotations

import abc


class Fault(abc.ABC):
    """One fault of a kind at one victim. `end` is called once, `seconds` after `begin`."""

    kind: str
    victim: str
    seconds: float

    @abc.abstractmethod
    def begin(self) -> None: ...

    @abc.abstractmethod
    def end(self) -> None: ...
