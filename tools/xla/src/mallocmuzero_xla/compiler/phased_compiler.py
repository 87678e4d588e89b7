"""Finds the estimates of a program's compiles without making its machine code.

The compiler's first phase gives the scheduled module with all memory spaces, and a module for each
different instruction that has an estimate. The estimates of instructions that are not known from
another compile are found by compiling these alone (phase_child.py).
"""

from __future__ import annotations

import dataclasses
import pathlib
import queue
import shutil
import threading
from collections.abc import Callable
from typing import Any

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.compiler import worker
from mallocmuzero_xla.compiler.estimates import Estimates, matching
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.phase_child import ALONE, MODULE
from mallocmuzero_xla.compiler.worker import Worker
from mallocmuzero_xla.errors import CompileError, WorkerLostError

# Returns the text of a program's compile under further options, or None if only a compile to the
# end has it. Any thread may call it. Raises BudgetSpentError.
TextInPhases = Callable[[dict[str, str]], str | None]


@dataclasses.dataclass(frozen=True)
class PhasedText:
    """The text of a compile in phases.

    Attributes:
        text: the module with estimates.
        lowered: how many instructions were compiled alone for it.
        missing: how many instructions lack an estimate that a whole compile may have.
    """

    text: str
    lowered: int
    missing: int

    @property
    def complete(self) -> bool:
        """Whether the text has every estimate of a whole compile."""
        return self.missing == 0


class PhasedCompiler:
    """Compiles one program in phases, in a process of its own; for one thread, and close it."""

    def __init__(self, lowered: pathlib.Path, folder: pathlib.Path, timeout: float = 600.0) -> None:
        """`timeout` limits each of the two parts of a compile, in seconds.

        `lowered` has the program when the first compile begins; `folder` takes files.
        """
        self._lowered = lowered
        self._folder = folder
        self._timeout = timeout
        self._worker = Worker(worker.PHASE_COMMAND)

    def close(self) -> None:
        """Ends the process and removes its files."""
        self._worker.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def compile(
        self,
        options: dict[str, str],
        estimates: Estimates,
        lock: threading.Lock,
        budget: Budget,
    ) -> PhasedText:
        """Returns the module under `options`, with estimates.

        `estimates` are those of the program under the limit of scoped memory in `options`. They
        grow by those that are found. `lock` guards them.

        Raises:
            CompileError: the compiler refused the options, or cannot compile in phases.
            WorkerLostError: the compiler aborted.
            BudgetSpentError: the time ran out.
        """
        common: dict[str, Any] = {"program": str(self._lowered), "output": str(self._folder)}
        self._ask({"action": "optimize", "options": options, **common}, budget)
        module = (self._folder / MODULE).read_text(encoding="utf-8")
        alone: dict[int, str] = {}
        while (path := self._folder / ALONE.format(len(alone))).is_file():
            alone[len(alone)] = path.read_text(encoding="utf-8")
        with lock:
            unknown = [number for number, text in alone.items() if not estimates.knows_alone(text)]
        cycles: dict[str, int | None] = {}
        if unknown:
            topology = LoweredProgram.read(self._lowered).topology_name
            job = {"action": "lower", "topology": topology, "numbers": unknown, **common}
            cycles = self._ask(job, budget)["cycles"]
        with lock:
            for number, found in cycles.items():
                estimates.learn_alone(alone[int(number)], found)
            filled = estimates.fill(module)
        # The compiler isolates what it estimates. An instruction alone that the module seems not to
        # have would leave one without estimate.
        strange = matching(module, alone.values()).count(False)
        return PhasedText(filled.text, len(unknown), len(unknown) - len(cycles) + strange)

    def _ask(self, job: dict[str, Any], budget: Budget) -> dict[str, Any]:
        with budget.limits_worker():
            return self._worker.ask(job, min(self._timeout, budget.remaining()))


class PhasedLanes:
    """Compiles one program in phases, several at once; any thread may call `text`."""

    def __init__(self, lowered: pathlib.Path, width: int) -> None:
        """`lowered` has the program, and files go beside it; `width` compiles run at once."""
        self._lanes = [
            PhasedCompiler(lowered, lowered.with_name(f"phases_{number}"))
            for number in range(width)
        ]
        self._idle: queue.LifoQueue[PhasedCompiler] = queue.LifoQueue()
        for lane in reversed(self._lanes):
            self._idle.put(lane)
        self._lock = threading.Lock()  # guards what follows
        self._worked = False
        self._failed = False

    @property
    def usable(self) -> bool:
        """False if the first compile in phases gave no text: it is likely that none will."""
        with self._lock:
            return self._worked or not self._failed

    def text(
        self,
        options: dict[str, str],
        estimates: Estimates,
        lock: threading.Lock,
        budget: Budget,
    ) -> str | None:
        """Returns the module with all estimates, or None if only a whole compile has them.

        The compiler may also have refused the options, which a whole compile then explains. The
        arguments are those of PhasedCompiler.compile. Raises BudgetSpentError.
        """
        lane = self._idle.get()
        try:
            made = lane.compile(options, estimates, lock, budget)
            text = made.text if made.complete else None
        except (CompileError, WorkerLostError):
            text = None
        finally:
            self._idle.put(lane)
        with self._lock:
            self._worked |= text is not None
            self._failed |= text is None
        return text

    def close(self) -> None:
        """Ends the processes and removes their files."""
        for lane in self._lanes:
            lane.close()
