"""What commands of the shell have in common: arguments, errors, Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import os
import pathlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from mallocmuzero_xla.captures.runner import Limits
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.errors import CaptureError, UsageError, in_one_line

# An environment variable: errors that no code expects then end the command with a traceback.
_DEBUG = "MALLOCMUZERO_DEBUG"

_ENDS = (signal.SIGTERM, signal.SIGHUP)


def run_command(name: str, run: Callable[[], int]) -> int:
    """Runs the command and returns its exit code: 1 on failure, 2 on bad usage.

    Errors are one line on stderr that begins with `name`.
    """
    try:
        with _terminated_as_interrupted():
            return run()
    except UsageError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        named = error.filename is not None and error.strerror is not None
        reason = f"{os.fspath(error.filename)}: {error.strerror}" if named else str(error)
        _drop_output()
        print(f"{name}: {reason}", file=sys.stderr)
        return 2
    except CaptureError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted; run again to go on", file=sys.stderr)
        return 1
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        print(
            f"{name}: unexpected {in_one_line(error)}; please report it with the traceback that "
            f"{_DEBUG}=1 shows",
            file=sys.stderr,
        )
        return 1


def _drop_output() -> None:
    """Drops what stdout cannot take: Python would write it at its end, and exit with 120."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Takes SIGTERM, and SIGHUP of a closed terminal, for Ctrl-C, unless they are ignored.

    Temporary files and compile processes must not stay behind.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    taken = [each for each in _ENDS if signal.getsignal(each) is not signal.SIG_IGN]
    earlier = {number: signal.signal(number, interrupt) for number in taken}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


class Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line, as `mallocmuzero` does."""

    def error(self, message: str) -> NoReturn:
        """Ends the process with 2."""
        self.exit(2, f"{self.prog}: {message} ({self.prog} --help shows the usage)\n")


def whole_number(text: str) -> int:
    """Reads the value of a flag; argparse names the flag."""
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a whole number, found {text!r}") from error


def seconds(text: str) -> float:
    """Reads the value of a flag in seconds; argparse names the flag."""
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a number of seconds, found {text!r}") from error


def require_jit_options(options: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Raises UsageError if a builder's options have a name that `function` takes for itself.

    They are given to `function` with its own arguments, and it gives them to jax.jit.
    """
    own = inspect.signature(function).parameters.keys() - {"compiler_options"}
    for name in options:
        if name in own:
            raise UsageError(
                f"the builder's options have {name!r}, which is no keyword argument of jax.jit"
            )


def add_function(command: argparse.ArgumentParser) -> None:
    """Adds the builder of the function that the command is about."""
    command.add_argument(
        "function",
        metavar="MODULE:FUNCTION",
        help="A builder: a function without arguments that returns (fn, args) or (fn, args, "
        "keyword arguments of jax.jit). MODULE is a file, such as model.py, or a module that "
        "Python can import.",
    )


def add_artefact(command: argparse.ArgumentParser) -> None:
    """Adds the artefact that the command is about."""
    command.add_argument(
        "artefact",
        type=pathlib.Path,
        metavar="FILE",
        help="The artefact: a file .json of optimize, or the one beside a file of place.",
    )


def add_chip(command: argparse.ArgumentParser) -> None:
    """Adds --chip. There is no default to guess: results of one chip are useless on another."""
    command.add_argument(
        "--chip",
        metavar="NAME",
        help=f"The chip to compile for: one of {', '.join(CHIPS)}. The default is this machine's, "
        "if it has one.",
    )


def add_topology(command: argparse.ArgumentParser) -> None:
    """Adds --topology."""
    command.add_argument(
        "--topology",
        metavar="NAME",
        help="The number of chips and their connections, as libtpu names them, such as v6e:2x4. "
        "The default is the smallest topology of the chip.",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """Adds --json."""
    command.add_argument(
        "--json", action="store_true", help="Prints the report as one JSON object on stdout."
    )


def add_keep_scoped_limit(command: argparse.ArgumentParser) -> None:
    """Adds --keep-scoped-limit."""
    command.add_argument(
        "--keep-scoped-limit",
        action="store_true",
        help="Keeps the limit of scoped memory (xla_tpu_scoped_vmem_limit_kib). By default other "
        "limits are tried, too.",
    )


def add_capture_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the chip and the limits of a capture."""
    add_chip(command)
    add_topology(command)
    command.add_argument(
        "--samples",
        type=whole_number,
        default=8,
        metavar="N",
        help="The number of random placements. The default is 8.",
    )
    command.add_argument(
        "--jobs",
        type=whole_number,
        default=1,
        metavar="N",
        help="The number of compiles at the same time. The default is 1.",
    )
    command.add_argument(
        "--timeout",
        type=seconds,
        default=Limits.timeout,
        metavar="SECONDS",
        help="A compile is stopped after this time. The default is 600.",
    )
    command.add_argument(
        "--retries",
        type=whole_number,
        default=Limits.retries,
        metavar="N",
        help="How often a compile is repeated after an abort or a timeout. The default is 2.",
    )


def capture_limits(arguments: argparse.Namespace) -> Limits:
    """Returns the limits that the arguments give."""
    return Limits(timeout=arguments.timeout, retries=arguments.retries, jobs=arguments.jobs)
