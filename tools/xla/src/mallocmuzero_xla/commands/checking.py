"""Shell command check: says whether an artefact still fits function and compiler."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

from mallocmuzero_xla.artefacts.artefact import Artefact, load_artefact
from mallocmuzero_xla.artefacts.fitting import Registry, Target, clash_of, misfits
from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import find_chip
from mallocmuzero_xla.commands.command import add_artefact, add_function, add_json
from mallocmuzero_xla.compiler.builders import BuiltFunction, build_function
from mallocmuzero_xla.compiler.lowering import LoweredProgram, lower
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.environment import compiler_versions
from mallocmuzero_xla.errors import CaptureError, PlacedError

# Compiled cycles may differ from the expected ones by this share.
_TOLERANCE = 0.001


def problems(artefact: Artefact, built: BuiltFunction, compiles: bool = False) -> list[str]:
    """Returns the reasons why an artefact does not fit; empty if it fits.

    The function is lowered for the chip of the artefact, so no TPU is needed. With `compiles`, it
    is also compiled with the options, and the cycles are compared.
    """
    chip = find_chip(artefact.chip, artefact.topology)
    options = dict(built.jit_options)
    own = options.pop("compiler_options", None)  # as `optimize` takes them
    program = lower(built.fn, built.args, chip, options, own)
    target = Target(
        program.fingerprint,
        chip.name,
        chip.name,
        len(program.device_ids),
        compiler_versions(),
    )
    found = list(misfits(artefact, target))
    found += _other_options(artefact, program)
    if compiles and not found and artefact.executable is None:
        found += _compile_problems(artefact, program)
    return found


def _other_options(artefact: Artefact, program: LoweredProgram) -> list[str]:
    """Returns which options that jax.jit sets keep `apply` from using the artefact."""
    clash = clash_of(artefact, program.own_options)
    if clash:
        return [clash]
    for name, value in sorted(program.own_options.items()):
        if artefact.executable is not None and artefact.own_options.get(name) != value:
            return [f"its executable was compiled without the option {name}={value}"]
    return []


def executable_problems(artefact: Artefact, folder: pathlib.Path) -> list[str]:
    """Returns why the placed executable of an artefact in `folder` is of no use, if it has one."""
    try:
        Registry([artefact], folder).executable(artefact)
    except PlacedError as error:
        return [str(error)]
    return []


def _compile_problems(artefact: Artefact, program: LoweredProgram) -> list[str]:
    binary = Binary()  # before minutes of compiling, if there is none
    with TrialCompiler(find_chip(artefact.chip, artefact.topology)) as compiler:
        program.write(compiler.lowered)
        try:
            own = artefact.own_options.items() - program.moved_options.items()
            text = compiler.compile({**dict(own), **artefact.compiler_options}, Budget())
        except CaptureError as error:
            return [f"does not compile with the options: {error}"]
    cycles, expected = binary.module_cycles(text, artefact.chip), artefact.expected_cycles
    if abs(cycles / expected - 1.0) <= _TOLERANCE:
        return []
    return [f"takes {cycles / 1e6:,.3f} Mcycles with the options, expected {expected / 1e6:,.3f}"]


def add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command check."""
    command = commands.add_parser(
        "check",
        help="say whether an artefact fits the function and the installed versions",
        description="Says whether an artefact fits the function, the chip and the installed "
        "versions of jax and libtpu. Needs no TPU.",
        epilog="Exit status: 0 if the artefact fits, 1 if not, 2 for wrong usage.",
    )
    add_artefact(command)
    add_function(command)
    command.add_argument(
        "--compile",
        action="store_true",
        help="Also compiles with the options, and compares the cycles. Does nothing for a placed "
        "executable.",
    )
    add_json(command)
    command.set_defaults(run=_run_check)


def _run_check(arguments: argparse.Namespace) -> int:
    artefact = load_artefact(arguments.artefact)
    found = problems(artefact, build_function(arguments.function), arguments.compile)
    found += executable_problems(artefact, arguments.artefact.parent)
    if arguments.json:
        answer = {"fits": not found, "problems": found, "gain": artefact.gain}
        print(json.dumps(answer), flush=True)
    elif found:
        for problem in found:
            print(f"mallocmuzero-xla: {arguments.artefact}: {problem}", file=sys.stderr)
    else:
        print(f"mallocmuzero-xla: {arguments.artefact}: fits", file=sys.stderr)
    return 1 if found else 0
