"""Starts processes that end with this one, even if this one is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

# Becomes the command that follows the parent's id. Linux then kills the process when the thread
# that started it ends (PR_SET_PDEATHSIG), which may have happened before. A function that runs
# between fork and exec (preexec_fn) might hang: jax and libtpu have threads. Python ignores
# SIGPIPE and SIGXFSZ, but no other command expects that.
_BECOME = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


def with_this_process(command: Sequence[str]) -> list[str]:
    """Returns a command that does the same, and ends with the thread that starts it.

    The thread must wait for it. The first word of `command` is a path.
    """
    return [sys.executable, "-P", "-S", "-c", _BECOME, str(os.getpid()), *command]


def run_with_this_process(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs a command, which ends with this process, and returns what it has printed.

    A path in it, or a message of the system, may have bytes that are not UTF-8: they become U+FFFD.
    """
    return subprocess.run(
        with_this_process(command),
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
