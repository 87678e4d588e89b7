"""Tests of loopback_cluster.py."""

from __future__ import annotations

import pathlib
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import cast

import loopback_cluster
import pytest
from loopback_cluster import Cluster, free_ports, metric

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nreads_total 3\na_b 1e2"


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (ANSWER, 100.0),
        (ANSWER.replace(b"a_b", b"a_c"), None),
        # A process that is killed meanwhile leaves a part.
        (ANSWER[:-1], None),
        (ANSWER[:10], None),
        (b"", None),
    ],
)
def test_a_metric_is_unknown_without_a_whole_answer(
    answer: bytes, value: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loopback_cluster, "METRICS_SECONDS", 60.0)  # of a busy machine
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as peer:
                peer.recv(1000)
                peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert metric(server.getsockname()[1], "a_b") == value
        thread.join()


def test_the_kernel_gives_no_connection_the_port_of_a_role_that_is_away() -> None:
    low = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    if low < 20000:
        pytest.skip("the kernel gives nearly all ports to connections")
    ports = free_ports(100)
    assert len(set(ports)) == 100
    assert max(ports) < low
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_another_process_does_not_get_a_port_that_this_one_has_taken() -> None:
    port = free_ports(1)[0]
    code = (
        "import loopback_cluster, random, socket, sys\n"
        f"random.SystemRandom.shuffle = lambda _, ports: ports.append({port})\n"
        "print(loopback_cluster.free_ports(1)[0])\n"
    )
    command = [sys.executable, "-c", code]
    folder = pathlib.Path(__file__).parent
    ran = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    assert int(ran.stdout) != port


SHARD = {"role": "REPLAY"}
AWAY = {"role": "REPLAY", "error": "Connection refused"}
LEARNER = {"role": "LEARNER"}


@pytest.mark.parametrize(
    ("roles", "answer"),
    [
        ([], False),
        ([LEARNER], False),
        ([SHARD, LEARNER], False),
        ([SHARD, AWAY, LEARNER], False),
        ([SHARD, SHARD, LEARNER], True),
    ],
)
def test_all_shards_must_answer(roles: list[dict[str, str]], answer: bool) -> None:
    cluster = SimpleNamespace(status=lambda: {"roles": roles})
    assert Cluster.shards_answer(cast(Cluster, cluster)) is answer
