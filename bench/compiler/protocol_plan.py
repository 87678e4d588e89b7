"""The runs of the protocol of docs/results.md: programs, modes, seeds and budgets, in order.

Each run is one call of `optimize` on one program. The list depends only on the corpus, so all
machines that share it have the same list. docs/results.md says why the numbers are as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# Records of another version are of other runs, and are never mixed with these.
PROTOCOL = 1

_MINUTE = 60.0
BUDGET = 5 * _MINUTE
SEEDS = (0, 1, 2)
BUDGETS = (1 * _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE)

# Limits end by themselves: there are at most nine, and two compile at a time.
LIMIT_BUDGET = 2 * _MINUTE

# The reduced form fits in an hour by these.
REDUCED_BUDGET = 3 * _MINUTE
REDUCED_LIMIT_BUDGET = 1 * _MINUTE

TPU7X = "tpu7x"  # the corpus has no program for it
CHIPS = ("tpu_v6e", "tpu_v5e", "tpu_v4i", TPU7X)
SHARED_MEMORY = ("tpu_v6e", "tpu_v5e", TPU7X)  # instructions and tensors share VMEM there
_FLAG_CHIPS = ("tpu_v6e", "tpu_v5e")  # those for which frameworks set flags
_SPLITS = ("test", "validation", "train")

# The programs of the reduced form, which are also compared in all modes: contended ones whose
# compiles take at most half a minute, half of them for v6e.
TWELVE = (
    ("tpu_v6e", "bert_3x1024_b64x256"),
    ("tpu_v6e", "dit_4x1024_b48x256"),
    ("tpu_v6e", "llama_decode_4x2048_b16x2048"),
    ("tpu_v6e", "retnet_scan_8x1024_b8x1024"),
    ("tpu_v6e", "vit_6x384_b128"),
    ("tpu_v6e", "wavenet_10_b16x8192"),
    ("tpu_v5e", "dit_4x1024_b48x256"),
    ("tpu_v5e", "llama_decode_4x2048_b16x2048"),
    ("tpu_v5e", "switch_3x1024_e8_b8x512"),
    ("tpu_v4i", "bert_3x1024_b64x256"),
    ("tpu_v4i", "dlrm_8x128_b8192"),
    ("tpu_v4i", "wavenet_10_b16x8192"),
)

# Gains against budget: the twelve without two of the test split.
TEN = tuple(
    each
    for each in TWELVE
    if each not in (("tpu_v5e", "switch_3x1024_e8_b8x512"), ("tpu_v4i", "wavenet_10_b16x8192"))
)


@dataclasses.dataclass(frozen=True)
class Mode:
    """What a run may use.

    Attributes:
        name: in records.
        title: in tables.
        arguments: keyword arguments of `optimize`.
        init_args: LIBTPU_INIT_ARGS of the process. The run then only compiles the program.
        chips: those on which the mode says something of its own.
    """

    name: str
    title: str
    arguments: tuple[tuple[str, Any], ...] = ()
    init_args: str = ""
    chips: tuple[str, ...] = CHIPS

    @property
    def searches(self) -> bool:
        """Whether the run searches, or only compiles under the flags of a framework."""
        return not self.init_args


_LIMIT_FLAG = "--xla_tpu_scoped_vmem_limit_kib="
_FUSION_FLAGS = "--xla_tpu_rwb_fusion=false --xla_tpu_dot_dot_fusion_duplicated=true"

# docs/results.md names the frameworks that set these flags.
FLAGS = (
    Mode("flags_98304", "flag 96 MiB", init_args=f"{_LIMIT_FLAG}98304", chips=_FLAG_CHIPS),
    Mode("flags_81920", "flag 80 MiB", init_args=f"{_LIMIT_FLAG}81920", chips=_FLAG_CHIPS),
    Mode("flags_50000", "flag 49 MiB", init_args=f"{_LIMIT_FLAG}50000", chips=("tpu_v5e",)),
    Mode(
        "flags_65536_fusion",
        "flags 64 MiB, fusion",
        init_args=f"{_FUSION_FLAGS} {_LIMIT_FLAG}65536",
        chips=("tpu_v5e",),
    ),
    Mode(
        "flags_131072_fusion",
        "flags 128 MiB, fusion",
        init_args=f"{_FUSION_FLAGS} {_LIMIT_FLAG}131072",
        chips=("tpu_v6e",),
    ),
)
LIMIT = Mode("limit", "limit", (("assignment", False),), chips=SHARED_MEMORY)
OPTIONS = Mode("options", "options")
PLACED = Mode("placed", "placed", (("assignment", False), ("placed", True)))
EVERYTHING = Mode("everything", "everything", (("placed", True),))

MODES = {mode.name: mode for mode in (*FLAGS, LIMIT, OPTIONS, PLACED, EVERYTHING)}


def main_budget(mode: Mode, reduced: bool) -> float:
    """Returns the budget in seconds under which a mode is compared; 0 for flags."""
    if not mode.searches:
        return 0.0
    if mode is LIMIT:
        return REDUCED_LIMIT_BUDGET if reduced else LIMIT_BUDGET
    return REDUCED_BUDGET if reduced else BUDGET


@dataclasses.dataclass(frozen=True)
class Entry:
    """A program for one chip; `contended`: it is short of fast memory."""

    chip: str
    program: str
    family: str
    split: str
    contended: bool

    @property
    def key(self) -> tuple[str, str]:
        """The chip and the program."""
        return self.chip, self.program


@dataclasses.dataclass(frozen=True)
class Run:
    """One call of `optimize` on a program; flags have a budget of 0."""

    entry: Entry
    mode: Mode
    seed: int
    seconds: float

    @property
    def key(self) -> tuple[str, str, str, int, float]:
        """What makes a record one of this run."""
        return (*self.entry.key, self.mode.name, self.seed, self.seconds)


@dataclasses.dataclass(frozen=True)
class Form:
    """Which list of runs: a short one, or the whole with or without further programs.

    Attributes:
        reduced: the twelve programs, in an hour.
        uncontended: also the programs that are not short of fast memory, in mode everything.
        every_mode: all programs in all modes, not only the twelve.
        tpu7x: those of the twelve that are for v6e, on TPU7x. They are short of fast memory on v6e,
            and TPU7x has less of it.
        third_party: the programs of other projects that are of the test split.
    """

    reduced: bool = False
    uncontended: bool = False
    every_mode: bool = False
    tpu7x: bool = False
    third_party: bool = False


def entries_of(corpus: Iterable[dict[str, Any]]) -> list[Entry]:
    """Returns the programs that `mallocmuzero corpus --json` describes."""
    return [
        Entry(
            item["report"]["hardware"],
            item["report"]["program"],
            item["family"],
            item["split"],
            bool(item["contended"]),
        )
        for item in corpus
    ]


def runs_of(entries: Sequence[Entry], form: Form) -> list[Run]:
    """Returns all runs of a form, each once, the most telling first."""
    ordered = sorted(entries, key=_rank)
    twelve = [entry for entry in ordered if entry.key in TWELVE]
    if form.tpu7x:
        six = [entry for entry in twelve if entry.chip == "tpu_v6e"]
        runs = _reduced([dataclasses.replace(entry, chip=TPU7X) for entry in six])
    elif form.third_party:
        runs = _third_party(ordered)
    elif form.reduced:
        runs = _reduced(twelve)
    else:
        runs = _whole(ordered, twelve, form)
    return list({run.key: run for run in runs}.values())


def _rank(entry: Entry) -> tuple[Any, ...]:
    chip, split = CHIPS.index(entry.chip), _SPLITS.index(entry.split)
    return entry.key not in TWELVE, chip, split, entry.program


def _reduced(entries: Sequence[Entry]) -> Iterator[Run]:
    for mode in (EVERYTHING, FLAGS[0], LIMIT):
        yield from _each(entries, (mode,), main_budget(mode, reduced=True))


def _third_party(ordered: Sequence[Entry]) -> Iterator[Run]:
    test = [entry for entry in ordered if entry.contended and entry.split == "test"]
    for mode in (EVERYTHING, FLAGS[0], LIMIT):
        yield from _each(test, (mode,), main_budget(mode, reduced=False))
    yield from _other_seeds(test)


def _whole(ordered: Sequence[Entry], twelve: Sequence[Entry], form: Form) -> Iterator[Run]:
    contended = [entry for entry in ordered if entry.contended]
    ten = [entry for entry in twelve if entry.key in TEN]
    compared = contended if form.every_mode else twelve
    for mode in (EVERYTHING, *FLAGS, LIMIT):
        yield from _each(contended, (mode,), main_budget(mode, reduced=False))
    yield from _each(compared, (OPTIONS, PLACED), BUDGET)
    for seconds in BUDGETS:
        yield from _each(ten, (EVERYTHING,), seconds)
    yield from _other_seeds([entry for entry in contended if entry.split == "test"])
    if form.uncontended:
        yield from _each([each for each in ordered if not each.contended], (EVERYTHING,), BUDGET)


def _other_seeds(entries: Sequence[Entry]) -> Iterator[Run]:
    for seed in SEEDS[1:]:
        yield from _each(entries, (EVERYTHING,), BUDGET, seed)


def _each(
    entries: Iterable[Entry], modes: Iterable[Mode], seconds: float, seed: int = 0
) -> Iterator[Run]:
    for mode in modes:
        for entry in entries:
            if entry.chip in mode.chips:
                yield Run(entry, mode, seed, seconds)


# A run may end a tenth of its budget late. Its process starts, lowers the function and ends in
# about this time, and a compile under flags takes about that long.
_OVERTIME = 0.1
_START_SECONDS = 9.0
_FLAG_SECONDS = 30.0


def longest_minutes(runs: Iterable[Run]) -> dict[str, float]:
    """Returns the minutes of two cores that the runs of each mode take at most."""
    minutes: dict[str, float] = {}
    for run in runs:
        seconds = (1 + _OVERTIME) * run.seconds if run.mode.searches else _FLAG_SECONDS
        minutes[run.mode.name] = minutes.get(run.mode.name, 0) + (seconds + _START_SECONDS) / 60
    return minutes
