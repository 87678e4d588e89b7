"""Owns one compile process: starts it, hands it jobs, survives its death."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from typing import Any

from mallocmuzero_xla.environment import child_environment
from mallocmuzero_xla.errors import CompileError, WorkerLostError

# The compiler keeps memory from one compile to the next; a process that has grown past this is
# replaced before its next job.
_PEAK_MEBIBYTES = 4096


class Worker:
    """A compile process that is started when first needed and again after it was lost.

    Not to be shared between threads.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)

    def run(self, job: dict[str, Any], timeout: float) -> float:
        """Runs one job and returns the seconds it took, without the start of the process.

        Raises:
            CompileError: the job failed, and would again.
            WorkerLostError: the process aborted or ran for more than `timeout` seconds.
        """
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
            line = self._read_line(process, timeout)
        except TimeoutError:
            self.stop()
            raise WorkerLostError(f"no result within {timeout:g} s") from None
        except BrokenPipeError:
            line = b""
        if not line:
            raise WorkerLostError(self._describe_death(process))
        reply = json.loads(line)
        if reply["peak_mebibytes"] > _PEAK_MEBIBYTES:
            self.stop()
        if reply["error"]:
            raise CompileError(reply["error"])
        return float(reply["seconds"])

    def stop(self) -> None:
        """Ends the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def close(self) -> None:
        """Ends the process and releases its log."""
        self.stop()
        self._log.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mallocmuzero_xla.compile_child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=child_environment(),
                # Ctrl-C is for us: we end the process ourselves.
                start_new_session=True,
            )
        return self._process

    @staticmethod
    def _read_line(process: subprocess.Popen[bytes], timeout: float) -> bytes:
        """Returns one line, or b"" if the process closed its end before a whole line."""
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        deadline = time.monotonic() + timeout
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            chunk = os.read(descriptor, 65536)
            if not chunk:
                return b""
            line += chunk
        return line

    def _describe_death(self, process: subprocess.Popen[bytes]) -> str:
        self.stop()
        self._log.seek(0)
        log = self._log.read().decode("utf-8", errors="replace")
        self._log.seek(0)
        self._log.truncate()
        fatal = [line for line in log.splitlines() if line.startswith("F0") or "Check fail" in line]
        lines = fatal[:1] or log.splitlines()[-1:]
        reason = " ".join(" ".join(lines).split())[:500]
        return f"the compiler ended the process (status {process.returncode}): {reason}"
