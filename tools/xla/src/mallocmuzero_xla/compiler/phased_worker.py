"""A worker whose compiles make no machine code, which takes most of the time of a compile."""

from __future__ import annotations

import pathlib
import threading
import time
from typing import Any

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.compiler.estimates import Estimates
from mallocmuzero_xla.compiler.hlo_text import strip_source_locations
from mallocmuzero_xla.compiler.phased_compiler import PhasedCompiler
from mallocmuzero_xla.compiler.store import write_text
from mallocmuzero_xla.compiler.worker import Worker, WorkerClosedError
from mallocmuzero_xla.errors import BudgetSpentError, CompileError, WorkerLostError


class PhasedWorker(Worker):
    """Does the jobs of a Worker, and writes texts with the same placements.

    The estimates are those of a whole compile, but for a few instructions whose first tiles need
    too much memory (docs/option-search.md). The layers of a model have equal instructions, and each
    different one is estimated once. So a deep model takes little longer than a shallow one. A
    compile that does not work in phases, or that lacks an estimate, is repeated to the end, and so
    is one that the compiler refuses.
    """

    def __init__(self) -> None:
        super().__init__()
        self._program = ""
        self._compiler: PhasedCompiler | None = None
        self._estimates = Estimates()  # of the program
        self._own_lock = threading.Lock()  # guards the compiler and what follows
        self._ended = False

    def run(self, job: dict[str, Any], timeout: float) -> float:
        """Runs one job and returns the seconds it took. Raises as Worker.ask."""
        if job["action"] != "compile":
            return super().run(job, timeout)
        started = time.monotonic()
        text = self._text(job, timeout)
        if text is None:
            return super().run(job, timeout)
        write_text(pathlib.Path(job["output"]), strip_source_locations(text))
        return time.monotonic() - started

    def close(self) -> None:
        """Ends the processes for good."""
        with self._own_lock:
            self._ended = True
            compiler = self._compiler
        if compiler is not None:
            compiler.close()
        super().close()

    def _text(self, job: dict[str, Any], timeout: float) -> str | None:
        """Returns the text of a compile in phases, or None if only a whole compile has it."""
        compiler = self._compiler_of(job["program"])
        lock = threading.Lock()  # no other thread uses the estimates
        try:
            made = compiler.compile(job["options"], self._estimates, lock, Budget(timeout))
        except BudgetSpentError:
            raise WorkerLostError(f"no result within {timeout:g} s") from None
        except (CompileError, WorkerLostError):
            return None
        return made.text if made.complete else None

    def _compiler_of(self, program: str) -> PhasedCompiler:
        with self._own_lock:
            if self._ended:
                raise WorkerClosedError
            if self._compiler is None or program != self._program:
                if self._compiler is not None:
                    self._compiler.close()
                path = pathlib.Path(program)
                folder = path.with_name(f"{path.stem}_phases_{id(self)}")
                self._program, self._estimates = program, Estimates()
                self._compiler = PhasedCompiler(path, folder)
            return self._compiler
