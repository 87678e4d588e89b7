"""Placed modules of a program under one limit of scoped memory, a few rounds at a time."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from mallocmuzero_xla.binary import failure, parsed
from mallocmuzero_xla.captures.saved_capture import SavedCapture
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.readable import readable_module
from mallocmuzero_xla.compiler.variants import ALL_HBM, DEFAULT, Variant
from mallocmuzero_xla.environment import compiler_library
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.placed.place_search import COMMAND, Found, read_found
from mallocmuzero_xla.processes import with_this_process
from mallocmuzero_xla.search.planning import PLACED_SOLVE_SECONDS
from mallocmuzero_xla.search.search_capture import Resources

# A call of the binary uses fewer seeds than this, and all calls of a search together.
_SEEDS_OF_A_CALL = 1_000
_SEEDS_OF_A_SEARCH = 1_000_000


class PlacedRounds:
    """Calls the binary's `optimize` on captured texts: call `advance` for some rounds each time.

    Each call goes on from the placed modules of those before it. `best` is the fastest module so
    far that is faster than the default; None before there is one. `round_seconds` is the mean time
    of a round of the last call; None before a call has made one.
    """

    def __init__(
        self,
        program: LoweredProgram,
        options: Mapping[str, str],
        capture: SavedCapture,
        resources: Resources,
    ) -> None:
        """`capture` has the texts of `program` under further compiler `options`.

        Compiles the program with everything in HBM if jax cannot read that text. Raises
        CaptureError if the compile fails.
        """
        self._resources = resources
        self._capture = capture
        self._program = program
        self._options = options
        self._placed: list[pathlib.Path] = []
        self._calls = 0
        self._process: subprocess.Popen[str] | None = None
        self.best: Found | None = None
        self.round_seconds: float | None = None
        chip, budget = resources.chip, resources.budget
        everything_in_hbm = {**options, **Variant(ALL_HBM).options(chip)}
        text = capture.read(ALL_HBM)
        module = readable_module(program, chip, everything_in_hbm, text, budget.remaining())
        self._scratch = tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-")
        self._path("all_hbm.pb").write_bytes(module)
        self._path("options.pb").write_bytes(program.compile_options)

    def advance(self, seconds: float, rounds: int) -> bool:
        """Places and compiles up to `rounds` modules within about `seconds`.

        Returns whether one of them is faster than all before. Raises CaptureError if the binary
        fails, or if the compiler has refused every module so far.
        """
        self._calls += 1
        output = self._path(f"call_{self._calls}")
        started = time.monotonic()
        report = self._run(self._line(output, seconds, rounds))
        entries = report.get("rounds", [])
        if entries:
            self.round_seconds = (time.monotonic() - started) / len(entries)
        errors = []
        for entry in entries:
            if "compiled_cycles" in entry:
                self._placed.append(output / f"placed_{entry['number']}.pb")
            else:
                errors.append(str(entry.get("error") or "no reason given"))
        if errors and not self._placed:
            raise CaptureError(errors[-1])
        if "best_round" not in report:
            return False
        if self.best is not None and float(report["optimized_cycles"]) >= self.best.cycles:
            return False
        self.best = read_found(report, output)
        return True

    def close(self) -> None:
        """Ends a running search and removes temporary files; `best` stays."""
        process = self._process  # another thread waits for it
        if process is not None:
            process.kill()
        self._scratch.cleanup()

    def _line(self, output: pathlib.Path, seconds: float, rounds: int) -> list[str]:
        capture, chip = self._capture, self._resources.chip
        texts = [name for name in capture.variants if name not in (ALL_HBM, DEFAULT)]
        flags: list[tuple[str, object]] = [
            ("--all-hbm", self._path("all_hbm.pb")),
            ("--default", capture.path(DEFAULT)),
            *(("--sample", capture.path(name)) for name in texts),
            *(("--placed", path) for path in self._placed),
            ("--compile-options", self._path("options.pb")),
            *(("--option", f"{name}={value}") for name, value in self._options.items()),
            ("--chip", chip.name),
            ("--topology", self._program.topology_name),
            ("--libtpu", compiler_library()),
            ("--output", output),
            ("--budget", f"{max(1, round(seconds))}s"),
            ("--solve", f"{PLACED_SOLVE_SECONDS:g}s"),
            ("--compile-time", f"{capture.compile_seconds:.3f}s"),
            ("--rounds", rounds),
            ("--seed", self._seed()),
        ]
        words = [str(word) for flag in flags for word in flag]
        return [str(self._resources.binary.path), COMMAND, *words, "--json"]

    def _seed(self) -> int:
        """Returns a seed of other games than those of earlier calls and other searches."""
        return self._resources.binary.seed * _SEEDS_OF_A_SEARCH + self._calls * _SEEDS_OF_A_CALL

    def _run(self, line: list[str]) -> dict[str, Any]:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            # Ctrl-C must reach only the search, which then calls `close`.
            process = self._process = subprocess.Popen(
                with_this_process(line),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
            try:
                printed, _ = process.communicate()
                code = process.returncode
            finally:
                process.kill()  # does nothing if it has ended
                self._process = None
            if code != 0:
                errors.seek(0)
                raise failure(COMMAND, code, errors.read())
            return parsed(COMMAND, printed)

    def _path(self, name: str) -> pathlib.Path:
        return pathlib.Path(self._scratch.name) / name
