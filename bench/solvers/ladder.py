"""Makes one model's programs at many depths, up to 20,000 decisions and more.

    python3 bench/solvers/ladder.py --output /tmp/ladder              # writes the programs
    python3 bench/solvers/ladder.py --output /tmp/ladder --check      # and compares with captures
    python3 bench/solvers/ladder.py --output /tmp/ladder --seconds 10 # and searches each program
    python3 bench/solvers/ladder.py --output /tmp/ladder --seconds 10 --seeds 5 --jobs 15

Programs in --captured (`CHIP/MODEL_LAYERSxREST.program`) are captured ones. Every other depth is
made of the deepest captured program that is less deep, by `mallocmuzero variant`, which repeats
layers. Each program is also written with a quarter of the chip's fast memory. `--check` makes
captured depths once more, of less deep captured programs, and prints how both differ. Local search
is `search_trace`, which has one thread and counts its processor time. With several seeds the table
has medians and ranges. Searches that run side by side (`--jobs`) need idle cores.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPTHS = (7, 14, 28, 56, 112)
QUARTER = 0.25
CHECK_SECONDS = 5.0
NAME = re.compile(r"(?P<model>[a-z0-9_]*[a-z])_(?P<layers>\d+)x(?P<rest>.*)")


@dataclasses.dataclass(frozen=True)
class Model:
    """A model on a chip; `name` has a gap for the number of layers, such as `gpt_{}x512_train`."""

    chip: str
    name: str

    def program(self, layers: int) -> str:
        """The name of the program with so many layers."""
        return self.name.format(layers)


Captured = dict[Model, dict[int, pathlib.Path]]


def find_captured(folder: pathlib.Path) -> Captured:
    """Returns the captured programs of each model by their number of layers."""
    captured: Captured = {}
    for path in sorted(folder.glob("*/*.program")):
        match = NAME.fullmatch(path.stem)
        if match is None:
            raise SystemExit(f"{path}: expected a name such as gpt_14x512.program")
        model = Model(path.parent.name, f"{match['model']}_{{}}x{match['rest']}")
        captured.setdefault(model, {})[int(match["layers"])] = path
    return captured


@dataclasses.dataclass(frozen=True)
class Binary:
    """The binary of the project."""

    path: pathlib.Path
    trace: pathlib.Path  # search_trace
    seconds: float  # processor time of a local search

    def run(self, *arguments: str | pathlib.Path) -> subprocess.CompletedProcess[str]:
        """Runs a command."""
        command = [self.path, *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    def report(self, *arguments: str | pathlib.Path) -> dict[str, Any]:
        """Runs a command with --json and returns its report."""
        ran = self.run(*arguments, "--json")
        if ran.returncode != 0:
            raise SystemExit(ran.stderr.strip())
        report: dict[str, Any] = json.loads(ran.stdout)
        return report

    def local_search(self, program: pathlib.Path, seed: int) -> tuple[float, int]:
        """Returns the cycles of the best mapping, and the decisions of its game."""
        command = [str(self.trace), str(program), str(seed), str(self.seconds)]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        last = json.loads(ran.stdout.splitlines()[-1])
        return last["cycles"], last["decisions"]

    def repeat(
        self, model: Model, layers: int, base: tuple[int, pathlib.Path], output: pathlib.Path
    ) -> str:
        """Makes a deeper program of the base; returns why it cannot be made, or nothing."""
        depth, path = base
        ran = self.run(
            *("variant", "--program", path, "--output", output),
            *("--from-layers", str(depth), "--to-layers", str(layers)),
            *("--name", model.program(layers)),
        )
        if ran.returncode == 0:
            return ""
        return ran.stderr.strip() or f"variant ended with status {ran.returncode}"

    def shrink(self, program: pathlib.Path, share: float, output: pathlib.Path) -> None:
        """Writes the program with a share of its fast memory."""
        arguments = ("--program", program, "--fast-memory", str(share), "--output", output)
        ran = self.run("variant", *arguments)
        if ran.returncode != 0:
            raise SystemExit(ran.stderr.strip())


def bases(depths: dict[int, pathlib.Path], layers: int) -> Iterator[tuple[int, pathlib.Path]]:
    """The captured programs that are less deep, the deepest first."""
    for depth in sorted(depths, reverse=True):
        if depth < layers:
            yield depth, depths[depth]


def make(
    binary: Binary, captured: Captured, depths: Sequence[int], output: pathlib.Path
) -> list[pathlib.Path]:
    """Writes all programs to OUTPUT/CHIP and OUTPUT/CHIP_25pct; returns their paths."""
    made = []
    for model, known in captured.items():
        for layers in sorted({*depths, *known}):
            path = output / model.chip / f"{model.program(layers)}.program"
            path.parent.mkdir(parents=True, exist_ok=True)
            if layers in known:
                shutil.copyfile(known[layers], path)
                print(f"{model.chip}/{path.stem}: captured", flush=True)
            else:
                whys = []
                for base in bases(known, layers):
                    why = binary.repeat(model, layers, base, path)
                    if not why:
                        print(f"{model.chip}/{path.stem}: from {base[0]} layers", flush=True)
                        break
                    whys.append(why)
                else:
                    reason = whys[0] if whys else "no less deep program is captured"
                    print(f"{model.chip}/{path.stem}: not made: {reason}", flush=True)
                    continue
            small = output / f"{model.chip}_25pct" / path.name
            small.parent.mkdir(parents=True, exist_ok=True)
            binary.shrink(path, QUARTER, small)
            made += [path, small]
    return made


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a program is like: sizes, and what placements of it take in cycles."""

    instructions: int
    eager_decisions: int  # of a game that copies where it can
    best_decisions: int  # of the best game of local search with seed 0
    bytes_accessed: int
    all_hbm: float
    bound: float
    greedy: float
    xla_like: float
    local_search: float  # with seed 0


