"""Tests of power.py with small processes that write with and without syncs."""

from __future__ import annotations

import os
import pathlib
import random
import subprocess
import sys
import time

import pytest
from power import Disk, Library


@pytest.fixture
def disk(tmp_path: pathlib.Path) -> Disk:
    return Disk(Library(tmp_path, "cc"), tmp_path / "data", tmp_path / "record")


def run(disk: Disk, code: str) -> None:
    prelude = (
        "import os\n"
        f"folder = os.open({str(disk.folder)!r}, os.O_RDONLY)\n"
        "os.fchdir(folder)\n"
        "def make(name): return os.open(name, os.O_RDWR | os.O_CREAT)\n"
    )
    command = [sys.executable, "-c", prelude + code]
    subprocess.run(command, env=os.environ | disk.environment(), check=True)


def left(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_only_synced_bytes_survive(disk: Disk) -> None:
    run(
        disk,
        "file = make('log')\n"
        "os.write(file, b'synced')\nos.fdatasync(file)\nos.fsync(folder)\n"
        "os.pwritev(file, [b' and', b' lost'], 6)\nos.pwrite(file, b'X', 0)\n",
    )
    assert left(disk.folder) == {"log": b"Xynced and lost"}
    disk.lose_power(random.Random(1), 0.0)
    assert left(disk.folder) == {"log": b"synced"}


def test_later_syncs_add_what_was_written_since(disk: Disk) -> None:
    run(
        disk,
        "file = make('log')\nos.fsync(folder)\n"
        "for i in range(3):\n  os.write(file, b'%d' % i)\n  os.fsync(file)\n"
        "os.pwrite(file, b'X', 1)\nos.fsync(file)\nos.ftruncate(file, 2)\n",
    )
    disk.lose_power(random.Random(1), 0.0)
    assert left(disk.folder) == {"log": b"0X2"}


def test_a_file_survives_only_in_a_synced_folder(disk: Disk) -> None:
    run(disk, "os.fsync(make('unknown'))\n")
    disk.lose_power(random.Random(1), 0.0)
    assert left(disk.folder) == {}


def test_a_rename_or_removal_is_undone_unless_the_folder_is_synced(disk: Disk) -> None:
    run(
        disk,
        "for name in ('old', 'new', 'removed'):\n"
        "  file = make(name)\n  os.write(file, name.encode())\n  os.fsync(file)\n"
        "os.fsync(folder)\nos.rename('new', 'old')\nos.unlink('removed')\n",
    )
    disk.lose_power(random.Random(1), 0.0)
    assert left(disk.folder) == {"old": b"old", "new": b"new", "removed": b"removed"}


def test_a_renamed_folder_keeps_what_was_synced_in_it(disk: Disk) -> None:
    run(
        disk,
        "os.mkdir('new')\nfor name in ('kept', 'lost'):\n"
        "  file = make('new/' + name)\n  os.write(file, name.encode())\n  os.fsync(file)\n"
        "  if name == 'kept': os.fsync(os.open('new', os.O_RDONLY))\n"
        "os.rename('new', 'final')\n",
    )
    disk.lose_power(random.Random(1), 0.0)
    assert [path.name for path in disk.folder.iterdir()] == ["final"]
    assert left(disk.folder / "final") == {"kept": b"kept"}


def test_what_an_earlier_cut_has_left_stays(disk: Disk) -> None:
    run(disk, "file = make('log')\nos.write(file, b'one')\nos.fsync(file)\nos.fsync(folder)\n")
    disk.lose_power(random.Random(1), 0.0)
    run(disk, "file = make('log')\nos.pwrite(file, b' two', 3)\n")
    disk.lose_power(random.Random(1), 0.0)
    assert left(disk.folder) == {"log": b"one"}


def test_some_unsynced_writes_may_survive(disk: Disk) -> None:
    run(
        disk,
        "for i in range(40):\n"
        "  file = make(str(i))\n  os.fsync(file)\n  os.write(file, b'0123456789')\n"
        "os.fsync(folder)\n",
    )
    disk.lose_power(random.Random(1), 0.5)
    lengths = {len(content) for content in left(disk.folder).values()}
    assert {0, 10} < lengths


def test_writes_wait_while_the_disk_hangs(disk: Disk) -> None:
    disk.hang()
    prelude = f"import os\nos.chdir({str(disk.folder)!r})\n"
    code = prelude + "os.write(os.open('log', os.O_WRONLY | os.O_CREAT), b'x')\n"
    environment = os.environ | disk.environment()
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as process:
        log = disk.folder / "log"
        end = time.monotonic() + 30
        while not log.exists() and time.monotonic() < end:
            time.sleep(0.01)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        assert log.read_bytes() == b""
        disk.answer()
        assert process.wait(30) == 0
    assert log.read_bytes() == b"x"
