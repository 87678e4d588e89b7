"""Places every captured program and reads it back: a test of the whole corpus, without a compiler.

For each program it writes local search's mapping into the captured module with everything in HBM
and checks the placed module. Every access must be where the mapping has it. It prints a line for
each program that fails, and exits with status 1 if there is any.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import corpus
from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.processes import run_with_this_process


def run(*words: str | pathlib.Path) -> dict[str, Any]:
    """Returns the JSON output of a command; raises RuntimeError with its errors."""
    line = [str(word) for word in (find_binary(), *words, "--json")]
    done = run_with_this_process(line)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def round_trip(entry: corpus.Entry, budget: str, folder: pathlib.Path) -> str:
    """Places one program; returns the result in words."""
    module = entry.write_all_hbm(folder / "all_hbm.pb")
    program, mapping, placed = entry.program, folder / "found.mapping", folder / "placed.pb"
    found = ("--solver", "local_search", "--budget", budget, "--output", mapping)
    run("map", "--program", program, *found)
    inputs = ("--program", program, "--mapping", mapping)
    report = run("place", *inputs, "--module", module, "--output", placed)
    run("check-placed", "--original", module, "--placed", placed, "--hardware", entry.chip)
    back = run("readback", *inputs, "--all-hbm", module, "--hlo", placed)
    if back.get("mismatch_count", 0) or back["followed_share"] != 1:
        raise RuntimeError(f"{back['mismatch_count']} accesses are elsewhere")
    return f"{report['arrays_in_fast_memory']} arrays, {report.get('copies_in', 0)} copies in"


def main(argv: Sequence[str] | None = None) -> int:
    """Places all programs; returns 0, 1 if one fails, 2 on bad usage."""
    parser = argparse.ArgumentParser(description=__doc__)
    corpus.add_arguments(parser)
    parser.add_argument("--budget", default="1s", help="of local search; default: 1s")
    arguments = parser.parse_args(argv)
    return run_command("round_trips.py", lambda: _place_all(arguments))


def _place_all(arguments: argparse.Namespace) -> int:
    failures = programs = 0
    for entry in corpus.chosen(arguments):
        programs += 1
        with tempfile.TemporaryDirectory() as scratch:
            try:
                result = round_trip(entry, arguments.budget, pathlib.Path(scratch))
            except RuntimeError as error:
                failures += 1
                result = f"FAILED: {error}"
        print(f"{entry.chip}/{entry.name}: {result}", flush=True)
    print(f"{programs - failures} of {programs} programs placed as mapped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