def facts_of(binary: Binary, program: pathlib.Path) -> Facts:
    """Prices the program, plays it once, and solves it."""
    priced = binary.report("simulate", "--program", program, "--mapping", "all_hbm")
    game = ("--games", "1", "--player", "eager")
    played = binary.report("bench", "game", "--program", program, *game)
    greedy = solve(binary, program, "greedy")
    xla_like = solve(binary, program, "xla_like")
    cycles, decisions = binary.local_search(program, 0)
    return Facts(
        instructions=priced["instructions"],
        eager_decisions=played["players"][0]["decisions"],
        best_decisions=decisions,
        bytes_accessed=priced["bytes_accessed"],
        all_hbm=priced["total_cycles"],
        bound=greedy["bound_cycles"],
        greedy=greedy["total_cycles"],
        xla_like=xla_like["total_cycles"],
        local_search=cycles,
    )


def solve(binary: Binary, program: pathlib.Path, solver: str) -> dict[str, Any]:
    """Returns the report of `map` with a solver that needs no time. The bound gets a second."""
    with tempfile.TemporaryDirectory() as folder:
        return binary.report(
            *("map", "--program", program, "--solver", solver, "--budget", "10s"),
            *("--output", f"{folder}/m.mapping"),
        )


CHECK_HEADER = (
    "| chip | program | made of | "
    + " | ".join(field.name.replace("_", " ") for field in dataclasses.fields(Facts))
    + " |\n| --- | --- | ---: |"
    + " ---: |" * len(dataclasses.fields(Facts))
)


def check(binary: Binary, captured: Captured) -> Iterator[str]:
    """Rows: by how many per cent a repeated program differs from the captured one."""
    with tempfile.TemporaryDirectory() as folder:
        for model, known in captured.items():
            for layers in sorted(known):
                real = None
                for base in bases(known, layers):
                    path = pathlib.Path(folder) / f"{model.program(layers)}.program"
                    if binary.repeat(model, layers, base, path):
                        continue
                    real = real or facts_of(binary, known[layers])
                    yield check_row(model, layers, base[0], facts_of(binary, path), real)


