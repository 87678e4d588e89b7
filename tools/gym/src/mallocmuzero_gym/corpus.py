"""The programs of the corpus with their fixed splits, and how environments name programs."""

from __future__ import annotations

import csv
import dataclasses
import functools
import os
import pathlib
from collections.abc import Iterable
from typing import TypeAlias

from mallocmuzero_gym._game import Program
from mallocmuzero_gym.locations import workloads_folder

SPLITS = ("train", "validation", "test")

_SUFFIXES = (".program", ".program.zst")


@dataclasses.dataclass(frozen=True)
class CorpusProgram:
    """One program of the corpus.

    Attributes:
        name: such as "bert_3x1024_b64x256". Programs of several chips may have the same name.
        chip: "tpu_v4i", "tpu_v5e" or "tpu_v6e".
        family: the kind of model. All programs of a family are in the same split.
        split: "train", "validation" or "test".
        path: the program file.
        best_known_cycles: the fewest cycles of any mapping that bench/solvers/bounds.py found;
            None without an entry in best_known.csv.
    """

    name: str
    chip: str
    family: str
    split: str
    path: pathlib.Path
    best_known_cycles: float | None

    @property
    def full_name(self) -> str:
        """The name that is unique in the corpus: "tpu_v6e/bert_3x1024_b64x256"."""
        return f"{self.chip}/{self.name}"

    def load(self) -> Program:
        """Returns the program, with its numbers and its game."""
        return _load(str(self.path))


Named: TypeAlias = str | os.PathLike[str] | Program | CorpusProgram


def load_programs(split: str | None = None, chip: str | None = None) -> list[CorpusProgram]:
    """Returns the programs of a split and a chip, by chip and name; None stands for all.

    Raises ValueError if there is no such split or chip.
    """
    programs = _corpus()
    _check("split", split, SPLITS)
    _check("chip", chip, sorted({program.chip for program in programs}))
    return [
        program
        for program in programs
        if split in (None, program.split) and chip in (None, program.chip)
    ]


def find_programs(names: Named | Iterable[Named]) -> list[Program]:
    """Returns the programs that `names` name, each once.

    A text names a program file if it ends in .program or .program.zst. Otherwise it names programs
    of the corpus by their name or its beginning, on one chip ("tpu_v6e/bert") or on all ("bert").

    Raises ValueError if a text names no program, or if there is no name.
    """
    if isinstance(names, str | os.PathLike | Program | CorpusProgram):
        names = [names]
    found = {id(program): program for name in names for program in _find(name)}
    if not found:
        raise ValueError("expected at least one program")
    return list(found.values())


def _find(name: Named) -> list[Program]:
    if isinstance(name, Program):
        return [name]
    if isinstance(name, CorpusProgram):
        return [name.load()]
    text = os.fspath(name)
    if text.endswith(_SUFFIXES):
        return [_load(str(pathlib.Path(text).resolve()))]
    matches = [p for p in _corpus() if text in (p.name, p.full_name)] or [
        p for p in _corpus() if p.name.startswith(text) or p.full_name.startswith(text)
    ]
    if not text or not matches:
        raise ValueError(
            f"{text!r}: no such program; expected a .program file, or the name of a program of the "
            "corpus or its beginning, such as 'bert' or 'tpu_v6e/bert_3x1024_b64x256'"
        )
    return [program.load() for program in matches]


def _check(what: str, value: str | None, known: Iterable[str]) -> None:
    if value is not None and value not in known:
        raise ValueError(f"{what} {value!r}: expected one of {', '.join(known)}")


# The programs that were loaded, by path, each with the version of its file.
_loaded: dict[str, tuple[tuple[int, ...], Program]] = {}


def _load(path: str) -> Program:
    """Returns the program of a file: the same one as before, unless the file has changed."""
    status = pathlib.Path(path).stat()
    version = (status.st_ino, status.st_size, status.st_mtime_ns)
    known = _loaded.get(path)
    if known is None or known[0] != version:
        known = _loaded[path] = (version, Program(path))
    return known[1]


@functools.cache
def _corpus() -> tuple[CorpusProgram, ...]:
    folder = workloads_folder()
    assigned = {row["name"]: row for row in _rows(folder / "split.csv")}
    best = {
        (row["chip"], row["name"]): float(row["cycles"]) for row in _rows(folder / "best_known.csv")
    }
    programs = []
    for path in sorted(folder.glob("tpu_*/*.program")):
        name, chip = path.stem, path.parent.name
        row = assigned.get(name)
        if row is None:
            continue  # a program of the user's own
        programs.append(
            CorpusProgram(name, chip, row["family"], row["split"], path, best.get((chip, name)))
        )
    return tuple(programs)


def _rows(path: pathlib.Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
