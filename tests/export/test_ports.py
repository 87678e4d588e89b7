"""Tests of the choice of ports for the server with an S3 API, without the server."""

from __future__ import annotations

import contextlib
import socket

from test_storage import free_ports


def test_both_ports_that_the_server_makes_of_one_are_free() -> None:
    first = free_ports(1)[0]
    # Take the second port of the pair. Another process may have taken it in the meantime.
    with socket.socket() as second:
        with contextlib.suppress(OSError):
            second.bind(("127.0.0.1", first + 10000))
        assert first not in free_ports(3)


def test_one_call_returns_each_port_once() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert not {port + 10000 for port in ports} & set(ports)
