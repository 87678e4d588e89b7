"""What the records of the protocol say: gains, split by where their cycles come from."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Sequence

from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.price import Price
from protocol_plan import BUDGET, EVERYTHING, MODES, Mode, main_budget
from protocol_records import Record

Program = tuple[str, str]  # chip and name

# Defaults are compiled again in each run, and the compiler is deterministic.
_SAME = 1e-9


@dataclasses.dataclass(frozen=True)
class Gain:
    """A run's gain, as shares of the cycles of the compiler's default.

    Attributes:
        estimates: saved by the compiler's own estimates.
        copies: saved by the model of copies.
        roofline: saved by the roofline of instructions without an estimate.
        record: the run.
    """

    estimates: float
    copies: float
    roofline: float
    record: Record

    @property
    def known(self) -> float:
        """The gain without the roofline, whose instructions nobody has estimated."""
        return self.estimates + self.copies

    @property
    def whole(self) -> float:
        """The gain with the roofline."""
        return self.known + self.roofline


class Gains:
    """The gains of all runs that worked. `failures` are the others."""

    def __init__(self, records: Sequence[Record]) -> None:
        """Raises UsageError if two records have different defaults of one program."""
        worked = [record for record in records if record["status"] == "ok"]
        self.records = list(records)
        self.failures = [record for record in records if record["status"] != "ok"]
        defaults = _defaults(worked)
        self._gains: dict[tuple[Program, str, float], list[Gain]] = {}
        self.without_default: list[Record] = []
        for record in sorted(worked, key=lambda each: int(each["seed"])):
            program = program_of(record)
            if program not in defaults:
                self.without_default.append(record)
                continue
            saved = Price(**record["price"]).saves(defaults[program])
            key = program, str(record["mode"]), float(record["budget_seconds"])
            self._gains.setdefault(key, []).append(Gain(**saved, record=record))

    @property
    def reduced(self) -> bool:
        """Whether these are runs of the reduced form."""
        return not any(key[1:] == (EVERYTHING.name, BUDGET) for key in self._gains)

    @property
    def budget(self) -> float:
        """The budget of the main runs, in seconds."""
        return main_budget(EVERYTHING, self.reduced)

    def of(self, program: Program, mode: Mode, seconds: float | None = None) -> list[Gain]:
        """Returns the gains of all seeds, by default under the mode's main budget."""
        under = main_budget(mode, self.reduced) if seconds is None else seconds
        return self._gains.get((program, mode.name, under), [])

    def programs(self, mode: Mode = EVERYTHING) -> list[Program]:
        """Returns the programs with runs of a mode under its main budget, in order."""
        found = {key[0] for key in self._gains if key[1] == mode.name}
        return sorted(each for each in found if self.of(each, mode))

    def modes(self, chip: str) -> list[Mode]:
        """Returns the modes that runs on a chip have, in the order of MODES."""
        mine = {key[0] for key in self._gains if key[0][0] == chip}
        return [mode for mode in MODES.values() if any(self.of(each, mode) for each in mine)]

    def compared(self, chip: str) -> list[Program]:
        """Returns the programs of a chip that have runs of all its modes that search.

        A program may not compile under flags, so flags may be missing.
        """
        modes = [mode for mode in self.modes(chip) if mode.searches]
        mine = [each for each in self.programs() if each[0] == chip]
        return [each for each in mine if all(self.of(each, mode) for mode in modes)]

    def failed(self, program: Program, mode: Mode) -> bool:
        """Returns whether a run of the mode has failed on the program."""
        failed = ((program_of(record), record["mode"]) for record in self.failures)
        return (program, mode.name) in failed

    def slower(self) -> list[Record]:
        """Returns the searches whose result is slower than the default: there must be none."""
        found = [gain for gains in self._gains.values() for gain in gains]
        return [
            gain.record
            for gain in found
            if MODES[gain.record["mode"]].searches and gain.whole < -_SAME
        ]


def program_of(record: Record) -> Program:
    """Returns the chip and the name of a record's program."""
    return str(record["chip"]), str(record["program"])


def _defaults(worked: Iterable[Record]) -> dict[Program, Price]:
    """Returns the price of each program's default; flags change it, so they have none."""
    defaults: dict[Program, Price] = {}
    for record in worked:
        if not MODES[record["mode"]].searches:
            continue
        price = Price(**record["default_price"])
        known = defaults.setdefault(program_of(record), price)
        if abs(known.total - price.total) > _SAME * known.total:
            raise UsageError(
                f"{' '.join(program_of(record))}: one record has a default of {known.total:.0f} "
                f"cycles and another {price.total:.0f}: they are of different compilers"
            )
    return defaults


def median_of(gains: Sequence[Gain]) -> Gain:
    """Returns the run with the median gain without roofline; the lower one of two."""
    return sorted(gains, key=lambda gain: gain.known)[(len(gains) - 1) // 2]


def mean_of(gains: Sequence[Gain], part: str) -> float:
    """Returns the mean of a field of the gains."""
    return statistics.fmean(getattr(gain, part) for gain in gains)
