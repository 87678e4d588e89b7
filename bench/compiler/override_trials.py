"""Records what the compiler makes of lists of overrides, for learning from.

For each program: a mapping by local search, its items, and a random search over lists of overrides
for some seconds, each list looked at by the real compiler. Writes a file a program,
OUTPUT/<chip>/<program>.jsonl.zst, the items first, then a trial a line; programs that have one are
left out.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import pathlib
import random
import tempfile
from typing import Any

import corpus
import zstandard
from mallocmuzero_xla.binary import Binary, Readback
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.errors import (
    BudgetSpentError,
    CaptureError,
    CompileError,
    WorkerLostError,
)
from mallocmuzero_xla.looker import Looker
from mallocmuzero_xla.overrides import Item, named_item, options_of, with_added
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.saved_capture import SavedCapture
from mallocmuzero_xla.source import Source, capture_chip, lower_for
from mallocmuzero_xla.trial import Overrides
from mallocmuzero_xla.variants import ALL_HBM, DEFAULT

_SOLVE_SECONDS = 5.0

# Refused items that are taken out of a list before it is given up.
_REFUSALS = 6


@dataclasses.dataclass
class Trial:
    """A list of overrides and what the compiler did with it."""

    items: Overrides
    placement: Readback


class Recorder:
    """Looks at lists of overrides of one program and keeps them."""

    def __init__(
        self, capture: SavedCapture, program: pathlib.Path, mapping: pathlib.Path, looker: Looker
    ) -> None:
        self._capture = capture
        self._program = program
        self._mapping = mapping
        self._looker = looker
        self._binary = Binary()
        self._names: dict[str, int] = {}
        self._items: list[Item] = []
        self.wanted = self._load(str(mapping), "values")
        self.moves = self._load(str(mapping), "uses")
        for everything in ("all_fast", "all_hbm"):
            self.moves += self._load(everything, "values")
        insisting = (move.insistence() for move in (*self.wanted, *self.moves))
        self.moves += [move for move in insisting if move is not None]
        self.trials = [Trial((), self._read(capture.read(DEFAULT)))]

    def _load(self, mapping: str, scope: str) -> list[Item]:
        fields = self._binary.overrides(self._program, mapping, scope)
        return [Item.from_json(entry) for entry in fields]

    def _read(self, text: str) -> Readback:
        all_hbm = self._capture.path(ALL_HBM)
        return self._binary.readback(self._program, all_hbm, text, str(self._mapping))

    def look(self, items: Overrides, budget: Budget) -> Trial | None:
        """Looks at `items`, less what the compiler refuses; None if it will not have them."""
        for _ in range(_REFUSALS):
            if any(trial.items == items for trial in self.trials):
                return None
            try:
                text = self._looker.look(options_of(items), budget)
                self.trials.append(Trial(items, self._read(text)))
                return self.trials[-1]
            except CompileError as error:
                culprit = named_item(str(error), items)
                if culprit is None:
                    return None
                items = tuple(item for item in items if item is not culprit)
            except WorkerLostError:
                return None
        return None

    def write(self, path: pathlib.Path) -> None:
        """Writes items and trials."""
        lines = []
        for trial in self.trials:
            placement = trial.placement
            fields: dict[str, Any] = {
                "items": [self._number(item) for item in trial.items],
                "cycles": placement.mapped_cycles,
                "default_cycles": placement.default_cycles,
                "fast_memory_bytes": placement.fast_memory_bytes,
                "fast_accesses": placement.fast_accesses,
                "late": [
                    [copy.wait_cycles, [self._number(start) for start in copy.starts]]
                    for copy in placement.late_copies
                ],
            }
            lines.append(fields)
        for item in (*self.wanted, *self.moves):
            self._number(item)
        head = {
            "wanted": [self._number(item) for item in self.wanted],
            "items": [dataclasses.asdict(item) for item in self._items],
        }
        text = "".join(json.dumps(line) + "\n" for line in (head, *lines))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(zstandard.compress(text.encode(), 10))

    def _number(self, item: Item) -> int:
        key = json.dumps([item.kind, *item.key])
        if key not in self._names:
            self._names[key] = len(self._items)
            self._items.append(item)
        return self._names[key]


def wander(recorder: Recorder, budget: Budget, chance: random.Random) -> None:
    """Changes lists at random, mostly the best, by groups of all sizes."""
    recorder.look(tuple(recorder.wanted), budget)
    while True:
        best = min(recorder.trials, key=lambda trial: trial.placement.mapped_cycles)
        base = best if chance.random() < 0.6 else chance.choice(recorder.trials)
        most = max(4, len(recorder.wanted))
        size = round(math.exp(chance.uniform(0.0, math.log(most))))
        recorder.look(changed(base, size, recorder, chance), budget)


def changed(base: Trial, size: int, recorder: Recorder, chance: random.Random) -> Overrides:
    """Returns the list of `base` with about `size` items out of it or into it."""
    late = [copy.starts for copy in base.placement.late_copies[:8]]
    if late and chance.random() < 0.1:
        starts = [chance.choice(choices) for choices in late[: chance.randint(1, len(late))]]
        return with_added(base.items, starts)
    share = chance.choice((0.0, 0.3, 1.0))
    pools = (recorder.wanted or recorder.moves, recorder.moves)
    found = list(base.items)
    for _ in range(size):
        pool = pools[chance.random() < share]
        move = chance.choices(pool, [weight(item) for item in pool])[0]
        if chance.random() < 0.5 and found:
            found.remove(chance.choice(found))
        elif all(item.key != move.key for item in found):
            found.insert(chance.choice((0, len(found))), move)
    return tuple(found)


def weight(item: Item) -> float:
    """How often a change should be tried; large tensors matter more."""
    return math.sqrt(1.0 + item.bytes_moved) * (2.0 if item.gain > 0 else 1.0)


def record(entry: corpus.Entry, seconds: float, output: pathlib.Path) -> int:
    """Writes the trials of one program; returns how many."""
    capture = entry.capture()
    with Looker(capture_chip(capture)) as looker, tempfile.TemporaryDirectory() as scratch:
        lower_for(capture, Source(entry.name, entry.registry), looker, Budget())
        mapping = pathlib.Path(scratch) / "wanted.mapping"
        Binary().solve(entry.program, mapping, _SOLVE_SECONDS, "local_search")
        recorder = Recorder(capture, entry.program, mapping, looker)
        with contextlib.suppress(BudgetSpentError):
            wander(recorder, Budget(seconds), random.Random(capture.program))
        recorder.write(output)
        return len(recorder.trials)


def main() -> None:
    """Goes through the programs of a split."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    corpus.add_arguments(parser)
    parser.add_argument("--split", default="train")
    parser.add_argument("--seconds", type=float, default=100.0, help="of looks, a program")
    arguments = parser.parse_args()
    progress = LoopProgress()
    for entry in corpus.chosen(arguments):
        output = arguments.output / entry.chip / f"{entry.name}.jsonl.zst"
        if entry.split != arguments.split or output.exists():
            continue
        try:
            count = record(entry, arguments.seconds, output)
            progress.note(f"{entry.chip} {entry.name}: {count} trials")
        except CaptureError as error:
            progress.note(f"{entry.chip} {entry.name}: {error}")


if __name__ == "__main__":
    main()
