"""Captures many programs of a registry; resumes where it stopped.

python bench/compiler/capture_zoo.py --registry workloads/zoo --chip tpu_v4i --output corpus
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import pathlib
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from mallocmuzero_xla.captures.capture import lower_job
from mallocmuzero_xla.captures.runner import Limits, Subject, Task, run_tasks
from mallocmuzero_xla.chips import Chip, chosen_chip
from mallocmuzero_xla.commands.command import add_capture_arguments, capture_limits, run_command
from mallocmuzero_xla.compiler.builders import load_registry
from mallocmuzero_xla.compiler.store import CaptureStore
from mallocmuzero_xla.compiler.variants import Variant, parse_variants, standard_variants
from mallocmuzero_xla.environment import prepare_environment, require_compiler
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.progress import Progress


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
    programs = load_registry(str(request.registry))
    names = selected_programs(programs, request)
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as scratch:
        subjects = [_subject(programs[name], request, pathlib.Path(scratch)) for name in names]
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


def chip_of(program: Any, chip: Chip) -> Chip:
    """Returns `chip` with the topology that a program of several devices names for it."""
    sharding = getattr(program, "sharding", None)
    topology = sharding.topologies.get(chip.name) if sharding is not None else None
    return dataclasses.replace(chip, topology_name=topology) if topology else chip


def _subject(program: Any, request: ZooRequest, scratch: pathlib.Path) -> Subject:
    name = program.name
    chip = chip_of(program, request.chip)
    lowered_path = scratch / f"{name}.json"
    job = lower_job(name, chip, lowered_path, request.registry.resolve())
    store = CaptureStore(request.output.resolve() / name, name, chip)
    return Subject(store, chip, lowered_path, job)


def _failures(subjects: list[Subject], variants: list[Variant]) -> dict[str, dict[str, str]]:
    failures: dict[str, dict[str, str]] = {}
    for subject in subjects:
        missing = [item.name for item in variants if not subject.store.has(item)]
        if missing:
            known = {} if subject.error else subject.store.failures
            reason = str(subject.error or "not captured")
            failures[subject.store.name] = {name: known.get(name, reason) for name in missing}
    return failures


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, 1 if a program could not be captured, 2 on bad usage."""
    arguments = _parser().parse_args(argv)

    def run() -> int:
        require_compiler()
        return _capture(arguments)

    return run_command("capture_zoo.py", run)


def _parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(description="Capture the programs of a registry.")
    command.add_argument("--registry", required=True, type=pathlib.Path, metavar="FOLDER")
    add_capture_arguments(command)
    command.add_argument("--output", required=True, type=pathlib.Path, metavar="FOLDER")
    command.add_argument(
        "--only", action="append", default=[], metavar="GLOB", help="program names; repeatable"
    )
    command.add_argument(
        "--variants", metavar="LIST", help="such as all_hbm,default,sample_0; overrides --samples"
    )
    command.add_argument(
        "--order",
        choices=("program", "variant"),
        default="program",
        help="finish a program first, or a variant of every program (default: program)",
    )
    command.add_argument(
        "--in-phases",
        action="store_true",
        help="make no machine code where the compiler gives the same text without it, which "
        "takes a fraction of the time",
    )
    return command


def _capture(arguments: argparse.Namespace) -> int:
    if arguments.variants:
        variants = parse_variants(arguments.variants)
    else:
        variants = standard_variants(arguments.samples)
    request = ZooRequest(
        registry=arguments.registry,
        chip=chosen_chip(arguments.chip, arguments.topology),
        output=arguments.output,
        variants=variants,
        only=tuple(arguments.only),
        variant_major=arguments.order == "variant",
    )
    limits = dataclasses.replace(capture_limits(arguments), in_phases=arguments.in_phases)
    failures = capture_zoo(request, limits)
    for program, missing in failures.items():
        by_reason: dict[str, list[str]] = {}
        for variant, reason in missing.items():
            by_reason.setdefault(reason, []).append(variant)
        for reason, names in by_reason.items():
            print(f"capture_zoo.py: {program} {', '.join(names)}: {reason}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
