"""Captures a program under one limit of scoped memory, for searches of mappings."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import tempfile
from collections.abc import Iterator, Sequence

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.capture import run_capture
from mallocmuzero_xla.captures.runner import Limits, Subject
from mallocmuzero_xla.captures.saved_capture import SavedCapture, open_capture
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.store import CaptureStore, folder_of
from mallocmuzero_xla.compiler.trial_compiler import compiles_at_once
from mallocmuzero_xla.compiler.variants import ALL_HBM, DEFAULT, Variant
from mallocmuzero_xla.compiler.worker import Workers
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.progress import LoopProgress, Progress
from mallocmuzero_xla.search.planning import sample_seconds

_DEFAULT = Variant(DEFAULT)

# A compile may take this many times as long as those before it, even late in the budget.
_SLOWEST = 2.0


@dataclasses.dataclass(frozen=True)
class Resources:
    """What a search works with.

    Attributes:
        chip: the chip that the program is compiled for.
        captures: folder of the captured texts; each program and limit has a folder in it
            (store.folder_of).
        binary: prices texts and searches for mappings.
        budget: of the whole search.
        progress: shows what happens.
        workers: the compile processes of captures.
    """

    chip: Chip
    captures: pathlib.Path
    binary: Binary
    budget: Budget
    progress: LoopProgress
    workers: Workers = dataclasses.field(default_factory=Workers)

    def capture(self, subject: Subject, variants: Sequence[Variant], limits: Limits) -> None:
        """Makes compiles of a program; raises as run_capture."""
        shown = Progress(len(variants), self.progress.quiet, self.progress.listener)
        run_capture(subject, list(variants), limits, shown, self.workers)


def capture_for_search(
    program: LoweredProgram, resources: Resources, variants: Sequence[Variant]
) -> SavedCapture:
    """Makes the required compiles, and samples as far as the budget allows.

    Texts of earlier captures are reused. Raises CaptureError if the program does not compile with
    everything in HBM, which mappings are relative to, or by default.
    """
    with subject_of(program, resources) as subject:
        store = subject.store
        before = store.seconds(_DEFAULT) if store.has(_DEFAULT) else Limits.timeout / _SLOWEST
        required = [item for item in variants if item.required]
        capture_required(subject, required, resources, before)
        _capture_samples(subject, variants, resources)
    return open_capture(store.folder)


@contextlib.contextmanager
def subject_of(program: LoweredProgram, resources: Resources) -> Iterator[Subject]:
    """Yields a program as the subject of captures into its folder of the cache."""
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as scratch:
        lowered = pathlib.Path(scratch) / "lowered.json"
        program.write(lowered)
        folder = folder_of(resources.captures, program)
        store = CaptureStore(folder, program.function, resources.chip)
        yield Subject(store, resources.chip, lowered)


def capture_required(
    subject: Subject, required: Sequence[Variant], resources: Resources, compile_seconds: float
) -> None:
    """Makes the compiles without which there is no mapping, in one attempt each.

    `compile_seconds` are those of another compile. Raises CaptureError if one fails.
    """
    timeout = _timeout(compile_seconds, resources.budget.remaining())
    # Another attempt would make the same compile again, and the compiler is deterministic.
    limits = Limits(timeout=timeout, retries=0, jobs=compiles_at_once())
    try:
        resources.capture(subject, required, limits)
    except CaptureError as error:
        reason = subject.store.failures.get(ALL_HBM)
        if reason is None:
            raise  # the error names the default
        raise CaptureError(f"it does not compile with everything in HBM ({reason})") from error


def _capture_samples(subject: Subject, variants: Sequence[Variant], resources: Resources) -> None:
    compile_seconds = open_capture(subject.store.folder).compile_seconds
    left = sample_seconds(resources.budget, compile_seconds)
    count = int(left / compile_seconds)
    if not count:
        return
    required = [item for item in variants if item.required]
    samples = [item for item in variants if not item.required]
    timeout = _timeout(compile_seconds, left)
    # Another attempt has another placement. It gets the time that an abort left.
    limits = Limits(timeout, retries=1, jobs=compiles_at_once(), attempts_timeout=timeout)
    resources.capture(subject, required + samples[:count], limits)


def _timeout(compile_seconds: float, left: float) -> float:
    """Returns the time limit of a compile in seconds, given those of another one and those left."""
    return max(_SLOWEST * compile_seconds, min(Limits.timeout, left))
