"""Runs `mallocmuzero optimize`, which searches for placements and compiles them."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import IO, Any

from mallocmuzero_xla.binary import failure, parsed
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.environment import compiler_library
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.processes import with_this_process

COMMAND = "optimize"

# The largest number of placed modules that the binary compiles by default (its --rounds).
DEFAULT_ROUNDS = 12


@dataclasses.dataclass(frozen=True)
class SearchLimits:
    """Limits of the search.

    Attributes:
        seconds: time for everything; a running compile gets some more.
        rounds: the largest number of placed modules to compile; None for DEFAULT_ROUNDS.
        threads: threads of the search; None for one each core.
        scoped_limit: whether to try other limits of scoped memory as well.
    """

    seconds: float
    rounds: int | None = None
    threads: int | None = None
    scoped_limit: bool = True


@dataclasses.dataclass(frozen=True)
class Found:
    """The best placement of a search.

    Attributes:
        report: an OptimizeReport, as JSON.
        executable: the executable that libtpu loads.
        module: the compiled module, an HloModuleProto.
    """

    report: dict[str, Any]
    executable: bytes
    module: bytes

    @property
    def cycles(self) -> float:
        """The cycles by the compiler's estimates."""
        return float(self.report["optimized_cycles"])


def search(
    binary: pathlib.Path,
    program: LoweredProgram,
    chip: Chip,
    limits: SearchLimits,
    folder: pathlib.Path,
    tell: Callable[[str], None],
) -> Found:
    """Searches for a placement of `program`; writes into `folder`, which is empty.

    Ctrl-C ends the search with the best so far; a second one ends it without a result. `tell` gets
    the lines in which the binary reports its progress.

    Raises:
        UsageError: the binary refuses its arguments.
        CaptureError: the program does not compile, or something else failed.
        KeyboardInterrupt: Ctrl-C came before the first result.
    """
    module, options, output = folder / "f.mlir", folder / "options.pb", folder / "placed"
    module.write_bytes(program.module)
    options.write_bytes(program.compile_options)
    line = [binary, COMMAND, "--hlo", module, "--compile-options", options]
    line += ["--chip", chip.name, "--topology", program.topology_name]
    line += ["--libtpu", compiler_library(), "--output", output]
    line += ["--budget", f"{max(1, round(limits.seconds))}s"]
    for name, value in (("--rounds", limits.rounds), ("--threads", limits.threads)):
        line += [] if value is None else [name, str(value)]
    line += [] if limits.scoped_limit else ["--keep-scoped-limit"]
    report = parsed(COMMAND, _run([*(str(word) for word in line), "--json"], tell))
    if "optimized_cycles" not in report:
        if report.get("interrupted"):
            raise KeyboardInterrupt
        reason = report.get("default_error") or "no reason given"
        raise CaptureError(f"{program.function} does not compile: {reason}")
    return read_found(report, output)


def read_found(report: dict[str, Any], output: pathlib.Path) -> Found:
    """Returns the best placement that the binary has written into the folder `output`.

    Raises CaptureError if a file is missing.
    """
    try:
        executable = (output / "executable.bin").read_bytes()
        module = (output / "module.pb").read_bytes()
    except OSError as error:
        raise CaptureError(f"mallocmuzero {COMMAND} wrote less than expected: {error}") from error
    return Found(report, executable, module)


def _run(line: list[str], tell: Callable[[str], None]) -> str:
    """Returns the output of the binary; passes Ctrl-C on and waits for the result so far."""
    words: list[str] = []
    with subprocess.Popen(
        with_this_process(line),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        printed: list[str] = []
        readers = [
            threading.Thread(target=_listen, args=(process.stderr, words, tell)),
            threading.Thread(target=_listen, args=(process.stdout, printed, _say_nothing)),
        ]
        for reader in readers:
            reader.start()
        try:
            process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            _wait_or_kill(process)
        finally:
            if process.poll() is None:
                process.kill()
            for reader in readers:
                reader.join()
    if process.returncode == -signal.SIGINT:
        raise KeyboardInterrupt
    if process.returncode != 0:
        raise failure(COMMAND, process.returncode, "".join(words))
    return "".join(printed)


def _wait_or_kill(process: subprocess.Popen[str]) -> None:
    try:
        process.wait()
    except KeyboardInterrupt:
        process.kill()
        raise


def _listen(stream: IO[str], lines: list[str], tell: Callable[[str], None]) -> None:
    for line in stream:
        lines.append(line)
        with contextlib.suppress(OSError, ValueError):  # drain the pipe, or the binary blocks
            tell(line.rstrip())


def _say_nothing(line: str) -> None:
    """Drops lines of progress."""
