"""Compares the best known mapping of every program with the bound that no mapping beats.

    python3 bench/solvers/bounds.py --budget 10s --write docs/bounds.md

Each program is searched by `mallocmuzero map`. A mapping that takes fewer cycles than the best
known one replaces it in workloads/best_known.csv. This file is written after every program, so that
a stopped run loses nothing. `--budget 0s` only computes bounds, beside the known mappings.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- bounds: begin -->", "<!-- bounds: end -->"

# A bound is loose if it closes less than this share of the gap between a memory without limits and
# the best known mapping.
LOOSE = 0.5

# A gap between a memory without limits and the best known mapping counts if it is larger than this
# share of the all-HBM cycles.
LEAST_GAP = 0.001


@dataclasses.dataclass(frozen=True)
class Known:
    """The best known mapping of a program: its cycles, and the search that found it."""

    cycles: float
    solver: str
    budget: str


@dataclasses.dataclass(frozen=True)
class Bound:
    """What one program's search and bound say, in cycles."""

    chip: str
    name: str
    default: float
    all_hbm: float
    known: Known
    bound: float
    unlimited: float

    @property
    def closed(self) -> float:
        """The part of the gap from no limits to the best known mapping that the bound closes."""
        gap = self.known.cycles - self.unlimited
        return (self.bound - self.unlimited) / gap if gap > 0 else 1.0

    @property
    def has_gap(self) -> bool:
        """Whether limits of memory or bandwidth matter."""
        return self.known.cycles - self.unlimited > LEAST_GAP * self.all_hbm

    def share_saved(self, cycles: float) -> float:
        """Per cent saved against the compiler's default as compiled."""
        return 100 * (1 - cycles / self.default)


Registry = dict[tuple[str, str], Known]


def read_registry(path: pathlib.Path) -> Registry:
    """Reads best_known.csv; an absent file is an empty registry."""
    if not path.exists():
        return {}
    with path.open(newline="") as stream:
        return {
            (row["chip"], row["name"]): Known(float(row["cycles"]), row["solver"], row["budget"])
            for row in csv.DictReader(stream)
        }


def write_registry(path: pathlib.Path, registry: Registry) -> None:
    """Writes best_known.csv at once, sorted by chip and name."""
    new = path.with_suffix(".new")
    with new.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["chip", "name", "cycles", "solver", "budget"])
        for (chip, name), known in sorted(registry.items()):
            writer.writerow([chip, name, f"{known.cycles:.3f}", known.solver, known.budget])
    new.replace(path)


def search(arguments: argparse.Namespace, program: pathlib.Path) -> dict[str, Any]:
    """Returns the report of `map`."""
    # The bound gets a tenth of the budget. The greedy player needs none of it.
    solver, budget = arguments.solver, arguments.budget
    if budget == "0s":
        solver, budget = "greedy", "10s"
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [
                *(arguments.binary, "map", "--json", "--program", program, "--budget", budget),
                *("--solver", solver, "--threads", str(arguments.threads)),
                *("--output", f"{folder}/m.mapping"),
            ],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def measure(arguments: argparse.Namespace, program: pathlib.Path, known: Known | None) -> Bound:
    """Searches one program and returns its bound beside the better of both mappings."""
    report = search(arguments, program)
    found = Known(report["total_cycles"], report["solver"], arguments.budget)
    if known is None or found.cycles < known.cycles * (1 - 1e-9):
        known = found
    bound = report["bound_cycles"]
    if known.cycles < bound * (1 - 1e-9):
        raise SystemExit(
            f"{program.parent.name} {program.stem}: the best known mapping takes "
            f"{known.cycles:.0f} cycles, and no mapping fewer than {bound:.0f}: "
            f"best_known.csv has it from other prices, so remove its line"
        )
    return Bound(
        chip=program.parent.name,
        name=program.stem,
        default=report["default_cycles"],
        all_hbm=report["all_hbm_cycles"],
        known=known,
        bound=bound,
        unlimited=report["unlimited_cycles"],
    )


def table(bounds: Iterable[Bound]) -> str:
    """Returns the Markdown table of all programs and the sentences that sum it up."""
    bounds = sorted(bounds, key=lambda b: (b.chip, b.name))
    limited = [b for b in bounds if b.has_gap]
    loose = [b for b in limited if b.closed < LOOSE]
    gaps = sorted(b.share_saved(b.bound) - b.share_saved(b.known.cycles) for b in bounds)
    closed = 100 * statistics.median([b.closed for b in limited] or [1.0])
    lines = [
        f"{len(bounds)} programs. For {len(limited)} of them a memory without limits would save"
        f" more than the best known mapping does. Of this gap the bound closes {closed:.0f} %"
        f" (median); for {len(loose)} programs it closes less than half. The best"
        f" known mapping is at most {statistics.median(gaps):.2f} points from the best possible one"
        f" (median over all programs), and at most {gaps[-1]:.2f} points in the worst case.",
        "",
        "| chip | program | best known saves | most that any saves | gap | closed | found by |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for b in bounds:
        known, bound = b.share_saved(b.known.cycles), b.share_saved(b.bound)
        share = f"{100 * b.closed:.0f} %" + (" (loose)" if b in loose else "")
        closed_share = share if b.has_gap else "nothing to close"
        lines.append(
            f"| {b.chip} | {b.name} | {known:z.2f} % | {bound:z.2f} % "
            f"| {bound - known:z.2f} "
            f"| {closed_share} | {b.known.solver}, {b.known.budget} |"
        )
    return "\n".join(lines)


def replace_table(path: pathlib.Path, text: str) -> None:
    """Replaces the text between the markers of a document."""
    document = path.read_text()
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    if not pattern.search(document):
        raise SystemExit(f"{path}: no line '{BEGIN}' followed by '{END}'")
    path.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}\n{END}", document))


def main() -> None:
    """Parses the flags and measures all programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=ROOT / "build/bin/mallocmuzero", type=pathlib.Path)
    parser.add_argument("--workloads", default=ROOT / "workloads", type=pathlib.Path)
    parser.add_argument("--budget", default="10s", help="of each search; 0s: no search")
    parser.add_argument("--solver", default="local_search", help="as for map")
    parser.add_argument("--threads", default=1, type=int, help="of each search")
    parser.add_argument("--only", default="*", help="a pattern of programs' names")
    parser.add_argument("--write", type=pathlib.Path, help="replaces the table of this document")
    arguments = parser.parse_args()
    if arguments.write and arguments.only != "*":
        parser.error("--write: leave --only out, because a document's table has all programs")

    path = arguments.workloads / "best_known.csv"
    registry = read_registry(path)
    bounds = []
    for program in sorted(arguments.workloads.glob(f"tpu_*/{arguments.only}.program")):
        key = (program.parent.name, program.stem)
        bound = measure(arguments, program, registry.get(key))
        bounds.append(bound)
        if arguments.budget != "0s":
            registry[key] = bound.known
            write_registry(path, registry)
        print(
            f"{bound.chip} {bound.name}: {bound.share_saved(bound.known.cycles):z.2f} % "
            f"saved, bound {bound.share_saved(bound.bound):z.2f} %",
            flush=True,
        )
    if arguments.write:
        replace_table(arguments.write, table(bounds))
    else:
        print(table(bounds))


if __name__ == "__main__":
    main()
