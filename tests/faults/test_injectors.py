"""Tests of injectors.py: which faults are drawn."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator
from typing import cast

import pytest
from disks import SmallDisks
from injectors import Faults
from loopback_cluster import Cluster
from roles import Role


class FakeCluster:
    """A cluster with one process, which does nothing."""

    def __init__(self, folder: pathlib.Path) -> None:
        code = "import signal; signal.pause()"
        self.role = Role("victim", [sys.executable, "-c", code], folder)
        self.folder = folder
        self.roles = [self.role]
        self.shards: list[Role] = []
        self.learners: list[Role] = []
        self.learner = self.role
        self.data: list[pathlib.Path] = []
        self.run_dir = folder / "run"
        self.clock_library = None

    def group_of(self, role: Role) -> frozenset[str]:
        return frozenset()


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[FakeCluster]:
    cluster = FakeCluster(tmp_path)
    yield cluster
    cluster.role.kill()


def faults(cluster: FakeCluster, *kinds: str) -> Faults:
    return Faults(cast(Cluster, cluster), SmallDisks([], 1), 60, 0, list(kinds))


@pytest.mark.parametrize("kind", ["kill", "suspend", "terminate", "cut-power", "hang"])
def test_the_victim_of_a_fault_is_a_process_that_runs(cluster: FakeCluster, kind: str) -> None:
    drawn = faults(cluster, kind)
    assert drawn.draw(set()) is None
    assert drawn.not_caused == [kind]
    cluster.role.start()
    fault = drawn.draw(set())
    assert fault is not None
    assert drawn.not_caused == []
    assert fault.victim == "victim"
    assert drawn.draw({"victim"}) is None


def test_kinds_that_the_machine_does_not_permit_are_left_out(cluster: FakeCluster) -> None:
    cluster.role.start()
    drawn = faults(cluster, "set-clock", "kill")
    assert "no compiler for clocks" in drawn.left_out
    assert {fault.kind for fault in (drawn.draw(set()) for _ in range(9)) if fault} == {"kill -9"}


def test_faults_of_which_the_machine_permits_none_are_an_error(cluster: FakeCluster) -> None:
    with pytest.raises(RuntimeError, match="the machine permits none of the faults"):
        faults(cluster, "set-clock")
