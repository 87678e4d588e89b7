"""The example and the benchmark run, and the example learns."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[3]


def _run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(_ROOT / script), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_example_learns_more_than_nothing() -> None:
    script = "tools/gym/examples/train_policy.py"
    printed = _run(script, "--programs", "2", "--updates", "25", "--games", "16")
    found = re.search(r"^train: random (-?[\d.]+) %, policy (-?[\d.]+) %$", printed, re.MULTILINE)
    assert found, printed
    assert float(found[2]) > float(found[1])


def test_the_benchmark_prints_its_table() -> None:
    arguments = ("--seconds", "0.05", "--games", "8", "--program", "tpu_v6e/dcn_v2_4_b8192")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in _run("bench/gym/speed.py", *arguments).splitlines()
        if line.startswith("| ")
    ]
    assert len(rows) == 2 + 8 + 8
    assert all(float(row[2].replace(",", "")) > 0 for row in rows[2:])
