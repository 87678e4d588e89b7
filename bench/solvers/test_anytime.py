"""Tests of anytime.py with made-up binaries."""

from __future__ import annotations

import pathlib
import stat
import subprocess
import sys

import anytime

FAKE = """#!{python}
import json, sys
seed = int(sys.argv[2])
for seconds, cycles in {points}:
    print(json.dumps(dict(seconds=seconds, games=1, cycles=cycles + seed)))
"""


def binary(path: pathlib.Path, points: list[tuple[float, float]]) -> pathlib.Path:
    """Writes a search_trace that prints these points, with `seed` more cycles."""
    path.write_text(FAKE.format(python=sys.executable, points=points))
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


def test_the_table_has_medians_of_gaps_and_counts_of_seeds(tmp_path: pathlib.Path) -> None:
    before = binary(tmp_path / "before", [(0.05, 1100.0), (0.5, 1030.0)])
    after = binary(tmp_path / "after", [(0.05, 1100.0), (0.2, 1000.0)])
    command = [sys.executable, anytime.__file__, "--before", str(before), "--after", str(after)]
    ran = subprocess.run(
        [*command, "--seeds", "3", "--seconds", "1", "gpt.program"],
        check=True,
        capture_output=True,
        text=True,
    )
    # The fewest cycles are 1000, and the median seed is 1: 1101, 1031 and 1001 cycles.
    assert ran.stdout.splitlines() == [
        "| program | 0.1 s | 0.3 s | 1 s |",
        "| --- | ---: | ---: | ---: |",
        "| gpt | 10.100 / 10.100 (0:0) | 10.100 / 0.100 (3:0) | 3.100 / 0.100 (3:0) |",
    ]


def test_a_time_before_the_first_mapping_has_no_cycles() -> None:
    assert anytime.Trace([(0.5, 10.0)]).cycles_at(0.4) == float("inf")
