"""Runs the mallocmuzero binary for the commands of this folder."""

from __future__ import annotations

import argparse
import json
import math
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


def count(text: str) -> int:
    """Returns the number that an argument gives, 1 or more."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}', a whole number of 1 or more expected")
    return number


def positive_minutes(text: str) -> float:
    """Returns the time that an argument gives, above zero."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}', a number of minutes above 0 expected")
    return number


def output_folder(text: str) -> pathlib.Path:
    """Makes the folder that an argument names, and returns it."""
    folder = pathlib.Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"{folder}: cannot make this folder: {error.strerror}"
        ) from error
    return folder


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
