"""Tests of connections.py, and of a role that connects over a slow network."""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Callable, Iterator

import pytest
from connections import BadLink
from faults import import_program
from loopback_cluster import Cluster
from proxy import Link

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("MALLOCMUZERO_BINARY", ROOT / "build/bin/mallocmuzero"))

# A TLS connection over a slow link takes half a second, and an attempt to connect may take ten. A
# busy machine may need several attempts.
PATIENCE_SECONDS = 120.0


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[Cluster]:
    """A cluster whose roles have not started."""
    cluster = Cluster(BINARY, tmp_path, import_program(BINARY, tmp_path))
    yield cluster
    for role in cluster.roles:
        role.kill()


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def wait_for_bytes(cluster: Cluster) -> None:
    before = cluster.bytes_sent()
    wait_for("all proxies pass bytes on", lambda: not cluster.silent_proxies(before))


def streams(cluster: Cluster) -> list[int]:
    """Returns the number of streams by which others draw from each shard."""
    roles = cluster.status().get("roles", [])
    return [
        int(role["figures"].get("sample_streams", 0)) for role in roles if role["role"] == "REPLAY"
    ]


def test_a_process_without_calls_connects_over_a_slow_network(cluster: Cluster) -> None:
    # The second learner process serves nobody, so no call of its own makes gRPC look at sockets.
    learner = cluster.learners[1]
    log = cluster.folder / f"{learner.name}.log"
    for proxy in cluster.proxies:
        BadLink(cluster, proxy, Link.SLOW, 0.0).begin()
    learner.start()
    wait_for("the shards are away", lambda: log.read_text().count("tries on") >= 2)
    for shard in cluster.shards:
        shard.start()
    wait_for("streams of the learner are open", lambda: streams(cluster) == [1, 1])


def test_every_proxy_has_traffic_once_actors_have_the_list_of_shards(cluster: Cluster) -> None:
    for role in [*cluster.shards, *cluster.learners, cluster.actors[0]]:
        role.start()
    wait_for("games arrive", lambda: len(cluster.acknowledged()) > 2)
    # The actor soon reports to the learner, which answers with its list of shards.
    for _ in range(3):
        wait_for_bytes(cluster)
