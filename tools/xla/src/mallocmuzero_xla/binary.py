"""Calls the subcommands of the mallocmuzero binary that print JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any

from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.overrides import Item, start_of_copy
from mallocmuzero_xla.price import Price
from mallocmuzero_xla.processes import run_with_this_process

_BAD_INPUT = 2

# The most processes of `readback` to keep, each for one program and mapping.
_MOST_READERS = 4

# Matches an address of a server as the binary takes it. Names and ranges of ports are not checked.
_HOST_PORT = re.compile(r"(\[[\da-fA-F:.]+\]|[^\s:/\[\]]+):\d{1,5}")

_Arguments = list[str | pathlib.Path]


@dataclasses.dataclass(frozen=True)
class Server:
    """A server of `mallocmuzero serve` that searches for mappings.

    Attributes:
        address: host:port.
        security: a file that names the certificates and the token; None: no TLS and no token.
    """

    address: str
    security: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Raises UsageError where no search could use this: a search takes long to find it out."""
        if not _HOST_PORT.fullmatch(self.address):
            raise UsageError(f"server {self.address!r}: expected host:port, such as 127.0.0.1:7500")
        if self.security is not None and not pathlib.Path(self.security).is_file():
            raise UsageError(f"server_security {os.fspath(self.security)}: no such file")

    def flags(self) -> _Arguments:
        """Returns the flags of `mallocmuzero map`."""
        flags: _Arguments = ["--server", self.address]
        if self.security is not None:
            flags += ["--server-security", pathlib.Path(self.security)]
        return flags


def _require_client(path: pathlib.Path) -> None:
    """Raises UsageError if the binary has no commands for the network, as that of the wheel."""
    asked = run_with_this_process([str(path), "status", "--help"])
    if asked.returncode:
        raise UsageError(
            f"server: {path} cannot call one, as that of the wheel: name the binary of a build in "
            f"MALLOCMUZERO_BINARY ({' '.join(asked.stderr.split())})"
        )


@dataclasses.dataclass(frozen=True)
class LateCopy:
    """A copy from HBM that a compiled program waits for.

    Attributes:
        wait_cycles: cycles that one run of the program waits for it.
        starts: items that each start it earlier, the earliest start first.
    """

    wait_cycles: float
    starts: tuple[Item, ...]


@dataclasses.dataclass(frozen=True)
class Readback:
    """A compiled placement as the program file prices it.

    Attributes:
        mapped_cycles: the program's price under the placement of the text.
        default_cycles: the price of the compiler's own placement by the same table.
        followed_share: share of the accessed bytes that are where the mapping wants them.
        mismatches: the largest of the other accesses, as (access, wanted in fast memory).
        late_copies: copies that the program waits for, most cycles first.
        fast_accesses: indices of the accesses in fast memory, ascending.
    """

    mapped_cycles: float
    default_cycles: float
    followed_share: float
    mismatches: tuple[tuple[int, bool], ...]
    late_copies: tuple[LateCopy, ...] = ()
    fast_accesses: tuple[int, ...] = ()


