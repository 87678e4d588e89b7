"""Wrong input to `export` and `play`: exit code 2, one line on stderr, and nothing left behind."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import CHECKPOINT, PROGRAM, run


def export_error(pattern: str, checkpoint: Path, output: Path | str) -> None:
    done = run("export", "--checkpoint", checkpoint, "--format", "onnx", "--output", output)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert re.search(pattern, done.stderr), done.stderr


def test_a_wrong_checkpoint_is_named(tmp_path: Path) -> None:
    output = tmp_path / "out"
    export_error("none: ", tmp_path / "none", output)
    whole = CHECKPOINT.read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(whole[: len(whole) // 2])
    export_error("cut: cut short", cut, output)
    # The header begins behind 48 bytes with the name of the message and the version.
    newer = tmp_path / "newer"
    name = b"mallocmuzero.v1.CheckpointHeader"
    at = whole.index(name) + len(name)
    assert whole[at] == 0x10  # the field version, followed by its value
    newer.write_bytes(whole[: at + 1] + bytes([whole[at + 1] + 1]) + whole[at + 2 :])
    export_error("newer: .*version", newer, output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut", "newer"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    export_error("/proc/out: cannot write here", CHECKPOINT, Path("/proc/out"))
    export_error("there is no folder", CHECKPOINT, tmp_path / "none" / "out")
    full = tmp_path / "full"
    full.mkdir()
    shutil.copy(CHECKPOINT, full)
    export_error("is not empty", CHECKPOINT, full)
    assert [path.name for path in full.iterdir()] == [CHECKPOINT.name]
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_storage_without_a_name_in_the_bucket_is_refused() -> None:
    for url in ("s3://bucket", "s3://bucket/"):
        export_error(f"{url}: .*such as s3://bucket/name", CHECKPOINT, url)


@pytest.mark.parametrize(
    ("answers", "pattern"),
    [
        ("", "decision 1: .*found the end"),
        ("7\n", 'decision 1: one of the legal actions .*, found "7"'),
        ("x\n", 'decision 1: .*found "x"'),
    ],
)
def test_play_names_the_decision_with_a_wrong_answer(answers: str, pattern: str) -> None:
    done = run("play", "--program", PROGRAM, text=answers)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 1  # the decision that waits for an answer
    assert len(done.stderr.splitlines()) == 1
    assert re.search(pattern, done.stderr), done.stderr


def test_a_missing_storage_client_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("fetch", "--export", "s3://bucket/name", "--output", tmp_path / "out")
    assert len(done.stderr.splitlines()) == 1
    assert "the program rclone is needed and not installed" in done.stderr
    assert list(tmp_path.iterdir()) == []
