"""Runs a function in a forked process, reads what it prints, and can end it at any time."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator

from mallocmuzero_xla.processes import end_with

_POLL_SECONDS = 0.02

# Begins the line that says which exception ended the function.
_RAISED = b"<-raised "


class Forked:
    """A forked process. It ends with this process; `end` it in any case.

    Attributes:
        error: the exception that ended the function, as text; None as long as there is none.
    """

    def __init__(self, body: Callable[[], None]) -> None:
        """Runs `body` in a fork; what it writes to stdout and stderr goes to `lines`.

        `body` may load libraries with threads. This process must have none.
        """
        self.error: str | None = None
        self._closed = False
        self._pipe, write = os.pipe()
        parent = os.getpid()
        self._child = os.fork()
        if self._child == 0:
            end_with(parent)
            _run_and_exit(body, write)
        os.close(write)

    def lines(self) -> Iterator[bytes]:
        """Yields lines until the process closes its output; b"" whenever none comes for a while.

        If stdin can be read, the process that reads the answers has ended: this one ends, too.
        """
        rest = b""
        while True:
            ready = select.select([self._pipe, sys.stdin], [], [], _POLL_SECONDS)[0]
            if sys.stdin in ready:
                self.end()
                os._exit(0)
            if not ready:
                yield b""
                continue
            chunk = os.read(self._pipe, 1 << 16)
            if not chunk:
                self._closed = True
                return
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.startswith(_RAISED):
                    self.error = line.removeprefix(_RAISED).decode(errors="replace")
                else:
                    yield line

    def end(self) -> int:
        """Kills the process if it still runs; returns its exit code, negative for a signal."""
        if not self._closed:
            os.kill(self._child, signal.SIGKILL)
        _, status = os.waitpid(self._child, 0)
        os.close(self._pipe)
        return os.waitstatus_to_exitcode(status)


def _run_and_exit(body: Callable[[], None], write: int) -> None:
    os.dup2(write, 1)
    os.dup2(write, 2)
    with contextlib.suppress(OSError):  # the fork has the only other end of the pipe
        os.close(write)
    try:
        body()
    except BaseException as failure:
        words = " ".join(str(failure).split())[:2000]
        line = f"{type(failure).__name__}: {words}"
        os.write(1, b"\n" + _RAISED + line.encode() + b"\n")
        os._exit(1)
    os._exit(0)
