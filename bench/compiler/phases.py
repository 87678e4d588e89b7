"""Compares estimates of compiles in phases with those of whole compiles, and the time of both.

Compiles each program as the search for compiler options does: by default, under other limits of
scoped memory, and with settings. A compile in phases knows the estimates of the compiles in phases
before it under the same limit. Appends one record a line to OUTPUT and prints a Markdown table; a
second run continues where the first stopped. Times are those of processors.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import resource
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import corpus
from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.capture import lower_job
from mallocmuzero_xla.chips import Chip, find_chip
from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.compiler.estimates import Estimates, estimates_by_name
from mallocmuzero_xla.compiler.phased_compiler import PhasedCompiler
from mallocmuzero_xla.compiler.scoped_limit import OPTION
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.search.settings import assignment_settings

# Limits as multiples of the chip's own, and settings by place in their order.
_LIMITS = (1.5,)
_SETTINGS = (0,)

_Result = TypeVar("_Result")


def check(entry: corpus.Entry) -> dict[str, Any]:
    """Returns a record of each compile of a program."""
    chip, found = find_chip(entry.chip), []
    known: dict[str, Estimates] = {}
    with TrialCompiler(chip) as whole:
        whole.lower(lower_job(entry.name, chip, whole.lowered, entry.registry), Budget())
        phased = PhasedCompiler(whole.lowered, whole.lowered.with_name("phases"))
        try:
            for words, options in _options(chip, whole):
                estimates = known.setdefault(options.get(OPTION, ""), Estimates())
                found.append(
                    {"options": words, **_compared(chip, whole, phased, options, estimates)}
                )
        finally:
            phased.close()
    return {"compiles": found}


def _options(chip: Chip, whole: TrialCompiler) -> Iterator[tuple[str, dict[str, str]]]:
    yield "default", {}
    settings = assignment_settings(chip, whole.base_options)
    for place in _SETTINGS:
        setting = settings[place].setting
        if setting is not None:
            yield "=".join(setting), dict([setting])
    for share in _LIMITS if chip.shared_vmem_kib else ():
        limit = int(share * chip.scoped_vmem_kib)
        yield f"{limit // 1024} MiB", {OPTION: str(limit)}


def _compared(
    chip: Chip,
    whole: TrialCompiler,
    phased: PhasedCompiler,
    options: dict[str, str],
    estimates: Estimates,
) -> dict[str, Any]:
    try:
        text, whole_seconds = _timed(lambda: whole.compile(options, Budget()))
    except CaptureError as error:
        return {"error": str(error)[:300]}
    try:
        made, seconds = _timed(
            lambda: phased.compile(options, estimates, threading.Lock(), Budget())
        )
    except CaptureError as error:
        return {"whole_seconds": whole_seconds, "phased_error": str(error)[:300]}
    right, found = estimates_by_name(text), estimates_by_name(made.text)
    differ = {
        name: (cycles, found.get(name))
        for name, cycles in right.items()
        if cycles != found.get(name)
    }
    binary = Binary()
    return {
        "whole_seconds": round(whole_seconds, 2),
        "phased_seconds": round(seconds, 2),
        "alone": made.lowered,
        "complete": made.complete,
        "estimates": len([cycles for cycles in right.values() if cycles is not None]),
        "differ": differ,
        "further": sorted(name for name in found if name not in right),
        "cycles": binary.module_cycles(text, chip.name),
        "phased_cycles": binary.module_cycles(made.text, chip.name),
    }


def _timed(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """Returns a result and the processor time that children of this process took for it."""
    before = _children_seconds()
    result = work()
    return result, _children_seconds() - before


def _children_seconds() -> float:
    """Returns the processor time of all children and their children, also of those that run."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = usage.ru_utime + usage.ru_stime
    for task in pathlib.Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            with contextlib.suppress(OSError):  # it has just ended
                stat = pathlib.Path("/proc", child, "stat").read_text(encoding="utf-8")
                # Fields 14 to 17 of the line; the name before them may have spaces.
                ticks = stat.rpartition(")")[2].split()[11:15]
                total += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return total


def table(records: list[dict[str, Any]]) -> str:
    """Returns a row for each program, and the compiles that were not equal."""
    rows = [
        "| program | compiles | estimates | other | whole, s | in phases, s | share | first |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    unequal = []
    for record in records:
        name = f"{record['chip']}/{record['program']}"
        done = [each for each in record["compiles"] if "phased_seconds" in each]
        unequal += [
            f"- {name}, {each['options']}: {each.get('phased_error') or each.get('error')}"
            for each in record["compiles"]
            if each not in done
        ]
        unequal += [
            f"- {name}, {each['options']}: {each['phased_cycles']:.0f} instead of "
            f"{each['cycles']:.0f} cycles; {len(each['differ'])} estimates differ"
            for each in done
            if each["differ"] or each["cycles"] != each["phased_cycles"]
        ]
        if not done:
            continue
        whole, phased = (
            sum(each[key] for each in done) for key in ("whole_seconds", "phased_seconds")
        )
        first = done[0]["phased_seconds"] / done[0]["whole_seconds"]
        other = sum(len(each["differ"]) for each in done)
        rows.append(
            f"| {name} | {len(done)} | {sum(each['estimates'] for each in done)} | {other} | "
            f"{whole:.1f} | {phased:.1f} | {phased / whole:.0%} | {first:.0%} |"
        )
    return "\n".join([*rows, "", *unequal])


def main(argv: Sequence[str] | None = None) -> int:
    """Checks the chosen programs, then prints the table.

    Returns 0, 1 on failure, 2 on bad usage.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    splits = ("train", "validation", "test")
    parser.add_argument("--split", choices=splits, help="only programs of this split")
    corpus.add_arguments(parser)
    arguments = parser.parse_args(argv)
    return run_command("phases.py", lambda: _check(arguments))


def _check(arguments: argparse.Namespace) -> int:
    entries = (each for each in corpus.chosen(arguments) if arguments.split in (None, each.split))
    print(table(corpus.record_each(entries, arguments.output, check)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
