"""Tests of roles.py: which ends of a process count as failures."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from roles import AUDIT_GAP, LOST_IN_MEETING, NO_ROOM, SET_BACK, Role

# Says `line`, and on SIGTERM ends with code 1, or goes on. The signal is blocked, since one that
# came just before signal.pause() would not end the pause.
PROCESS = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("{line}", flush=True)
while True:
    signal.sigwait([signal.SIGTERM])
    if not {stays}:
        sys.exit(1)
"""


def started(folder: pathlib.Path, line: str, stays: bool = False) -> Role:
    code = PROCESS.format(line=line, stays=stays)
    # A process that ends may need more than a second for it on a busy machine.
    stop_seconds = 1.0 if stays else 60.0
    role = Role("victim", [sys.executable, "-c", code], folder, stop_seconds)
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


def test_an_audit_without_room_for_an_id_is_a_failure(tmp_path: pathlib.Path) -> None:
    line = f"cannot go on: {AUDIT_GAP}a.ids: cannot write: {NO_ROOM[0]}"
    role = started(tmp_path, line)
    role.stop()
    (failure,) = role.unexpected
    assert failure.endswith(f"victim stopped with code 1: {line}")


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


def ended(folder: pathlib.Path, code: str) -> Role:
    """Returns a role whose process has ended by itself."""
    role = Role("victim", [sys.executable, "-c", code], folder)
    role.start()
    role.wait_for_own_end(30)
    assert not role.runs()
    return role


@pytest.mark.parametrize("do", [Role.kill, Role.stop, Role.start])
def test_an_end_that_nobody_has_noted_is_noted_before_the_next_start(
    tmp_path: pathlib.Path, do: Callable[[Role], object]
) -> None:
    role = ended(tmp_path, "import sys; sys.exit(3)")
    do(role)
    role.kill()
    (failure,) = role.unexpected
    assert "victim ended by itself with code 3" in failure


def test_a_stopped_role_is_not_wanted_although_its_process_has_ended(
    tmp_path: pathlib.Path,
) -> None:
    role = ended(tmp_path, "")
    assert role.is_wanted
    role.stop()
    assert not role.is_wanted


def test_a_reason_of_an_earlier_start_does_not_excuse_a_later_one(tmp_path: pathlib.Path) -> None:
    code = (
        "import pathlib, sys\n"
        f"first = pathlib.Path({str(tmp_path / 'first')!r})\n"
        f"if not first.exists(): first.touch(); print({SET_BACK!r})\n"
        "sys.exit(1)\n"
    )
    role = ended(tmp_path, code)
    assert role.note_end()
    assert (role.unexpected, role.ends_after_set_back) == ([], 1)
    role.start()
    role.wait_for_own_end(30)
    assert role.note_end()
    (failure,) = role.unexpected
    assert "victim ended by itself with code 1" in failure


@pytest.mark.parametrize("line", [*NO_ROOM, SET_BACK, LOST_IN_MEETING])
def test_no_reason_excuses_a_crash(tmp_path: pathlib.Path, line: str) -> None:
    code = f"import os\nprint({line!r}, flush=True)\nos.kill(os.getpid(), {signal.SIGSEGV:d})"
    role = ended(tmp_path, code)
    assert role.note_end()
    (failure,) = role.unexpected
    assert f"victim ended by itself with code {-signal.SIGSEGV}" in failure


def test_the_alarm_may_end_a_process_whose_clock_was_set_back(tmp_path: pathlib.Path) -> None:
    code = f"import os\nprint({SET_BACK!r}, flush=True)\nos.kill(os.getpid(), {signal.SIGALRM:d})"
    role = ended(tmp_path, code)
    assert role.note_end()
    assert (role.unexpected, role.ends_after_set_back) == ([], 1)


def test_a_process_ends_with_the_command_that_has_started_it(tmp_path: pathlib.Path) -> None:
    code = (
        "import pathlib, roles\n"
        f"role = roles.Role('victim', ['sleep', '1000'], pathlib.Path({str(tmp_path)!r}))\n"
        "role.start()\nprint(role.pid, flush=True)\ninput()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=pathlib.Path(__file__).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout
        pid = int(command.stdout.readline())
        command.kill()
    end = time.monotonic() + 20
    while not has_ended(pid):
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            pytest.fail("it goes on")
        time.sleep(0.05)


def has_ended(pid: int) -> bool:
    try:
        return "State:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
