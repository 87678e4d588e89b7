"""Measures what more programs to learn from are worth.

Trains one agent on 8 programs of the train split, one on 16, and so on, and plays games with each
network alone: on the programs that it learned from, and on those of the validation and test splits.
A larger number adds programs to the smaller one. Each program is also learned and played with a
half and a quarter of its fast memory.

Prints a Markdown table. A cell has the points by which the network is above the greedy player in
the share of the all-HBM cycles that a game saves (the mean over the programs), and the number of
programs on which it is above greedy. A second call continues the runs until each has trained for
its minutes.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import pathlib
import random
import sys
from statistics import mean

from binary import ROOT, count, make_parser, run_json
from training import add_run_options, train, train_all, trained_seconds

CORPUS = ROOT / "workloads"
THIRD_PARTY = ROOT / "workloads_third_party"
CONFIG = ROOT / "bench/learning/generalist.textproto"
SHIPPED = ROOT / "model/generalist.checkpoint"
FAST_MEMORY = "0.25,0.5,1"


@dataclasses.dataclass(frozen=True)
class Run:
    """An agent, and the folder of the programs that it learns from."""

    programs: int
    seed: int
    workloads: pathlib.Path
    folder: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Played:
    """The games of a network alone, one for each program of a set."""

    points: float  # mean of what it saves more than greedy, in per cent of the all-HBM cycles
    above_greedy: int
    programs: int


def train_programs(corpus: pathlib.Path) -> list[pathlib.Path]:
    """Returns the programs of the train split on all chips, in an order that never changes."""
    with (corpus / "split.csv").open() as file:
        names = {row["name"] for row in csv.DictReader(file) if row["split"] == "train"}
    found = sorted(path for path in corpus.glob("tpu_*/*.program") if path.stem in names)
    random.Random(0).shuffle(found)
    return found


def link_programs(programs: list[pathlib.Path], folder: pathlib.Path) -> None:
    """Makes a folder for `train --workloads` with links to the programs."""
    for program in programs:
        link = folder / program.parent.name / program.name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(program)


def make_runs(arguments: argparse.Namespace) -> list[Run]:
    """Returns the runs, those of one seed after those of the other."""
    pool = train_programs(CORPUS)
    if arguments.third_party:
        pool += train_programs(THIRD_PARTY)
    runs = []
    for seed in range(arguments.seeds):
        for programs in arguments.programs:
            if programs > len(pool):
                raise SystemExit(f"--programs: {programs}, but there are {len(pool)}")
            folder = arguments.output / f"{programs}_programs"
            link_programs(pool[:programs], folder / "workloads")
            runs.append(Run(programs, seed, folder / "workloads", folder / f"seed_{seed}"))
    return runs


def go_on(run: Run, arguments: argparse.Namespace) -> None:
    """Trains until the run has trained for its minutes."""
    own = ["--device", arguments.device, "--threads", str(arguments.threads)]
    own += ["--workloads", str(run.workloads), "--fast-memory", FAST_MEMORY]
    if not (run.folder / "config.textproto").exists():
        own += ["--config", str(CONFIG), "--seed", str(run.seed)]
        own += ["--demonstrations", str(arguments.demonstrations)]
    train(arguments.binary, run.folder, arguments.minutes, *own)


def play(binary: pathlib.Path, checkpoint: pathlib.Path, *programs: str) -> Played:
    """Plays one game of each program with the network alone."""
    flags = ("--checkpoint", str(checkpoint), "--simulations", "0", "--fast-memory", FAST_MEMORY)
    games = run_json(binary, "bench", "play", *flags, *programs)["programs"]
    gains = [
        (game["greedy_cycles"] - game["total_cycles"]) / game["all_hbm_cycles"] for game in games
    ]
    return Played(100 * mean(gains), sum(gain > 0 for gain in gains), len(games))


def play_unseen(binary: pathlib.Path, checkpoint: pathlib.Path) -> list[Played]:
    """Plays the programs of the validation split, and those of the test split."""
    corpus = ("--workloads", str(CORPUS))
    return [play(binary, checkpoint, *corpus, "--split", s) for s in ("validation", "test")]


def row(name: str, figures: str, sets: list[Played]) -> str:
    """Returns a row of the table."""
    cells = [f"{p.points:+.2f}, {p.above_greedy} of {p.programs}" for p in sets]
    return f"| {name} | {figures} | {' | '.join(cells)} |"


def row_of(run: Run, binary: pathlib.Path) -> str:
    """Returns the row of a run that has trained."""
    folder = str(run.folder)
    report = run_json(binary, "report", "--run", folder, "--output", f"{folder}/report")
    figures = f"{run.seed}, {trained_seconds(run.folder) / 60:.0f}"
    figures += f", {report['games']:,}, {report['updates']:,}"
    checkpoint = run.folder / "checkpoints/latest"
    learned = play(binary, checkpoint, "--workloads", str(run.workloads))
    return row(str(run.programs), figures, [learned, *play_unseen(binary, checkpoint)])


def table(runs: list[Run], binary: pathlib.Path) -> str:
    """Returns a row for the shipped network, and one for each run that has trained."""
    rows = [
        "| programs | seed, minutes, games, updates | those it learned from | validation | test |",
        "| --- | ---: | ---: | ---: | ---: |",
        row("shipped", "|", play_unseen(binary, SHIPPED)),
    ]
    trained = [run for run in runs if trained_seconds(run.folder)]
    for run in runs:
        if run not in trained:
            print(f"learning-curve: {run.folder}: no iteration has ended yet", file=sys.stderr)
    return "\n".join(rows + [row_of(run, binary) for run in trained])


def parse_arguments() -> argparse.Namespace:
    parser = make_parser("learning-curve", __doc__)
    add_run_options(parser, seeds=1)
    parser.add_argument(
        "--programs",
        type=lambda text: tuple(count(number) for number in text.split(",")),
        default=(8, 16, 32, 64),
        help="numbers of programs, separated by commas; default: 8,16,32,64",
    )
    parser.add_argument(
        "--third-party",
        action="store_true",
        help="numbers above those of workloads take programs of workloads_third_party",
    )
    parser.add_argument(
        "--demonstrations", type=float, default=4, help="seconds for each program; default: 4"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto; default: auto")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    arguments.output = arguments.output.resolve()
    if not arguments.binary.is_file():
        print(f"learning-curve: no {arguments.binary}; build it", file=sys.stderr)
        return 2
    runs = make_runs(arguments)
    train_all(runs, go_on, arguments)
    print(table(runs, arguments.binary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
