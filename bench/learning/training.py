"""Training runs that may be spread over several calls."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

# A run with less than this time left counts as finished.
SLACK_SECONDS = 5.0


def trained_seconds(run: pathlib.Path) -> float:
    """Returns the seconds of training over all calls so far."""
    metrics = run / "metrics.jsonl"
    lines = metrics.read_text().splitlines() if metrics.exists() else []
    return float(json.loads(lines[-1])["seconds"]) if lines else 0.0


def train(binary: pathlib.Path, run: pathlib.Path, minutes: float, *arguments: str) -> None:
    """Starts or continues a run until it has trained for its minutes.

    Keeps the report of the last `train` in RUN.json, beside the run.
    """
    left = 60 * minutes - trained_seconds(run)
    if left < SLACK_SECONDS:
        return
    command = [str(binary), "train", "--json", "--output", str(run), "--budget", f"{left:.0f}s"]
    if (run / "config.textproto").exists():
        command.append("--resume")
    print(f"{run}: {left:.0f} s", file=sys.stderr)
    said = subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE)
    report_of(run).write_bytes(said.stdout)


def report_of(run: pathlib.Path) -> pathlib.Path:
    """Returns the TrainReport (JSON) of a run's last `train`."""
    return run.with_name(f"{run.name}.json")
