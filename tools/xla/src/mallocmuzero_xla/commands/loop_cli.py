"""Shell commands of the closed loop: verify, optimize."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from mallocmuzero_xla.artefacts.artefact import SUFFIX, load_artefact
from mallocmuzero_xla.artefacts.placed_file import check_placed_output
from mallocmuzero_xla.budget import parse_duration
from mallocmuzero_xla.captures.saved_capture import open_capture
from mallocmuzero_xla.captures.source import Source, lower_for
from mallocmuzero_xla.commands.command import (
    add_chip,
    add_function,
    add_json,
    add_keep_scoped_limit,
    add_topology,
    require_jit_options,
    whole_number,
)
from mallocmuzero_xla.compiler.builders import build_function
from mallocmuzero_xla.compiler.options_file import (
    check_options_output,
    check_output,
    other_file_error,
    write_options,
)
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.search.optimize import executable_beside, optimize
from mallocmuzero_xla.search.outcome import describe
from mallocmuzero_xla.search.verified import Verified
from mallocmuzero_xla.search.verifying import Inputs, granted_budget, run_loop

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_EXIT_STATUS = (
    "Exit status: 0 if options were found, or the default is known to be best; 1 if the search "
    "ended before an answer, or the function does not compile; 2 for wrong usage."
)


def add_budget(command: argparse.ArgumentParser) -> None:
    """Adds --budget."""
    command.add_argument(
        "--budget",
        default="5m",
        metavar="TIME",
        help="The time of the search, such as 90s, 5m or 1h. The default is 5m.",
    )


def add_verify(commands: Commands) -> None:
    """Adds the command verify."""
    command = commands.add_parser(
        "verify",
        help="recompile with a mapping, and keep the options that help",
        description="Turns a mapping of `mallocmuzero map` into compiler options, recompiles the "
        "captured function with them, and keeps those that help.",
        epilog=_EXIT_STATUS,
    )
    _add_inputs(command)
    add_budget(command)
    command.add_argument(
        "--budget-compiles",
        type=whole_number,
        metavar="N",
        help="The largest number of whole compiles. By default the budget is the only limit.",
    )
    command.add_argument(
        "--max-trial-compiles",
        type=whole_number,
        metavar="N",
        help="The largest number of trial compiles. By default the budget is the only limit.",
    )
    command.add_argument(
        "--no-solve",
        action="store_true",
        help="Keeps the mapping after a refit of the latency table. By default `map` searches "
        "again.",
    )
    add_json(command)
    command.add_argument(
        "--output",
        type=pathlib.Path,
        metavar="FILE",
        help="Writes the compiler options to this file, name=value a line.",
    )
    command.set_defaults(run=_run_verify)


def _add_inputs(command: argparse.ArgumentParser) -> None:
    """Adds the capture, the mapping, and the function that they are of."""
    command.add_argument(
        "--capture",
        required=True,
        type=pathlib.Path,
        metavar="FOLDER",
        help="The folder with the texts of the function, which capture wrote.",
    )
    command.add_argument(
        "--mapping",
        required=True,
        type=pathlib.Path,
        metavar="FILE",
        help="The mapping, which `mallocmuzero map` wrote.",
    )
    # A program that is imported again may get another name, and a mapping belongs to one name.
    command.add_argument(
        "--program",
        required=True,
        type=pathlib.Path,
        metavar="FILE",
        help="The program that the mapping was made for.",
    )
    command.add_argument(
        "--function",
        metavar="MODULE:FUNCTION",
        help="The builder that was captured. It or --registry is required.",
    )
    command.add_argument(
        "--registry",
        type=pathlib.Path,
        metavar="FOLDER",
        help="The folder of a Python package whose PROGRAMS have the captured function.",
    )
    command.add_argument(
        "--name",
        metavar="NAME",
        help="The name in the registry. The default is the name of the folder of --capture.",
    )


def add_optimize(commands: Commands) -> None:
    """Adds the command optimize."""
    command = commands.add_parser(
        "optimize",
        help="find compiler options that make a function faster",
        description="Searches for compiler options with which the function takes fewer cycles, by "
        "the estimates of the TPU compiler. The search needs no TPU.",
        epilog=_EXIT_STATUS,
    )
    add_function(command)
    add_chip(command)
    add_topology(command)
    _add_search(command)
    add_json(command)
    command.add_argument(
        "--output",
        type=pathlib.Path,
        metavar="FILE",
        help="Writes the result to this file: an artefact for `apply` if its name ends in .json, "
        "otherwise the compiler options, name=value a line.",
    )
    command.set_defaults(run=_run_optimize)


def _add_search(command: argparse.ArgumentParser) -> None:
    """Adds what a search may do, and where it begins."""
    command.add_argument(
        "--samples",
        type=whole_number,
        default=8,
        metavar="N",
        help="The largest number of random placements to compile. The default is 8.",
    )
    add_budget(command)
    add_keep_scoped_limit(command)
    command.add_argument(
        "--keep-assignment",
        action="store_true",
        help="Keeps the compiler's assignment: there are no settings, and no overrides of single "
        "tensors.",
    )
    command.add_argument(
        "--seed",
        type=whole_number,
        default=0,
        metavar="N",
        help="The seed of the searches for mappings. The default is 0.",
    )
    command.add_argument(
        "--start-from",
        metavar="FILE",
        help="An artefact of an earlier search for this function, which may have changed since. "
        "The search begins with what of it fits.",
    )
    command.add_argument(
        "--server",
        metavar="HOST:PORT",
        help="Lets the `mallocmuzero serve` at this address search for mappings.",
    )
    command.add_argument(
        "--server-security",
        metavar="FILE",
        help="The certificates and the token for --server (Security, text).",
    )
    command.add_argument(
        "--placed",
        action="store_true",
        help="Also tries placed executables. If one is the result, it goes beside the file of "
        "--output, as NAME.placed.",
    )


def _run_verify(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        check_options_output(arguments.output)
    budget = granted_budget(
        arguments.budget, arguments.max_trial_compiles, arguments.budget_compiles
    )
    source = _source(arguments)
    capture = open_capture(arguments.capture)
    inputs = Inputs(capture, arguments.mapping, arguments.program)

    def write(compiler: TrialCompiler) -> None:
        lower_for(capture, source, compiler, budget)

    verified = run_loop(inputs, write, budget, not arguments.no_solve, LoopProgress())
    return _report(arguments, verified.to_json())


def _source(arguments: argparse.Namespace) -> Source:
    if bool(arguments.function) == bool(arguments.registry):
        raise UsageError("expected --function or --registry: what the capture was made from")
    if arguments.function:
        return Source(arguments.function)
    return Source(arguments.name or arguments.capture.resolve().name, arguments.registry)


def _run_optimize(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        _check_output(arguments.output, arguments.placed)
    parse_duration(arguments.budget)  # before the function is built, which may take long
    built = build_function(arguments.function)
    require_jit_options(built.jit_options, optimize)
    optimized = optimize(
        built.fn,
        *built.args,
        chip=arguments.chip,
        budget=arguments.budget,
        samples=arguments.samples,
        scoped_limit=not arguments.keep_scoped_limit,
        assignment=not arguments.keep_assignment,
        seed=arguments.seed,
        start_from=arguments.start_from,
        placed=arguments.placed,
        topology=arguments.topology,
        server=arguments.server,
        server_security=arguments.server_security,
        **built.jit_options,
    )
    return _report(arguments, optimized.report, optimized.save)


def _check_output(path: pathlib.Path, placed: bool) -> None:
    """Raises UsageError if the result must not be written to `path`; call it before the search."""
    if placed:
        if path.suffix != SUFFIX:
            raise UsageError(f"--placed: expected an --output that ends in {SUFFIX}, not {path}")
        check_placed_output(executable_beside(path), path)
    if path.suffix == SUFFIX:
        check_artefact_output(path)
    else:
        check_options_output(path)


def check_artefact_output(path: pathlib.Path) -> None:
    """Raises UsageError if an artefact must not be written to `path`; call it before the search."""
    check_output(path)
    if path.is_file():
        try:
            load_artefact(path)
        except UsageError as error:
            raise other_file_error(path, "an artefact", str(error)) from error


def _report(
    arguments: argparse.Namespace,
    report: dict[str, Any],
    save: Callable[[pathlib.Path], None] | None = None,
) -> int:
    """Prints the report and writes the artefact or the options; returns the exit code.

    `save` writes an artefact; without it there are options only.
    An undecided search writes no options and leaves an existing file as it is.
    """
    verified = Verified.from_json(report)
    output = arguments.output
    try:
        # First, because a reader of the report may have gone, and the search took long.
        kept = None if output is None else _write(output, verified, save)
    finally:
        if arguments.json:
            print(json.dumps(report), flush=True)
        else:
            print(describe(verified, report.get("from_cache", False)), file=sys.stderr)
    if _waits_in_the_cache(arguments, verified) and save is not None:
        print(
            "mallocmuzero-xla: no file was written: the same command with --output FILE takes the "
            "result from the cache",
            file=sys.stderr,
        )
    if verified.undecided and output is not None:
        print(f"mallocmuzero-xla: {output} not written", file=sys.stderr)
    if kept is not None:
        print(
            f"mallocmuzero-xla: {output}: no options; those that were there are in {kept}",
            file=sys.stderr,
        )
    return 1 if verified.undecided else 0


def _waits_in_the_cache(arguments: argparse.Namespace, verified: Verified) -> bool:
    """Whether the user gets no options of a search, but another command would."""
    unseen = arguments.output is None and not arguments.json
    return unseen and verified.improves and not verified.interrupted


def _write(
    output: pathlib.Path, verified: Verified, save: Callable[[pathlib.Path], None] | None
) -> pathlib.Path | None:
    """Writes the artefact or the options, unless the search is undecided.

    Returns the file of earlier options that an empty answer has replaced, if there were any.
    """
    if verified.undecided:
        return None
    if save is None or output.suffix != SUFFIX:
        return write_options(output, verified.options)
    save(output)
    return None
