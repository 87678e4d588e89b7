"""Runs role.sh for a shard without Slurm: where its data go, and where it takes them from."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal

import pytest
from lone_node import PATIENCE_SECONDS, Node, await_that, give_folders_to_another_user


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


def test_a_stopped_shard_is_in_the_shared_folder(node: Node) -> None:
    node.run("replay")
    copy = (node.shared / "shards/a/copy").read_text().strip()
    assert (node.shared / "shards/a/home").read_text() == f"copy {copy}\n"
    assert (node.shared / "shards/a" / copy / "games").read_text() == "stored\n"
    assert not (node.scratch / "shards/a").exists()


def test_a_shard_stays_on_the_node_if_the_shared_folder_cannot_name_its_copy(node: Node) -> None:
    def fill() -> bool:
        (node.scratch / "full").touch()
        return True

    node.run("replay", until=fill)
    assert (node.scratch / "shards/a/games").read_text() == "stored\n"
    (node.scratch / "full").unlink()
    node.run("replay")
    copy = (node.shared / "shards/a/copy").read_text().strip()
    assert (node.shared / "shards/a" / copy / "games").read_text() == "stored\nstored\n"


def test_a_shard_takes_its_data_from_an_earlier_local_folder_of_its_node(node: Node) -> None:
    # Such as one with the number of the job in its name.
    earlier = node.scratch.parent / "earlier/shards/a"
    earlier.mkdir(parents=True)
    (earlier / "games").write_text("earlier\n")
    (node.shared / "shards/a").mkdir()
    (node.shared / "shards/a/home").write_text(f"node node-1 {earlier}\n")
    node.run("replay")
    copy = (node.shared / "shards/a/copy").read_text().strip()
    assert (node.shared / "shards/a" / copy / "games").read_text() == "earlier\nstored\n"


def test_a_shard_does_not_give_up_data_that_the_shared_folder_does_not_take(node: Node) -> None:
    earlier = node.scratch / "earlier/shards/a"
    earlier.mkdir(parents=True)
    (earlier / "games").write_text("earlier\n")
    home = node.shared / "shards/a/home"
    home.parent.mkdir()
    home.write_text(f"node node-1 {earlier}\n")
    (node.scratch / "cut").touch()
    process = node.start("replay")
    log = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 1
    assert f"a: {node.shared} does not take its data from node-1" in log
    assert home.read_text() == f"node node-1 {earlier}\n"
    (node.scratch / "cut").unlink()
    node.run("replay")
    copy = (node.shared / "shards/a/copy").read_text().strip()
    assert (node.shared / "shards/a" / copy / "games").read_text() == "earlier\nstored\n"


def test_a_node_without_the_folder_of_a_shard_says_that_its_data_are_lost(node: Node) -> None:
    # Such as one that has come back with an empty disk.
    process = node.start("rescue", "a", f"{node.scratch}/gone/shards/a")
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 3


def test_data_of_another_user_are_not_those_of_a_shard(tmp_path: pathlib.Path) -> None:
    # Where a node has lost its disk, anybody can make the folder anew.
    node = Node(tmp_path)
    theirs = node.scratch / "shards/a"
    theirs.mkdir(parents=True)
    (theirs / "games").write_text("made up\n")
    saved = node.shared / "shards/a/data.1"
    saved.mkdir(parents=True)
    give_folders_to_another_user(tmp_path)
    process = node.start("rescue", "a", str(theirs))
    log = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 3
    assert "belongs to another user" in log
    assert saved.exists()
    assert not theirs.with_name("a.lock").exists()


def test_a_shard_asks_again_for_its_data_if_srun_fails(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, settings={"LOST_NODE_SECONDS": "60"})
    elsewhere = tmp_path / "disk of node-2/shards/a"
    elsewhere.mkdir(parents=True)
    (elsewhere / "games").write_text("earlier\n")
    (node.shared / "shards/a").mkdir()
    (node.shared / "shards/a/home").write_text(f"node node-2 {elsewhere}\n")
    srun = tmp_path / "bin/srun"
    # Its own options come before the command. It gets nothing of the environment.
    srun.write_text(
        f"""#!/bin/bash
