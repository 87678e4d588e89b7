"""The result of a search as a file: what it is for, what it gains, and how it was found."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import zipfile
from typing import Any

from mallocmuzero_xla.compiler.store import read_json, write_atomically
from mallocmuzero_xla.errors import UsageError

FORMAT = 1
SUFFIX = ".json"
_KIND = "mallocmuzero artefact"


@dataclasses.dataclass(frozen=True)
class Executable:
    """A placed executable that belongs to an artefact.

    Attributes:
        file: name of the file, beside that of the artefact.
        sha256: hash of the file.
    """

    file: str
    sha256: str


@dataclasses.dataclass(frozen=True)
class Artefact:
    """Compiler options, or a placed executable, for one function on one chip.

    Attributes:
        function: name of the function, for messages.
        chip: one of mallocmuzero_xla.CHIPS.
        topology: libtpu's name of the topology that the search compiled for.
        devices: the number of devices that run the function.
        versions: versions of jax, jaxlib and libtpu of the search.
        fingerprint: SHA-256 of the lowered function without source locations. It is the same on a
            machine without a TPU, where the function is lowered for the same chip.
        default_cycles: cycles of the compiler's default; None if the default does not compile.
        expected_cycles: cycles with the options, or of the executable. All cycles are the
            compiler's estimates.
        compiler_options: for jax.jit; empty if the default is best, or there is an executable.
        found: how the options were found: command, budget, compiles, seconds, package. For readers
            only.
        executable: the placed executable; None if the options are the result.
        own_options: the user's own compiler options, which every compile of the search had, but
            which are not part of `compiler_options`.
    """

    function: str
    chip: str
    topology: str
    devices: int
    versions: dict[str, str]
    fingerprint: str
    default_cycles: float | None
    expected_cycles: float
    compiler_options: dict[str, str]
    found: dict[str, Any] = dataclasses.field(default_factory=dict)
    executable: Executable | None = None
    own_options: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def gain(self) -> float | None:
        """Returns the saved share of the default's cycles; None if the default does not compile."""
        if self.default_cycles is None:
            return None
        return 1.0 - self.expected_cycles / self.default_cycles

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artefact as JSON, atomically."""
        write_atomically(pathlib.Path(path), self.content())

    def content(self) -> bytes:
        """Returns the content of its file."""
        fields = {"kind": _KIND, "format": FORMAT, **dataclasses.asdict(self)}
        return f"{json.dumps(fields, indent=1, sort_keys=True)}\n".encode()


def load_artefact(path: str | os.PathLike[str]) -> Artefact:
    """Reads an artefact; loads neither jax nor libtpu.

    Raises UsageError, in one line, if the file cannot be read or is something else.
    """
    name = os.fspath(path)
    if is_folder(path):
        raise UsageError(f"{name}: a folder; expected an artefact, a file {SUFFIX}")
    if zipfile.is_zipfile(name):
        raise UsageError(
            f"{name}: a placed executable; expected its artefact, a file {SUFFIX} beside it"
        )
    try:
        fields = read_json(pathlib.Path(path))
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{name}: not an artefact: not JSON ({error})") from error
    if not isinstance(fields, dict) or fields.pop("kind", None) != _KIND:
        raise UsageError(f"{name}: not an artefact of mallocmuzero-xla")
    found = fields.pop("format", None)
    if found != FORMAT:
        raise UsageError(f"{name}: format {found}, expected {FORMAT}: install the newer package")
    try:
        executable = fields.pop("executable")
        artefact = Artefact(**fields, executable=Executable(**executable) if executable else None)
        _check_types(artefact)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{name}: damaged artefact ({error})") from error
    return artefact


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether there is a folder; False, where Path.is_dir raises, if the path cannot be read."""
    try:
        return pathlib.Path(path).is_dir()
    except OSError:
        return False


def _check_types(artefact: Artefact) -> None:
    """Raises TypeError unless every field has its type, as far as `apply` and reports need it."""
    for name in ("function", "chip", "topology", "fingerprint"):
        _require(isinstance(getattr(artefact, name), str), f"{name} is not a text")
    for name in ("versions", "compiler_options", "own_options"):
        pairs = getattr(artefact, name)
        _require(isinstance(pairs, dict), f"{name} is not an object")
        texts = all(isinstance(word, str) for pair in pairs.items() for word in pair)
        _require(texts, f"{name} has something other than texts")
    for name in ("default_cycles", "expected_cycles"):
        cycles = getattr(artefact, name)
        unknown = cycles is None and name == "default_cycles"
        _require(unknown or _is_positive(cycles), f"{name} is not a number above 0")
    devices = artefact.devices
    _require(isinstance(devices, int) and devices > 0, "devices is not a whole number above 0")
    _require(isinstance(artefact.found, dict), "found is not an object")
    file = artefact.executable
    named = file is None or (isinstance(file.file, str) and isinstance(file.sha256, str))
    _require(named, "executable has something other than texts")
    # A file elsewhere could be of anybody, and loading it runs code of its author.
    beside = file is None or pathlib.PurePath(file.file).name == file.file
    _require(beside, "executable is not the name of a file beside the artefact")


def _is_positive(number: Any) -> bool:
    return isinstance(number, int | float) and math.isfinite(number) and number > 0


def _require(right: bool, problem: str) -> None:
    if not right:
        raise TypeError(problem)
