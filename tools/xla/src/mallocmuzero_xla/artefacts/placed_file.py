"""Files of placed executables: a zip of header.json and call.pickle.

The header is plain JSON and describes the executable. call.pickle holds the executable's bytes and
the objects that jax needs to call it. Loading a pickle runs code of its author: load only files
from a trusted source.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import pathlib
import zipfile
from typing import Any

from mallocmuzero_xla.artefacts.artefact import SUFFIX, Artefact, Executable, load_artefact
from mallocmuzero_xla.compiler.options_file import other_file_error
from mallocmuzero_xla.compiler.store import takes_bytes_only, write_atomically, write_together
from mallocmuzero_xla.errors import PlacedError, UsageError

# An executable in a file of format 1 may have other values than the function in its constants.
_FORMAT = 2
_HEADER, _CALL = "header.json", "call.pickle"


@dataclasses.dataclass(frozen=True)
class PlacedHeader:
    """Describes a placed executable; every field is JSON.

    Attributes:
        function: jax's name of the function.
        platform: jax's name of the platform.
        chip: one of CHIPS.
        topology: libtpu's name of the topology.
        device_kind: jax's name of the chip.
        devices: its devices in order of partition: id, and coords and core_on_chip.
        build: the compiler's own build string; empty if it gives none.
        versions: versions of jax, jaxlib and libtpu.
        lowered_sha256: the hash in LoweredProgram.
        text_sha256: hash of the StableHLO alone.
        inputs: shape, dtype, weak_type, donated and sharding of each array argument, and `given`:
            whether the sharding came with the argument.
        outputs: shape, dtype and sharding of each result.
        parameters: names of the function's positional parameters, empty where calls have none.
        arguments: the number of positional arguments.
        jit_options: the keyword arguments of jax.jit that JSON can hold, to repeat the jit.
        report: the report of `mallocmuzero optimize --json`.
        own_options: the user's own compiler options, with which the executable was compiled.
    """

    function: str
    platform: str
    chip: str
    topology: str
    device_kind: str
    devices: list[dict[str, Any]]
    build: str
    versions: dict[str, str]
    lowered_sha256: str
    text_sha256: str
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    parameters: list[str]
    arguments: int
    jit_options: dict[str, Any]
    report: dict[str, Any]
    own_options: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class PlacedFile:
    """A placed executable and its header."""

    header: PlacedHeader
    call: bytes

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the file atomically."""
        write_atomically(pathlib.Path(path), self.content())

    def content(self) -> bytes:
        """Returns the content of the file."""
        digest = hashlib.sha256(self.call).hexdigest()
        header = {"format": _FORMAT, **dataclasses.asdict(self.header), "call_sha256": digest}
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_HEADER, json.dumps(header, indent=1) + "\n")
            archive.writestr(_CALL, self.call)
        return content.getvalue()

    @staticmethod
    def read(path: str | os.PathLike[str]) -> PlacedFile:
        """Reads a file of `write` without unpickling anything.

        Raises PlacedError if the file is missing, damaged, or of another format.
        """
        name = os.fspath(path)
        try:
            content = pathlib.Path(path).read_bytes()
        except FileNotFoundError as error:
            raise PlacedError(f"{name}: no such file") from error
        except OSError as error:
            raise PlacedError(f"{name}: not a placed executable ({error.strerror})") from error
        return PlacedFile.parse(content, name)

    @staticmethod
    def parse(content: bytes, name: str) -> PlacedFile:
        """Reads the content of the file `name` as `read` does."""
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                header = json.loads(archive.read(_HEADER))
                found = header.pop("format")
                call = archive.read(_CALL)
        except Exception as error:  # zipfile and zlib raise several unrelated types
            raise PlacedError(f"{name}: not a placed executable, or damaged ({error})") from error
        if found != _FORMAT:
            raise PlacedError(f"{name}: has format {found}, expected {_FORMAT}: place it anew")
        if hashlib.sha256(call).hexdigest() != header.pop("call_sha256", None):
            raise PlacedError(f"{name}: damaged ({_CALL} is not what was written)")
        try:
            return PlacedFile(PlacedHeader(**header), call)
        except TypeError as error:
            raise PlacedError(f"{name}: damaged (header: {error})") from error


def save_pair(
    file: PlacedFile, path: pathlib.Path, artefact: Artefact, artefact_path: pathlib.Path
) -> None:
    """Writes a placed executable and its artefact, which names it; if one has no room, neither.

    Raises UsageError if `path` is the executable of another artefact.
    """
    check_not_of_another(path, artefact_path)
    content = file.content()
    executable = Executable(path.name, hashlib.sha256(content).hexdigest())
    artefact = dataclasses.replace(artefact, executable=executable)
    write_together({path: content, artefact_path: artefact.content()})


def check_not_of_another(path: pathlib.Path, artefact_path: pathlib.Path) -> None:
    """Raises UsageError if an artefact other than that of `artefact_path` names the file `path`."""
    if not path.exists():
        return
    for other in sorted(path.parent.glob(f"*{SUFFIX}")):
        if other.name == artefact_path.name:
            continue
        try:
            executable = load_artefact(other).executable
        except UsageError:
            continue  # a file of something else
        if executable is not None and executable.file == path.name:
            raise UsageError(
                f"{path}: the executable of {other}: choose another name, or remove both files"
            )


def check_placed_output(path: pathlib.Path, artefact_path: pathlib.Path) -> None:
    """Raises UsageError if `path` has another kind of file, or another artefact's executable.

    The artefact of the executable that goes to `path` goes to `artefact_path`.
    """
    check_not_of_another(path, artefact_path)
    if not path.exists():
        return
    if takes_bytes_only(path):
        raise UsageError(f"--output {path}: a pipe or device; expected a file")
    try:
        PlacedFile.read(path)
    except PlacedError as error:
        raise other_file_error(path, "a placed executable") from error
