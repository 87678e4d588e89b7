"""Measures the gain of each setting of the compiler's assignment.

Makes a trial compile of each program of the captures under each setting alone, without overrides,
and prices the placement by the program's latency table. Appends one record a line to OUTPUT; a
second run continues where the first stopped.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Iterator, Sequence
from statistics import mean
from typing import Any

import corpus
from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.source import Source, capture_chip, lower_for
from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.compiler.variants import ALL_HBM
from mallocmuzero_xla.errors import CompileError, WorkerLostError
from mallocmuzero_xla.overrides import options_of
from mallocmuzero_xla.search.settings import assignment_settings, setting_kinds

# Programs on which no setting saves more than this share are left out.
_LEAST_SAVING = 1e-3


def try_settings(entry: corpus.Entry) -> dict[str, Any]:
    """Returns the share of cycles that each setting saves; None if it does not compile."""
    binary = Binary()
    capture = entry.capture()
    all_hbm = capture.path(ALL_HBM)
    saved: dict[str, float | None] = {}
    with TrialCompiler(capture_chip(capture)) as compiler:
        lower_for(capture, Source(entry.name, entry.registry), compiler, Budget())
        for item in assignment_settings(capture_chip(capture), compiler.base_options):
            try:
                text = compiler.compile_trial(options_of([item]), Budget())
                found = binary.readback(entry.program, all_hbm, text, "default")
                saved[item.kind] = 1 - found.mapped_cycles / found.default_cycles
            except (CompileError, WorkerLostError):
                saved[item.kind] = None
    return {"saved": saved}


def table(records: list[dict[str, Any]]) -> str:
    """Returns a row for each program with its best setting, then a row for each setting."""
    rows = ["| program | best setting | saves |", "| --- | --- | ---: |"]
    by_kind: dict[str, list[float]] = {}
    best = []
    for record in sorted(records, key=lambda entry: (entry["chip"], entry["program"])):
        saved = {kind: share for kind, share in record["saved"].items() if share is not None}
        for kind, share in saved.items():
            by_kind.setdefault(kind, []).append(share)
        kind = max(saved, key=lambda name: saved[name], default="")
        best.append(max(0.0, saved.get(kind, 0.0)))
        name = f"{record['chip']}/{record['program']}"
        rows.append(f"| {name} | {kind if best[-1] > 0 else ''} | {best[-1]:.2%} |")
    rows += [f"| mean | | {mean(best):.2%} |", "", "| setting | saves on | at most |"]
    rows.append("| --- | ---: | ---: |")
    for kind, shares in by_kind.items():
        helped = sum(share > 1e-4 for share in shares)
        rows.append(f"| {kind} | {helped} of {len(shares)} | {max(shares):.2%} |")
    return "\n".join(rows)


def covering_order(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yields the settings; each adds the largest gain to those before it.

    The gain of a setting counts as a share of the gain of the program's best setting. The line of
    each setting begins with this share for the best setting so far. Programs on which no setting
    saves anything are left out; there is no order if there are no others.
    """
    shares = []
    for record in records:
        saved = {kind: share or 0.0 for kind, share in record["saved"].items()}
        best = max(saved.values())
        if best > _LEAST_SAVING:
            shares.append({kind: max(0.0, share / best) for kind, share in saved.items()})
    if not shares:
        return
    covered = [0.0] * len(shares)

    def cover(kind: str) -> list[float]:
        pairs = zip(shares, covered, strict=True)
        return [max(program.get(kind, 0.0), so_far) for program, so_far in pairs]

    left = list(setting_kinds())
    while left:
        found = max(left, key=lambda kind: sum(cover(kind)))
        left.remove(found)
        covered = cover(found)
        yield f"{mean(covered):6.1%} {found}"


def main(argv: Sequence[str] | None = None) -> int:
    """Measures all captures, then prints the table and the order for settings.py.

    Returns 0, 1 on failure, 2 on bad usage.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    corpus.add_arguments(parser)
    arguments = parser.parse_args(argv)
    return run_command("assignment_settings.py", lambda: _measure(arguments))


def _measure(arguments: argparse.Namespace) -> int:
    entries = list(corpus.chosen(arguments))
    records = corpus.record_each(iter(entries), arguments.output, try_settings)
    print(table(records))
    train = {(entry.chip, entry.name) for entry in entries if entry.split == "train"}
    of_train = (record for record in records if (record["chip"], record["program"]) in train)
    print("", *covering_order(list(of_train)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
