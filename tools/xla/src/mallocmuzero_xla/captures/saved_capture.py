"""Reads a capture folder without changing it."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping

from mallocmuzero_xla.captures.importer import import_program
from mallocmuzero_xla.compiler.store import RECORD, SUFFIX, read_json, read_text
from mallocmuzero_xla.compiler.variants import ALL_HBM, DEFAULT
from mallocmuzero_xla.environment import compiler_versions, recorded_settings
from mallocmuzero_xla.errors import UsageError


@dataclasses.dataclass(frozen=True)
class SavedCapture:
    """The texts of one program, for the compiler that is installed.

    Attributes:
        folder: the capture folder.
        program: name of the program.
        chip: name of the chip.
        topology: libtpu's name of the topology.
        lowered_sha256: hash of the lowered function (LoweredProgram.sha256).
        variants: names of the captured variants.
        compile_seconds: duration of the default's compile.
        fast_memory_bytes: fast memory for tensors; None for the size in the chip's hardware file.
    """

    folder: pathlib.Path
    program: str
    chip: str
    topology: str
    lowered_sha256: str
    variants: tuple[str, ...]
    compile_seconds: float
    fast_memory_bytes: int | None = None

    def path(self, variant: str) -> pathlib.Path:
        """Returns the file of a variant's text."""
        return self.folder / f"{variant}{SUFFIX}"

    def read(self, variant: str) -> str:
        """Returns the text of a variant; raises UsageError if it is damaged."""
        return read_text(self.path(variant))

    def texts(self) -> dict[str, str]:
        """Returns all texts by variant name."""
        return {variant: self.read(variant) for variant in self.variants}

    def import_to(self, program: pathlib.Path, others: Mapping[str, str] | None = None) -> None:
        """Imports the captured and further texts into a program file; raises CaptureError."""
        texts = {**self.texts(), **(others or {})}
        import_program(texts, self.chip, program, self.fast_memory_bytes)


def open_capture(folder: pathlib.Path) -> SavedCapture:
    """Opens a capture folder.

    Raises:
        UsageError: the folder is no capture, lacks a required text, or was made by another compiler
            or under other compiler settings, so that its texts are not comparable.
    """
    path = folder / RECORD
    try:
        record = read_json(path)
        variants = tuple(record["variants"])
        missing = [
            name
            for name in (ALL_HBM, DEFAULT)
            if name not in variants or not (folder / f"{name}{SUFFIX}").is_file()
        ]
        if missing:
            raise UsageError(f"{folder}: the capture lacks {' and '.join(missing)}")
        _check_compiler(folder, record)
        return SavedCapture(
            folder=folder,
            program=record["program"],
            chip=record["chip"],
            topology=record["topology"],
            lowered_sha256=record["lowered_sha256"],
            variants=variants,
            compile_seconds=float(record["variants"][DEFAULT]["seconds"]),
            fast_memory_bytes=record.get("fast_memory_bytes"),
        )
    except OSError as error:
        raise UsageError(f"{folder}: no folder of captured texts ({RECORD} is missing)") from error
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise UsageError(f"{path}: not a record of captured texts ({error!r})") from error


def _check_compiler(folder: pathlib.Path, record: dict[str, object]) -> None:
    expected = {"versions": compiler_versions(), "environment": recorded_settings()}
    for name, value in expected.items():
        if record.get(name) != value:
            raise UsageError(
                f"{folder}: captured with {name} {record.get(name)}, here are {value}: capture anew"
            )
