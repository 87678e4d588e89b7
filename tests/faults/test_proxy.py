"""Tests of proxy.py: what each state of a link does to connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from loopback_cluster import free_ports
from proxy import Link, Network, Proxy


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that answers what it gets; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = server.accept()
                    threading.Thread(target=answer, args=(peer,), daemon=True).start()

        def answer(peer: socket.socket) -> None:
            with peer, contextlib.suppress(OSError):
                while data := peer.recv(100):
                    peer.sendall(data)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def network() -> Network:
    return Network()


@pytest.fixture
def proxy(network: Network, echo: int) -> Proxy:
    return network.add(free_ports(1)[0], echo)


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=20)


def answers(connection: socket.socket) -> bool:
    """Returns whether the server answers; raises TimeoutError if nothing at all happens."""
    try:
        connection.sendall(b"x")
        return connection.recv(1) == b"x"
    except ConnectionError:
        return False


def test_a_connection_passes_both_ways_and_its_bytes_are_counted(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert answers(connection)
    assert proxy.bytes_sent == 1


def test_a_cut_ends_open_connections_and_takes_no_new_ones(network: Network, proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert answers(connection)
        network.set_link(proxy, Link.CUT)
        assert not answers(connection)
    with connect(proxy) as connection:
        assert not answers(connection)
    network.set_link(proxy, Link.PASS)
    with connect(proxy) as connection:
        assert answers(connection)


def test_a_cut_ends_a_connection_that_is_being_made(
    network: Network, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    open_connection = asyncio.open_connection

    async def open_slowly(*arguments: Any) -> Any:
        begun.set()
        while not may_go_on.is_set():
            await asyncio.sleep(0.01)
        return await open_connection(*arguments)

    monkeypatch.setattr(asyncio, "open_connection", open_slowly)
    with connect(proxy) as connection:
        assert begun.wait(20)
        network.set_link(proxy, Link.CUT)
        may_go_on.set()
        assert not answers(connection)
    assert proxy.bytes_sent == 0


def test_a_black_hole_keeps_connections_and_passes_nothing_until_it_ends(
    network: Network, proxy: Proxy
) -> None:
    with connect(proxy) as connection:
        assert answers(connection)
        network.set_link(proxy, Link.BLACK_HOLE)
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            answers(connection)
        assert proxy.bytes_sent == 1
        network.set_link(proxy, Link.PASS)
        connection.settimeout(20)
        assert connection.recv(1) == b"x"
