"""Tests of roles.py: which ends of a process count as failures."""

from __future__ import annotations

import pathlib
import sys

import pytest
from roles import LOST_IN_MEETING, NO_ROOM, SET_BACK, Role

# Says `line`, and on SIGTERM ends with code 1, or goes on.
PROCESS = """
import signal, sys
handler = signal.SIG_IGN if {stays} else lambda *_: sys.exit(1)
signal.signal(signal.SIGTERM, handler)
print("{line}", flush=True)
while True:
    signal.pause()
"""


def started(folder: pathlib.Path, line: str, stays: bool = False) -> Role:
    code = PROCESS.format(line=line, stays=stays)
    role = Role("victim", [sys.executable, "-c", code], folder, stop_seconds=1.0)
    role.start()
    role.wait_for_log()
    return role


@pytest.mark.parametrize("line", [*NO_ROOM, SET_BACK, LOST_IN_MEETING])
def test_a_process_that_was_about_to_end_may_end_with_an_error(
    tmp_path: pathlib.Path, line: str
) -> None:
    role = started(tmp_path, line)
    role.stop()
    assert role.unexpected == []
    counts = (role.ends_without_room, role.ends_after_set_back, role.ends_in_meetings)
    assert sum(counts) == 1


def test_a_reason_counts_although_grpc_tells_of_broken_connections_after_it(
    tmp_path: pathlib.Path,
) -> None:
    warning = "2026-11-26T05:07:47.639Z W grpc: cancel_check_peer error"
    role = started(tmp_path, "\\n".join([SET_BACK, *[warning] * 5]))
    role.stop()
    assert role.unexpected == []
    assert role.ends_after_set_back == 1


def test_an_error_without_a_reason_is_a_failure_with_its_last_lines(tmp_path: pathlib.Path) -> None:
    role = started(tmp_path, "all is well")
    role.stop()
    (failure,) = role.unexpected
    assert failure.endswith("victim stopped with code 1: all is well")


def test_a_process_that_does_not_stop_is_killed(tmp_path: pathlib.Path) -> None:
    role = started(tmp_path, "all is well", stays=True)
    assert role.stop() >= 1.0
    assert not role.runs()
    (failure,) = role.unexpected
    assert "victim did not stop within 1 s: all is well" in failure
