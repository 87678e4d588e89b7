"""Replays recorded compiles to compare strategies of the search without compiling anything.

Reads the records of scoped_limits.py and assignment_settings.py. A setting is taken to save the
same share under every limit. A limit without a record counts as refused. Prints a Markdown table:
the mean gain by budget, in seconds of compiles.
"""

from __future__ import annotations

import argparse
import csv
import json
import pathlib
from collections.abc import Callable, Iterator
from statistics import mean
from typing import Any

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.search.seen import best
from mallocmuzero_xla.search.settings import setting_kinds
from mallocmuzero_xla.search.steps import Candidate, Costs, Kind, Outcome, Space
from mallocmuzero_xla.search.strategy import next_steps

ROOT = pathlib.Path(__file__).resolve().parents[2]
_BUDGETS = (60.0, 120.0, 240.0)
_COMPILE_SECONDS = (10.0, 20.0, 40.0)
_TRIAL_SHARE = 0.1  # of a compile, for a trial compile

# The order in which a stage of its own tries limits: multiples of the chip's own, and the largest
# share of the budget for them.
_LADDER = (1.5, 2.0, 3.0, 4.0, 0.75, 0.5, 0.25)
_LADDER_SHARE = 0.35


class Program:
    """The recorded results of a program."""

    def __init__(self, limits: dict[str, Any], saved: dict[str, float | None]) -> None:
        self.chip = CHIPS[limits["chip"]]
        self._cycles = {int(kib): float(cycles) for kib, cycles in limits["cycles"].items()}
        self._saved = saved
        self.default = self._cycles[self.chip.scoped_vmem_kib]

    def cycles(self, candidate: Candidate) -> float | None:
        """Returns the cycles of a candidate, or None if it has no record."""
        cycles = self._cycles.get(candidate.limit)
        for kind in candidate.settings:
            saved = self._saved.get(kind)
            cycles = None if cycles is None or saved is None else cycles * (1 - saved)
        return cycles


def joint(program: Program, budget: float, compile_seconds: float) -> float:
    """Returns the gain of the strategy, without overrides."""
    chip = program.chip
    space = Space(chip.scoped_vmem_kib, chip.shared_vmem_kib or 0, setting_kinds(), False)
    trial = _TRIAL_SHARE * compile_seconds
    costs = Costs(compile_seconds, trial, 2 * compile_seconds, 0.4 * budget)
    record: list[Outcome] = []
    clock = 0.0
    while steps := next_steps(space, record, max(0.0, budget - clock), budget, costs):
        (step,) = steps
        seconds = trial if step.kind == Kind.TRIAL else compile_seconds
        clock += seconds
        record.append(Outcome(step, seconds, program.cycles(step.candidate)))
    found = best(record)
    return 1 - (found.cycles or program.default) / program.default if found else 0.0


def limits_first(program: Program, budget: float, compile_seconds: float) -> float:
    """Returns the gain of a stage of limits that has a fixed share of the budget."""
    own = program.chip.scoped_vmem_kib
    room = (budget - 3 * compile_seconds) / 2
    count = int(max(0.0, min(_LADDER_SHARE * budget, room)) / compile_seconds)
    tried = _ladder(program, own)
    found = [program.default]
    for _ in range(count):
        limit = next(tried, None)
        if limit is None:
            break
        found.append(program.cycles(Candidate(limit)) or program.default)
    return 1 - min(found) / program.default


def _ladder(program: Program, own: int) -> Iterator[int]:
    """Yields higher limits until one is slower than its predecessor, then perhaps lower ones."""
    helped = False
    for side in (_LADDER[:4], _LADDER[4:]):
        last = program.default
        for share in side:
            limit = int(own * share)
            yield limit
            cycles = program.cycles(Candidate(limit))
            if cycles is None:
                continue
            if cycles > 1.002 * last:
                break
            helped = helped or cycles < program.default
            last = cycles
        if helped:
            return


def one_setting(program: Program, budget: float, compile_seconds: float) -> float:
    """Returns the gain of trials of settings and a compile of the best, under the chip's limit."""
    own = program.chip.scoped_vmem_kib
    trials = int((budget - 2 * compile_seconds) / (_TRIAL_SHARE * compile_seconds))
    kinds = setting_kinds()[: max(0, trials)]
    found = [program.cycles(Candidate(own, (kind,))) or program.default for kind in kinds]
    return max(0.0, 1 - min(found, default=program.default) / program.default)


_STRATEGIES: dict[str, Callable[[Program, float, float], float]] = {
    "together": joint,
    "a stage of limits": limits_first,
    "a stage of settings": one_setting,
}


def programs(results: pathlib.Path, split: pathlib.Path, which: str) -> list[Program]:
    """Returns the programs of a split for which limits and settings are recorded."""
    with split.open(encoding="utf-8") as stream:
        chosen = {row["name"] for row in csv.DictReader(stream) if row["split"] == which}
    saved = {
        (record["chip"], record["program"]): record["saved"]
        for record in _records(results / "assignment_settings.jsonl")
    }
    return [
        Program(record, saved.get((record["chip"], record["program"]), {}))
        for record in _records(results / "scoped_limits.jsonl")
        if record["program"] in chosen
    ]


def _records(path: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(chosen: list[Program]) -> str:
    """Returns the mean gains, a row for each duration of a compile and strategy."""
    heads = " | ".join(f"{budget:.0f} s" for budget in _BUDGETS)
    rows = [
        f"| a compile takes | strategy | {heads} |",
        "| ---: | --- |" + " ---: |" * len(_BUDGETS),
    ]
    for seconds in _COMPILE_SECONDS:
        for name, strategy in _STRATEGIES.items():
            means = [
                mean(strategy(each, budget, seconds) for each in chosen) for budget in _BUDGETS
            ]
            cells = " | ".join(f"{share:.2%}" for share in means)
            rows.append(f"| {seconds:.0f} s | {name} | {cells} |")
    return "\n".join(rows)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "docs" / "results")
    parser.add_argument("--split", default="train", choices=("train", "validation", "test"))
    arguments = parser.parse_args()
    chosen = programs(arguments.results, ROOT / "workloads" / "split.csv", arguments.split)
    print(f"{len(chosen)} programs of the {arguments.split} split\n\n{table(chosen)}")


if __name__ == "__main__":
    main()
