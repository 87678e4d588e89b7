"""Distributes compiles over processes, with retries, time limits and resumption."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import math
import pathlib
import queue
import threading
import time
from collections.abc import Iterable
from typing import Any

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.phased_worker import PhasedWorker
from mallocmuzero_xla.compiler.store import CaptureStore
from mallocmuzero_xla.compiler.variants import Variant
from mallocmuzero_xla.compiler.worker import Worker, Workers
from mallocmuzero_xla.errors import CaptureError, CompileError, UsageError, WorkerLostError
from mallocmuzero_xla.progress import Progress


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of compiles.

    Attributes:
        timeout: time limit of one compile or lowering, in seconds.
        retries: further attempts, each in a fresh process, after an abort or a timeout.
        jobs: the number of compile processes at a time.
        in_phases: whether compiles make no machine code, where that is possible (PhasedWorker).
        attempts_timeout: time limit of all attempts at one compile, in seconds.
    """

    timeout: float = 600.0
    retries: int = 2
    jobs: int = 1
    in_phases: bool = False
    attempts_timeout: float = math.inf


class Subject:
    """One program to capture: its store and its lowering.

    `error` is the reason of a failed lowering.
    """

    def __init__(
        self,
        store: CaptureStore,
        chip: Chip,
        lowered_path: pathlib.Path,
        lower_job: dict[str, Any] | None = None,
    ) -> None:
        """`lower_job` makes a compile process write `lowered_path`; None if the file exists."""
        self.store = store
        self.chip = chip
        self.lowered_path = lowered_path
        self._lower_job = lower_job
        self._lock = threading.Lock()
        self.error: CaptureError | None = None
        self._ready = False

    def prepare(self, worker: Worker, limits: Limits) -> None:
        """Lowers the program once; raises CaptureError if that failed, now or before."""
        with self._lock:
            if self.error:
                raise self.error
            if self._ready:
                return
            try:
                if self._lower_job:
                    worker.run(self._lower_job, limits.timeout)
                self.store.begin(LoweredProgram.read(self.lowered_path))
            except CaptureError as error:
                self.error = error
                raise
            self._ready = True


@dataclasses.dataclass(frozen=True)
class Task:
    """One variant of one program."""

    subject: Subject
    variant: Variant


def run_tasks(
    tasks: Iterable[Task], limits: Limits, progress: Progress, workers: Workers | None = None
) -> None:
    """Runs the tasks in order, `limits.jobs` at a time; the tasks' stores record failures.

    The compile processes are added to `workers`. If another thread closes these, it raises
    WorkerClosedError.
    """
    if limits.jobs < 1:
        raise UsageError(f"jobs is {limits.jobs}: expected 1 or more")
    if limits.retries < 0:
        raise UsageError(f"retries is {limits.retries}: expected 0 or more")
    if not limits.timeout > 0:
        raise UsageError(f"timeout is {limits.timeout:g}: expected seconds above 0")
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    subjects = set()
    for task in tasks:
        waiting.put(task)
        subjects.add(task.subject)
    # The caller shows the error of a single program. With several programs each error is shown
    # here.
    tell = len(subjects) > 1
    ours = [PhasedWorker() if limits.in_phases else Worker() for _ in range(limits.jobs)]
    if workers is not None:
        for worker in ours:
            workers.add(worker)
    with concurrent.futures.ThreadPoolExecutor(limits.jobs) as pool:
        futures = [pool.submit(_work, waiting, worker, limits, progress, tell) for worker in ours]
        try:
            for future in concurrent.futures.as_completed(futures):
                future.result()
        finally:
            # After an error or Ctrl-C the other threads may still compile.
            for worker in ours:
                worker.close()


def _work(
    waiting: queue.SimpleQueue[Task],
    worker: Worker,
    limits: Limits,
    progress: Progress,
    tell: bool,
) -> None:
    """Runs tasks until none is left; `tell` says whether to report failed lowerings."""
    with contextlib.suppress(queue.Empty):
        while True:
            task = waiting.get_nowait()
            subject, name = task.subject, task.subject.store.name
            known = subject.error is not None
            try:
                subject.prepare(worker, limits)
            except CaptureError as error:
                # Each variant fails for the same reason, which is reported once.
                if known or not tell:
                    progress.skip()
                else:
                    progress.report(name, str(error))
            else:
                progress.report(f"{name} {task.variant.name}", _run_task(task, worker, limits))


def _run_task(task: Task, worker: Worker, limits: Limits) -> str | None:
    """Captures one variant unless it exists; returns the problem, or None."""
    subject, variant = task.subject, task.variant
    if subject.store.has(variant):
        return None
    end = time.monotonic() + limits.attempts_timeout
    for attempt in range(limits.retries + 1):
        left = end - time.monotonic()
        if attempt and left <= 0:
            break
        options = variant.options(subject.chip, attempt)
        try:
            seconds = worker.run(_compile_job(task, options), min(limits.timeout, left))
        except (CompileError, WorkerLostError) as error:
            problem = f"{error} (attempt {attempt + 1})"
            subject.store.add_failure(variant, options, problem)
            if isinstance(error, CompileError) and variant.required:
                return problem
        else:
            subject.store.add_result(variant, options, seconds)
            return None
    return problem


def _compile_job(task: Task, options: dict[str, str]) -> dict[str, Any]:
    return {
        "action": "compile",
        "program": str(task.subject.lowered_path),
        "chip": dataclasses.asdict(task.subject.chip),
        "options": options,
        "output": str(task.subject.store.path(task.variant)),
    }
