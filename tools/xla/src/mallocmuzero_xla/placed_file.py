"""Files of placed executables: a zip of header.json, which anything can read, and call.pickle.

The header says what the executable is for and what it does; call.pickle is what jax needs to call
it, the executable's bytes among it. Loading a pickle runs what its author wants: a file is to be
loaded only by those who trust whoever made it.
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

from mallocmuzero_xla.errors import PlacedError, UsageError
from mallocmuzero_xla.store import write_atomically

_FORMAT = 1
_HEADER, _CALL = "header.json", "call.pickle"


@dataclasses.dataclass(frozen=True)
class PlacedHeader:
    """What a placed executable is for. Everything in it is JSON.

    Attributes:
        function: the name jax gives the function.
        platform: as jax names it.
        chip: one of CHIPS.
        topology: libtpu's name.
        device_kind: as jax names the chip.
        devices: those it runs on, in order of partition: id, and coords and core_on_chip.
        build: of the compiler, as it says itself; empty if it does not say.
        versions: of jax, jaxlib and libtpu.
        lowered_sha256: as in LoweredProgram.
        text_sha256: of the StableHLO alone.
        inputs: shape, dtype, weak_type, donated and sharding of all arrays among the arguments, and
            `given`: whether the sharding came with the argument.
        outputs: shape, dtype and sharding.
        parameters: names of the function's positional parameters, as far as there are any.
        arguments: how many positional arguments it was placed with.
        jit_options: those of jax.jit that JSON can hold, to make the function anew from.
        report: of the search, as `mallocmuzero optimize --json` prints it.
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


@dataclasses.dataclass(frozen=True)
class PlacedFile:
    """A placed executable and what is to be known of it."""

    header: PlacedHeader
    call: bytes

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, complete or not at all."""
        digest = hashlib.sha256(self.call).hexdigest()
        header = {"format": _FORMAT, **dataclasses.asdict(self.header), "call_sha256": digest}
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_HEADER, json.dumps(header, indent=1) + "\n")
            archive.writestr(_CALL, self.call)
        write_atomically(pathlib.Path(path), content.getvalue())

    @staticmethod
    def read(path: str | os.PathLike[str]) -> PlacedFile:
        """Reads what `write` wrote, and unpickles nothing.

        Raises PlacedError if it is not there, damaged, or of another format.
        """
        name = os.fspath(path)
        try:
            with zipfile.ZipFile(name) as archive:
                header = json.loads(archive.read(_HEADER))
                found = header.pop("format")
                call = archive.read(_CALL)
        except FileNotFoundError as error:
            raise PlacedError(f"{name}: no such file") from error
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


def check_placed_output(path: pathlib.Path) -> None:
    """Raises UsageError if a file of something else is at `path`."""
    if not path.exists():
        return
    try:
        PlacedFile.read(path)
    except PlacedError as error:
        raise UsageError(
            f"--output {path}: a file of something else is there; expected a new name, or a "
            f"placed executable"
        ) from error
