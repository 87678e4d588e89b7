"""Runs deploy/slurm/servers.sbatch without Slurm, with tasks that are made up."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal

import pytest
from lone_node import PATIENCE_SECONDS, Node, await_that

# Tasks that go on until they get SIGTERM, of which srun waits for the last one.
SRUN = """#!/bin/bash
trap 'exit 0' TERM
echo $$ >>"$LOCAL/tasks"
while :; do /bin/sleep 0.05; done
"""

SCANCEL = """#!/bin/bash
echo scancel "$@" >>"$LOCAL/asked"
[[ " $* " != *" --signal=TERM "* ]] || kill $(<"$LOCAL/tasks")
"""

SCONTROL = """#!/bin/bash
echo scontrol "$@" >>"$LOCAL/asked"
echo JobState=RUNNING
"""

SLEEP = """#!/bin/bash
exec /bin/sleep 0.05
"""


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    node = Node(tmp_path)
    for name, text in (
        ("srun", SRUN),
        ("scancel", SCANCEL),
        ("scontrol", SCONTROL),
        ("sleep", SLEEP),
    ):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    (node.shared / "launch/actors.job").write_text("8\n")
    return node


@pytest.mark.parametrize(
    ("code", "returned", "asked"),
    [
        (1, 0, ["scancel --quiet --signal=TERM 7", "scontrol requeue 7"]),
        (2, 2, ["scancel --quiet 8", "scancel --quiet --signal=TERM 7"]),
    ],
)
def test_one_of_several_servers_that_ends_by_itself_ends_the_job(
    node: Node, code: int, returned: int, asked: list[str]
) -> None:
    # An earlier start of the job has ended in this way, too.
    (node.shared / "launch/ended").write_text("2\n")
    process = node.start_servers()
    try:
        tasks = node.scratch / "tasks"
        await_that(lambda: tasks.exists() and len(tasks.read_text().splitlines()) == 2)
        assert process.poll() is None
        (node.shared / "launch/ended").write_text(f"{code}\n")
        log = process.communicate(timeout=PATIENCE_SECONDS)[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == returned, log
    assert f"stops: a role has ended with code {code}" in log
    lines = (node.scratch / "asked").read_text().splitlines()
    assert [line for line in lines if "show job" not in line] == asked
