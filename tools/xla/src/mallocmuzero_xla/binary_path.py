"""Finds the mallocmuzero binary, and checks that it belongs to this package."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import subprocess

from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.version import VERSION

_VARIABLE = "MALLOCMUZERO_BINARY"
_BUILD_TREE_BINARY = pathlib.Path("build/bin/mallocmuzero")

# A wheel has the binary, and a record of the commit that both are from. See scripts/wheel.
_PACKAGED = pathlib.Path(__file__).with_name("bin")
_BINARY, _RECORD = "mallocmuzero", "build_info.json"

# The package's own command `mallocmuzero`, a Python script which starts the binary.
_STARTER = b"mallocmuzero_xla_shell"
_STARTER_BYTES = 4096

_VERSION = re.compile(r"mallocmuzero (\S+)(?: \(commit (\w+)\))?")
_SECONDS = 20.0


def find_binary() -> pathlib.Path:
    """Returns the mallocmuzero binary.

    It is the one that MALLOCMUZERO_BINARY names, or the one in this package, or the first on PATH,
    or build/bin/mallocmuzero in the working folder or, for an editable install, in a folder above
    this file.

    Raises UsageError if there is none, or if it is of another version than this package.
    """
    binary = _find()
    _check(binary, binary.stat().st_mtime_ns)
    return binary


def packaged_commit() -> str | None:
    """Returns the commit that a wheel was made from; None outside a wheel."""
    try:
        record = json.loads((_PACKAGED / _RECORD).read_text(encoding="utf-8"))
        return str(record["commit"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _find() -> pathlib.Path:
    named = os.environ.get(_VARIABLE)
    if named:
        binary = pathlib.Path(named).resolve()
        if not _is_executable(binary):
            raise UsageError(f"{_VARIABLE}={named}: no such executable")
        if _starts_the_binary(binary):
            raise UsageError(
                f"{_VARIABLE}={named}: the package's own command, which starts the binary: name "
                f"the binary itself, or unset {_VARIABLE}"
            )
        return binary
    above = (pathlib.Path.cwd(), *pathlib.Path(__file__).resolve().parents)
    for candidate in (
        _PACKAGED / _BINARY,
        *(pathlib.Path(folder) / _BINARY for folder in os.get_exec_path()),
        *(folder / _BUILD_TREE_BINARY for folder in above),
    ):
        if _is_executable(candidate) and not _starts_the_binary(candidate):
            return candidate
    raise UsageError(
        f"mallocmuzero not found: install the wheel, or build the binary and put it on PATH or set "
        f"{_VARIABLE}"
    )


def _is_executable(path: pathlib.Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _starts_the_binary(path: pathlib.Path) -> bool:
    """Whether a file is the package's own command, which would start itself for ever."""
    try:
        with path.open("rb") as stream:
            return _STARTER in stream.read(_STARTER_BYTES)
    except OSError:  # a binary may be executable without being readable
        return False


@functools.cache
def _check(binary: pathlib.Path, modified: int) -> None:
    """Raises UsageError unless the binary, last `modified` at that time, fits this package."""
    version, commit = binary_version(binary)
    if version != VERSION:
        raise UsageError(
            f"{binary} is version {version or 'unknown'}, and mallocmuzero-xla is {VERSION}: "
            f"install both from the same sources, or unset {_VARIABLE}"
        )
    expected = packaged_commit()
    if binary.parent == _PACKAGED and commit != expected:
        raise UsageError(
            f"{binary} is from commit {commit}, and the package around it from {expected}: "
            f"install the wheel again"
        )


def binary_version(binary: pathlib.Path) -> tuple[str | None, str | None]:
    """Returns version and commit that `binary --version` prints; None for what it does not say."""
    try:
        result = subprocess.run(
            [binary, "--version"],
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"{binary} does not start on this machine: {error}") from error
    match = _VERSION.match(result.stdout)
    return (match.group(1), match.group(2)) if match else (None, None)
