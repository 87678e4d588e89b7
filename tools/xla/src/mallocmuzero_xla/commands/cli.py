"""Shell front end: mallocmuzero-xla optimize, place, check, measure, verify, capture."""

from __future__ import annotations

import argparse
import importlib.metadata
import pathlib
import sys
from collections.abc import Sequence

from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.captures.capture import capture_reference
from mallocmuzero_xla.chips import chosen_chip
from mallocmuzero_xla.commands.checking import add_check
from mallocmuzero_xla.commands.command import (
    Parser,
    add_capture_arguments,
    add_function,
    capture_limits,
    run_command,
)
from mallocmuzero_xla.commands.loop_cli import add_optimize, add_verify
from mallocmuzero_xla.commands.measure_cli import add_measure
from mallocmuzero_xla.commands.place_cli import add_place
from mallocmuzero_xla.compiler.options_file import check_folder, check_output
from mallocmuzero_xla.environment import require_compiler, set_variables

_PROGRAM_SUFFIX, _CAPTURES_SUFFIX = ".program", ".captures"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a subcommand; returns 0, 1 on failure, 2 on bad usage."""
    arguments = _parser().parse_args(argv)

    def run() -> int:
        require_compiler()
        set_variables()
        return int(arguments.run(arguments))

    return run_command("mallocmuzero-xla", run)


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = Parser(
        prog="mallocmuzero-xla",
        description="Makes JAX functions faster on a TPU by a better placement of their tensors. "
        "Only measure needs a TPU.",
        epilog="Exit status: 0 success; 1 a failure, or an end before there is an answer; "
        "2 wrong usage. COMMAND --help describes a command.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_optimize(commands)
    add_place(commands)
    add_check(commands)
    add_measure(commands)
    add_verify(commands)
    _add_capture(commands)
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("mallocmuzero-xla")
    except importlib.metadata.PackageNotFoundError:  # run from its sources
        return "(not installed)"


def _add_capture(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "capture",
        help="compile a function under several placements, for `mallocmuzero map`",
        description="Compiles a function with everything in HBM, by default, and under random "
        "placements. Keeps the texts of the compiler, and imports them as a program.",
    )
    add_function(command)
    add_capture_arguments(command)
    command.add_argument(
        "--output",
        required=True,
        metavar="PATH",
        help="The folder for the texts; or the program file, a name that ends in .program. The "
        "texts are then in a folder .captures beside it.",
    )
    command.set_defaults(run=_run_capture)


def _run_capture(arguments: argparse.Namespace) -> int:
    chip = chosen_chip(arguments.chip, arguments.topology)
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
        arguments.function, chip, folder, arguments.samples, capture_limits(arguments)
    )
    if wants_program:
        output.parent.mkdir(parents=True, exist_ok=True)
        print(captured.save(output), end="", flush=True)
        print(f"mallocmuzero-xla: the texts are in {folder}", file=sys.stderr)
    for variant, reason in captured.failures.items():
        print(f"mallocmuzero-xla: {variant} is missing: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
