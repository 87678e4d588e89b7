"""Runs `mallocmuzero optimize`, which searches for placements and has them compiled."""

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
from mallocmuzero_xla.environment import compiler_library
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.lowering import LoweredProgram

_COMMAND = "optimize"
_EXECUTABLE, _MODULE = "executable.bin", "module.pb"


@dataclasses.dataclass(frozen=True)
class SearchLimits:
    """How long to search.

    Attributes:
        seconds: for all of it; a compile under way is given some more.
        rounds: placed modules to compile at most; None: the binary's default.
        threads: of the search; None: as many as there are cores.
        scoped_limit: whether to try other limits of scoped memory, too.
    """

    seconds: float
    rounds: int | None = None
    threads: int | None = None
    scoped_limit: bool = True


@dataclasses.dataclass(frozen=True)
class Found:
    """The best placement that was found.

    Attributes:
        report: an OptimizeReport, as JSON.
        executable: for libtpu to load.
        module: what the compiler made of it, an HloModuleProto.
    """

    report: dict[str, Any]
    executable: bytes
    module: bytes


def search(
    binary: pathlib.Path,
    program: LoweredProgram,
    chip: Chip,
    limits: SearchLimits,
    folder: pathlib.Path,
    tell: Callable[[str], None],
) -> Found:
    """Searches for a placement of `program`; writes into `folder`, an empty one.

    Ctrl-C ends the search with the best so far; a second one ends it without. `tell` is given the
    lines that the binary writes of its progress.

    Raises:
        UsageError: the binary does not take what it was given.
        CaptureError: the program does not compile, or something else failed.
        KeyboardInterrupt: Ctrl-C came before there was anything.
    """
    module, options, output = folder / "f.mlir", folder / "options.pb", folder / "placed"
    module.write_bytes(program.module)
    options.write_bytes(program.compile_options)
    line = [binary, _COMMAND, "--hlo", module, "--compile-options", options]
    line += ["--chip", chip.name, "--topology", program.topology_name]
    line += ["--libtpu", compiler_library(), "--output", output]
    line += ["--budget", f"{max(1, round(limits.seconds))}s"]
    for name, value in (("--rounds", limits.rounds), ("--threads", limits.threads)):
        line += [] if value is None else [name, str(value)]
    line += [] if limits.scoped_limit else ["--keep-scoped-limit"]
    report = parsed(_COMMAND, _run([*(str(word) for word in line), "--json"], tell))
    if "optimized_cycles" not in report:
        if report.get("interrupted"):
            raise KeyboardInterrupt
        reason = report.get("default_error") or "no reason given"
        raise CaptureError(f"{program.function} does not compile: {reason}")
    try:
        return Found(report, *((output / name).read_bytes() for name in (_EXECUTABLE, _MODULE)))
    except OSError as error:
        raise CaptureError(f"mallocmuzero {_COMMAND} wrote less than expected: {error}") from error


def _run(line: list[str], tell: Callable[[str], None]) -> str:
    """Returns what the binary prints; passes Ctrl-C on to it, and waits for what it has then."""
    words: list[str] = []
    with subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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
    if process.returncode < 0 and -process.returncode in (signal.SIGINT, signal.SIGKILL):
        raise KeyboardInterrupt
    if process.returncode != 0:
        raise failure(_COMMAND, process.returncode, "".join(words))
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
        with contextlib.suppress(OSError, ValueError):  # nobody reads: the binary must not wait
            tell(line.rstrip())


def _say_nothing(line: str) -> None:
    """Takes what is not for showing."""
