"""Captures many programs of a registry."""

from __future__ import annotations

import dataclasses
import fnmatch
import pathlib
import tempfile
from typing import Any

from mallocmuzero_xla.builders import load_registry
from mallocmuzero_xla.capture import lower_job
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.environment import prepare_environment
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.progress import Progress
from mallocmuzero_xla.runner import Limits, Subject, Task, run_tasks
from mallocmuzero_xla.store import CaptureStore
from mallocmuzero_xla.variants import Variant


@dataclasses.dataclass(frozen=True)
class ZooRequest:
    """The programs of a registry to capture.

    Attributes:
        registry: folder of the package with PROGRAMS.
        output: folder of the texts, `<output>/<program>/<variant>.hlo.zst`.
        only: glob patterns of program names; empty for all programs.
        variant_major: whether to capture one variant of every program first, rather than one
            program.
    """

    registry: pathlib.Path
    chip: Chip
    output: pathlib.Path
    variants: list[Variant]
    only: tuple[str, ...] = ()
    variant_major: bool = False


def capture_zoo(request: ZooRequest, limits: Limits) -> dict[str, dict[str, str]]:
    """Captures the missing variants; returns the failures, by program and variant.

    Raises UsageError before the first compile if a program's folder belongs to another program.
    """
    prepare_environment()
    names = selected_programs(load_registry(str(request.registry)), request)
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as scratch:
        subjects = [_subject(name, request, pathlib.Path(scratch)) for name in names]
        for subject in subjects:
            subject.store.check_owner()
        tasks = ordered_tasks(subjects, request)
        progress = Progress(len(tasks))
        try:
            run_tasks(tasks, limits, progress)
        finally:
            progress.close()
    return _failures(subjects, request.variants)


def selected_programs(programs: dict[str, Any], request: ZooRequest) -> list[str]:
    """Returns the names of the programs for the chip that match the patterns."""
    patterns = request.only or ("*",)
    names = [
        name
        for name, program in programs.items()
        if request.chip.name in program.chips
        and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if not names:
        raise UsageError(
            f"no program of {request.registry} is for {request.chip.name} "
            f"and matches {', '.join(patterns)}"
        )
    return names


def ordered_tasks(subjects: list[Subject], request: ZooRequest) -> list[Task]:
    """Returns the remaining tasks in the requested order."""
    if request.variant_major:
        pairs = [(subject, item) for item in request.variants for subject in subjects]
    else:
        pairs = [(subject, item) for subject in subjects for item in request.variants]
    # A complete program is not lowered, so that a second run over a corpus is quick.
    incomplete = {
        id(subject)
        for subject in subjects
        if not all(subject.store.has(item) for item in request.variants)
    }
    return [Task(subject, item) for subject, item in pairs if id(subject) in incomplete]


def _subject(name: str, request: ZooRequest, scratch: pathlib.Path) -> Subject:
    lowered_path = scratch / f"{name}.json"
    job = lower_job(name, request.chip, lowered_path, request.registry.resolve())
    store = CaptureStore(request.output.resolve() / name, name, request.chip)
    return Subject(store, request.chip, lowered_path, job)


def _failures(subjects: list[Subject], variants: list[Variant]) -> dict[str, dict[str, str]]:
    failures: dict[str, dict[str, str]] = {}
    for subject in subjects:
        missing = [item.name for item in variants if not subject.store.has(item)]
        if missing:
            known = {} if subject.error else subject.store.failures
            reason = str(subject.error or "not captured")
            failures[subject.store.name] = {name: known.get(name, reason) for name in missing}
    return failures
