"""Measures how time and memory of the commands grow with the length of a program.

    python3 bench/solvers/lengths.py --layers 42 85 171 343

The programs are made by `mallocmuzero variant` of one captured program. The table has the processor
time of each command in seconds, and the most memory that it took in MiB. With --before, a second
binary runs the same commands, and the cells are before / after.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The measured commands with their flags. MAPPING and SCRATCH stand for paths.
COMMANDS = {
    "price": ("simulate", "--mapping", "MAPPING"),
    "check": ("validate", "--mapping", "MAPPING"),
    "plot": ("plot", "--mapping", "MAPPING", "--output", "SCRATCH"),
    "explain": ("explain", "--mapping", "MAPPING", "--against", "all_hbm"),
    "game": ("bench", "game", "--games", "1", "--player", "eager"),
    "greedy and bound": ("map", "--solver", "greedy", "--budget", "1s", "--output", "SCRATCH"),
}


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one run of a command took."""

    seconds: float  # processor time
    mebibytes: float  # most memory at one time

    def text(self) -> str:
        """The cell of the table."""
        return f"{self.seconds:.2f} s, {self.mebibytes:.0f} MiB"


def measure(command: Sequence[str | pathlib.Path]) -> Cost:
    """Runs a command; raises CalledProcessError if it fails."""
    # The command's own usage, not that of all children so far.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@dataclasses.dataclass(frozen=True)
class Subject:
    """A program of some length and a mapping of it."""

    layers: int
    program: pathlib.Path
    mapping: pathlib.Path


def make(arguments: argparse.Namespace, layers: int, folder: pathlib.Path) -> Subject:
    """Makes a program with so many layers, and a mapping by XLA's heuristic."""
    subject = Subject(layers, folder / f"{layers}.program", folder / f"{layers}.mapping")
    depth = ("--from-layers", str(arguments.from_layers), "--to-layers", str(layers))
    variant = (arguments.binary, "variant", "--program", arguments.program, *depth)
    subprocess.run([*variant, "--output", subject.program], check=True, stdout=subprocess.DEVNULL)
    solve = ("map", "--solver", "xla_like", "--budget", "1s", "--program", subject.program)
    subprocess.run(
        [arguments.binary, *solve, "--output", subject.mapping],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return subject


def cell(binaries: Sequence[pathlib.Path], flags: Sequence[str], subject: Subject) -> str:
    """The costs of one command on one program, by binary."""
    paths = {"MAPPING": subject.mapping, "SCRATCH": subject.program.with_suffix(".scratch")}
    words = [paths.get(flag, flag) for flag in flags]
    costs = [measure([binary, *words, "--program", subject.program]) for binary in binaries]
    return " / ".join(cost.text() for cost in costs)


def main() -> None:
    """Parses the flags and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--program",
        default=ROOT / "workloads/tpu_v4i/gpt_7x512_train_b4x256.program",
        type=pathlib.Path,
        help="a captured program",
    )
    parser.add_argument("--from-layers", default=7, type=int, help="the layers of its model")
    parser.add_argument("--layers", required=True, type=int, nargs="+")
    parser.add_argument("--binary", default=ROOT / "build/bin/mallocmuzero", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path, help="another binary to compare with")
    arguments = parser.parse_args()

    binaries = [b for b in (arguments.before, arguments.binary) if b is not None]
    with tempfile.TemporaryDirectory() as folder:
        subjects = [make(arguments, layers, pathlib.Path(folder)) for layers in arguments.layers]
        names = ["command", *(f"{subject.layers} layers" for subject in subjects)]
        print("| " + " | ".join(names) + " |\n| --- |" + " ---: |" * len(subjects), flush=True)
        for name, flags in COMMANDS.items():
            cells = [cell(binaries, flags, subject) for subject in subjects]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
