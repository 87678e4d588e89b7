"""Owns one compile process: starts it, sends it jobs, and replaces it after a crash."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Any

from mallocmuzero_xla.environment import child_environment
from mallocmuzero_xla.errors import (
    CompileError,
    UsageError,
    WorkerKilledError,
    WorkerLostError,
)


def _command(module: str) -> tuple[str, ...]:
    """Returns the command that runs `main` of one of this package's modules.

    `python -m` would look for all modules in the working folder first, where a user may have a
    resource.py. Here they are looked for in this package's folder and in the working folder last.
    """
    folder = str(pathlib.Path(__file__).resolve().parents[2])
    begin = f"import sys; sys.path += [{folder!r}, '']"
    line = f"{begin}; from mallocmuzero_xla.compiler.{module} import main; main()"
    return sys.executable, "-P", "-c", line


COMMAND = _command("compile_child")
TRIAL_COMMAND = _command("trial_child")
PHASE_COMMAND = _command("phase_child")

# The compiler keeps memory from one compile to the next. A process that grows past this is replaced
# before its next job.
_PEAK_MEBIBYTES = 4096

# Seconds of one wait for an answer; the time limit may be infinite.
_LONGEST_WAIT = 3600.0

# Seconds of a process between the end of its output and its own end.
_ENDING_SECONDS = 10.0

# Programs that jax cannot print (readable.py). A compile process finds this out by a compile that
# it has to repeat, so each job tells its process what the others have found out.
_unprintable: set[str] = set()
_unprintable_lock = threading.Lock()

# A fatal line of the compiler's log begins with the date: month and day.
_FATAL = re.compile(r"F\d{4} |.*Check fail")


class WorkerClosedError(Exception):
    """`close` was called, so the worker runs no more jobs."""


class Worker:
    """A compile process: starts at the first job, and again after a crash.

    `run` is for one thread; another thread may call `close`, which ends a running job.
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        """`command` starts the process: COMMAND by default, TRIAL_COMMAND or PHASE_COMMAND."""
        self._command = command or COMMAND
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (goes with this)
        self._lock = threading.Lock()  # guards what follows, and _process
        self._closed = False
        self._busy = False

    def run(self, job: dict[str, Any], timeout: float) -> float:
        """Runs one job and returns the seconds it took, without the start of the process.

        Raises as `ask`.
        """
        return float(self.ask(job, timeout)["seconds"])

    def ask(self, job: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Runs one job and returns its answer; `timeout` may be infinite.

        Raises:
            UsageError: the job is wrong.
            CompileError: the job failed and would fail again.
            WorkerLostError: the compiler aborted or ran for more than `timeout` seconds.
            WorkerClosedError: the worker has been closed.
        """
        process = self._started()
        try:
            return self._answer(process, job, timeout)
        finally:
            with self._lock:
                self._busy, closed = False, self._closed
            if closed:
                self._release()

    def _answer(
        self, process: subprocess.Popen[bytes], job: dict[str, Any], timeout: float
    ) -> dict[str, Any]:
        with _unprintable_lock:
            job = {**job, "unprintable": sorted(_unprintable)}
        try:
            line = _exchange(process, json.dumps(job).encode() + b"\n", timeout)
        except TimeoutError:
            self._stop()
            raise WorkerLostError(f"no result within {timeout:g} s") from None
        if not line:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_ENDING_SECONDS)  # it may still be ending by itself
            killed = process.returncode == -signal.SIGKILL
            self._stop()
            if self._closed:
                raise WorkerClosedError
            status, words = process.returncode, self._last_words()
            if killed:
                raise WorkerKilledError(
                    f"the system killed the compile process, most likely for lack of memory: run "
                    f"fewer searches at once ({words})"
                )
            raise WorkerLostError(f"the compile process ended (status {status}): {words}")
        reply: dict[str, Any] = json.loads(line)
        with _unprintable_lock:
            _unprintable.update(reply.get("unprintable", ()))
        if reply["peak_mebibytes"] > _PEAK_MEBIBYTES:
            self._stop()
        if reply.get("lost"):
            raise WorkerLostError(f"{reply['error']}: {self._last_words()}")
        if reply["error"]:
            raise (UsageError if reply["usage"] else CompileError)(reply["error"])
        return reply

    def close(self) -> None:
        """Ends the process for good."""
        with self._lock:
            self._closed = True
            process, busy = self._process, self._busy
        if process is not None:
            process.kill()
            process.wait()
        if not busy:  # the thread of a running job releases what it uses
            self._release()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise WorkerClosedError
            if self._process is None:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._log,
                    env=child_environment(),
                    # Ctrl-C reaches only this process, which then ends the child itself.
                    start_new_session=True,
                )
            self._busy = True
            return self._process

    def _release(self) -> None:
        """Closes all files of a worker that has been closed."""
        self._stop()
        self._log.close()

    def _stop(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _last_words(self) -> str:
        """Returns the failed check from the process's log, or else its last line."""
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", errors="replace").splitlines()
        self._log.seek(0)
        self._log.truncate()
        fatal = [line for line in lines if _FATAL.match(line)]
        return " ".join(" ".join(fatal[:1] or lines[-1:]).split())[:500] or "no message"


class Workers:
    """Workers that end together. Any thread may call the methods."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards what follows
        self._workers: list[Worker] = []
        self._closed = False

    def add(self, worker: Worker) -> None:
        """Adds a worker; after `close` it is closed at once."""
        with self._lock:
            self._workers.append(worker)
            closed = self._closed
        if closed:
            worker.close()

    def close(self) -> None:
        """Ends the processes of all workers for good."""
        with self._lock:
            self._closed = True
            workers = list(self._workers)
        for worker in workers:
            worker.close()


def _exchange(process: subprocess.Popen[bytes], request: bytes, timeout: float) -> bytes:
    """Sends `request` and returns one line, or b"" if the process ended before a whole line."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(request)
        process.stdin.flush()
    except BrokenPipeError:
        return b""
    descriptor = process.stdout.fileno()
    poller = select.poll()  # select() takes no descriptor above 1023
    poller.register(descriptor, select.POLLIN)
    deadline = time.monotonic() + timeout
    line = b""
    while not line.endswith(b"\n"):
        left = max(0.0, deadline - time.monotonic())
        if not poller.poll(1000 * min(left, _LONGEST_WAIT)):
            if time.monotonic() >= deadline:
                raise TimeoutError
            continue
        chunk = os.read(descriptor, 65536)
        if not chunk:
            return b""
        line += chunk
    return line
