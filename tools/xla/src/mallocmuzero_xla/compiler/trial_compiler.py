"""Compiles one lowered program under many options, as trial compiles or to the end."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import queue
import threading
from types import TracebackType
from typing import Any

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler import worker
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.store import read_text
from mallocmuzero_xla.compiler.worker import Worker
from mallocmuzero_xla.errors import CompileError, WorkerLostError
from mallocmuzero_xla.scratch import ScratchFolder

# A trial compile keeps one core busy. More at once gain little: lists chosen together cannot learn
# from each other.
_MOST_TRIALS_AT_ONCE = 8

# A compile may take this many times as long as those before it, even if that is long.
_SLOWEST = 2.0

# A whole compile uses several cores for parts of its time, and up to this much memory.
_MOST_COMPILES_AT_ONCE = 2
_COMPILE_MEBIBYTES = 4096


def trial_compiles_at_once() -> int:
    """Returns how many trial compiles run at once: one for each core, up to a maximum."""
    return min(_MOST_TRIALS_AT_ONCE, len(os.sched_getaffinity(0)))


def compiles_at_once() -> int:
    """Returns how many whole compiles run at once: two where cores and memory allow."""
    cores = len(os.sched_getaffinity(0))
    return max(1, min(_MOST_COMPILES_AT_ONCE, cores, _available_mebibytes() // _COMPILE_MEBIBYTES))


def _available_mebibytes() -> int:
    try:
        lines = pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":") for line in lines)
        return int(fields["MemAvailable"].split()[0]) // 1024
    except (OSError, KeyError, ValueError):
        return _COMPILE_MEBIBYTES


@dataclasses.dataclass(frozen=True)
class _Lane:
    """A process, the file that its result goes to, and the folder of the compiler's dumps."""

    worker: Worker
    output: pathlib.Path
    dump: pathlib.Path


class TrialCompiler:
    """Compiles one program in child processes and counts the compiles.

    A second trial compile with the same options returns the result of the first: the compiler is
    deterministic. Several threads may call `compile_trial` and `compile`; every other method is for
    one thread.
    Close it, or use it as a context manager.
    """

    def __init__(
        self, chip: Chip, timeout: float = 600.0, width: int = 1, compile_width: int = 1
    ) -> None:
        """`timeout` limits one compile within a budget of seconds, unless others took as long.

        A compile without such a budget has no time limit. `width` trial compiles and
        `compile_width` whole compiles may run at once.

        The caller writes the program to the file `lowered` before the first compile.
        """
        self._chip = chip
        self._timeout = timeout
        self._scratch = ScratchFolder()
        self.lowered = self._path("lowered.json")
        self.width = width
        self._lanes = [
            _Lane(
                Worker(worker.TRIAL_COMMAND),
                self._path(f"trial_{number}.hlo"),
                self._path(f"dump_{number}"),
            )
            for number in range(width)
        ]
        self._idle = _idle(self._lanes)
        self._compiling = [
            _Lane(Worker(), self._path(f"compiled_{number}.hlo.zst"), self._path("dump"))
            for number in range(compile_width)
        ]
        self._idle_compiling = _idle(self._compiling)
        self._lock = threading.Lock()  # guards _seen, the counts, and those of the budget
        self._seen: dict[str, str | CompileError | WorkerLostError] = {}
        self.trial_compiles = 0
        self.compiles = 0
        self.slowest_compile = 0.0  # seconds

    def __enter__(self) -> TrialCompiler:
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
        for lane in (*self._lanes, *self._compiling):
            lane.worker.close()
        self._scratch.close()

    @property
    def base_options(self) -> dict[str, bool | int | float | str]:
        """Returns the compiler options that belong to the program itself."""
        return LoweredProgram.read(self.lowered).base_options

    def lower(self, job: dict[str, Any], budget: Budget) -> LoweredProgram:
        """Runs a job of capture.lower_job, which writes `lowered`, and returns the program."""
        self._compiling[0].worker.run(job, min(budget.remaining(), self._timeout))
        return LoweredProgram.read(self.lowered)

    def compile_trial(self, options: dict[str, str], budget: Budget) -> str:
        """Returns the scheduled and placed module under `options`, without estimated cycles.

        Raises:
            CompileError: the compiler refused the options.
            WorkerLostError: the compiler aborted or hung.
            BudgetSpentError: no trial compile or no time is left.
        """
        key = json.dumps(options, sort_keys=True)
        with self._lock:
            seen = self._seen.get(key)
            if seen is None:
                budget.spend_trial_compile()
        if seen is None:
            try:
                seen = self._compile_trial(options, budget)
            except (CompileError, WorkerLostError) as error:
                seen = error
            with self._lock:
                self._seen[key] = seen
                self.trial_compiles += 1  # not one that the budget or Ctrl-C cuts short
        if isinstance(seen, str):
            return seen
        raise seen

    def compile(self, options: dict[str, str], budget: Budget, grace: float = 0.0) -> str:
        """Compiles to the end and returns the text with estimates; raises as `compile_trial`.

        A compile that starts within the budget may end `grace` seconds after it.
        """
        return self.timed_compile(options, budget, grace)[0]

    def timed_compile(
        self, options: dict[str, str], budget: Budget, grace: float = 0.0
    ) -> tuple[str, float]:
        """Does what `compile` does; returns text and seconds, as another compile would take."""
        with self._lock:
            budget.spend_compile()
            self.compiles += 1
        lane = self._idle_compiling.get()
        try:
            seconds = self._run(lane, "compile", options, budget, grace)
            text = read_text(lane.output)
        finally:
            self._idle_compiling.put(lane)
        self.note_duration(seconds)
        return text, seconds

    def note_duration(self, seconds: float) -> None:
        """Notes how long a whole compile of the program took, here or in another process."""
        with self._lock:
            self.slowest_compile = max(self.slowest_compile, seconds)

    def _compile_trial(self, options: dict[str, str], budget: Budget) -> str:
        lane = self._idle.get()
        try:
            self._run(lane, "trial", options, budget)
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
        limit = budget.remaining() + grace
        if math.isfinite(limit):
            limit = min(limit, max(self._timeout, _SLOWEST * self.slowest_compile))
        with budget.limits_worker():
            return lane.worker.run(job, limit)

    def _path(self, name: str) -> pathlib.Path:
        return self._scratch.path / name


def _idle(lanes: list[_Lane]) -> queue.LifoQueue[_Lane]:
    """Returns the lanes, last in, first out: a process starts only when the others are busy."""
    idle: queue.LifoQueue[_Lane] = queue.LifoQueue()
    for lane in reversed(lanes):
        idle.put(lane)
    return idle
