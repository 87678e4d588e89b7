"""What commands of the shell have in common: arguments, errors, Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.errors import CaptureError, UsageError, in_one_line
from mallocmuzero_xla.runner import Limits

# An environment variable: errors that no code expects then end the command with a traceback.
_DEBUG = "MALLOCMUZERO_DEBUG"


def run_command(name: str, run: Callable[[], int]) -> int:
    """Runs the command and returns its exit code: 1 on failure, 2 on bad usage.

    Errors are one line on stderr that begins with `name`.
    """
    try:
        with _terminated_as_interrupted():
            return run()
    except (UsageError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
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


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Takes SIGTERM for Ctrl-C: temporary files and compile processes must not stay behind."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)


def add_chip(command: argparse.ArgumentParser) -> None:
    """Adds --chip. There is no default to guess: results of one chip are useless on another."""
    command.add_argument(
        "--chip", help=f"one of {', '.join(CHIPS)} (default: this machine's, where it has one)"
    )


def add_topology(command: argparse.ArgumentParser) -> None:
    """Adds --topology."""
    command.add_argument("--topology", help="libtpu's name, instead of the chip's own topology")


def add_keep_scoped_limit(command: argparse.ArgumentParser) -> None:
    """Adds --keep-scoped-limit."""
    command.add_argument(
        "--keep-scoped-limit",
        action="store_true",
        help="leave xla_tpu_scoped_vmem_limit_kib as it is",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """Adds --json."""
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")


def add_capture_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the chip and the limits of a capture."""
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


def capture_limits(arguments: argparse.Namespace) -> Limits:
    """Returns the limits that the arguments give."""
    return Limits(timeout=arguments.timeout, retries=arguments.retries, jobs=arguments.jobs)