def check_row(model: Model, layers: int, base: int, repeated: Facts, real: Facts) -> str:
    """The differences of all facts, in per cent."""
    pairs = zip(dataclasses.astuple(repeated), dataclasses.astuple(real), strict=True)
    cells = [f"{100 * (ours / theirs - 1):+z.2f} %" for ours, theirs in pairs]
    return f"| {model.chip} | {model.program(layers)} | {base} | {' | '.join(cells)} |"


SEARCH_HEADER = (
    "| chip | program | instructions | eager decisions | best decisions | greedy |"
    " XLA's heuristic | local search | no mapping |\n| --- | --- |" + " ---: |" * 7
)


def search_rows(
    binary: Binary, programs: Sequence[pathlib.Path], seeds: int, jobs: int
) -> Iterator[str]:
    """Rows: what each solver saves against everything in HBM, and what none can save more than."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        facts = [pool.submit(facts_of, binary, program) for program in programs]
        others = [
            [pool.submit(binary.local_search, program, seed) for seed in range(1, seeds)]
            for program in programs
        ]
        for program, own, searches in zip(programs, facts, others, strict=True):
            yield search_row(program, own.result(), [s.result()[0] for s in searches])


def search_row(program: pathlib.Path, facts: Facts, other_seeds: Sequence[float]) -> str:
    """The row of a program; `other_seeds` are the cycles of local search with seeds 1 and on."""

    def saved(cycles: float) -> float:
        return 100 * (1 - cycles / facts.all_hbm)

    found = [saved(cycles) for cycles in (facts.local_search, *other_seeds)]
    spread = f" ({min(found):z.2f} to {max(found):z.2f})" if len(found) > 1 else ""
    cells = (
        *(f"{saved(cycles):z.2f} %" for cycles in (facts.greedy, facts.xla_like)),
        f"{median(found):z.2f} %{spread}",
        f"{saved(facts.bound):z.2f} %",
    )
    sizes = f"{facts.instructions:,} | {facts.eager_decisions:,} | {facts.best_decisions:,}"
    return f"| {program.parent.name} | {program.stem} | {sizes} | {' | '.join(cells)} |"


def main() -> None:
    """Parses the flags, makes the programs, and checks or searches them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True, type=pathlib.Path, help="folder of the programs")
    parser.add_argument("--captured", default=ROOT / "bench/solvers/captured", type=pathlib.Path)
    parser.add_argument("--binary", default=ROOT / "build/bin/mallocmuzero", type=pathlib.Path)
    parser.add_argument("--depths", default=list(DEPTHS), type=int, nargs="+", metavar="LAYERS")
    parser.add_argument("--only", default="", help="a part of the names of the programs to make")
    parser.add_argument("--check", action="store_true", help="compare with captured programs")
    parser.add_argument("--seconds", type=float, help="search each program for this time")
    parser.add_argument("--seeds", default=1, type=int, help="of local search; default: 1")
    parser.add_argument("--jobs", default=1, type=int, help="searches at a time; default: 1")
    parser.add_argument("--trace", default=ROOT / "build/bin/search_trace", type=pathlib.Path)
    arguments = parser.parse_args()

    binary = Binary(arguments.binary, arguments.trace, arguments.seconds or CHECK_SECONDS)
    captured = {
        model: known
        for model, known in find_captured(arguments.captured).items()
        if arguments.only in f"{model.chip}/{model.name}"
    }
    programs = make(binary, captured, arguments.depths, arguments.output)
    if arguments.check:
        print(CHECK_HEADER)
        for row in check(binary, captured):
            print(row, flush=True)
    if arguments.seconds:
        print(SEARCH_HEADER)
        for row in search_rows(binary, programs, arguments.seeds, arguments.jobs):
            print(row, flush=True)


if __name__ == "__main__":
    main()
