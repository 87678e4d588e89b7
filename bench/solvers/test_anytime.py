"""Tests of anytime.py with made-up binaries."""

from __future__ import annotations

import pathlib
import stat
import subprocess
import sys
from collections.abc import Callable

import anytime
import anytime_picture
import pytest

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
        "| program | 0.1 s | 0.3 s | 1 s | seconds to the last of before |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| gpt | 10.100 / 10.100 (0:0) | 10.100 / 0.100 (3:0) | 3.100 / 0.100 (3:0) |"
        " 0.50 / 0.20 |",
    ]


def test_a_command_goes_on_with_the_searches_that_its_record_lacks(tmp_path: pathlib.Path) -> None:
    before = binary(tmp_path / "before", [(0.05, 1100.0)])
    after = binary(tmp_path / "after", [(0.05, 1000.0)])
    record = tmp_path / "record.jsonl"
    command = [sys.executable, anytime.__file__, "--seconds", "0.1", "--jobs", "2", "a.program"]
    command += ["--before", str(before), "--after", str(after), "--record", str(record)]
    # Each run of a binary leaves a line.
    runs = tmp_path / "runs"
    for each in (before, after):
        each.write_text(each.read_text() + f"open({str(runs)!r}, 'a').write('ran\\n')\n")
    subprocess.run([*command, "--seeds", "2"], check=True, capture_output=True)
    ran = subprocess.run([*command, "--seeds", "3"], check=True, capture_output=True, text=True)
    assert runs.read_text().count("ran") == 6
    traces = anytime.read_record(record.read_text().splitlines())
    found = {(s.build, s.seed): trace.points for s, trace in traces.items()}
    assert found == {
        ("before", 0): [(0.05, 1100.0)],
        ("before", 1): [(0.05, 1101.0)],
        ("before", 2): [(0.05, 1102.0)],
        ("after", 0): [(0.05, 1000.0)],
        ("after", 1): [(0.05, 1001.0)],
        ("after", 2): [(0.05, 1002.0)],
    }
    assert ran.stdout.splitlines()[-1] == "| a | 10.100 / 0.100 (3:0) | 0.05 / 0.05 |"


def test_searches_by_another_binary_are_not_taken_from_a_record(tmp_path: pathlib.Path) -> None:
    before = binary(tmp_path / "before", [(0.05, 1100.0)])
    after = binary(tmp_path / "after", [(0.05, 1000.0)])
    record = tmp_path / "record.jsonl"
    command = [sys.executable, anytime.__file__, "--seconds", "0.1", "--seeds", "1", "a.program"]
    command += ["--before", str(before), "--after", str(after), "--record", str(record)]
    subprocess.run(command, check=True, capture_output=True)
    made = record.read_text()
    binary(after, [(0.05, 2000.0)])
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "has searches by another binary as `after`: start a new file" in ran.stderr
    assert record.read_text() == made


def made_up(
    build: anytime.Build, seed: int, points: list[tuple[float, float]]
) -> dict[anytime.Search, anytime.Trace]:
    """Returns the trace of one search of a program for a second."""
    return {anytime.Search(build, "tpu_v6e/a.program", seed, 1.0): anytime.Trace(points)}


def test_a_picture_compares_the_seeds_that_both_builds_have_searched() -> None:
    traces = {
        **made_up("before", 0, [(0.1, 200.0)]),
        **made_up("after", 0, [(0.1, 100.0)]),
        **made_up("after", 1, [(0.1, 50.0)]),
    }
    (comparison,) = anytime_picture.comparisons(traces)
    assert len(comparison.before) == len(comparison.after) == 1
    assert comparison.fewest == 100


def test_the_line_of_a_median_begins_when_most_seeds_have_a_mapping() -> None:
    before = [anytime.Trace([(t, 200.0), (0.5, 100.0)]) for t in (0.1, 0.2, 0.3)]
    comparison = anytime.Comparison("tpu_v6e/a.program", before, before)
    line = anytime_picture.median_line(comparison, before, 1.0)
    assert line == [(0.2, 100.0), (0.5, 0.0), (1.0, 0.0)]


class Axes:
    """Axes that remember the lines drawn into them, in the place of matplotlib's."""

    def __init__(self) -> None:
        self.lines: list[tuple[list[float], list[float], str | None]] = []

    def step(self, x: list[float], y: list[float], label: str | None, **_: object) -> None:
        self.lines.append((x, y, label))

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


def test_a_plot_has_a_line_for_each_seed_and_one_for_their_median() -> None:
    before = [anytime.Trace([(0.1, 300.0)]), anytime.Trace([(0.1, 200.0), (0.2, 150.0)])]
    after = [anytime.Trace([(0.0001, 100.0)])] * 2
    axes = Axes()
    anytime_picture.draw(axes, anytime.Comparison("tpu_v6e/a.program", before, after), 1.0)
    # Early times and small gaps are drawn at the ends of the axes.
    assert axes.lines == [
        ([0.1, 1.0], [200.0, 200.0], None),
        ([0.1, 0.2, 1.0], [100.0, 50.0, 50.0], None),
        ([0.1, 0.2, 1.0], [150.0, 125.0, 125.0], "before"),
        ([0.001, 1.0], [0.01, 0.01], None),
        ([0.001, 1.0], [0.01, 0.01], None),
        ([0.001, 1.0], [0.01, 0.01], "after"),
    ]


def test_a_missing_matplotlib_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(sys, "argv", ["anytime_picture.py", "record", "--output", "a.svg"])
    assert anytime_picture.main() == 2
    assert capsys.readouterr().err == (
        "anytime_picture.py: needs matplotlib: pip install matplotlib\n"
    )


def test_a_time_before_the_first_mapping_has_no_cycles() -> None:
    assert anytime.Trace([(0.5, 10.0)]).cycles_at(0.4) == float("inf")
