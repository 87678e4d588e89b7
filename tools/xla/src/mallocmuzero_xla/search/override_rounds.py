"""Rounds of overrides under one limit of scoped memory: mapping and closed loop."""

from __future__ import annotations

import contextlib
import hashlib
import pathlib
import shutil
import tempfile
import time

from mallocmuzero_xla.binary import saved_share
from mallocmuzero_xla.captures.saved_capture import SavedCapture
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.phased_compiler import TextInPhases
from mallocmuzero_xla.compiler.store import folder_of
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler, trial_compiles_at_once
from mallocmuzero_xla.search.closed_loop import Loop, Plan
from mallocmuzero_xla.search.planning import solve_seconds
from mallocmuzero_xla.search.search_capture import Resources
from mallocmuzero_xla.search.verified import Verified

# Each loop works in a folder of its own in the cache, among the program's texts. A folder of this
# age is abandoned.
_LOOP_PREFIX = "loop-"
_ABANDONED_SECONDS = 86400.0


class OverrideRounds:
    """The closed loop of a program: call `begin`, `advance` for each round, and `close`."""

    def __init__(
        self,
        program: LoweredProgram,
        capture: SavedCapture,
        resources: Resources,
        in_phases: TextInPhases | None,
    ) -> None:
        """`capture` has the texts of `program`. `in_phases` is as that of Plan."""
        self._program = program
        self._capture = capture
        self._resources = resources
        self._in_phases = in_phases
        self._folder = folder_of(resources.captures, program)
        self._stack = contextlib.ExitStack()
        self._loop: Loop | None = None
        self._imported = self._mapping = pathlib.Path()

    def begin(self) -> float:
        """Searches for the first mapping; returns the share of the default's cycles that it saves.

        The share is a promise by the latency table, and may be below 0.
        """
        scratch = self._scratch()
        program, self._mapping = scratch / "imported.program", scratch / "first.mapping"
        self._capture.import_to(program)
        seconds = solve_seconds(self._resources.budget)
        self._resources.progress.note(f"searching for a mapping for {max(1.0, seconds):.0f} s")
        report = self._resources.binary.solve(program, self._mapping, seconds)
        self._imported = program
        return saved_share(report)

    def advance(self) -> bool:
        """Runs one round; returns whether another may help. Raises as Loop.advance does."""
        if self._loop is None:
            self._loop = self._make_loop()
        return self._loop.advance()

    @property
    def result(self) -> Verified | None:
        """The best so far; None before the first round."""
        return self._loop.result if self._loop is not None else None

    @property
    def estimated(self) -> bool:
        """Whether the cycles of the result are of a compile in phases."""
        return self._loop is not None and self._loop.estimated

    def confirm(self) -> float:
        """Compiles the result to the end and returns its cycles; raises as Loop.confirm."""
        assert self._loop is not None
        self._loop.confirm()
        return self._loop.result.optimized_cycles

    def keep_files(self) -> None:
        """Moves the result's mapping and program out of the folder that `close` removes.

        The options are the result, so a file that cannot be kept is only a line of progress.
        """
        for kind in ("program", "mapping"):
            path = getattr(self.result, kind)
            if path:
                kept = None
                try:
                    kept = str(_kept(pathlib.Path(path), self._folder))
                except OSError as error:
                    self._resources.progress.note(f"the {kind} is not kept: {error}")
                setattr(self.result, kind, kept)

    def close(self) -> None:
        """Ends the compile processes and removes temporary files."""
        self._stack.close()

    def _make_loop(self) -> Loop:
        means = self._resources
        compiler = self._stack.enter_context(
            TrialCompiler(means.chip, width=trial_compiles_at_once())
        )
        self._program.write(compiler.lowered)
        compiler.note_duration(self._capture.compile_seconds)
        folder = self._imported.parent
        plan = Plan(
            self._capture,
            self._imported,
            self._mapping,
            folder,
            means.binary.solve,
            self._in_phases,
        )
        return Loop(plan, compiler, means.binary, means.budget, means.progress)

    def _scratch(self) -> pathlib.Path:
        """Returns a folder of this loop's own, which `close` removes."""
        _sweep(self._folder)
        return pathlib.Path(
            self._stack.enter_context(
                tempfile.TemporaryDirectory(prefix=_LOOP_PREFIX, dir=self._folder)
            )
        )


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
