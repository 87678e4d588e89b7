"""What other limits of scoped memory make of a registry's programs, as a Markdown table.

Compiles each program of the captures under the chip's own limit and under those that `optimize`
would try, without any overrides. Appends a record a line to OUTPUT; run again, it goes on where it
stopped.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import pathlib
import tempfile
from statistics import mean
from typing import Any

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.limit_search import Default, LimitSearch
from mallocmuzero_xla.looker import Looker
from mallocmuzero_xla.lowering import LoweredProgram
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.saved_capture import SavedCapture, open_capture
from mallocmuzero_xla.source import Source, capture_chip, lower_for

ROOT = pathlib.Path(__file__).resolve().parents[2]


def try_limits(
    capture: SavedCapture, registry: pathlib.Path, seconds: float, progress: LoopProgress
) -> tuple[Default, dict[int, float]]:
    """Returns the default, and the cycles by limit in KiB."""
    chip = capture_chip(capture)
    with Looker(chip) as looker, tempfile.TemporaryDirectory() as scratch:
        lower_for(capture, Source(capture.program, registry), looker, Budget())
        program = LoweredProgram.read(looker.lowered)
        search = LimitSearch(program, pathlib.Path(scratch), looker, chip, Binary(), progress)
        return search.run(seconds).default, search.cycles_by_limit()


def table(records: list[dict[str, Any]]) -> str:
    """One row a program, and the mean gain of each chip."""
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


def main() -> None:
    """Goes through the captures, then prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--captures", type=pathlib.Path, default=ROOT / "workloads/captures")
    parser.add_argument("--registry", type=pathlib.Path, default=ROOT / "workloads/zoo")
    parser.add_argument("--chip", action="append", default=[])
    parser.add_argument("--only", action="append", default=[], metavar="GLOB")
    parser.add_argument("--seconds", type=float, default=300.0, help="for the limits of a program")
    arguments = parser.parse_args()
    progress = LoopProgress()
    text = arguments.output.read_text(encoding="utf-8") if arguments.output.exists() else ""
    records = [json.loads(line) for line in text.splitlines()]
    done = {(record["chip"], record["program"]) for record in records}
    for folder in sorted(arguments.captures.glob("*/*")):
        chip, name = folder.parent.name, folder.name
        if (chip, name) in done or chip not in (arguments.chip or [chip]):
            continue
        if not any(fnmatch.fnmatchcase(name, glob) for glob in arguments.only or ["*"]):
            continue
        progress.note(f"{chip} {name}")
        try:
            default, cycles = try_limits(
                open_capture(folder), arguments.registry, arguments.seconds, progress
            )
        except CaptureError as error:
            progress.note(f"{chip} {name}: {error}")
            continue
        record = {
            "chip": chip,
            "program": name,
            "default_cycles": default.cycles,
            "cycles": cycles,
        }
        records.append(record)
        with arguments.output.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record, sort_keys=True) + "\n")
    print(table(records))


if __name__ == "__main__":
    main()