class Binary:
    """The mallocmuzero binary; every method raises CaptureError with its message if it fails."""

    def __init__(
        self, path: pathlib.Path | None = None, server: Server | None = None, seed: int = 0
    ) -> None:
        """Finds the binary unless `path` names it; raises UsageError if there is none.

        With a server, `solve` searches there; raises UsageError if the binary cannot call one.
        `seed` is that of all random choices.
        """
        self._path = path or find_binary()
        if server is not None:
            _require_client(self._path)
        self._server = server
        self._seed = seed
        self._readers: dict[tuple[tuple[str, int], ...], _Reader] = {}

    def close(self) -> None:
        """Ends the processes of `readback`; a later call starts new ones."""
        readers, self._readers = self._readers, {}
        for reader in readers.values():
            reader.close()

    @property
    def path(self) -> pathlib.Path:
        """Returns the path of the binary."""
        return self._path

    @property
    def seed(self) -> int:
        """Returns the seed of all random choices."""
        return self._seed

    def overrides(self, program: pathlib.Path, mapping: str, scope: str) -> list[dict[str, Any]]:
        """Returns the items in which `mapping` differs from the default; scope: values or uses."""
        with _scratch_file("o.options") as output:
            arguments: _Arguments = ["--program", program, "--mapping", mapping, "--scope", scope]
            reply = self._call("overrides", [*arguments, "--output", output])
        return list(reply.get("items", []))

    def readback(
        self, program: pathlib.Path, all_hbm: pathlib.Path, text: str, mapping: str
    ) -> Readback:
        """Prices the placement of a compiled `text`, with or without estimated cycles.

        `all_hbm` is the text that the program was imported from. The binary reads it only for a
        program of an older import.
        """
        key = tuple(_version(name) for name in (str(program), str(all_hbm), mapping))
        reader = self._readers.pop(key, None)
        if reader is None:
            arguments = ["--program", str(program), "--all-hbm", str(all_hbm)]
            reader = _Reader([str(self._path), "readback", *arguments, "--mapping", mapping])
        with _scratch_file("r.hlo", text) as hlo:
            reply = reader.read(hlo)
        # Keep this reader, which has not failed, and end the one that has been idle longest.
        self._readers[key] = reader
        if len(self._readers) > _MOST_READERS:
            del self._readers[next(iter(self._readers))]
        return Readback(
            mapped_cycles=_number(reply, "readback", "mapped_cycles"),
            default_cycles=_number(reply, "readback", "default_mapped_cycles"),
            followed_share=_number(reply, "readback", "followed_share"),
            mismatches=tuple(
                (int(entry["access"]), bool(entry["wanted_fast"]))
                for entry in reply.get("mismatches", [])
            ),
            late_copies=tuple(_late_copy(entry) for entry in reply.get("late_copies", [])),
            fast_accesses=tuple(reply.get("fast_accesses", [])),
        )

    def module_cycles(self, text: str, hardware: str) -> float:
        """Returns the cycles of a compiled module as it stands."""
        return self.module_price(text, hardware).total

    def module_price(self, module: str | bytes, hardware: str) -> Price:
        """Returns the price of a compiled module, a text or an HloModuleProto, as it stands."""
        with _scratch_file("x.hlo", module) as hlo:
            reply = self._call("simulate", ["--hlo", hlo, "--hardware", hardware])
        names = ("total_cycles", "estimated_cycles", "stall_cycles", "modelled_cycles")
        return Price(*(_number(reply, "simulate", name) for name in names))

    def solve(
        self, program: pathlib.Path, output: pathlib.Path, seconds: float, solver: str | None = None
    ) -> dict[str, Any]:
        """Writes a mapping found within `seconds` to `output`; returns the report."""
        arguments: _Arguments = ["--program", program, "--budget", f"{max(1, round(seconds))}s"]
        if solver is not None:
            arguments += ["--solver", solver]
        if self._seed:
            arguments += ["--seed", str(self._seed)]
        if self._server is not None:
            arguments += self._server.flags()
        return self._call("map", [*arguments, "--output", output])

    def corpus(self, workloads: pathlib.Path) -> list[dict[str, Any]]:
        """Returns the description of each program of a folder: chip, name, family, contended..."""
        return list(self._call("corpus", ["--workloads", workloads]).get("programs", []))

    def _call(self, command: str, arguments: _Arguments) -> dict[str, Any]:
        line = [str(self._path), command, *(str(item) for item in arguments), "--json"]
        result = run_with_this_process(line)
        if result.returncode != 0:
            raise failure(command, result.returncode, result.stderr)
        return parsed(command, result.stdout)


class _Reader:
    """A process that prices one module after the other; its start takes most of a second.

    It ends with `close`, this object or this process.
    """

    def __init__(self, command: list[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        # Ctrl-C must reach only the loop, which still has results to save.
        self._process = subprocess.Popen(
            [*command, "--hlo", "-", "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, self._process)

    def close(self) -> None:
        """Ends the process, also while another thread waits for its answer."""
        self._process.kill()
        self._end()
        self._errors.close()

    def read(self, hlo: pathlib.Path) -> dict[str, Any]:
        """Returns the report on the module in a file."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(os.fsencode(hlo) + b"\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            return parsed("readback", line.decode("utf-8", errors="replace"))
        code = self._process.wait()
        self._errors.seek(0)
        raise failure("readback", code, self._errors.read().decode("utf-8", errors="replace"))


def _version(name: str) -> tuple[str, int]:
    """Identifies a version of a file: the next loop writes other files under the same names."""
    try:
        return name, pathlib.Path(name).stat().st_mtime_ns
    except OSError:  # a mapping by name, or no file: the binary says so
        return name, 0


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        process.communicate()


def failure(command: str, code: int, errors: str) -> CaptureError:
    """Returns the error for a subcommand that exited with `code`, with its last line."""
    words = (errors.strip().splitlines() or ["no message"])[-1]
    kind = UsageError if code == _BAD_INPUT else CaptureError
    return kind(f"mallocmuzero {command} failed ({code}): {words}")


def parsed(command: str, text: str) -> dict[str, Any]:
    """Returns the JSON object that a subcommand printed; raises CaptureError for other output."""
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise CaptureError(f"mallocmuzero {command} --json did not print JSON") from error


def saved_share(report: dict[str, Any]) -> float:
    """Returns the share of the default's cycles that a mapping of `solve` saves, by its report."""
    return 1 - _number(report, "map", "total_cycles") / _number(report, "map", "default_cycles")


def _late_copy(entry: dict[str, Any]) -> LateCopy:
    starts = (start_of_copy(entry, text) for text in entry["tensor_overrides"])
    return LateCopy(float(entry["wait_cycles"]), tuple(starts))


def _number(reply: dict[str, Any], command: str, name: str) -> float:
    try:
        return float(reply[name])
    except (KeyError, TypeError, ValueError) as error:
        raise CaptureError(f"mallocmuzero {command} printed no {name}") from error


@contextlib.contextmanager
def _scratch_file(name: str, content: str | bytes | None = None) -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as folder:
        path = pathlib.Path(folder) / name
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        yield path
