"""Tests whether training finds the best game of programs with a known optimum.

Trains one agent for each seed, on one thread and without demonstrations, on tiny programs of that
seed. Counts the programs on which the final policy with search plays the optimum. A second call
continues the runs until each has trained for its minutes. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import pathlib
import subprocess
import sys
from statistics import mean, median

from binary import count, make_parser, output_folder, positive_minutes
from training import report_of, train

# A game is optimal if it takes at most this share of the cycles more than the optimum.
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Result:
    """The results of one seed's agent."""

    seed: int
    programs: int
    optimal: int  # programs on which the policy's game is optimal
    best_optimal: int  # programs on which the best game of the run is optimal
    gap: float  # mean distance of the policy's games from the optimum, share of the cycles
    greedy_gap: float
    seconds: float


def make_programs(arguments: argparse.Namespace, seed: int, folder: pathlib.Path) -> None:
    if not (folder / "optimum.csv").exists():
        maker = arguments.binary.with_name("tiny_programs")
        command = [str(maker), str(folder), str(arguments.programs), str(seed)]
        subprocess.run(command, check=True)
    made = len(optimum_of(folder))
    if made != arguments.programs:
        raise SystemExit(
            f"learning-tiny: {folder} has {made} programs, and --programs asks for "
            f"{arguments.programs}: give another folder"
        )


def optimum_of(programs: pathlib.Path) -> dict[str, float]:
    """Returns the fewest cycles of any game, by program."""
    with (programs / "optimum.csv").open() as file:
        return {row["name"]: float(row["optimum"]) for row in csv.DictReader(file)}


def result_of(seed: int, programs: pathlib.Path, run: pathlib.Path) -> Result:
    optimum = optimum_of(programs)
    report = json.loads(report_of(run).read_text())
    games = [(program, optimum[program["program"]]) for program in report["programs"]]
    gaps = {
        player: [program[f"{player}_cycles"] / best - 1 for program, best in games]
        for player in ("policy", "best", "greedy")
    }
    return Result(
        seed,
        len(games),
        sum(gap <= ROUNDING for gap in gaps["policy"]),
        sum(gap <= ROUNDING for gap in gaps["best"]),
        mean(gaps["policy"]),
        mean(gaps["greedy"]),
        report["seconds"],
    )


def table(results: list[Result]) -> str:
    rows = [
        "| seed | final policy with search optimal on | mean gap | best game optimal on "
        "| greedy's mean gap | seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    rows += [
        f"| {r.seed} | {r.optimal} of {r.programs} | {100 * r.gap:.2f} % | {r.best_optimal} "
        f"| {100 * r.greedy_gap:.1f} % | {r.seconds:.0f} |"
        for r in results
    ]
    share = median(r.optimal / r.programs for r in results)
    rows += ["", f"Median: the final policy is optimal on {share:.0%} of the programs."]
    return "\n".join(rows)


def parse_arguments() -> argparse.Namespace:
    parser = make_parser("learning-tiny", __doc__)
    parser.add_argument("output", type=output_folder, help="folder of programs and runs")
    parser.add_argument(
        "--minutes", type=positive_minutes, default=4, help="of each run; default: 4"
    )
    parser.add_argument("--seeds", type=count, default=3, help="number of seeds; default: 3")
    parser.add_argument("--programs", type=count, default=30, help="of each seed; default: 30")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if not arguments.binary.is_file():
        print(f"learning-tiny: no {arguments.binary}; build it", file=sys.stderr)
        return 2
    results = []
    for seed in range(arguments.seeds):
        folder = arguments.output / str(seed)
        programs = folder / "programs"
        programs.mkdir(parents=True, exist_ok=True)
        make_programs(arguments, seed, programs)
        own = ("--workloads", str(programs), "--threads", "1", "--seed", str(seed))
        train(arguments.binary, folder / "run", arguments.minutes, *own)
        results.append(result_of(seed, programs, folder / "run"))
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
