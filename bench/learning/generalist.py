"""Compares a checkpoint with local search on programs that it may never have seen.

Plays each program of a split with the greedy player, with local search, and with the agent, in
turns and with several seeds. The agent plays games with the checkpoint, from which local search
continues within the same time. Prints a Markdown table of cycles saved (medians) and who wins.
"""

from __future__ import annotations

import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

from binary import ROOT, count, make_parser, map_program, run_json

# Shares of the cycles: players closer than EQUAL count as equal, closer than CLOSE as nearly equal.
EQUAL = 5e-6
CLOSE = 1e-3


class Player:
    """Runs `map` and keeps its mapping."""

    def __init__(self, binary: pathlib.Path, budget: str, checkpoint: pathlib.Path | None) -> None:
        self._binary = binary
        self._budget = budget
        self._checkpoint = checkpoint

    def cycles(self, program: pathlib.Path, solver: str, seed: int) -> dict[str, Any]:
        """Returns the report of one `map`."""
        more = ["--seed", str(seed)]
        if solver == "agent" and self._checkpoint:
            more += ["--checkpoint", str(self._checkpoint)]
        return map_program(self._binary, program, solver, self._budget, *more)

    def variant(self, program: pathlib.Path, share: float, folder: pathlib.Path) -> pathlib.Path:
        """Returns the program with another size of fast memory."""
        if share == 1:
            return program
        path = folder / f"{program.parent.name}-{program.name}"
        command = [
            *(str(self._binary), "variant", "--program", str(program), "--output", str(path)),
            *("--fast-memory", str(share)),
        ]
        subprocess.run(command, check=True, capture_output=True)
        return path


def programs_of(arguments: argparse.Namespace) -> list[pathlib.Path]:
    """Returns the selected programs by chip and name."""
    split = arguments.split
    with (ROOT / "workloads/split.csv").open() as file:
        names = {row["name"] for row in csv.DictReader(file) if split in ("all", row["split"])}
    corpus = run_json(arguments.binary, "corpus", "--workloads", str(ROOT / "workloads"))
    found = []
    for entry in corpus["programs"]:
        report = entry["report"]
        wanted = entry["contended"] or not arguments.contended
        if wanted and report["program"] in names and report["accesses"] >= arguments.least_accesses:
            found.append(ROOT / "workloads" / report["hardware"] / f"{report['program']}.program")
    return found


def play(
    player: Player, program: pathlib.Path, seeds: int
) -> tuple[str, float, list[float], list[float]]:
    """Returns the reference, and cycles of greedy, local search and agent as shares of it."""
    greedy = player.cycles(program, "greedy", 0)
    reference = greedy.get("default_cycles", greedy["all_hbm_cycles"])
    runs: dict[str, list[float]] = {"local_search": [], "agent": []}
    for seed in range(seeds):
        for solver, cycles in runs.items():
            report = player.cycles(program, solver, seed)
            cycles.append(report["total_cycles"] / reference)
    against = "default" if "default_cycles" in greedy else "all in HBM"
    return (
        against,
        greedy["total_cycles"] / reference,
        runs["local_search"],
        runs["agent"],
    )


def outcome(mine: float, other: float) -> str:
    if abs(mine - other) <= EQUAL:
        return "equal to"
    return "above" if mine < other else "below"


def parse_arguments() -> argparse.Namespace:
    parser = make_parser("learning-generalist", __doc__)
    parser.add_argument(
        "--checkpoint", type=pathlib.Path, help="default: the one that comes with the software"
    )
    parser.add_argument(
        "--split",
        default="test",
        choices=("train", "validation", "test", "all"),
        help="default: test",
    )
    parser.add_argument("--budget", default="1s", help="of each player; default: 1s")
    parser.add_argument("--seeds", type=count, default=3, help="default: 3")
    parser.add_argument(
        "--fast-memory", type=float, default=1, help="share of what the chip has; default: 1"
    )
    parser.add_argument(
        "--least-accesses", type=int, default=0, help="programs of fewer are left out"
    )
    parser.add_argument(
        "--contended", action="store_true", help="only programs short of fast memory"
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if not arguments.binary.is_file():
        print(f"learning-generalist: no {arguments.binary}; build it", file=sys.stderr)
        return 2
    player = Player(arguments.binary, arguments.budget, arguments.checkpoint)
    budget = arguments.budget
    print(f"| program | against | greedy | local_search, {budget} | agent, {budget} |")
    print("| --- | --- | ---: | ---: | ---: |")
    against_greedy: dict[str, int] = {}
    against_search: dict[str, int] = {}
    behind: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for original in programs_of(arguments):
            try:
                program = player.variant(original, arguments.fast_memory, pathlib.Path(folder))
            except subprocess.CalledProcessError as error:
                print(f"{original.stem}: {error.stderr.decode().strip()}", file=sys.stderr)
                continue
            against, greedy, search, agent = play(player, program, arguments.seeds)
            shares = [greedy, median(search), median(agent)]
            name = f"{original.parent.name}/{original.stem}"
            saved = " | ".join(f"{100 * (1 - share):z.2f} %" for share in shares)
            print(f"| {name} | {against} | {saved} |", flush=True)
            word = outcome(median(agent), greedy)
            against_greedy[word] = against_greedy.get(word, 0) + 1
            word = outcome(median(agent), median(search))
            against_search[word] = against_search.get(word, 0) + 1
            if median(agent) > median(search) + CLOSE:
                behind.append(name)
    print()
    for name, counts in (("greedy", against_greedy), ("local search", against_search)):
        words = ", ".join(f"{word} on {counts[word]}" for word in sorted(counts))
        print(f"The agent against {name}: {words}.")
    print(f"More than {CLOSE:.1%} behind local search: {', '.join(behind) or 'none'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
