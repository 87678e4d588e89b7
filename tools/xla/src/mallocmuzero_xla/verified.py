"""What the closed loop found."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Round:
    """One compile of the loop: cycles predicted before it, and the compiler's; items asked for."""

    predicted_cycles: float
    compiled_cycles: float
    items: int


# Records older than these fields lack them. A search without any look may have had no time for one,
# and its record is not taken for an answer.
_NEWER_FIELDS = {
    "limit_cycles": None,
    "out_of_budget": True,
    "best_predicted_cycles": None,
    "compile_seconds": None,
}


@dataclasses.dataclass
class Verified:
    """What the loop found. Cycles are the compiler's estimates, priced as `simulate --hlo` does.

    Attributes:
        options: compiler options of the fastest program compiled; empty: the default's.
        default_cycles: of the compiler's default.
        optimized_cycles: of the program compiled with `options`.
        predicted_cycles: what had been predicted before that program was compiled.
        honoured_share: of the bytes accessed, those that the compiled program has where the
            mapping wants them; of the default's program where that is the fastest.
        looks, compiles, seconds: what it took.
        kept: items in `options`.
        dropped: items that the compiler would not have, by id, and why.
        rounds: every compile.
        mapping: the file of the mapping that `options` are a part of; None for the default.
        program: the file of the program that the mapping is of.
        interrupted: whether Ctrl-C ended it.
        out_of_budget: whether the budget ended it before it had run out of ideas.
        best_predicted_cycles: the fewest that a look predicted; None without looks.
        compile_seconds: that the default's compile took.
        limit_cycles: of the compiler's default under the best limit of scoped memory that was
            tried; None if other limits than the compiler's own were not tried.
    """

    default_cycles: float
    optimized_cycles: float
    predicted_cycles: float
    honoured_share: float = 0.0
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    looks: int = 0
    compiles: int = 0
    seconds: float = 0.0
    kept: list[str] = dataclasses.field(default_factory=list)
    dropped: dict[str, str] = dataclasses.field(default_factory=dict)
    rounds: list[Round] = dataclasses.field(default_factory=list)
    mapping: str | None = None
    program: str | None = None
    interrupted: bool = False
    limit_cycles: float | None = None
    out_of_budget: bool = False
    best_predicted_cycles: float | None = None
    compile_seconds: float | None = None

    @property
    def gain(self) -> float:
        """Returns the share of the default's cycles that is saved."""
        return 1.0 - self.optimized_cycles / self.default_cycles

    @property
    def undecided(self) -> bool:
        """Returns whether it ended too early to say that the default is best."""
        if self.options:
            return False
        judged = bool(self.looks or self.rounds)
        promise = self.best_predicted_cycles
        untried = promise is not None and promise < self.default_cycles and not self.rounds
        return self.interrupted or (self.out_of_budget and (untried or not judged))

    def to_json(self) -> dict[str, Any]:
        """Returns all fields, and the gain, for JSON."""
        return {**dataclasses.asdict(self), "gain": self.gain}

    @staticmethod
    def from_json(fields: dict[str, Any]) -> Verified:
        """Reads what `to_json` returned; raises KeyError or TypeError if it is not that."""
        fields = {**_NEWER_FIELDS, **fields}
        known = {field.name: fields[field.name] for field in dataclasses.fields(Verified)}
        known["rounds"] = [Round(**entry) for entry in known["rounds"]]
        return Verified(**known)
