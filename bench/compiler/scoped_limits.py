"""Measures the gains of other limits of scoped memory and prints a Markdown table.

Compiles each program of the captures under the chip's own limit and under those that `optimize`
would try, without overrides. Appends one record a line to OUTPUT; a second run continues where the
first stopped.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import sys
import tempfile
from collections.abc import Sequence
from statistics import mean
from typing import Any

import corpus
from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.source import Source, capture_chip, lower_for
from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.search.joint_search import JointSearch
from mallocmuzero_xla.search.search_capture import Resources
from mallocmuzero_xla.search.step_runner import Scope


def try_limits(entry: corpus.Entry, seconds: float) -> dict[str, Any]:
    """Returns the default's cycles, and the cycles by limit in KiB."""
    capture = entry.capture()
    chip = capture_chip(capture)
    with TrialCompiler(chip) as compiler, tempfile.TemporaryDirectory() as scratch:
        lower_for(capture, Source(entry.name, entry.registry), compiler, Budget())
        program = LoweredProgram.read(compiler.lowered)
        resources = Resources(
            chip, pathlib.Path(scratch), Binary(), Budget(seconds), LoopProgress()
        )
        search = JointSearch(program, resources, Scope(settings=False, overrides=False))
        default = search.run().default_cycles
        cycles = {
            each.step.candidate.limit: each.cycles
            for each in search.record
            if each.cycles is not None
        }
        return {"default_cycles": default, "cycles": cycles}


def table(records: list[dict[str, Any]]) -> str:
    """Returns a row for each program, and the mean gain of each chip."""
    rows = [
        "| chip | program | best limit, MiB | gain | limits tried (gain) |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    gains: dict[str, list[float]] = {}
    for record in sorted(records, key=lambda entry: (entry["chip"], entry["program"])):
        default = record["default_cycles"]
        tried = sorted((cycles, int(kib) / 1024) for kib, cycles in record["cycles"].items())
        gain = 1 - tried[0][0] / default
        gains.setdefault(record["chip"], []).append(gain)
        others = ", ".join(
            f"{mebibytes:g}: {1 - cycles / default:+.1%}"
            for mebibytes, cycles in sorted((limit, cycles) for cycles, limit in tried)
        )
        rows.append(
            f"| {record['chip']} | {record['program']} | {tried[0][1]:g} | {gain:.2%} | {others} |"
        )
    rows.append("")
    rows += [f"- {chip}: mean {mean(own):.2%} of {len(own)}" for chip, own in gains.items()]
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures all captures, then prints the table.

    Returns 0, 1 on failure, 2 on bad usage.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    corpus.add_arguments(parser)
    parser.add_argument("--seconds", type=float, default=300.0, help="for the limits of a program")
    arguments = parser.parse_args(argv)

    def run() -> int:
        measure = functools.partial(try_limits, seconds=arguments.seconds)
        print(table(corpus.record_each(corpus.chosen(arguments), arguments.output, measure)))
        return 0

    return run_command("scoped_limits.py", run)


if __name__ == "__main__":
    sys.exit(main())
