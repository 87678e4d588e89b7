"""Compares how local search of two builds improves with processor time.

    python3 bench/solvers/anytime.py --before OLD/search_trace --after NEW/search_trace \\
        --seeds 5 --seconds 10 workloads/tpu_v4i/gpt_7x512_train_b4x256.program layers:1000

Each program is searched with the same seeds by both builds, in turn, with one thread. A program is
a file or `layers:N`, a synthetic program of N layers. The table has, for each time, how many per
cent more cycles the best mapping takes than the best one of all these runs: the median over the
seeds before / after. Then it has the number of seeds with which the new build is ahead : behind.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import pathlib
import statistics
import subprocess
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

# A seed with which the builds are fewer points apart than this is no win of either.
LEAST_POINTS = 0.005


@dataclasses.dataclass(frozen=True)
class Trace:
    """The points of one search: processor seconds, and cycles of the best mapping."""

    points: Sequence[tuple[float, float]]

    def cycles_at(self, seconds: float) -> float:
        """The fewest cycles found up to a time; infinite before the first mapping."""
        return min((c for s, c in self.points if s <= seconds), default=math.inf)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The searches of one program by both builds; equal positions have equal seeds."""

    program: str
    before: Sequence[Trace]
    after: Sequence[Trace]

    @property
    def fewest(self) -> float:
        """The fewest cycles of all searches."""
        return min(t.cycles_at(math.inf) for t in (*self.before, *self.after))

    def gaps(self, traces: Sequence[Trace], seconds: float) -> list[float]:
        """Per cent above the fewest cycles at a time, one for each seed."""
        return [100 * (t.cycles_at(seconds) / self.fewest - 1) for t in traces]

    def wins(self, seconds: float) -> int:
        """Seeds with which the new build is ahead."""
        pairs = zip(self.gaps(self.before, seconds), self.gaps(self.after, seconds), strict=True)
        return sum(after < before - LEAST_POINTS for before, after in pairs)

    def losses(self, seconds: float) -> int:
        """Seeds with which the new build is behind."""
        return dataclasses.replace(self, before=self.after, after=self.before).wins(seconds)


def search(binary: pathlib.Path, program: str, seed: int, seconds: float) -> Trace:
    """Runs one search."""
    command = [str(binary), program, str(seed), str(seconds)]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    return Trace([(line["seconds"], line["cycles"]) for line in lines])


def compare(arguments: argparse.Namespace, program: str) -> Comparison:
    """Runs the searches of one program in pairs."""
    before, after = [], []
    for seed in range(arguments.seeds):
        before.append(search(arguments.before, program, seed, arguments.seconds))
        after.append(search(arguments.after, program, seed, arguments.seconds))
    return Comparison(program, before, after)


def row(comparison: Comparison, times: Sequence[float]) -> str:
    """Returns the program's row of the table."""
    cells = [pathlib.Path(comparison.program).stem]
    for seconds in times:
        before = statistics.median(comparison.gaps(comparison.before, seconds))
        after = statistics.median(comparison.gaps(comparison.after, seconds))
        wins, losses = comparison.wins(seconds), comparison.losses(seconds)
        cells.append(f"{before:.3f} / {after:.3f} ({wins}:{losses})")
    return "| " + " | ".join(cells) + " |"


def header(times: Sequence[float]) -> str:
    """Returns the first two lines of the table."""
    names = ["program", *(f"{seconds:g} s" for seconds in times)]
    return "| " + " | ".join(names) + " |\n| --- |" + " ---: |" * len(times)


def main() -> None:
    """Parses the flags and compares all programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True, type=pathlib.Path, help="a search_trace")
    parser.add_argument("--after", default=ROOT / "build/bin/search_trace", type=pathlib.Path)
    parser.add_argument("--seeds", default=5, type=int, help="searches by each build")
    parser.add_argument("--seconds", default=10.0, type=float, help="processor time of a search")
    parser.add_argument("programs", nargs="+", help="program files, or layers:N")
    arguments = parser.parse_args()

    times = [seconds for seconds in TIMES if seconds <= arguments.seconds]
    print(header(times), flush=True)
    for program in arguments.programs:
        print(row(compare(arguments, program), times), flush=True)


if __name__ == "__main__":
    main()
