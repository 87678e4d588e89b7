"""The source of a captured function: a builder, or a program of a registry."""

from __future__ import annotations

import dataclasses
import pathlib

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.capture import lower_job
from mallocmuzero_xla.captures.saved_capture import SavedCapture
from mallocmuzero_xla.chips import Chip, find_chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.errors import UsageError


@dataclasses.dataclass(frozen=True)
class Source:
    """A function by name.

    Attributes:
        function: MODULE:FUNCTION of a builder, or the name of a program of `registry`.
        registry: folder of a package with PROGRAMS; None for a builder.
    """

    function: str
    registry: pathlib.Path | None = None


def capture_chip(capture: SavedCapture) -> Chip:
    """Returns the chip and topology of `capture`."""
    return find_chip(capture.chip, capture.topology)


def lower_for(
    capture: SavedCapture, source: Source, compiler: TrialCompiler, budget: Budget
) -> None:
    """Lowers `source` for `compiler`; raises UsageError unless it is the captured function."""
    chip = capture_chip(capture)
    registry = source.registry.resolve() if source.registry else None
    job = lower_job(source.function, chip, compiler.lowered, registry)
    program = compiler.lower(job, budget)
    check_captured(program, capture, source.function)


def check_captured(program: LoweredProgram, capture: SavedCapture, name: str) -> None:
    """Raises UsageError, with `name`, unless `program` is what `capture` was made from."""
    if program.sha256 != capture.lowered_sha256:
        raise UsageError(
            f"{name}: lowers to {program.sha256[:12]}, {capture.folder} was captured "
            f"from {capture.lowered_sha256[:12]}: capture it anew"
        )
