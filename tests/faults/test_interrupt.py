"""Tests of the fault command: what it refuses, and that it leaves nothing when interrupted."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("MALLOCMUZERO_BINARY", ROOT / "build/bin/mallocmuzero"))
COMMAND = [sys.executable, str(pathlib.Path(__file__).with_name("faults.py"))]


def processes_of(folder: pathlib.Path) -> list[int]:
    """Returns the processes whose command line names the folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and os.fsencode(folder) in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def mounts_of(folder: pathlib.Path) -> list[str]:
    lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
    return [line for line in lines if str(folder) in line]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_process_and_no_mount(
    tmp_path: pathlib.Path, number: signal.Signals
) -> None:
    command = subprocess.Popen(
        [*COMMAND, "--seconds", "600", "--binary", str(BINARY)],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stderr
    try:
        end = time.monotonic() + 60
        while len(processes_of(tmp_path)) < 9:
            assert time.monotonic() < end and command.poll() is None, "the roles have not started"
            time.sleep(0.1)
        command.send_signal(number)
        _, log = command.communicate(timeout=60)
        assert command.returncode != 0
        assert ("is kept" in log) is (number != signal.SIGKILL)
        # One that was just being started ends because its parent has ended.
        end = time.monotonic() + 60
        while processes_of(tmp_path) and time.monotonic() < end:
            time.sleep(0.1)
        assert processes_of(tmp_path) == []
        assert mounts_of(tmp_path) == []
    finally:
        command.kill()
        command.wait()
        for pid in processes_of(tmp_path):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for line in mounts_of(tmp_path):
            subprocess.run(["umount", "-l", line.split()[1]], check=False)


def test_a_binary_that_cannot_start_the_roles_is_refused(tmp_path: pathlib.Path) -> None:
    alone = pathlib.Path(shutil.copy(BINARY, tmp_path))
    for binary, why in ((alone, "needs the executable mallocmuzero-agent"), (tmp_path, "no ")):
        ran = subprocess.run(
            [*COMMAND, "--binary", str(binary)], capture_output=True, check=False, text=True
        )
        assert ran.returncode == 2
        assert why in ran.stderr
        assert len(ran.stderr.splitlines()) == 1


def test_an_unknown_kind_of_fault_is_refused() -> None:
    ran = subprocess.run(
        [*COMMAND, "--kinds", "kill,kil-learner", "--binary", sys.executable],
        capture_output=True,
        check=False,
        text=True,
    )
    assert ran.returncode == 2
    assert "there is no kil-learner; one or more of kill, kill-learner," in ran.stderr