[ -e {tmp_path}/asked ] || {{ touch {tmp_path}/asked; exit 1; }}
while [[ "$1" == --* ]]; do shift; done
LOCAL={node.scratch} SLURMD_NODENAME=node-2 exec "$@"
"""
    )
    srun.chmod(0o755)
    log = node.run("replay")
    assert "a: srun ended with code 1; asks for node-2 again" in log
    copy = (node.shared / "shards/a/copy").read_text().strip()
    assert (node.shared / "shards/a" / copy / "games").read_text() == "earlier\nstored\n"


def test_a_copy_that_a_node_has_taken_in_part_is_not_a_shards_data(node: Node) -> None:
    state = node.shared / "shards/a"
    (state / "data.1").mkdir(parents=True)
    (state / "data.1/games").write_text("copied\n")
    (state / "copy").write_text("data.1\n")
    # The node has lost its disk.
    (state / "home").write_text(f"node node-1 {node.scratch}/shards/a\n")
    (node.scratch / "cut").touch()
    process = node.start("replay")
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1
    (node.scratch / "cut").unlink()
    node.run("replay")
    copy = state / (state / "copy").read_text().strip()
    assert [file.name for file in copy.iterdir()] == ["games"]
    assert (copy / "games").read_text() == "copied\nstored\n"


def test_a_shard_knows_its_data_by_another_path(node: Node) -> None:
    data = node.scratch / "shards/a"
    data.mkdir(parents=True)
    (data / "games").write_text("earlier\n")
    link = node.scratch.parent / "link"
    link.symlink_to(node.scratch)
    (node.shared / "shards/a").mkdir()
    (node.shared / "shards/a/home").write_text(f"node node-1 {link}/shards/a\n")
    assert "a: continues with its data on this node" in node.run("replay")


@pytest.mark.parametrize(("begun", "hurried"), [(2, False), (1, True)])
def test_copies_of_a_shard_are_made_one_after_the_other(
    tmp_path: pathlib.Path, begun: int, hurried: bool
) -> None:
    node = Node(tmp_path, copy_seconds=1)
    (node.scratch / "slow").touch()
    copies = node.scratch / "copies"
    node.run(
        "replay",
        until=lambda: copies.exists() and copies.read_text().count("begin") >= begun,
        hurried=hurried,
    )
    lines = copies.read_text().split()
    assert lines == ["begin", "end"] * (len(lines) // 2)
    copy = (node.shared / "shards/a/copy").read_text().strip()
    assert (node.shared / "shards/a/home").read_text() == f"copy {copy}\n"


def test_a_copy_that_a_stop_ends_leaves_nothing_on_the_node(tmp_path: pathlib.Path) -> None:
    node = Node(tmp_path, copy_seconds=1)
    (node.scratch / "slow").touch()
    process = node.start("replay")
    try:
        await_that((node.scratch / "copies").exists)
        # Slurm sends a signal to all processes of a task.
        os.killpg(process.pid, signal.SIGTERM)
        log = process.communicate(timeout=PATIENCE_SECONDS)[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert "a: its data are in " in log
    assert not (node.scratch / "checkpoint").exists()


def test_a_copy_that_the_shared_folder_does_not_take_leaves_nothing_there(node: Node) -> None:
    def cut() -> bool:
        (node.scratch / "cut").touch()
        return True

    log = node.run("replay", until=cut)
    assert "its data stay on the disk of node-1" in log
    assert (node.scratch / "shards/a/games").read_text() == "stored\n"
    # A part of a copy would take the room that the next copy needs.
    assert [file.name for file in (node.shared / "shards/a").iterdir()] == ["home"]
