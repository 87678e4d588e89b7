"""Runs deploy/slurm/role.sh without Slurm, on a node and a shared folder that are made up."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import pwd
import signal
import subprocess
from collections.abc import Iterator
from typing import TextIO

import pytest
from lone_node import PATIENCE_SECONDS, Node, await_that, give_folders_to_another_user


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


def test_a_stopped_actor_leaves_its_games_in_the_shared_folder(node: Node) -> None:
    node.run("actor")
    assert (node.shared / "spool/0/actor-0.spool").read_text() == "spooled\n"
    assert not node.spool.exists()
    # The next one, on any node, goes on with them.
    node.run("actor")
    assert (node.shared / "spool/0/actor-0.spool").read_text() == "spooled\nspooled\n"


def test_games_of_an_actor_stay_on_the_node_if_the_shared_folder_takes_no_more(node: Node) -> None:
    (node.shared / "spool").rmdir()
    (node.shared / "spool").write_text("not a folder")
    log = node.run("actor")
    assert node.spool.read_text() == "spooled\n"
    assert "its data stay on the disk of node-1" in log


def test_games_that_an_actor_finds_on_its_node_do_not_replace_those_in_the_shared_folder(
    node: Node,
) -> None:
    folder = node.shared / "spool/0"
    folder.mkdir()
    (folder / "actor-0.spool").write_text("elsewhere\n")
    node.spool.parent.mkdir()
    node.spool.write_text("here\n")
    log = node.run("actor")
    assert (folder / "actor-0.spool").read_text() == "elsewhere\n"
    assert node.spool.read_text() == "here\nspooled\n"
    assert "its data stay on the disk of node-1" in log


def test_a_spool_that_was_copied_in_part_does_not_replace_the_whole(node: Node) -> None:
    folder = node.shared / "spool/0"
    folder.mkdir()
    (folder / "actor-0.spool").write_text("whole\n")
    (node.scratch / "cut").touch()
    process = node.start("actor")
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1
    (node.scratch / "cut").unlink()
    node.run("actor")
    assert (folder / "actor-0.spool").read_text() == "whole\nspooled\n"


def test_an_actor_that_cannot_take_its_spool_is_queued_again(
    node: Node, tmp_path: pathlib.Path
) -> None:
    scontrol = tmp_path / "bin/scontrol"
    scontrol.write_text('#!/bin/bash\necho "$@" >>"$LOCAL/asked"\necho JobState=RUNNING\n')
    (node.shared / "spool/0").mkdir()
    (node.scratch / "cut").touch()
    process = node.start("actor")
    log = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 1
    assert "actor.0: cannot begin on node-1" in log
    assert (node.scratch / "asked").read_text() == "show job 7\nrequeue 7\n"


def test_the_last_element_of_an_array_queues_only_itself_again(tmp_path: pathlib.Path) -> None:
    # Its job has the number of the array, with which scontrol would requeue all elements.
    node = Node(tmp_path, environment={"SLURM_ARRAY_JOB_ID": "7"})
    scontrol = tmp_path / "bin/scontrol"
    scontrol.write_text('#!/bin/bash\necho "$@" >>"$LOCAL/asked"\necho JobState=RUNNING\n')
    (node.shared / "spool/0").mkdir()
    (node.scratch / "cut").touch()
    node.start("actor").communicate(timeout=PATIENCE_SECONDS)
    assert (node.scratch / "asked").read_text() == "show job 7_0\nrequeue 7_0\n"


@pytest.mark.parametrize(("role", "name"), [("actor", "actor.0"), ("replay", "a")])
def test_the_configuration_of_every_role_names_a_spool(node: Node, role: str, name: str) -> None:
    node.run(role)
    config = (node.shared / "configs" / f"{name}.textproto").read_text()
    assert f'spool_dir: "{node.scratch}/spool.0"' in config


def test_a_local_folder_that_depends_on_the_working_directory_is_refused(
    tmp_path: pathlib.Path,
) -> None:
    node = Node(tmp_path, settings={"LOCAL": "${UNSET_ON_THE_NODE:-disk}"})
    process = node.start("replay")
    log = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 2
    assert "local_dir is 'disk' on node-1; a path from / expected" in log


@pytest.mark.parametrize("role", ["actor", "replay"])
def test_a_local_folder_that_another_user_has_made_in_a_common_one_is_refused(
    tmp_path: pathlib.Path, role: str
) -> None:
    node = Node(tmp_path)
    give_folders_to_another_user(tmp_path)
    process = node.start(role)
    log = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 1
    assert f"{tmp_path}/disk on node-1 belongs to another user" in log
    assert not (node.scratch / "started").exists()


def test_the_local_folder_may_name_the_user(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, settings={"LOCAL": f"{tmp_path}/$USER"})
    node.run("actor")
    config = (node.shared / "configs/actor.0.textproto").read_text()
    user = pwd.getpwuid(os.getuid()).pw_name
    assert f'spool_dir: "{tmp_path}/{user}/{node.scratch.name}/spool.0"' in config


def test_launches_with_one_name_have_folders_of_their_own_on_a_node(tmp_path: pathlib.Path) -> None:
    folders = set()
    for shared in ("one", "two"):
        node = Node(tmp_path / shared, settings={"LOCAL": f"{tmp_path}/disk"})
        node.run("actor")
        config = (node.shared / "configs/actor.0.textproto").read_text()
        assert f'spool_dir: "{tmp_path}/disk/{node.scratch.name}/spool.0"' in config
        folders.add(node.scratch.name)
    assert len(folders) == 2


def test_a_role_whose_node_has_no_name_says_so(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, settings={"HOST_COMMAND": "true"})
    process = node.start("learner")
    log = process.communicate(timeout=PATIENCE_SECONDS)[0]
    # Not 2, the code of a mistake that ends the cluster: names may not be resolved for a moment.
    assert process.returncode == 1
    assert "learner: host_command prints no name of node-1" in log
    assert not (node.shared / "addresses/learner").read_text().startswith(":")


def test_a_role_finds_slurm_where_the_launch_has_found_it(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, settings={"SLURM_COMMANDS": "'/opt/slurm/bin'"})
    node.run("actor")
    assert (node.scratch / "path").read_text().endswith(":/opt/slurm/bin\n")


def test_a_server_with_a_mistake_tells_the_job(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, settings={"COMMAND": "bash -c 'exit 2'"})
    # The pauses are short here.
    sleep = tmp_path / "bin/sleep"
    sleep.write_text('#!/bin/bash\necho "$1" >>"$LOCAL/pauses"\nexec /bin/sleep 0.05\n')
    process = node.start("learner")
    log = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 2, log
    assert (node.scratch / "pauses").read_text().split().count("10") == 2
    assert (node.shared / "launch/ended").read_text() == "2\n"


def test_a_server_that_is_stopped_tells_the_job_nothing(node: Node) -> None:
    node.run("replay")
    assert not (node.shared / "launch/ended").exists()


def test_lines_of_the_site_may_use_variables_that_nothing_sets(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, settings={"SETUP": '  PATH="$PATH$NO_SUCH_VARIABLE:/site"'})
    node.run("actor")
    assert (node.scratch / "path").read_text().endswith(":/site\n")


@pytest.mark.parametrize(
    ("role", "actors", "name", "label"),
    [
        ("actor", 1, "actor.0", "actor"),
        ("actor", 0, "reanalyse.0", "reanalyse"),
        ("replay", 1, "a", "replay"),
        ("learner", 1, "learner", "learner"),
    ],
)
def test_prometheus_finds_a_process_by_its_role_while_it_runs(
    tmp_path: pathlib.Path, role: str, actors: int, name: str, label: str
) -> None:
    ports = ("SHARD", "LEARNER", "ACTOR", "REANALYSE")
    settings = {f"{each}_METRICS_PORT{'S' * (each == 'SHARD')}": "9460" for each in ports}
    node = Node(tmp_path, settings=settings | {"ACTORS": str(actors)})
    file = node.shared / "targets" / f"{name}.json"

    def is_right() -> bool:
        (group,) = json.loads(file.read_text())
        assert group["labels"] == {"job": "mallocmuzero-test", "role": label}
        assert group["targets"][0].startswith("127.0.0.1:")
        return True

    node.run(role, until=is_right)
    # One that has stopped, for example because it was preempted, is not away.
    assert not file.exists()


def test_a_process_leaves_the_address_of_the_one_that_has_replaced_it(
    tmp_path: pathlib.Path,
) -> None:
    node = Node(tmp_path, settings={"ACTOR_METRICS_PORT": "9460"})
    file = node.shared / "targets/actor.0.json"

    def replace() -> bool:
        file.write_text("another\n")
        return True

    node.run("actor", until=replace)
    assert file.read_text() == "another\n"


def test_a_local_folder_with_an_unknown_variable_is_a_mistake(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, settings={"LOCAL": "$NO_SUCH_VARIABLE/disk"})
    process = node.start("actor")
    try:
        log = process.communicate(timeout=PATIENCE_SECONDS)[0]
        assert process.returncode == 2
        assert "NO_SUCH_VARIABLE: unbound variable" in log
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_a_role_waits_while_its_configuration_cannot_be_written(node: Node) -> None:
    configs = node.shared / "configs"
    configs.rmdir()
    configs.write_text("not a folder")
    process = node.start("actor")
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert any("waits for room in" in line for line in lines)
        configs.unlink()
        configs.mkdir()
        await_that((node.scratch / "started").exists)
        process.send_signal(signal.SIGTERM)
        assert "actor.0: stopped" in process.communicate(timeout=PATIENCE_SECONDS)[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(("role", "name"), [("actor", "actor.0"), ("learner", "learner")])
def test_a_role_writes_its_configuration_only_when_it_changes(
    node: Node, role: str, name: str
) -> None:
    looks = node.scratch / "looks"
    file = node.shared / "configs" / f"{name}.textproto"

    def has_looked() -> bool:
        return looks.exists() and len(looks.read_text().splitlines()) >= 3

    def is_restarted() -> bool:
        return len((node.scratch / "started").read_text().splitlines()) == 2

    def change() -> bool:
        await_that(has_looked)
        assert [each.name for each in file.parent.iterdir()] == [file.name]
        (node.shared / "addresses/a").write_text("127.0.0.1:7411\n")
        await_that(is_restarted)
        return True

    node.run(role, until=change)
    assert 'address: "127.0.0.1:7411"' in file.read_text()
    assert [each.name for each in file.parent.iterdir()] == [file.name]


@contextlib.contextmanager
def learner_that_waits(node: Node) -> Iterator[tuple[subprocess.Popen[str], TextIO]]:
    """Starts a learner while the lock of its run is held, and yields it with the locked file."""
    node.run_dir.mkdir()
    with (node.run_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = node.start("learner")
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            assert any("another process trains" in line for line in lines)
            assert not (node.scratch / "started").exists()
            yield process, lock
            process.send_signal(signal.SIGTERM)
            assert "learner: stopped" in process.communicate(timeout=PATIENCE_SECONDS)[0]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_a_learner_waits_while_the_one_that_it_replaces_saves_the_run(node: Node) -> None:
    with learner_that_waits(node) as (_, lock):
        fcntl.flock(lock, fcntl.LOCK_UN)
        await_that((node.scratch / "started").exists)


def test_a_learner_that_is_stopped_while_it_waits_ends(node: Node) -> None:
    with learner_that_waits(node) as (process, _):
        process.send_signal(signal.SIGTERM)
    assert not (node.scratch / "started").exists()
