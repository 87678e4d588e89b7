"""Starts, kills and watches the processes of a cluster."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence

# A role has five seconds to stop; the rest is a margin for a busy machine.
STOP_SECONDS = 10.0
# The time until a process logs its first line, on a busy machine.
START_SECONDS = 60.0
# The time of a learner that has several processes: it finishes an update with the others first.
LEARNER_STOP_SECONDS = 75.0

# Codes with which a process ends that says why it cannot go on. A crash has another code.
ORDERLY_FAILURES = (1, 2)

# The message of a process that cannot start on a full disk. It must be restarted until there is
# room.
NO_ROOM = ("No space left on device", "File too large")

# The message of an actor that could not write down what was acknowledged. The audit would then
# claim too little, whatever the reason.
AUDIT_GAP = "actor.audit_dir: "

# The message of a process that ends because its clock was set back. SIGALRM ends it if its role
# takes too long to stop.
SET_BACK = "the clock was set back"
# The time until a process notices that, and ends, on a busy machine.
SET_BACK_SECONDS = 3.0

# The message of a learner process that ends because process 0 was killed while the two met.
LOST_IN_MEETING = "lost process 0 while the processes met"


def with_parent() -> list[str]:
    """Returns the beginning of a command that ends with this process, even if that is killed."""
    if shutil.which("setpriv") is None:
        return []
    # This process may have ended before the command asks for its signal.
    unless_orphan = '[ "$PPID" = "$0" ] && exec "$@"'
    return ["setpriv", "--pdeathsig", "KILL", "sh", "-c", unless_orphan, str(os.getpid())]


@dataclasses.dataclass
class Memory:
    """The memory of a process at one time."""

    at: float  # seconds
    age: float  # of the process, seconds
    rss: int  # bytes


class Role:
    """A process that is restarted again and again, with one log file."""

    def __init__(
        self,
        name: str,
        command: list[str],
        folder: pathlib.Path,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self.name = name
        self._environment: dict[str, str] = {}  # added to that of this process
        self._stop_seconds = stop_seconds
        self._command = command
        self._is_wrapped = False  # it is the child of the process that was started
        self.log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._expected_end = False
        self.is_wanted = False  # it should run or start
        self.starts = 0
        self._log_begin = 0  # offset of the latest start in the log, bytes
        self.unexpected: list[str] = []
        self.ends_without_room = 0
        self.ends_after_set_back = 0
        self.ends_in_meetings = 0
        self.memory: list[Memory] = []
        # Processor time up to the latest sample of all processes together.
        self.cpu_seconds = 0.0
        self._sampled: tuple[int, float] = (0, 0.0)  # process, its processor time at the sample
        self._first_sampled = 0.0  # time of the first sample of that process

    def add_environment(self, more: dict[str, str]) -> None:
        """Adds variables for later starts. Libraries to preload add up."""
        libraries = [e["LD_PRELOAD"] for e in (self._environment, more) if "LD_PRELOAD" in e]
        self._environment |= more
        if libraries:
            self._environment["LD_PRELOAD"] = ":".join(libraries)

    def start(self, wrapper: Sequence[str] = ()) -> None:
        """Starts it; by `wrapper` if that is given, which must have it as its only child."""
        assert not self.runs(), f"{self.name} runs already"
        self.note_end()
        self._expected_end = False
        self._is_wrapped = bool(wrapper)
        self.is_wanted = True
        self.starts += 1
        with self.log.open("ab") as log:
            self._log_begin = log.tell()
            # SIGXFSZ stays ignored, as Python has it: beyond a file size limit a write then fails,
            # as it does on a full disk, instead of ending the process.
            self._process = subprocess.Popen(
                [*with_parent(), *wrapper, *self._command],
                env=os.environ | self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                restore_signals=False,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        pid = self._process.pid
        if not self._is_wrapped:
            return pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
        end = time.monotonic() + STOP_SECONDS
        while self._process.poll() is None and time.monotonic() < end:
            if found := children.read_text().split():
                return int(found[0])
            time.sleep(0.01)
        raise ProcessLookupError(f"{self.name} has not started")

    def wait_for_log(self) -> None:
        """Waits for the first line of a process; after it, the process handles SIGTERM."""
        end = time.monotonic() + START_SECONDS
        while self.runs() and self.is_loading() and time.monotonic() < end:
            time.sleep(0.05)

    def is_loading(self) -> bool:
        """Returns whether the process has not logged its first line yet."""
        return self.log.stat().st_size == self._log_begin

    def has_loaded(self, library: pathlib.Path) -> bool:
        """Returns false if a process that has started does without the library."""
        if not self.runs() or self.is_loading():
            return True
        try:
            maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text()
        except OSError:
            return True
        # A process that has ended has no maps.
        return not maps or str(library) in maps

    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def note_end(self) -> bool:
        """Returns whether the process has ended; notes an unexpected end."""
        if self._process is None:
            return True
        code = self._process.poll()
        if code is None:
            return False
        if not self._expected_end and not self._has_reason_to_end(code):
            self._note_unexpected(f"ended by itself with code {code}")
        self._process = None
        return True

    def _has_reason_to_end(self, code: int) -> bool:
        """Returns whether its last lines tell that it had to end; counts the reason."""
        tail = self.tail()
        says_why = code in ORDERLY_FAILURES and AUDIT_GAP not in tail
        if says_why and any(words in tail for words in NO_ROOM):
            self.ends_without_room += 1
        elif (says_why or code == -signal.SIGALRM) and SET_BACK in tail:
            self.ends_after_set_back += 1
        elif says_why and LOST_IN_MEETING in tail:
            self.ends_in_meetings += 1
        else:
            return False
        return True

    def _note_unexpected(self, what: str) -> None:
        now = time.strftime("%H:%M:%S", time.gmtime())
        self.unexpected.append(f"{now} {self.name} {what}: {self.tail()}")

    def wait_for_own_end(self, seconds: float) -> None:
        """Waits for a process that is about to end by itself."""
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def kill(self) -> None:
        """kill -9, and waits for the end. Does nothing for a process that has ended."""
        if not self.runs():
            self.note_end()
            return
        self._expected_end = True
        self.signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    def stop(self) -> float:
        """Sends SIGTERM; returns the seconds until the end. Kills the process if it is too slow."""
        self.is_wanted = False
        if not self.runs():
            self.note_end()
            return 0.0
        self._expected_end = True
        begin = time.monotonic()
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        assert self._process is not None
        try:
            code = self._process.wait(self._stop_seconds)
            # Before its first line the process is still being loaded and has no handler.
            is_loading = code == -signal.SIGTERM and self.is_loading()
            if code != 0 and not is_loading and not self._has_reason_to_end(code):
                self._note_unexpected(f"stopped with code {code}")
        except subprocess.TimeoutExpired:
            self._note_unexpected(f"did not stop within {self._stop_seconds:.0f} s")
            self.kill()
        return time.monotonic() - begin

    def signal(self, number: int) -> None:
        if self.runs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def sample(self, now: float) -> None:
        """Notes memory and processor time."""
        if not self.runs():
            return
        try:
            pid = self.pid
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            figures = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return
        # utime and stime, by proc(5).
        cpu_seconds = (int(figures[11]) + int(figures[12])) / os.sysconf("SC_CLK_TCK")
        sampled_pid, sampled = self._sampled
        if pid != sampled_pid:
            self._first_sampled = now
        self.cpu_seconds += cpu_seconds - (sampled if pid == sampled_pid else 0.0)
        self._sampled = (pid, cpu_seconds)
        for line in status.splitlines():
            if line.startswith("VmRSS:"):
                rss = int(line.split()[1]) * 1024
                self.memory.append(Memory(now, now - self._first_sampled, rss))

    def tail(self) -> str:
        """Returns the last lines since the latest start, without those of gRPC about broken
        connections."""
        with self.log.open("rb") as log:
            log.seek(0, 2)
            log.seek(max(self._log_begin, log.tell() - 10_000))
            lines = log.read().decode(errors="replace").splitlines()
        return " / ".join([line for line in lines if " grpc: " not in line][-3:])
