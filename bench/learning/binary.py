"""Runs the mallocmuzero binary for the commands of this folder."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_parser(command: str, description: str | None) -> argparse.ArgumentParser:
    """Returns a parser for `scripts/COMMAND` with the option --binary."""
    parser = argparse.ArgumentParser(
        prog=f"scripts/{command}",
        description=description,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    folder = os.environ.get("MALLOCMUZERO_BIN", str(ROOT / "build/bin"))
    parser.add_argument(
        "--binary",
        type=pathlib.Path,
        default=pathlib.Path(folder) / "mallocmuzero",
        help="default: build/bin/mallocmuzero",
    )
    return parser


def run_json(binary: pathlib.Path, *arguments: str) -> dict[str, Any]:
    """Returns the JSON output of a command; raises CalledProcessError if it fails."""
    ran = subprocess.run([binary, *arguments, "--json"], check=True, capture_output=True)
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def map_program(
    binary: pathlib.Path, program: pathlib.Path, solver: str, budget: str, *more: str
) -> dict[str, Any]:
    """Returns the report of `map` on one thread; does not keep the mapping."""
    with tempfile.TemporaryDirectory() as folder:
        return run_json(
            binary,
            *("map", "--program", str(program), "--solver", solver, "--budget", budget),
            *("--output", f"{folder}/m.mapping", "--threads", "1", *more),
        )
