"""Tests of disks.py on a small file system, if one may be mounted, and on small processes."""

from __future__ import annotations

import pathlib
import random
import resource
import sys
from collections.abc import Iterator
from typing import Any, cast

import pytest
from disks import FileSizeLimit, FullDisk, SmallDisks
from loopback_cluster import Cluster
from roles import Role

CODE = "import signal\nprint('ready', flush=True)\nsignal.pause()"


class FakeCluster:
    """A cluster without shards."""

    def __init__(self) -> None:
        self.shards: list[Any] = []
        self.sent_to_full_disks: list[int] = []


@pytest.fixture
def disks(tmp_path: pathlib.Path) -> Iterator[SmallDisks]:
    disks = SmallDisks([tmp_path / "disk"], 1)
    if not disks.has(tmp_path / "disk"):
        pytest.skip("no right to mount")
    yield disks
    disks.unmount(keep=False)


@pytest.fixture
def role(tmp_path: pathlib.Path) -> Iterator[Role]:
    role = Role("victim", [sys.executable, "-c", CODE], tmp_path)
    role.start()
    role.wait_for_log()
    yield role
    role.kill()


def full_disk(role: Role, folder: pathlib.Path) -> FullDisk:
    return FullDisk(cast(Cluster, FakeCluster()), role, folder, random.Random(1))


def test_a_full_disk_takes_nothing_until_the_fault_ends(
    disks: SmallDisks, role: Role, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "disk/file"
    fault = full_disk(role, tmp_path / "disk")
    fault.begin()
    with pytest.raises(OSError, match="No space left on device"):
        file.write_bytes(b"x")
    fault.end()
    assert file.write_bytes(b"x") == 1


def test_a_disk_that_cannot_be_filled_is_an_error(role: Role, tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        full_disk(role, tmp_path / "none").begin()


@pytest.mark.parametrize("keep", [True, False])
def test_files_stay_after_the_end_if_they_are_to_be_kept(
    disks: SmallDisks, tmp_path: pathlib.Path, keep: bool
) -> None:
    (tmp_path / "disk/database").mkdir()
    (tmp_path / "disk/database/CURRENT").write_text("1")
    disks.unmount(keep)
    assert not (tmp_path / "disk").is_mount()
    assert [path.name for path in tmp_path.rglob("CURRENT")] == (["CURRENT"] if keep else [])
    assert [path.name for path in tmp_path.iterdir()] == ["disk"]


def test_a_file_size_limit_ends_with_the_fault(role: Role) -> None:
    most = 1 << 30
    resource.prlimit(role.pid, resource.RLIMIT_FSIZE, (most, most))
    fault = FileSizeLimit(role, random.Random(1))
    fault.begin()
    assert resource.prlimit(role.pid, resource.RLIMIT_FSIZE) == (1024, most)
    fault.end()
    assert resource.prlimit(role.pid, resource.RLIMIT_FSIZE) == (most, most)
