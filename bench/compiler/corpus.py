"""Programs of a folder of workloads and their records, for benchmarks that resume."""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import importlib
import json
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import zstandard
from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.captures.saved_capture import SavedCapture, open_capture
from mallocmuzero_xla.environment import compiler_versions
from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.progress import LoopProgress

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The fields of a record of one program.
Measure = Callable[["Entry"], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One program for one chip.

    Attributes:
        workloads: the folder with programs, captures and registry.
        contended: its tensors do not all fit into fast memory.
    """

    workloads: pathlib.Path
    chip: str
    name: str
    split: str
    contended: bool

    @property
    def program(self) -> pathlib.Path:
        """The program file."""
        return self.workloads / self.chip / f"{self.name}.program"

    @property
    def registry(self) -> pathlib.Path:
        """The package that can build the program."""
        return self.workloads / "zoo"

    def capture(self) -> SavedCapture:
        """Returns the compiler's texts; raises CaptureError if there are none."""
        return open_capture(self.workloads / "captures" / self.chip / self.name)

    def write_all_hbm(self, path: pathlib.Path) -> pathlib.Path:
        """Writes the captured module with everything in HBM as a HloModuleProto; returns `path`."""
        hlo = importlib.import_module("jaxlib._hlo")  # has no type stubs
        text = self.workloads / "captures" / self.chip / self.name / "all_hbm.hlo.zst"
        with text.open("rb") as stream:
            module = zstandard.ZstdDecompressor().stream_reader(stream).read().decode()
        path.write_bytes(hlo.hlo_module_from_text(module).as_serialized_hlo_module_proto())
        return path


def add_workloads(parser: argparse.ArgumentParser) -> None:
    """Adds --workloads."""
    parser.add_argument("--workloads", type=pathlib.Path, default=ROOT / "workloads")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that choose programs."""
    add_workloads(parser)
    parser.add_argument("--chip", action="append", default=[])
    parser.add_argument("--only", action="append", default=[], metavar="GLOB")
    parser.add_argument("--contended", action="store_true", help="only programs short of memory")


def chosen(arguments: argparse.Namespace) -> Iterator[Entry]:
    """Yields the programs that --chip, --only and --contended choose.

    Raises UsageError if there are none.
    """
    has_some = False
    for found in Binary().corpus(arguments.workloads):
        chip, name = found["report"]["hardware"], found["report"]["program"]
        if chip not in (arguments.chip or [chip]):
            continue
        if arguments.contended and not found["contended"]:
            continue
        if any(fnmatch.fnmatchcase(name, glob) for glob in arguments.only or ["*"]):
            has_some = True
            yield Entry(arguments.workloads, chip, name, found["split"], bool(found["contended"]))
    if not has_some:
        raise UsageError(
            f"{arguments.workloads}: no program matches --chip, --only and --contended"
        )


def record_each(
    entries: Iterator[Entry],
    output: pathlib.Path,
    measure: Measure,
    settings: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Appends a record to `output` for each program without one; returns all records.

    A record has the versions of the compiler, and `settings`: what else its numbers depend on.
    Older ones lack both. Raises UsageError if a chosen program has a record of other settings, and
    before it measures a program if there are records of other versions.
    """
    progress = LoopProgress()
    output.parent.mkdir(parents=True, exist_ok=True)  # before minutes of measuring
    records = _read(output)
    done = {(record["chip"], record["program"]): record for record in records}
    for entry in entries:
        if (entry.chip, entry.name) in done:
            _check_settings(done[entry.chip, entry.name], settings, output)
            continue
        versions = compiler_versions()
        _check_versions(records, versions, output)
        progress.note(f"{entry.chip} {entry.name}")
        try:
            found = measure(entry)
        except CaptureError as error:
            progress.note(f"{entry.chip} {entry.name}: {error}")
            continue
        made = {"chip": entry.chip, "program": entry.name, "versions": versions}
        if settings is not None:
            made["settings"] = dict(settings)
        records.append({**made, **found})
        with output.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(records[-1], sort_keys=True) + "\n")
    return records


def _check_settings(
    record: dict[str, Any], settings: Mapping[str, Any] | None, output: pathlib.Path
) -> None:
    if settings is not None and record.get("settings", settings) != settings:
        raise UsageError(
            f"{output}: {record['program']} is of {record['settings']}, and here is "
            f"{dict(settings)}: start a new file"
        )


def _check_versions(
    records: list[dict[str, Any]], versions: dict[str, str], output: pathlib.Path
) -> None:
    for record in records:
        if record.get("versions", versions) != versions:
            raise UsageError(
                f"{output}: is of {record['versions']}, and here is {versions}: start a new file"
            )


def _read(output: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the existing records; removes an incomplete line."""
    text = output.read_text(encoding="utf-8") if output.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        os.truncate(output, len(whole.encode("utf-8")))
    return [json.loads(line) for line in whole.splitlines()]
