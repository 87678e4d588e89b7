"""Compiles one lowered program under many options: looks for the placement, or whole compiles."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import queue
import tempfile
import threading
from types import TracebackType
from typing import Any

from mallocmuzero_xla import worker
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.errors import BudgetSpentError, CompileError, WorkerLostError
from mallocmuzero_xla.lowering import LoweredProgram
from mallocmuzero_xla.store import read_text
from mallocmuzero_xla.worker import Worker

_TMPFS = pathlib.Path("/dev/shm")

# A look keeps one core busy; more of them at once than this learn little from each other.
_MOST_LOOKS_AT_ONCE = 8


def looks_at_once() -> int:
    """Returns how many looks this machine has cores for."""
    return min(_MOST_LOOKS_AT_ONCE, len(os.sched_getaffinity(0)))


@dataclasses.dataclass(frozen=True)
class _Lane:
    """A process, and where what it compiles is written."""

    worker: Worker
    output: pathlib.Path
    dump: pathlib.Path


class Looker:
    """Looks at and compiles one program, in processes of its own, and counts what that takes.

    The same options are looked at once: what the compiler does depends on nothing else. `look` may
    be called by several threads, all else by one. Close it, or use it as a context manager.
    """

    def __init__(self, chip: Chip, timeout: float = 600.0, width: int = 1) -> None:
        """`timeout` is for one compile, in seconds; `width` looks may run at once.

        The program has to be written to `lowered`.
        """
        self._chip = chip
        self._timeout = timeout
        parent = _TMPFS if os.access(_TMPFS, os.W_OK) else None
        self._scratch = tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-", dir=parent)
        self.lowered = self._path("lowered.json")
        self.width = width
        self._lanes = [
            _Lane(
                Worker(worker.LOOK_COMMAND),
                self._path(f"look_{number}.hlo"),
                self._path(f"dump_{number}"),
            )
            for number in range(width)
        ]
        # The one used last is used next: processes are started when they are needed.
        self._idle: queue.LifoQueue[_Lane] = queue.LifoQueue()
        for lane in reversed(self._lanes):
            self._idle.put(lane)
        self._compiling = _Lane(Worker(), self._path("compiled.hlo.zst"), self._path("dump"))
        self._lock = threading.Lock()  # guards _seen, looks, and the budget's looks
        self._seen: dict[str, str | CompileError | WorkerLostError] = {}
        self.looks = 0
        self.compiles = 0
        self.last_compile = 0.0
        self.slowest_compile = 0.0

    def __enter__(self) -> Looker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes and removes temporary files."""
        for lane in (*self._lanes, self._compiling):
            lane.worker.close()
        self._scratch.cleanup()

    @property
    def base_options(self) -> dict[str, bool | int | float | str]:
        """Returns the compiler options that are the program's own."""
        return LoweredProgram.read(self.lowered).base_options

    def lower(self, job: dict[str, Any], budget: Budget) -> LoweredProgram:
        """Runs a job of capture.lower_job, which writes `lowered`, and returns the program."""
        self._compiling.worker.run(job, min(budget.remaining(), self._timeout))
        return LoweredProgram.read(self.lowered)

    def look(self, options: dict[str, str], budget: Budget) -> str:
        """Returns the placement under `options`: the scheduled module, without estimated cycles.

        Raises:
            CompileError: the compiler refused the options.
            WorkerLostError: the compiler aborted or hung.
            BudgetSpentError: there is no look or no time left.
        """
        key = json.dumps(options, sort_keys=True)
        with self._lock:
            seen = self._seen.get(key)
            if seen is None:
                budget.spend_look()
        if seen is None:
            try:
                seen = self._look(options, budget)
            except (CompileError, WorkerLostError) as error:
                seen = error
            with self._lock:
                self._seen[key] = seen
                self.looks += 1  # one that the budget or Ctrl-C cuts short has shown nothing
        if isinstance(seen, str):
            return seen
        raise seen

    def compile(self, options: dict[str, str], budget: Budget, grace: float = 0.0) -> str:
        """Compiles to the end and returns the text with its estimates; raises as `look` does.

        A compile that was begun within the budget may end `grace` seconds after it.
        """
        budget.spend_compile()
        self.compiles += 1
        self.last_compile = self._run(self._compiling, "compile", options, budget, grace)
        self.slowest_compile = max(self.slowest_compile, self.last_compile)
        return read_text(self._compiling.output)

    def _look(self, options: dict[str, str], budget: Budget) -> str:
        lane = self._idle.get()
        try:
            self._run(lane, "look", options, budget)
            return lane.output.read_text(encoding="utf-8")
        finally:
            self._idle.put(lane)

    def _run(
        self,
        lane: _Lane,
        action: str,
        options: dict[str, str],
        budget: Budget,
        grace: float = 0.0,
    ) -> float:
        job = {
            "action": action,
            "program": str(self.lowered),
            "chip": dataclasses.asdict(self._chip),
            "options": options,
            "output": str(lane.output),
            "dump": str(lane.dump),
        }
        try:
            return lane.worker.run(job, min(self._timeout, budget.remaining() + grace))
        except WorkerLostError as error:
            if not budget.remaining():
                raise BudgetSpentError("the budget of seconds is spent") from error
            raise

    def _path(self, name: str) -> pathlib.Path:
        return pathlib.Path(self._scratch.name) / name
