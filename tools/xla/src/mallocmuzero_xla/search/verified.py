"""The outcome of the closed loop."""

from __future__ import annotations

import dataclasses
from typing import Any

from mallocmuzero_xla.price import Price


@dataclasses.dataclass(frozen=True)
class Round:
    """A compile of a list: the predicted cycles, those of the compile, and the number of items."""

    predicted_cycles: float
    compiled_cycles: float
    items: int


# Values for records that lack these fields. `out_of_budget` is True there: a record without a trial
# compile then counts as undecided.
_NEWER_FIELDS: dict[str, Any] = {
    "limit_cycles": None,
    "out_of_budget": True,
    "best_predicted_cycles": None,
    "compile_seconds": None,
    "default_error": None,
    "tried": [],
    "executable": None,
    "executable_limit_kib": None,
    "default_price": None,
    "optimized_price": None,
    "identities": {},
}


# Fields whose JSON keys differ: stored records and caches hold these keys.
_JSON_KEYS = {"trial_compiles": "looks"}

# Keys of older records, and the keys that have replaced them.
_NEWER_KEYS = {"honoured_share": "followed_share"}


@dataclasses.dataclass
class Verified:
    """The outcome. Cycles are the compiler's estimates, priced as `simulate --hlo` does.

    Attributes:
        options: compiler options of the fastest compiled program; empty for the default.
        default_cycles: cycles of the compiler's default.
        optimized_cycles: cycles of the program compiled with `options`.
        predicted_cycles: the prediction for that program before its whole compile.
        followed_share: the share of the accessed bytes that the fastest program has where the
            mapping wants them.
        trial_compiles, compiles, seconds: the cost of the search. JSON calls the first `looks`.
        kept: ids of the items in `options`.
        dropped: the refused items by id, with the reason.
        rounds: every compile of a list, to the end or in phases.
        mapping: the mapping file whose items `options` hold; None for the default.
        program: the program file that the mapping belongs to.
        interrupted: whether Ctrl-C ended the search.
        out_of_budget: whether the budget ended the search before it ran out of candidates.
        best_predicted_cycles: the fewest that a trial compile predicted; None without any.
        compile_seconds: duration of the default's compile.
        default_error: why the compiler's default does not compile; None if it does. The cycles of
            the default are then those under the first other limit of scoped memory that works.
        tried: the steps of the search in order: `step`, `limit_kib`, `settings`, `why`, `seconds`,
            `cycles` (None if it failed or found nothing), `gain` over the best before it, and
            `error` (None unless it failed).
        limit_cycles: cycles of the default under the best limit of scoped memory; None if no other
            limit than the chip's own may be tried.
        executable: the file of the placed executable that is the result; None if the options are.
        executable_limit_kib: the limit of scoped memory that it was compiled under.
        identities: what the instructions are that the overrides in `options` name
            (estimates.identities).
        default_price, optimized_price: where these cycles come from; None in older records.
    """

    default_cycles: float
    optimized_cycles: float
    predicted_cycles: float
    followed_share: float = 0.0
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    trial_compiles: int = 0
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
    default_error: str | None = None
    tried: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    executable: str | None = None
    executable_limit_kib: int | None = None
    default_price: Price | None = None
    optimized_price: Price | None = None
    identities: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def improves(self) -> bool:
        """Whether there is a result other than the default."""
        return bool(self.options) or self.executable is not None

    @property
    def gain(self) -> float:
        """Returns the share of the default's cycles that is saved."""
        return 1.0 - self.optimized_cycles / self.default_cycles

    @property
    def undecided(self) -> bool:
        """Whether the search ended too early to say that the default is best."""
        if self.improves:
            return False
        promise = self.best_predicted_cycles
        promised = promise is not None and promise < self.default_cycles
        untried = promised and not self.rounds and not self._compiled_settings()
        open_ended = untried or self._left_out() or not self.judged
        return self.interrupted or (self.out_of_budget and open_ended)

    @property
    def judged(self) -> bool:
        """Whether the compiler was asked for anything other than the default, and gave cycles."""
        priced = [
            step
            for step in self.tried
            if step.get("cycles") is not None and step["step"] != "prepare"
        ]
        return bool(self.trial_compiles or self.rounds or priced[1:])  # the first is the default

    @property
    def compiled_more(self) -> bool:
        """Whether machine code of anything other than the default was made."""
        compiled = [
            step
            for step in self.tried
            if step["step"] in ("compile", "start", "placed")
            and step.get("cycles") is not None
            and not step.get("estimated")
        ]
        return bool(self.rounds or compiled[1:])

    def _left_out(self) -> bool:
        """Whether the budget had no room for the machine code of a better compile in phases."""
        return any(
            step.get("estimated") and step.get("cycles") is None and step.get("error") is None
            for step in self.tried
        )

    def _compiled_settings(self) -> bool:
        """Whether settings that a trial compile had promised were compiled to the end."""
        return any(step["step"] == "compile" and step["settings"] for step in self.tried)

    def to_json(self) -> dict[str, Any]:
        """Returns all fields, and the gain, for JSON."""
        fields = {
            _JSON_KEYS.get(name, name): value for name, value in dataclasses.asdict(self).items()
        }
        return {**fields, "gain": self.gain}

    @staticmethod
    def from_json(fields: dict[str, Any]) -> Verified:
        """Reads the result of `to_json`, also of older versions of it.

        Raises KeyError or TypeError for anything else.
        """
        fields = {_NEWER_KEYS.get(key, key): value for key, value in fields.items()}
        fields = {**_NEWER_FIELDS, **fields}
        names = [field.name for field in dataclasses.fields(Verified)]
        known = {name: fields[_JSON_KEYS.get(name, name)] for name in names}
        known["rounds"] = [Round(**entry) for entry in known["rounds"]]
        for name in ("default_price", "optimized_price"):
            known[name] = Price(**known[name]) if known[name] is not None else None
        return Verified(**known)
