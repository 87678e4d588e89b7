"""Rounds of overrides under one limit of scoped memory: capture, mapping, closed loop."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import pathlib
import shutil
import tempfile
import time
from collections.abc import Sequence

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.capture import run_capture
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.closed_loop import Loop, Plan
from mallocmuzero_xla.lowering import LoweredProgram
from mallocmuzero_xla.planning import sample_seconds, solve_seconds
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.runner import Limits, Subject
from mallocmuzero_xla.saved_capture import SavedCapture, open_capture
from mallocmuzero_xla.store import CaptureStore
from mallocmuzero_xla.trial_compiler import (
    TrialCompiler,
    compiles_at_once,
    trial_compiles_at_once,
)
from mallocmuzero_xla.variants import Variant
from mallocmuzero_xla.verified import Verified

# Each loop works in a folder of its own among the captured texts. A folder of this age is
# abandoned.
_LOOP_PREFIX = "loop-"
_ABANDONED_SECONDS = 86400.0

# A sample may take this many times as long as the compiles before it, even late in the budget.
_SLOWEST_SAMPLE = 2.0


@dataclasses.dataclass(frozen=True)
class Resources:
    """What a search works with.

    Attributes:
        chip: the chip that the program is compiled for.
        captures: folder of the captured texts; each program and limit has a folder in it.
        binary: prices texts and searches for mappings.
        budget: of the whole search.
        progress: shows what happens.
    """

    chip: Chip
    captures: pathlib.Path
    binary: Binary
    budget: Budget
    progress: LoopProgress


class OverrideRounds:
    """The closed loop of a program; call `prepare`, then `advance`, and `close` at the end."""

    def __init__(self, program: LoweredProgram, resources: Resources) -> None:
        self._program = program
        self._resources = resources
        self._folder = resources.captures / program.sha256
        self._stack = contextlib.ExitStack()
        self._loop: Loop | None = None

    def prepare(self, variants: Sequence[Variant]) -> None:
        """Compiles what the loop needs and searches for the first mapping.

        Raises CaptureError if the program does not compile with everything in HBM.
        """
        chip = self._resources.chip
        compiler = self._stack.enter_context(TrialCompiler(chip, width=trial_compiles_at_once()))
        self._program.write(compiler.lowered)
        store = CaptureStore(self._folder, self._program.function, chip)
        self._capture(Subject(store, chip, compiler.lowered), variants)
        capture = open_capture(self._folder)
        _sweep(self._folder)
        scratch = pathlib.Path(
            self._stack.enter_context(
                tempfile.TemporaryDirectory(prefix=_LOOP_PREFIX, dir=self._folder)
            )
        )
        plan = self._plan(capture, scratch)
        means = self._resources
        self._loop = Loop(plan, compiler, means.binary, means.budget, means.progress)

    def advance(self) -> bool:
        """Runs one round; returns whether another may help. Raises as Loop.advance does."""
        assert self._loop is not None
        return self._loop.advance()

    @property
    def result(self) -> Verified | None:
        """The best so far; None before `prepare` has ended."""
        return self._loop.result if self._loop is not None else None

    def keep_files(self) -> None:
        """Moves the result's mapping and program out of the folder that `close` removes."""
        for kind in ("program", "mapping"):
            path = getattr(self.result, kind)
            if path:
                setattr(self.result, kind, str(_kept(pathlib.Path(path), self._folder)))

    def close(self) -> None:
        """Ends the compile processes and removes temporary files."""
        self._stack.close()

    def _plan(self, capture: SavedCapture, scratch: pathlib.Path) -> Plan:
        program, mapping = scratch / "imported.program", scratch / "first.mapping"
        capture.import_to(program)
        seconds = solve_seconds(self._resources.budget)
        self._resources.progress.note(f"searching for a mapping for {max(1.0, seconds):.0f} s")
        self._resources.binary.solve(program, mapping, seconds)
        return Plan(capture, program, mapping, scratch, solve=self._resources.binary.solve)

    def _capture(self, subject: Subject, variants: Sequence[Variant]) -> None:
        """Makes the required compiles, and samples as far as the budget allows."""
        quiet, jobs = self._resources.progress.quiet, compiles_at_once()
        required = [item for item in variants if item.required]
        samples = [item for item in variants if not item.required]
        run_capture(subject, required, Limits(jobs=jobs), quiet)
        compile_seconds = open_capture(self._folder).compile_seconds
        left = sample_seconds(self._resources.budget, compile_seconds)
        count = int(left / compile_seconds)
        if not count:
            return
        timeout = min(Limits.timeout, max(_SLOWEST_SAMPLE * compile_seconds, left))
        limits = Limits(timeout=timeout, retries=1, jobs=jobs)
        run_capture(subject, required + samples[:count], limits, quiet)


def _sweep(folder: pathlib.Path) -> None:
    """Removes folders of killed loops, which are older than any running loop."""
    for path in folder.glob(f"{_LOOP_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(path)


def _kept(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Moves a file of a loop's into `folder`, named by its content; returns where it is."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return path.replace(folder / f"{digest}{path.suffix}")
