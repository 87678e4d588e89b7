"""Compares local search with one thread and with several, at equal time.

    python3 bench/solvers/threads.py --threads 1 4 16 --seconds 1 10 --seeds 2 PROGRAM...

Run it on an idle machine with as many cores as the most threads. The table has, for each program
and time, how many per cent more cycles the mapping of `map --solver local_search` takes than the
best one of all these runs of the program: the median over the seeds. `to bound` is by how many per
cent that best one is above the lower bound of the cycles.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]

Runs = dict[tuple[int, float], list[float]]  # by threads and seconds, cycles for each seed


def search(
    binary: pathlib.Path, program: pathlib.Path, threads: int, seconds: float, seed: int
) -> dict[str, Any]:
    """Returns the report of one search."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(binary), "map", "--solver", "local_search", "--json"]
        command += ["--program", str(program), "--output", f"{folder}/m.mapping"]
        command += ["--threads", str(threads), "--budget", f"{seconds}s", "--seed", str(seed)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def row(
    name: str, runs: Runs, bound: float, threads: Sequence[int], seconds: Sequence[float]
) -> str:
    """Returns the row of a program in Markdown."""
    fewest = min(min(cycles) for cycles in runs.values())
    cells = []
    for budget in seconds:
        for count in threads:
            gaps = [100 * (cycles / fewest - 1) for cycles in runs[count, budget]]
            cells.append(f"{statistics.median(gaps):.3f}")
    cells.append(f"{100 * (fewest / bound - 1):.2f} %")
    return f"| {name} | " + " | ".join(cells) + " |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table, a program at a time."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+", type=pathlib.Path, metavar="PROGRAM")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/bin/mallocmuzero")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", nargs="+", type=float, default=[1.0, 10.0])
    parser.add_argument("--seeds", type=int, default=2)
    flags = parser.parse_args(arguments)
    titles = [f"{s:g} s, {t} threads" for s in flags.seconds for t in flags.threads]
    print("| program | " + " | ".join(titles) + " | to bound |")
    print("| --- |" + " ---: |" * (len(titles) + 1))
    for program in flags.programs:
        runs: Runs = {}
        bound = 0.0
        for seed in range(flags.seeds):
            for budget in flags.seconds:
                for count in flags.threads:
                    report = search(flags.binary, program, count, budget, seed)
                    runs.setdefault((count, budget), []).append(report["total_cycles"])
                    bound = max(bound, report["bound_cycles"])
        print(row(program.stem, runs, bound, flags.threads, flags.seconds), flush=True)


if __name__ == "__main__":
    main()
