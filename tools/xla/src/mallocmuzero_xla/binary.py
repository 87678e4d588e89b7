"""Calls the subcommands of the mallocmuzero binary that print JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.importer import find_binary
from mallocmuzero_xla.overrides import Item, start_of_copy

_BAD_INPUT = 2

_Arguments = list[str | pathlib.Path]


@dataclasses.dataclass(frozen=True)
class LateCopy:
    """A copy from HBM that a compiled program waits for.

    Attributes:
        wait_cycles: in one run of the program.
        starts: items of which each starts it earlier, the earliest start first.
    """

    wait_cycles: float
    starts: tuple[Item, ...]


@dataclasses.dataclass(frozen=True)
class Readback:
    """A compiled placement as the program file prices it.

    Attributes:
        mapped_cycles: the program's price under the accesses and copies that the text has.
        default_cycles: the price of the compiler's own placement by the same table.
        honoured_share: of the accessed bytes, those that are where the mapping wants them.
        mismatches: the accesses that move most of the others, as (access, wanted in fast memory).
        late_copies: copies that the program waits for, most cycles first.
    """

    mapped_cycles: float
    default_cycles: float
    honoured_share: float
    mismatches: tuple[tuple[int, bool], ...]
    late_copies: tuple[LateCopy, ...] = ()


class Binary:
    """The mallocmuzero binary; every method raises CaptureError with its message if it fails."""

    def __init__(self, path: pathlib.Path | None = None) -> None:
        """Finds the binary unless `path` names it; raises UsageError if there is none."""
        self._path = path or find_binary()

    def overrides(self, program: pathlib.Path, mapping: str, scope: str) -> list[dict[str, Any]]:
        """Returns the items by which `mapping` differs from the default; scope: values or uses."""
        with _scratch_file("o.options") as output:
            arguments: _Arguments = ["--program", program, "--mapping", mapping, "--scope", scope]
            reply = self._call("overrides", [*arguments, "--output", output])
        return list(reply.get("items", []))

    def readback(
        self, program: pathlib.Path, all_hbm: pathlib.Path, text: str, mapping: str
    ) -> Readback:
        """Prices the placement of a compiled `text`, with or without estimated cycles."""
        with _scratch_file("r.hlo", text) as hlo:
            arguments: _Arguments = ["--program", program, "--all-hbm", all_hbm, "--hlo", hlo]
            reply = self._call("readback", [*arguments, "--mapping", mapping])
        return Readback(
            mapped_cycles=_number(reply, "readback", "mapped_cycles"),
            default_cycles=_number(reply, "readback", "default_mapped_cycles"),
            honoured_share=_number(reply, "readback", "honoured_share"),
            mismatches=tuple(
                (int(entry["access"]), bool(entry["wanted_fast"]))
                for entry in reply.get("mismatches", [])
            ),
            late_copies=tuple(_late_copy(entry) for entry in reply.get("late_copies", [])),
        )

    def module_cycles(self, text: str, hardware: str) -> float:
        """Returns the price of a compiled module as it stands, by its estimated cycles."""
        with _scratch_file("x.hlo", text) as hlo:
            reply = self._call("simulate", ["--hlo", hlo, "--hardware", hardware])
        return _number(reply, "simulate", "total_cycles")

    def solve(
        self, program: pathlib.Path, output: pathlib.Path, seconds: float, solver: str | None = None
    ) -> dict[str, Any]:
        """Writes a mapping found within `seconds` to `output`; returns the report."""
        arguments: _Arguments = ["--program", program, "--budget", f"{max(1, round(seconds))}s"]
        if solver is not None:
            arguments += ["--solver", solver]
        return self._call("map", [*arguments, "--output", output])

    def corpus(self, workloads: pathlib.Path) -> list[dict[str, Any]]:
        """Returns what is known of each program of a folder: chip, name, family, contended..."""
        return list(self._call("corpus", ["--workloads", workloads]).get("programs", []))

    def _call(self, command: str, arguments: _Arguments) -> dict[str, Any]:
        line = [str(self._path), command, *(str(item) for item in arguments), "--json"]
        result = subprocess.run(line, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            words = (result.stderr.strip().splitlines() or ["no message"])[-1]
            kind = UsageError if result.returncode == _BAD_INPUT else CaptureError
            raise kind(f"mallocmuzero {command} failed ({result.returncode}): {words}")
        try:
            return dict(json.loads(result.stdout))
        except ValueError as error:
            raise CaptureError(f"mallocmuzero {command} --json did not print JSON") from error


def _late_copy(entry: dict[str, Any]) -> LateCopy:
    starts = (start_of_copy(entry, text) for text in entry["tensor_overrides"])
    return LateCopy(float(entry["wait_cycles"]), tuple(starts))


def _number(reply: dict[str, Any], command: str, name: str) -> float:
    try:
        return float(reply[name])
    except (KeyError, TypeError, ValueError) as error:
        raise CaptureError(f"mallocmuzero {command} printed no {name}") from error


@contextlib.contextmanager
def _scratch_file(name: str, content: str | None = None) -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as folder:
        path = pathlib.Path(folder) / name
        if content is not None:
            path.write_text(content, encoding="utf-8")
        yield path
