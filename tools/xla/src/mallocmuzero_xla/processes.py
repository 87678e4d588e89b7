"""Starts processes that end with this one, even if this one is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1

# Becomes the command that follows the parent's id. It does what `end_with` does, without this
# package. A function that runs between fork and exec (preexec_fn) might hang: jax and libtpu have
# threads. Python ignores SIGPIPE and SIGXFSZ, but no other command expects that.
_BECOME = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


def end_with(parent: int) -> None:
    """Ends this process, a fork, with the thread of the process `parent` that made it.

    Linux kills it then. That thread may have ended before this call.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


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
