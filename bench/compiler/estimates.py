"""Checks that the compiler's estimates do not move with options that only change its beliefs.

Compiles each program by default and under options that misstate bandwidth, sizes or loop counts to
the memory-space assignment. An instruction with the same operands, results and memories must have
the same estimate in all of them. Appends one record a line to OUTPUT and prints a Markdown table; a
second run continues where the first stopped. With --captures it compares the captured texts of each
program instead, and compiles nothing.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

import corpus
from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.capture import lower_job
from mallocmuzero_xla.chips import find_chip
from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.compiler.estimates import Estimates
from mallocmuzero_xla.compiler.store import SUFFIX, read_text
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.errors import CompileError, WorkerLostError

# Each makes another placement than the default on most programs.
_BELIEFS = {
    "twice the bandwidth": {"xla_tpu_async_copy_bandwidth_scaling_factor": "2"},
    "half of it, sizes of 0, loops run once": {
        "xla_tpu_async_copy_bandwidth_scaling_factor": "0.5",
        "xla_tpu_prefetch_interval_picker_size_override": "0",
        "xla_tpu_memory_space_assignment_while_execution_count": "1",
    },
}


def check(entry: corpus.Entry) -> dict[str, Any]:
    """Returns how many instructions have an estimate in two compiles, and how many differ."""
    binary = Binary()
    chip = find_chip(entry.chip)
    estimates = Estimates()
    found: list[dict[str, Any]] = []
    started = time.monotonic()
    with TrialCompiler(chip) as compiler:
        compiler.lower(lower_job(entry.name, chip, compiler.lowered, entry.registry), Budget())
        trial = compiler.compile_trial({}, Budget())
        text = compiler.compile({}, Budget())
        estimates.learn(text)
        default = binary.module_cycles(text, chip.name)
        # A trial compile has the default's placement, so its price must be the default's.
        priced = binary.module_cycles(estimates.fill(trial).text, chip.name)
        for name, options in _BELIEFS.items():
            try:
                text = compiler.compile(options, Budget())
            except (CompileError, WorkerLostError) as error:
                found.append({"beliefs": name, "error": str(error)})
                continue
            known, differ = estimates.compare(text)
            estimates.learn(text)
            cycles = binary.module_cycles(text, chip.name)
            found.append(
                {"beliefs": name, "known": known, "differ": differ, "gain": 1 - cycles / default}
            )
    return {
        "trial_is_exact": priced == default,
        "beliefs": found,
        "seconds": time.monotonic() - started,
    }


def check_captures(entry: corpus.Entry) -> str:
    """Returns a line about the captured texts of a program."""
    estimates = Estimates()
    known = differ = texts = 0
    folder = entry.workloads / "captures" / entry.chip / entry.name
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        text = read_text(path)
        counts = estimates.compare(text)
        estimates.learn(text)
        known, differ, texts = known + counts[0], differ + counts[1], texts + 1
    return f"{entry.chip}/{entry.name}: {texts} texts, {known} known, {differ} differ"


def table(records: list[dict[str, Any]]) -> str:
    """Returns a row for each program and set of beliefs."""
    rows = [
        "| program | beliefs | instructions in the same memories | other estimate | gain |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for record in records:
        name = f"{record['chip']}/{record['program']}"
        for each in record["beliefs"]:
            if "error" in each:
                rows.append(f"| {name} | {each['beliefs']} | does not compile | | |")
                continue
            rows.append(
                f"| {name} | {each['beliefs']} | {each['known']} | {each['differ']} | "
                f"{each['gain']:.2%} |"
            )
    exact = sum(record["trial_is_exact"] for record in records)
    rows += ["", f"A filled trial compile has the default's cycles: {exact} of {len(records)}."]
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Checks the chosen programs, then prints the table.

    Returns 0, 1 on failure, 2 on bad usage.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    corpus.add_arguments(parser)
    parser.add_argument("--captures", action="store_true", help="write about captured texts")
    arguments = parser.parse_args(argv)
    return run_command("estimates.py", lambda: _check(arguments))


def _check(arguments: argparse.Namespace) -> int:
    if arguments.captures:
        lines = [check_captures(entry) for entry in corpus.chosen(arguments)]
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return 0
    print(table(corpus.record_each(corpus.chosen(arguments), arguments.output, check)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
