"""Runs compiles over a few compile processes: retries, time limits, resumption."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import pathlib
import queue
import threading
from collections.abc import Iterable
from typing import Any

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.errors import CaptureError, CompileError, WorkerLostError
from mallocmuzero_xla.lowering import LoweredProgram
from mallocmuzero_xla.progress import Progress
from mallocmuzero_xla.store import CaptureStore
from mallocmuzero_xla.variants import Variant
from mallocmuzero_xla.worker import Worker


@dataclasses.dataclass(frozen=True)
class Limits:
    """How long and how often to try.

    Attributes:
        timeout: seconds one compile, or one lowering, may take.
        retries: further attempts, each in a fresh process, after an abort or a timeout.
        jobs: compile processes at a time.
    """

    timeout: float = 600.0
    retries: int = 2
    jobs: int = 1


class Subject:
    """One program to be captured: where it goes, and how its lowered form comes about."""

    def __init__(
        self, store: CaptureStore, chip: Chip, lowered_path: pathlib.Path, lower_job: dict[str, Any]
    ) -> None:
        """`lower_job` is what a compile process needs to write `lowered_path`; {}: it exists."""
        self.store = store
        self.chip = chip
        self.lowered_path = lowered_path
        self._lower_job = lower_job
        self._lock = threading.Lock()
        self._ready = False
        self._error: str | None = None

    def prepare(self, worker: Worker, limits: Limits) -> None:
        """Lowers the program unless that has been tried; raises CaptureError if it failed."""
        with self._lock:
            if self._error:
                raise CaptureError(self._error)
            if self._ready:
                return
            try:
                if self._lower_job:
                    worker.run(self._lower_job, limits.timeout)
            except CaptureError as error:
                self._error = f"lowering: {error}"
                raise CaptureError(self._error) from error
            program = LoweredProgram.read(self.lowered_path)
            self.store.begin(program.function, program.sha256)
            self._ready = True


@dataclasses.dataclass(frozen=True)
class Task:
    """One variant of one program."""

    subject: Subject
    variant: Variant


def run_tasks(tasks: Iterable[Task], limits: Limits, progress: Progress) -> None:
    """Runs the tasks in order, `limits.jobs` at a time; failures end up in the tasks' stores."""
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    cancelled = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(limits.jobs) as pool:
        futures = [
            pool.submit(_work, waiting, limits, progress, cancelled) for _ in range(limits.jobs)
        ]
        try:
            for future in concurrent.futures.as_completed(futures):
                future.result()
        finally:
            cancelled.set()


def _work(
    waiting: queue.SimpleQueue[Task], limits: Limits, progress: Progress, cancelled: threading.Event
) -> None:
    worker = Worker()
    try:
        while not cancelled.is_set():
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                return
            problem = _run_task(task, worker, limits)
            progress.report(f"{task.subject.store.name} {task.variant.name}", problem)
    finally:
        worker.close()


def _run_task(task: Task, worker: Worker, limits: Limits) -> str | None:
    """Captures one variant unless it is there; returns what went wrong, if anything did."""
    subject, variant = task.subject, task.variant
    try:
        subject.prepare(worker, limits)
    except CaptureError as error:
        subject.store.add_failure(variant, {}, str(error))
        return str(error)
    if subject.store.has(variant):
        return None
    for attempt in range(limits.retries + 1):
        options = variant.options(subject.chip, attempt)
        try:
            seconds = worker.run(_compile_job(task, options), limits.timeout)
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
        "options": options,
        "output": str(task.subject.store.path(task.variant)),
    }
