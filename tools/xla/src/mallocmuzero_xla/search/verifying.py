"""verify(): recompiles a function with a mapping and keeps the options that help."""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget, parse_duration
from mallocmuzero_xla.captures.saved_capture import SavedCapture, open_capture
from mallocmuzero_xla.captures.source import capture_chip, check_captured
from mallocmuzero_xla.compiler.lowering import lower
from mallocmuzero_xla.compiler.options_file import check_options_output, write_options
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler, trial_compiles_at_once
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.search.closed_loop import Loop, Plan
from mallocmuzero_xla.search.outcome import describe
from mallocmuzero_xla.search.verified import Verified


@dataclasses.dataclass(frozen=True)
class VerifiedMapping:
    """What the compiler makes of a mapping. Cycles are the compiler's estimates.

    Attributes:
        compiler_options: for jax.jit(..., compiler_options=...); empty for the compiler's default.
        default_cycles: cycles of the compiler's default.
        optimized_cycles: cycles of the program compiled with the options; never above
            default_cycles.
        followed_share: share of the accessed bytes that are where the mapping wants them.
        undecided: whether the search ended too early to say that the default is best.
        report: all fields, as `mallocmuzero-xla verify --json` prints them.
    """

    compiler_options: dict[str, str]
    default_cycles: float
    optimized_cycles: float
    followed_share: float
    undecided: bool
    report: dict[str, Any]

    @property
    def gain(self) -> float:
        """Returns the saved share of the default's cycles."""
        return 1.0 - self.optimized_cycles / self.default_cycles

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the options for `read_options`, name=value a line.

        Raises UsageError if `path` holds something else, or if the result is undecided.
        """
        output = pathlib.Path(path)
        if self.undecided:
            raise UsageError(f"{output}: not written, {self.summary()}")
        check_options_output(output)
        write_options(output, self.compiler_options)

    def summary(self) -> str:
        """Returns the result in a sentence."""
        return describe(Verified.from_json(self.report))

    def __str__(self) -> str:
        return self.summary()


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The files that the loop starts from.

    Attributes:
        capture: the captured texts.
        mapping: a file of a mapping of `program`.
        program: the program file.
    """

    capture: SavedCapture
    mapping: pathlib.Path
    program: pathlib.Path


def verify(
    fn: Callable[..., Any],
    *args: Any,
    capture: str | os.PathLike[str],
    mapping: str | os.PathLike[str],
    program: str | os.PathLike[str],
    budget: str | float = "5m",
    max_trial_compiles: int | None = None,
    max_compiles: int | None = None,
    solve: bool = True,
    progress: bool = True,
    on_progress: Callable[[str], None] | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    **jit_options: Any,
) -> VerifiedMapping:
    """Asks the compiler for a mapping of `fn(*args)` by options, and keeps the options that help.

    Ctrl-C ends the search with the best so far.

    Args:
        fn: the captured function, or the result of jax.jit.
        args: its arguments, as for the capture.
        capture: the folder of the captured texts: `output_dir` of `mallocmuzero_xla.capture`.
        mapping: a mapping file, which `mallocmuzero map` wrote.
        program: the program file that the mapping was made for.
        budget: time to take, such as "90s" or "5m".
        max_trial_compiles, max_compiles: the largest numbers of compiles; None for any number.
        solve: whether to search for another mapping after a refit of the latency table.
        progress: whether to report on stderr.
        on_progress: gets each line of progress, whether or not `progress` shows it.
        compiler_options: options of every compile, as for the capture.
        jit_options: keyword arguments of jax.jit, as for the capture.

    Raises:
        UsageError: the arguments are wrong, the function is not the captured one, or the capture
            is of another compiler.
        CaptureError: the compiler failed before there was a result.
    """
    granted = granted_budget(budget, max_trial_compiles, max_compiles)
    saved = open_capture(pathlib.Path(capture))
    inputs = Inputs(saved, pathlib.Path(mapping), pathlib.Path(program))
    lowered = lower(fn, args, capture_chip(saved), jit_options, compiler_options)
    check_captured(lowered, saved, lowered.function)

    def write(compiler: TrialCompiler) -> None:
        lowered.write(compiler.lowered)

    verified = run_loop(inputs, write, granted, solve, LoopProgress(not progress, on_progress))
    return VerifiedMapping(
        compiler_options=verified.options,
        default_cycles=verified.default_cycles,
        optimized_cycles=verified.optimized_cycles,
        followed_share=verified.followed_share,
        undecided=verified.undecided,
        report=verified.to_json(),
    )


def granted_budget(budget: str | float, trial_compiles: int | None, compiles: int | None) -> Budget:
    """Returns the budget; None stands for any number. Raises UsageError for a bad value."""
    most = (math.inf if limit is None else limit for limit in (trial_compiles, compiles))
    return Budget(parse_duration(budget), *most)


def run_loop(
    inputs: Inputs,
    write_lowered: Callable[[TrialCompiler], None],
    budget: Budget,
    solve: bool,
    progress: LoopProgress,
) -> Verified:
    """Runs the closed loop; `write_lowered` writes the captured function for the compiler."""
    binary = Binary()
    with (
        tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as scratch,
        TrialCompiler(capture_chip(inputs.capture), width=trial_compiles_at_once()) as compiler,
    ):
        write_lowered(compiler)
        solver = binary.solve if solve else None
        folder = pathlib.Path(scratch)
        plan = Plan(inputs.capture, inputs.program, inputs.mapping, folder, solver)
        try:
            return Loop(plan, compiler, binary, budget, progress).run()
        finally:
            progress.close()
            binary.close()
