"""Walks through "A restore from a copy" of docs/operations.md on a small cluster."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from document import ROOT, blocks_of
from faults import import_program
from loopback_cluster import free_ports

BINARY = pathlib.Path(os.environ.get("MALLOCMUZERO_BINARY", ROOT / "build/bin/mallocmuzero"))
PATIENCE_SECONDS = 120.0

CONFIG = """
learner {{
  address: "127.0.0.1:{}"
  workloads: "programs"
  checkpoint_seconds: 1
  search {{ simulations: 2 }}
  options {{ batch_size: 32 unroll_steps: 2 }}
}}
replay {{ name: "replay-0" address: "127.0.0.1:{}" rate_limit {{ min_positions: 500 }} }}
actor {{ games_in_flight: 4 }}
"""


class Cluster:
    """A cluster under `up`, in a folder that is the working directory of the walk."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self._up: subprocess.Popen[bytes] | None = None
        (folder / "backup").mkdir()
        (folder / "programs").mkdir()
        import_program(BINARY, folder / "programs")
        (folder / "c.textproto").write_text(CONFIG.format(*free_ports(2)))

    def up(self) -> None:
        command = [str(BINARY), "up", "--config", "c.textproto"]
        with (self.folder / "up.log").open("ab") as log:
            self._up = subprocess.Popen(command, cwd=self.folder, stderr=log)

    def kill(self) -> None:
        """Ends everything at once, as the loss of the machine does."""
        if self._up is not None:
            self._up.send_signal(signal.SIGKILL)
            self._up.wait()

    def run(self, script: str) -> str:
        """Runs commands of the document, with a folder of the test in the place of /backup."""
        script = script.replace("/backup", str(self.folder / "backup"))
        environment = os.environ | {"PATH": f"{BINARY.parent}:{os.environ['PATH']}"}
        return subprocess.run(
            ["bash", "-euc", script],
            cwd=self.folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def status(self) -> dict[str, Any]:
        text = self.run("mallocmuzero status --config c.textproto --json || true")
        parsed: dict[str, Any] = json.loads(text)
        return parsed

    def step(self) -> int:
        """Returns the learner's updates; 0 while the cluster is not healthy."""
        status = self.status()
        figures = [r["figures"] for r in status["roles"] if r["role"] == "LEARNER"]
        return int(figures[0].get("step", 0)) if status["healthy"] else 0

    def is_away(self) -> bool:
        return all(role["error"] for role in self.status()["roles"])

    def ids(self) -> set[str]:
        listed = self.run("mallocmuzero replay --config c.textproto --list-ids")
        return {line.split()[1] for line in listed.splitlines()}

    def wait_for_save(self) -> None:
        """Waits until the learner has saved a checkpoint."""
        saved = self._saved()
        wait_for(lambda: self._saved() not in (None, saved))

    def _saved(self) -> int | None:
        """Returns when the latest checkpoint was saved; None if there is none."""
        try:
            return (self.folder / "run/checkpoints/latest").stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def first_step(self) -> int:
        """Returns the step with which the learner has started the last time."""
        log = (self.folder / "up.log").read_text()
        return int(re.findall(r"learner: step (\d+), listens", log)[-1])


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.5)


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.kill()


def test_a_cluster_goes_on_from_its_copies(cluster: Cluster) -> None:
    copy, restore = blocks_of("### A restore from a copy")
    cluster.up()
    wait_for(lambda: cluster.step() > 100)
    before, step = cluster.ids(), cluster.step()
    # The learner may be saving an earlier step now, but not afterwards.
    cluster.wait_for_save()
    cluster.wait_for_save()
    for _ in range(2):  # the newest of several copies counts
        cluster.run(copy)
    cluster.kill()
    wait_for(cluster.is_away)
    commands, _, start = restore.rpartition("mallocmuzero up")
    assert start.strip() == "--config c.textproto"
    cluster.run(commands)
    cluster.up()
    wait_for(lambda: cluster.step() > 0)
    assert before <= cluster.ids()
    assert cluster.first_step() >= step
    wait_for(lambda: cluster.step() > cluster.first_step())
