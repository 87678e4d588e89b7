"""Files of compiler options, one name=value a line, which optimize and verify write."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Mapping

from mallocmuzero_xla.compiler.store import behind_links, takes_bytes_only, write_atomically
from mallocmuzero_xla.errors import UsageError

_LINE = re.compile(r"(\w+)=(.*)")


def read_options(path: str | os.PathLike[str]) -> dict[str, str]:
    """Returns the options of a file, for jax.jit(..., compiler_options=...); may be empty.

    Raises UsageError if the file cannot be read or has another format.
    """
    try:
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{os.fspath(path)}: cannot be read ({error})") from error
    options = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise UsageError(f"{os.fspath(path)}:{number}: expected name=value, a compiler option")
        options[match.group(1)] = match.group(2)
    return options


def write_options(path: pathlib.Path, options: Mapping[str, str]) -> pathlib.Path | None:
    """Writes a file of options atomically.

    If `options` is empty and the file holds options, those are kept in another file beside it,
    whose path is returned.
    """
    kept = None
    if not options and path.is_file() and path.stat().st_size and not takes_bytes_only(path):
        kept = path.with_name(f"{path.name}.before")
        write_atomically(kept, path.read_bytes())
    lines = [f"{name}={value}\n" for name, value in options.items()]
    write_atomically(path, "".join(lines).encode("utf-8"))
    return kept


def check_options_output(path: pathlib.Path) -> None:
    """Raises UsageError if options must not be written to `path`; call it before the search."""
    check_output(path)
    if path.is_file() and not takes_bytes_only(path):
        try:
            read_options(path)
        except UsageError as error:
            raise other_file_error(path, "a file of compiler options") from error


def check_output(path: pathlib.Path) -> None:
    """Raises UsageError if no file can be written to `path`."""
    if path.is_dir():
        raise UsageError(f"--output {path}: a folder; expected a file")
    if not takes_bytes_only(path):
        try:
            target = behind_links(path)
        except OSError as error:
            raise UsageError(f"--output {path}: {error.strerror}") from error
        check_folder(target.parent, path)
    elif not os.access(path, os.W_OK):
        raise UsageError(f"--output {path}: cannot be written")


def other_file_error(path: pathlib.Path, expected: str, found: str = "") -> UsageError:
    """Returns the error of an output at which there is a file of another kind than `expected`."""
    return UsageError(
        f"--output {path}: a file of something else is there{found and f' ({found})'}; expected a "
        f"new name, or {expected}"
    )


def check_folder(folder: pathlib.Path, output: pathlib.Path | None = None) -> None:
    """Raises UsageError if `output`, or by default any file, cannot be written in `folder`."""
    require_folder(folder, f"--output {output or folder}")


def require_folder(folder: pathlib.Path, named: str) -> None:
    """Raises UsageError, which begins with `named`, if no file can be written in `folder`."""
    parent = _existing(folder.absolute())
    if not parent.is_dir():
        raise UsageError(f"{named}: {parent} is a file; expected a folder")
    if not os.access(parent, os.W_OK):
        raise UsageError(f"{named}: cannot be written")


def _existing(folder: pathlib.Path) -> pathlib.Path:
    """Returns `folder` or its nearest parent that exists."""
    return folder if folder.exists() else _existing(folder.parent)
