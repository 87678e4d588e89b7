"""Shell front end: mallocmuzero-xla capture, capture-zoo, verify, optimize, place, results."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import pathlib
import signal
import sys
from collections.abc import Iterator, Sequence

from mallocmuzero_xla.capture import capture_reference
from mallocmuzero_xla.chips import find_chip
from mallocmuzero_xla.environment import require_compiler
from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.importer import find_binary
from mallocmuzero_xla.loop_cli import (
    add_chip,
    add_optimize,
    add_results,
    add_topology,
    add_verify,
)
from mallocmuzero_xla.options_file import check_folder, check_output
from mallocmuzero_xla.place_cli import add_place
from mallocmuzero_xla.runner import Limits
from mallocmuzero_xla.variants import parse_variants, standard_variants
from mallocmuzero_xla.zoo import ZooRequest, capture_zoo

_PROGRAM_SUFFIX, _CAPTURES_SUFFIX = ".program", ".captures"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a subcommand; returns 0, 1 on failure, 2 on bad usage."""
    arguments = _parser().parse_args(argv)
    with _terminated_as_interrupted():
        return _run(arguments)


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Handles SIGTERM like Ctrl-C, which removes temporary files and ends compile processes."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)


def _run(arguments: argparse.Namespace) -> int:
    try:
        if not getattr(arguments, "render_only", False):
            require_compiler()
        return int(arguments.run(arguments))
    except UsageError as error:
        print(f"mallocmuzero-xla: {error}", file=sys.stderr)
        return 2
    except CaptureError as error:
        print(f"mallocmuzero-xla: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"mallocmuzero-xla: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mallocmuzero-xla: interrupted; run again to go on", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mallocmuzero-xla",
        description="Compile JAX functions for a TPU that is not there, under several placements.",
        epilog="Exit status: 0 done; 1 something failed, or ended before there was an answer; "
        "2 wrong usage.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_capture(commands)
    _add_capture_zoo(commands)
    add_verify(commands)
    add_optimize(commands)
    add_place(commands)
    add_results(commands)
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("mallocmuzero-xla")
    except importlib.metadata.PackageNotFoundError:  # run from its sources
        return "(not installed)"


def _add_capture(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("capture", help="capture one function")
    command.add_argument(
        "function",
        metavar="MODULE:FUNCTION",
        help="zero-argument builder that returns (fn, args) or (fn, args, jit options); "
        "MODULE may be a .py file",
    )
    _add_common(command)
    command.add_argument(
        "--output",
        required=True,
        help="folder for texts; or a file that ends in .program, beside which they are kept in "
        "a folder that ends in .captures",
    )
    command.set_defaults(run=_run_capture)


def _add_capture_zoo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("capture-zoo", help="capture the programs of a registry")
    command.add_argument("--registry", required=True, type=pathlib.Path, metavar="FOLDER")
    _add_common(command)
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
    command.set_defaults(run=_run_capture_zoo)


def _add_common(command: argparse.ArgumentParser) -> None:
    add_chip(command)
    add_topology(command)
    command.add_argument("--samples", type=int, default=8, help="random placements (default: 8)")
    command.add_argument("--jobs", type=int, default=1, help="compile processes (default: 1)")
    command.add_argument(
        "--timeout", type=float, default=Limits.timeout, help="seconds per compile (default: 600)"
    )
    command.add_argument(
        "--retries",
        type=int,
        default=Limits.retries,
        help="after an abort or a timeout (default: 2)",
    )


def _limits(arguments: argparse.Namespace) -> Limits:
    return Limits(timeout=arguments.timeout, retries=arguments.retries, jobs=arguments.jobs)


def _run_capture(arguments: argparse.Namespace) -> int:
    chip = find_chip(arguments.chip, arguments.topology)
    folder = output = pathlib.Path(arguments.output)
    wants_program = output.suffix == _PROGRAM_SUFFIX
    if wants_program:
        # Check the binary and the folder before minutes of compiling. The texts stay beside the
        # program: another run reuses them, and verify needs them.
        find_binary()
        check_output(output)
        folder = output.with_suffix(_CAPTURES_SUFFIX)
    check_folder(folder)
    captured = capture_reference(
        arguments.function, chip, folder, arguments.samples, _limits(arguments)
    )
    if wants_program:
        output.parent.mkdir(parents=True, exist_ok=True)
        print(captured.save(output), end="")
        print(f"mallocmuzero-xla: the texts are in {folder}", file=sys.stderr)
    for variant, reason in captured.failures.items():
        print(f"mallocmuzero-xla: {variant} is missing: {reason}", file=sys.stderr)
    return 0


def _run_capture_zoo(arguments: argparse.Namespace) -> int:
    if arguments.variants:
        variants = parse_variants(arguments.variants)
    else:
        variants = standard_variants(arguments.samples)
    request = ZooRequest(
        registry=arguments.registry,
        chip=find_chip(arguments.chip, arguments.topology),
        output=arguments.output,
        variants=variants,
        only=tuple(arguments.only),
        variant_major=arguments.order == "variant",
    )
    failures = capture_zoo(request, _limits(arguments))
    for program, missing in failures.items():
        by_reason: dict[str, list[str]] = {}
        for variant, reason in missing.items():
            by_reason.setdefault(reason, []).append(variant)
        for reason, names in by_reason.items():
            print(f"mallocmuzero-xla: {program} {', '.join(names)}: {reason}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
