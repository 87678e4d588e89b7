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
import hashlib
import json
import math
import pathlib
import statistics
import subprocess
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

Build = Literal["before", "after"]
BUILDS: tuple[Build, Build] = ("before", "after")

# A seed with which the builds are fewer points apart than this is no win of either.
LEAST_POINTS = 0.005


@dataclasses.dataclass(frozen=True)
class Trace:
    """The points of one search: processor seconds, and cycles of the best mapping."""

    points: Sequence[tuple[float, float]]

    def cycles_at(self, seconds: float) -> float:
        """The fewest cycles found up to a time; infinite before the first mapping."""
        return min((c for s, c in self.points if s <= seconds), default=math.inf)

    def seconds_to(self, cycles: float) -> float:
        """The time of the first mapping of at most these cycles; infinite if there is none."""
        return min((s for s, c in self.points if c <= cycles), default=math.inf)


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

    def seconds_to_last_of_before(self) -> tuple[float, float]:
        """The median times of both builds to the cycles of the old build's last mapping."""
        times: tuple[list[float], list[float]] = ([], [])
        for pair in zip(self.before, self.after, strict=True):
            cycles = pair[0].cycles_at(math.inf) + self.fewest * LEAST_POINTS / 100
            for of_build, trace in zip(times, pair, strict=True):
                of_build.append(trace.seconds_to(cycles))
        return statistics.median(times[0]), statistics.median(times[1])

    def losses(self, seconds: float) -> int:
        """Seeds with which the new build is behind."""
        return dataclasses.replace(self, before=self.after, after=self.before).wins(seconds)


@dataclasses.dataclass(frozen=True)
class Search:
    """What a search depends on."""

    build: Build
    program: str  # as in the command
    seed: int
    seconds: float  # processor time

    def run(self, binary: pathlib.Path) -> Trace:
        """Runs the search."""
        command = [str(binary), self.program, str(self.seed), str(self.seconds)]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        return Trace([(line["seconds"], line["cycles"]) for line in lines])


class Record:
    """The traces of searches, in a JSON Lines file if there is one. Threads may share it.

    `digests` tell the binaries of both builds from others. SystemExit if the file has searches by
    another one.
    """

    def __init__(self, path: pathlib.Path | None, digests: dict[Build, str]) -> None:
        self.traces: dict[Search, Trace] = {}
        self._path = path
        self._digests = digests
        self._lock = threading.Lock()
        if path is not None and path.exists():
            lines = path.read_text().splitlines()
            for fields in map(json.loads, lines):
                if fields.get("binary") != digests[fields["build"]]:
                    raise SystemExit(
                        f"{path}: has searches by another binary as `{fields['build']}`: start a "
                        f"new file"
                    )
            self.traces = read_record(lines)

    def add(self, search: Search, trace: Trace) -> None:
        """Keeps a trace, and appends it to the file."""
        made = {**dataclasses.asdict(search), "binary": self._digests[search.build]}
        line = json.dumps({**made, "points": trace.points})
        with self._lock:
            self.traces[search] = trace
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(line + "\n")


def read_record(lines: Iterable[str]) -> dict[Search, Trace]:
    """Reads the lines of a record. A last line that a stop cut off is an error of `json`."""
    traces = {}
    for line in lines:
        fields = json.loads(line)
        fields.pop("binary", None)
        points = [(seconds, cycles) for seconds, cycles in fields.pop("points")]
        traces[Search(**fields)] = Trace(points)
    return traces


def compare(arguments: argparse.Namespace, record: Record, program: str) -> Comparison:
    """Runs the searches of one program that the record lacks, `jobs` at a time, in pairs."""
    searches = {
        build: [Search(build, program, seed, arguments.seconds) for seed in range(arguments.seeds)]
        for build in BUILDS
    }
    binaries = {"before": arguments.before, "after": arguments.after}

    def run(search: Search) -> None:
        if search not in record.traces:
            record.add(search, search.run(binaries[search.build]))

    pairs = zip(*searches.values(), strict=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for _ in pool.map(run, [search for pair in pairs for search in pair]):
            pass
    before, after = ([record.traces[search] for search in searches[build]] for build in BUILDS)
    return Comparison(program, before, after)


def digest(binary: pathlib.Path) -> str:
    """Returns the start of the SHA-256 of a file."""
    return hashlib.sha256(binary.read_bytes()).hexdigest()[:16]


def row(comparison: Comparison, times: Sequence[float]) -> str:
    """Returns the program's row of the table."""
    cells = [pathlib.Path(comparison.program).stem]
    for seconds in times:
        before = statistics.median(comparison.gaps(comparison.before, seconds))
        after = statistics.median(comparison.gaps(comparison.after, seconds))
        wins, losses = comparison.wins(seconds), comparison.losses(seconds)
        cells.append(f"{before:.3f} / {after:.3f} ({wins}:{losses})")
    before, after = comparison.seconds_to_last_of_before()
    cells.append(f"{before:.2f} / {after:.2f}")
    return "| " + " | ".join(cells) + " |"


def header(times: Sequence[float]) -> str:
    """Returns the first two lines of the table."""
    names = ["program", *(f"{seconds:g} s" for seconds in times), "seconds to the last of before"]
    return "| " + " | ".join(names) + " |\n| --- |" + " ---: |" * (len(names) - 1)


def main() -> None:
    """Parses the flags and compares all programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True, type=pathlib.Path, help="a search_trace")
    parser.add_argument("--after", default=ROOT / "build/bin/search_trace", type=pathlib.Path)
    parser.add_argument("--seeds", default=5, type=int, help="searches by each build")
    parser.add_argument("--seconds", default=10.0, type=float, help="processor time of a search")
    parser.add_argument("--jobs", default=1, type=int, help="searches at a time")
    parser.add_argument("--record", type=pathlib.Path, help="a JSON Lines file of all searches")
    parser.add_argument("programs", nargs="+", help="program files, or layers:N")
    arguments = parser.parse_args()

    times = [seconds for seconds in TIMES if seconds <= arguments.seconds]
    print(header(times), flush=True)
    record = Record(
        arguments.record, {"before": digest(arguments.before), "after": digest(arguments.after)}
    )
    for program in arguments.programs:
        print(row(compare(arguments, record, program), times), flush=True)


if __name__ == "__main__":
    main()
