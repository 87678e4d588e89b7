"""Does runs of the protocol, each in a process of its own on two cores."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import corpus
from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.processes import with_this_process
from protocol_plan import Run
from protocol_records import Record

CHILD = (sys.executable, str(pathlib.Path(__file__).with_name("protocol_child.py")))
CORES_OF_A_RUN = 2

# The budget of a run that only compiles under flags: it ends with the first compile.
_COMPILE_ONLY = 1.0

# A process that takes this much longer than its budget is ended. The default's compile has no limit
# of its own.
_GRACE_SECONDS = 1800.0

# After Ctrl-C, a process has this long to end its compiles.
_END_SECONDS = 60.0

# Variables that change the program, which compiler there is and what it does, or which results are
# found without a search. The version of libtpu in the records is that of the Python package.
_OWN_VARIABLES = ("LIBTPU_INIT_ARGS", "XLA_FLAGS", "TPU_LIBRARY_PATH", "MALLOCMUZERO_CACHE")
_OWN_PREFIX, _KEPT = "JAX_", "JAX_PLATFORMS"


class StoppedError(Exception):
    """The run was stopped by Ctrl-C in another thread: it has no record."""


class Runner:
    """Does runs; several threads may call `record`. `stop` ends all that are running.

    A run also ends with the thread that called `record`, even if this process is killed.
    """

    def __init__(self, workloads: pathlib.Path, child: Sequence[str] = CHILD) -> None:
        """`workloads` has the registry of programs; `child` is the command of a run."""
        self._registry = workloads.resolve() / "zoo"
        self._child = list(child)
        self._lock = threading.Lock()  # guards _running and _stopped
        self._running: set[int] = set()
        self._stopped = False

    def record(self, run: Run, cores: Sequence[int]) -> Record:
        """Does a run on `cores`, and returns its record; a failure is a record, too.

        Raises StoppedError after `stop`.
        """
        load = os.getloadavg()[0]
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mallocmuzero-protocol-") as scratch:
            folder = pathlib.Path(scratch)
            error, processor_seconds = self._do(run, cores, folder)
            output = folder / "outcome.json"
            fields = json.loads(output.read_text(encoding="utf-8")) if error is None else {}
        return {
            "chip": run.entry.chip,
            "program": run.entry.program,
            "family": run.entry.family,
            "split": run.entry.split,
            "contended": run.entry.contended,
            "mode": run.mode.name,
            "seed": run.seed,
            "budget_seconds": run.seconds,
            "status": "ok" if error is None else "failed",
            "error": error,
            "wall_seconds": round(time.monotonic() - started, 1),
            "processor_seconds": round(processor_seconds, 1),
            "load": round(load, 2),
            "processor": processor_name(),
            **fields,
        }

    def stop(self) -> None:
        """Ends the running processes as Ctrl-C does; after a minute, or another one, by force."""
        with self._lock:
            self._stopped = True
        end = time.monotonic() + _END_SECONDS
        self._signal(signal.SIGINT)
        try:
            while self._busy() and time.monotonic() < end:
                time.sleep(0.1)
        finally:
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with self._lock:
            for process in self._running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)

    def _busy(self) -> bool:
        with self._lock:
            return bool(self._running)

    def _do(self, run: Run, cores: Sequence[int], folder: pathlib.Path) -> tuple[str | None, float]:
        """Returns why the run failed, or None, and its processor seconds."""
        errors = folder / "errors.txt"
        command = with_this_process([*self._child, str(folder / "outcome.json")])
        with errors.open("w", encoding="utf-8") as stream:
            with self._lock:
                if self._stopped:
                    raise StoppedError
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=stream,
                    stderr=stream,
                    env=environment_of(run, folder),
                    cwd=folder,
                    start_new_session=True,
                )
                self._running.add(process.pid)
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(json.dumps(self._job(run, cores)).encode())
            code, processor_seconds, late = self._wait(process, run)
        if late:
            return f"did not end within {late:.0f} s", processor_seconds
        if code == 0 and (folder / "outcome.json").is_file():
            return None, processor_seconds
        lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return (lines or [f"ended with status {code}"])[-1], processor_seconds

    def _wait(self, process: subprocess.Popen[bytes], run: Run) -> tuple[int, float, float]:
        """Returns status, processor seconds, and the time limit if it ended the process, or 0."""
        limit = 2 * run.seconds + _GRACE_SECONDS
        ended: list[float] = []

        def end() -> None:
            ended.append(limit)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit, end)
        timer.start()
        try:
            # Unlike Popen.wait, this says what the process and its own processes have used.
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            timer.cancel()
            with self._lock:
                self._running.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        with self._lock:
            if self._stopped:
                raise StoppedError
        seconds = usage.ru_utime + usage.ru_stime
        return process.returncode, seconds, ended[0] if ended else 0.0

    def _job(self, run: Run, cores: Sequence[int]) -> dict[str, Any]:
        seconds = run.seconds if run.mode.searches else _COMPILE_ONLY
        return {
            "registry": str(self._registry),
            "program": run.entry.program,
            "chip": run.entry.chip,
            "cores": list(cores),
            "arguments": {"budget": seconds, "seed": run.seed, **dict(run.mode.arguments)},
        }


def environment_of(run: Run, folder: pathlib.Path) -> dict[str, str]:
    """Returns the environment of a run: this commit's package, the mode's flags, an empty cache."""
    environment = {name: text for name, text in os.environ.items() if not _is_own(name)}
    sources = [str(corpus.ROOT / "tools/xla/src")]
    sources += [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    environment |= {
        "PYTHONPATH": os.pathsep.join(sources),
        "MALLOCMUZERO_BINARY": str(find_binary()),  # whose commit the command has checked
        "MALLOCMUZERO_CACHE": str(folder / "cache"),
    }
    return environment | ({"LIBTPU_INIT_ARGS": run.mode.init_args} if run.mode.init_args else {})


def _is_own(variable: str) -> bool:
    """Whether a run sets a variable for itself, or has none of that name."""
    ours = variable.startswith(_OWN_PREFIX) and variable != _KEPT
    return ours or variable in _OWN_VARIABLES


def processor_name() -> str:
    """Returns the name of this machine's processor as Linux gives it."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def core_pairs(workers: int, cores: Sequence[int] | None = None) -> list[list[int]]:
    """Returns two cores for each worker; raises UsageError if there are too few."""
    mine = sorted(os.sched_getaffinity(0)) if cores is None else list(cores)
    needed = CORES_OF_A_RUN * workers
    if workers < 1 or needed > len(mine):
        raise UsageError(
            f"--workers {workers}: expected 1 to {len(mine) // CORES_OF_A_RUN}, because each has "
            f"two cores of its own, and here are {len(mine)}"
        )
    return [mine[first : first + CORES_OF_A_RUN] for first in range(0, needed, CORES_OF_A_RUN)]


def do_all(
    runs: Sequence[Run],
    pairs: Sequence[Sequence[int]],
    runner: Runner,
    take: Callable[[Run, Record], None],
) -> None:
    """Does all runs, one at a time on each pair of cores; `take` gets each record at once.

    Ctrl-C ends the running processes and is raised again. The first error of a thread is raised.
    """
    left = collections.deque(runs)
    lock = threading.Lock()  # guards left, errors and the calls of take
    errors: list[BaseException] = []

    def work(cores: Sequence[int]) -> None:
        while True:
            with lock:
                if not left or errors:
                    return
                run = left.popleft()
            try:
                record = runner.record(run, cores)
                with lock:
                    take(run, record)
            except StoppedError:
                return
            except BaseException as error:
                with lock:
                    errors.append(error)
                return

    threads = [threading.Thread(target=work, args=(cores,)) for cores in pairs]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        runner.stop()
        for thread in threads:
            thread.join()
        raise
    if errors:
        raise errors[0]
