"""Tests of runs over several calls with a made-up binary: stops, chips, and what is kept."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import select
import stat
import subprocess
import sys

import curve
import pytest
import runs
import tiny
from training import report_of, train, trained_seconds

# `train` writes its budget into metrics and report. The file `stop` beside the binary says how it
# ends. It may end before the report, as Ctrl-C in the last evaluation does. A signal may end it. Or
# it waits with an open pipe. `report` and `map` have other figures for each chip.
FAKE = """#!{python}
import json, pathlib, signal, sys
command, flags = sys.argv[1], dict(zip(sys.argv[2:], sys.argv[3:]))
stop = pathlib.Path(__file__).with_name("stop")
how = stop.read_text() if stop.exists() else ""
if command == "train":
    run = pathlib.Path(flags["--output"])
    run.mkdir(parents=True, exist_ok=True)
    (run / "config.textproto").write_text(flags.get("--program", ""))
    metrics = run / "metrics.jsonl"
    lines = metrics.read_text().splitlines() if metrics.exists() else []
    before = json.loads(lines[-1])["seconds"] if lines else 0
    seconds = before + float(flags["--budget"][:-1])
    with metrics.open("a") as stream:
        stream.write(json.dumps(dict(seconds=seconds)) + "\\n")
    if how == "before the report":
        sys.exit(1)
    if how == "wait":
        pipe = stop.with_name("pipe").open("w")
        print("trains", file=pipe, flush=True)
        signal.pause()
    print(json.dumps(dict(seconds=seconds, interrupted=how == "signal")))
elif command == "report":
    config = (pathlib.Path(flags["--run"]) / "config.textproto").read_text()
    gain = 0.6 if "tpu_v6e" in config else 0.4
    print(json.dumps(dict(programs=[dict(policy=gain, best=gain, greedy=gain)], games=1)))
elif command == "map":
    cycles = 40 if "tpu_v6e" in flags["--program"] else 60
    print(json.dumps(dict(total_cycles=cycles, default_cycles=100)))
"""

PROGRAM = "bert_3x1024_b64x256"


@pytest.fixture
def binary(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "binary"
    path.write_text(FAKE.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def seconds_in_report(run: pathlib.Path) -> float:
    return float(json.loads(report_of(run).read_text())["seconds"])


def test_a_finished_run_is_not_trained_again(tmp_path: pathlib.Path, binary: pathlib.Path) -> None:
    run = tmp_path / "run"
    for _ in range(2):
        train(binary, run, 1.0)
    assert len((run / "metrics.jsonl").read_text().splitlines()) == 1
    assert seconds_in_report(run) == 60


def test_half_a_line_of_a_killed_run_does_not_count(tmp_path: pathlib.Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"seconds": 7}\n{"iteration": 2, "sec')
    assert trained_seconds(tmp_path) == 7
    (tmp_path / "metrics.jsonl").write_text('{"sec')
    assert trained_seconds(tmp_path) == 0


def test_a_run_that_ended_before_its_report_is_not_told_by_an_older_one(
    tmp_path: pathlib.Path, binary: pathlib.Path
) -> None:
    run = tmp_path / "run"
    train(binary, run, 1.0)
    (tmp_path / "stop").write_text("before the report")
    with pytest.raises(Exception, match="exit status 1"):
        train(binary, run, 2.0)
    assert not report_of(run).exists()
    (tmp_path / "stop").unlink()
    train(binary, run, 2.0)  # all of its time is used, but its report is missing
    assert seconds_in_report(run) >= 120


def test_a_run_that_a_signal_ended_is_no_result(
    tmp_path: pathlib.Path, binary: pathlib.Path
) -> None:
    (tmp_path / "stop").write_text("signal")
    with pytest.raises(KeyboardInterrupt):
        train(binary, tmp_path / "run", 1.0)
    assert not report_of(tmp_path / "run").exists()


def test_a_run_without_an_iteration_leaves_the_rows_of_the_others(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [curve.Run(count, 0, tmp_path, tmp_path / f"{count}_programs") for count in (8, 16)]
    for run in made:
        (run.folder / "checkpoints").mkdir(parents=True)
        (run.folder / "checkpoints/latest").touch()
    (made[0].folder / "metrics.jsonl").write_text('{"seconds": 60}\n')
    monkeypatch.setattr(curve, "play_unseen", lambda *_: [])
    monkeypatch.setattr(curve, "row_of", lambda run, _: f"row of {run.programs}")
    lines = curve.table(made, tmp_path / "binary").splitlines()
    assert lines[3:] == ["row of 8"]
    assert "16_programs: no iteration has ended yet" in capsys.readouterr().err


def test_a_training_ends_with_a_command_that_is_killed(
    tmp_path: pathlib.Path, binary: pathlib.Path
) -> None:
    (tmp_path / "stop").write_text("wait")
    os.mkfifo(tmp_path / "pipe")
    words = f"{tmp_path / 'out'} --seeds 1 --programs {PROGRAM} --binary {binary}"
    line = [sys.executable, runs.__file__, *words.split()]
    with subprocess.Popen(line) as command, (tmp_path / "pipe").open() as pipe:
        assert pipe.readline() == "trains\n"
        command.kill()
        # The pipe ends with the training.
        assert select.select([pipe], [], [], 60)[0]
        assert pipe.read() == ""


def gains(
    binary: pathlib.Path,
    chip: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """The shares of policy and local search in the table of a chip."""
    words = f"{binary.parent / 'out'} --minutes 1 --seeds 1 --programs {PROGRAM}"
    words += f" --chip {chip} --binary {binary}"
    monkeypatch.setattr(sys, "argv", ["runs.py", *words.split()])
    assert runs.main() == 0
    cells = [cell.strip() for cell in capsys.readouterr().out.splitlines()[2].split("|")]
    return [cells[4], cells[6]]


def test_runs_of_two_chips_in_one_folder_are_different_runs(
    binary: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gains(binary, "tpu_v4i", monkeypatch, capsys) == ["40.00 %", "40.00 %"]
    assert gains(binary, "tpu_v6e", monkeypatch, capsys) == ["60.00 %", "60.00 %"]


def test_half_a_result_of_local_search_is_made_again(
    binary: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = pathlib.Path.write_bytes

    def interrupted(self: pathlib.Path, content: bytes) -> int:
        write(self, content[:10])
        if "local_search" in self.name:
            raise KeyboardInterrupt
        return write(self, content)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pathlib.Path, "write_bytes", interrupted)
        gains(binary, "tpu_v4i", monkeypatch, capsys)
    assert gains(binary, "tpu_v4i", monkeypatch, capsys) == ["40.00 %", "40.00 %"]


def test_a_folder_with_another_number_of_tiny_programs_is_refused(
    tmp_path: pathlib.Path, binary: pathlib.Path
) -> None:
    (tmp_path / "optimum.csv").write_text("name,optimum\ntiny_0,1\ntiny_1,1\n")
    arguments = argparse.Namespace(binary=binary, programs=2)
    tiny.make_programs(arguments, 0, tmp_path)
    arguments.programs = 30
    with pytest.raises(SystemExit, match="has 2 programs, and --programs asks for 30"):
        tiny.make_programs(arguments, 0, tmp_path)
