"""Tests of the choice of ports for the server with an S3 API, without the server."""

from __future__ import annotations

import contextlib
import socket

from test_storage import free_ports


def test_both_ports_that_the_server_makes_of_one_are_free() -> None:
    first = free_ports(1)[0]
    # Take what the server would use besides the next ports.
    with contextlib.ExitStack() as stack:
        for port in range(first + 1, first + 4):
            one = stack.enter_context(socket.socket())
            one.bind(("127.0.0.1", port + 10000))
        chosen = free_ports(3)
    assert chosen[0] == first
    assert all(port >= first + 4 for port in chosen[1:])
