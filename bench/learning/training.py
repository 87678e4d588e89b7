"""Training runs that may be spread over several calls."""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from binary import count, output_folder, positive_minutes

Run = TypeVar("Run")

# A run with less than this time left counts as finished.
SLACK_SECONDS = 5.0


def add_run_options(parser: argparse.ArgumentParser, seeds: int) -> None:
    """Adds the options of a command that makes many runs; `seeds` is a default."""
    parser.add_argument("output", type=output_folder, help="folder of the runs")
    parser.add_argument(
        "--minutes", type=positive_minutes, default=60, help="of each run; default: 60"
    )
    parser.add_argument(
        "--seeds", type=count, default=seeds, help=f"number of seeds; default: {seeds}"
    )
    parser.add_argument(
        "--threads", type=int, default=0, help="of each run; default: 0, one a core"
    )
    parser.add_argument("--jobs", type=count, default=1, help="runs at a time; default: 1")
    parser.add_argument("--table", action="store_true", help="train nothing, print the table")


def train_all(
    runs: Sequence[Run],
    go_on: Callable[[Run, argparse.Namespace], None],
    arguments: argparse.Namespace,
) -> None:
    """Calls `go_on` for each run, --jobs of them at a time; does nothing with --table."""
    if arguments.table:
        return
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda run: go_on(run, arguments), runs))


def trained_seconds(run: pathlib.Path) -> float:
    """Returns the seconds of training over all calls so far."""
    metrics = run / "metrics.jsonl"
    text = metrics.read_text() if metrics.exists() else ""
    # A killed run may leave half a line.
    lines = text[: text.rfind("\n") + 1].splitlines()
    return float(json.loads(lines[-1])["seconds"]) if lines else 0.0


def train(binary: pathlib.Path, run: pathlib.Path, minutes: float, *arguments: str) -> None:
    """Starts or continues a run until it has trained for its minutes.

    Keeps the report of the last `train` in RUN.json, beside the run. A run that was stopped before
    its report trains for another second. The training ends with this process, and saves the run.
    Raises KeyboardInterrupt if a signal ends the training, and CalledProcessError if it fails.
    """
    left = 60 * minutes - trained_seconds(run)
    report = report_of(run)
    if left < SLACK_SECONDS and report.exists():
        return
    report.unlink(missing_ok=True)  # of fewer minutes
    left = max(left, 1.0)
    command = ["setpriv", "--pdeathsig", "TERM", str(binary), "train", "--json"]
    command += ["--output", str(run), "--budget", f"{left:.0f}s"]
    if (run / "config.textproto").exists():
        command.append("--resume")
    print(f"{run}: {left:.0f} s", file=sys.stderr)
    said = subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE)
    if json.loads(said.stdout)["interrupted"]:
        raise KeyboardInterrupt
    write_at_once(report, said.stdout)


def report_of(run: pathlib.Path) -> pathlib.Path:
    """Returns the TrainReport (JSON) of a run's last `train`."""
    return run.with_name(f"{run.name}.json")


def write_at_once(path: pathlib.Path, content: bytes) -> None:
    """Writes a file so that an interruption leaves all of it or nothing."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.replace(path)
