"""Captures a program in phases, for searches of mappings.

The texts of compiles in phases do not say how much scoped memory instructions take. Where these
share VMEM with tensors, placed modules need that of the compile with everything in HBM, which is
therefore compiled to the end.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import pathlib
import shutil
import threading
import time
from collections.abc import Sequence

from mallocmuzero_xla.captures.runner import Subject
from mallocmuzero_xla.captures.saved_capture import SavedCapture
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.hlo_text import strip_source_locations
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.phased_compiler import TextInPhases
from mallocmuzero_xla.compiler.scoped_limit import fast_memory_bytes
from mallocmuzero_xla.compiler.store import write_text
from mallocmuzero_xla.compiler.trial_compiler import compiles_at_once
from mallocmuzero_xla.compiler.variants import ALL_HBM, Variant
from mallocmuzero_xla.errors import BudgetSpentError
from mallocmuzero_xla.search.planning import sample_seconds
from mallocmuzero_xla.search.search_capture import Resources, capture_required, subject_of

# The compiler aborts on some random placements, so each attempt at a sample draws another.
_ATTEMPTS = 2

# The files are read a few times and then removed.
_ZSTD_LEVEL = 1


@dataclasses.dataclass(frozen=True)
class Phases:
    """Compiles of one program in phases.

    Attributes:
        text: gives the text of one.
        compile_seconds: the seconds of a compile to the end.
        folder: where the capture goes; it does not exist yet.
    """

    text: TextInPhases
    compile_seconds: float
    folder: pathlib.Path


def all_hbm_in_phases(chip: Chip) -> bool:
    """Whether a compile in phases gives all that is needed of the text with everything in HBM."""
    return chip.shared_vmem_kib is None


def capture_in_phases(
    program: LoweredProgram, resources: Resources, variants: Sequence[Variant], phases: Phases
) -> SavedCapture:
    """Makes the required texts, and samples as far as the budget allows.

    Texts of compiles to the end are kept in the cache and reused. The others are made anew.

    Raises:
        CaptureError: the program does not compile with everything in HBM, or by default.
        BudgetSpentError: the time ran out.
    """
    with subject_of(program, resources) as subject:
        subject.store.begin(program)
        capture = _Capture(resources, subject, phases)
        with concurrent.futures.ThreadPoolExecutor(compiles_at_once()) as pool:
            futures = [(each.name, pool.submit(capture.make, each)) for each in variants]
            try:
                made = tuple(name for name, future in futures if future.result())
            finally:
                for _, future in futures:
                    future.cancel()
    return SavedCapture(
        folder=phases.folder,
        program=program.function,
        chip=resources.chip.name,
        topology=resources.chip.topology_name,
        lowered_sha256=program.sha256,
        variants=made,
        compile_seconds=capture.compile_seconds,
        fast_memory_bytes=fast_memory_bytes(resources.chip, program.base_options),
    )


class _Capture:
    """Makes the texts of a capture; any thread may call `make`.

    `compile_seconds` are those of a compile to the end.
    """

    def __init__(self, resources: Resources, subject: Subject, phases: Phases) -> None:
        self._resources = resources
        self._subject = subject
        self._phases = phases
        seconds = phases.compile_seconds
        self._samples_end = time.monotonic() + sample_seconds(resources.budget, seconds)
        self._lock = threading.Lock()  # guards what follows
        self._slowest_sample = 0.0
        self.compile_seconds = seconds

    def make(self, variant: Variant) -> bool:
        """Writes the text of a variant; returns False if there is no such sample."""
        if self._subject.store.has(variant):
            self._copy(variant)
            return True
        if not variant.required:
            return self._make_sample(variant)
        chip, text = self._resources.chip, None
        if variant.name != ALL_HBM or all_hbm_in_phases(chip):
            text = self._phases.text(variant.options(chip))
        if text is None:
            capture_required(self._subject, [variant], self._resources, self.compile_seconds)
            self._copy(variant)
        else:
            self._write(variant, text)
        return True

    def _make_sample(self, variant: Variant) -> bool:
        for attempt in range(_ATTEMPTS):
            began = time.monotonic()
            with self._lock:
                if began + self._slowest_sample >= self._samples_end:
                    return False
            try:
                text = self._phases.text(variant.options(self._resources.chip, attempt))
            except BudgetSpentError:
                return False
            with self._lock:
                self._slowest_sample = max(self._slowest_sample, time.monotonic() - began)
            if text is not None:
                self._write(variant, text)
                return True
        return False

    def _copy(self, variant: Variant) -> None:
        """Copies a text of a compile to the end from the cache."""
        store = self._subject.store
        self._phases.folder.mkdir(exist_ok=True)
        shutil.copyfile(store.path(variant), self._phases.folder / store.path(variant).name)
        with self._lock:
            self.compile_seconds = max(self.compile_seconds, store.seconds(variant))

    def _write(self, variant: Variant, text: str) -> None:
        path = self._phases.folder / self._subject.store.path(variant).name
        write_text(path, strip_source_locations(text), _ZSTD_LEVEL)
