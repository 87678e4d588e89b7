"""A capture folder: the texts of one program, `<variant>.hlo.zst`, and capture.json."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import pathlib
import re
import secrets
import stat
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import zstandard

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.scoped_limit import fast_memory_bytes
from mallocmuzero_xla.compiler.variants import Variant
from mallocmuzero_xla.environment import compiler_versions, recorded_settings
from mallocmuzero_xla.errors import UsageError

_FORMAT = 1
RECORD = "capture.json"
SUFFIX = ".hlo.zst"

_ZSTD_LEVEL = 19

# As of the binary. A damaged file may say that it has any number of bytes.
_MOST_TEXT_BYTES = 4 << 30

_MOST_LINKS = 40  # as in Linux

# A name has 255 bytes at most, and hashes and suffixes take up to 150 of them.
_LONGEST_STEM = 100


class CaptureStore:
    """The captured variants of one program for one chip. Any thread may call its methods.

    A text is reused if it is complete and capture.json names the same lowered program, chip,
    compiler versions and environment. Other texts are captured anew. Several processes may capture
    the same program into one folder: each keeps what the others have recorded.
    """

    def __init__(self, folder: pathlib.Path, name: str, chip: Chip) -> None:
        self.folder = folder
        self.name = name
        self._chip = chip
        self._lock = threading.Lock()
        self._head: dict[str, Any] = {
            "format": _FORMAT,
            "program": name,
            "chip": chip.name,
            "topology": chip.topology_name,
            **_compiler(),
        }
        self._known: set[str] = set()  # variants in the file, whole or not, when it was last read
        self._record = self._read_record()

    def path(self, variant: Variant) -> pathlib.Path:
        """Returns the path of the text of `variant`."""
        return self._text_of(variant.name)

    def has(self, variant: Variant) -> bool:
        """Whether `variant` has been captured."""
        return variant.name in self._record["variants"] and self.path(variant).is_file()

    def read(self, variant: Variant) -> str:
        """Returns the text of a captured variant."""
        return read_text(self.path(variant))

    def seconds(self, variant: Variant) -> float:
        """Returns the duration of the compile of a captured variant, in seconds."""
        return float(self._record["variants"][variant.name]["seconds"])

    @property
    def fast_memory_bytes(self) -> int | None:
        """Returns the fast memory for tensors; None for the size in the chip's hardware file."""
        found = self._record.get("fast_memory_bytes")
        return None if found is None else int(found)

    def check_owner(self) -> None:
        """Raises UsageError if the folder belongs to another program or chip.

        Texts of another version of the program are replaced; those of another program are not.
        """
        path = self.folder / RECORD
        record = read_json(path) if path.is_file() else self._head
        owner = (record.get("program"), record.get("chip"), record.get("topology"))
        if owner != (self.name, self._chip.name, self._chip.topology_name):
            raise UsageError(
                f"{self.folder}: holds the texts of {owner[0]} for {owner[1]} ({owner[2]}): name "
                f"another output, or remove it"
            )

    @property
    def failures(self) -> dict[str, str]:
        """Returns the reasons for missing variants, by name."""
        return {name: entry["error"] for name, entry in self._record["failures"].items()}

    def begin(self, program: LoweredProgram) -> None:
        """Sets the lowered program of the capture; forgets variants of any other program."""
        with self._lock, _alone(self.folder):
            if self._record.get("lowered_sha256") != program.sha256:
                self._record = self._read_record()  # another process may have begun
            if self._record.get("lowered_sha256") != program.sha256:
                self._record = self._empty_record()
                self._remove_texts()
            self._record |= {
                "function": program.function,
                "lowered_sha256": program.sha256,
                "fast_memory_bytes": fast_memory_bytes(self._chip, program.base_options),
            }
            self._write_record()

    def add_text(self, variant: Variant, text: str, seconds: float) -> None:
        """Stores the text of a variant that was compiled elsewhere without further options."""
        write_text(self.path(variant), text)
        self.add_result(variant, {}, seconds)

    def add_result(self, variant: Variant, options: dict[str, str], seconds: float) -> None:
        """Records that the text of `variant` has been written."""
        with self._lock, _alone(self.folder):
            self._record["variants"][variant.name] = {"options": options, "seconds": seconds}
            self._record["failures"].pop(variant.name, None)
            self._write_record()

    def add_failure(self, variant: Variant, options: dict[str, str], error: str) -> None:
        """Records that `variant` could not be captured."""
        with self._lock, _alone(self.folder):
            self._record["failures"][variant.name] = {"options": options, "error": error}
            self._write_record()

    def _empty_record(self) -> dict[str, Any]:
        return {**self._head, "variants": {}, "failures": {}}

    def _read_record(self) -> dict[str, Any]:
        path = self.folder / RECORD
        if not path.is_file():
            return self._empty_record()
        try:
            record = read_json(path)
        except ValueError as error:
            raise UsageError(f"{path}: not JSON ({error}): remove it to capture anew") from error
        if not _has_parts(record):
            raise UsageError(f"{path}: not a record of captured texts: remove it to capture anew")
        if any(record.get(name) != value for name, value in self._head.items()):
            return self._empty_record()
        if not _has_entries(record):
            raise UsageError(f"{path}: damaged: remove it to capture anew")
        self._known = set(record["variants"])
        whole = {name: entry for name, entry in record["variants"].items() if self._is_whole(name)}
        return {**record, "variants": whole}

    def _text_of(self, name: str) -> pathlib.Path:
        return self.folder / f"{name}{SUFFIX}"

    def _is_whole(self, name: str) -> bool:
        try:
            read_text(self._text_of(name))
        except UsageError:
            return False
        return True

    def _remove_texts(self) -> None:
        for path in self.folder.glob(f"*{SUFFIX}"):
            path.unlink(missing_ok=True)  # another process may have removed it

    def _write_record(self) -> None:
        self._add_what_others_have_recorded()
        text = json.dumps(self._record, indent=1, sort_keys=True) + "\n"
        write_atomically(self.folder / RECORD, text.encode("utf-8"))

    def _add_what_others_have_recorded(self) -> None:
        """Adds variants that another process has captured since the file was last read."""
        own = self._record
        try:
            there = read_json(self.folder / RECORD)
        except (OSError, ValueError):
            return
        names = (*self._head, "lowered_sha256")
        if not _has_parts(there) or any(there.get(name) != own.get(name) for name in names):
            return
        if not _has_entries(there):
            return
        new = {name: entry for name, entry in there["variants"].items() if name not in self._known}
        self._known |= new.keys()
        variants = {**new, **own["variants"]}
        failures = {**there["failures"], **own["failures"]}
        left = {name: entry for name, entry in failures.items() if name not in variants}
        self._record = {**own, "variants": variants, "failures": left}


@contextlib.contextmanager
def _alone(folder: pathlib.Path) -> Iterator[None]:
    """Keeps other processes from recording in a folder meanwhile, if its file system can."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _has_parts(record: Any) -> bool:
    return isinstance(record, dict) and all(
        isinstance(record.get(name), dict) for name in ("variants", "failures")
    )


def _has_entries(record: dict[str, Any]) -> bool:
    """Whether what a record with the head of this version holds is as this version writes it."""
    variants, failures = record["variants"].values(), record["failures"].values()
    return (
        isinstance(record.get("fast_memory_bytes"), int | None)
        and all(isinstance(entry, dict) for entry in (*variants, *failures))
        and all(isinstance(entry.get("seconds"), int | float) for entry in variants)
        and all(isinstance(entry.get("error"), str) for entry in failures)
    )


def stem_of(program: LoweredProgram) -> str:
    """Returns what the names of a program's files in a cache begin with."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", program.function)[:_LONGEST_STEM] or "function"


def say_not_used(problem: str) -> None:
    """Says on stderr why something in a cache is not used."""
    print(f"mallocmuzero-xla: {problem}; not used", file=sys.stderr)


def folder_of(captures: pathlib.Path, program: LoweredProgram) -> pathlib.Path:
    """Returns the folder of a program's texts in `captures`, a folder of a cache.

    Each compiler has a folder of its own, and so have variables that reach it: searches under two
    of them may run at once, and would remove the texts of each other.
    """
    digest = hashlib.sha256(json.dumps(_compiler(), sort_keys=True).encode()).hexdigest()[:16]
    return captures / f"{program.sha256}-{digest}"


def _compiler() -> dict[str, Any]:
    return {"versions": compiler_versions(), "environment": recorded_settings()}


def read_json(path: pathlib.Path) -> Any:
    """Returns the content of a JSON file; raises OSError, or ValueError if it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError("too many brackets inside each other") from error


def read_text(path: pathlib.Path) -> str:
    """Reads a file of `write_text`; raises UsageError if it is missing or damaged."""
    try:
        content = path.read_bytes()
        if zstandard.frame_content_size(content) > _MOST_TEXT_BYTES:
            raise zstandard.ZstdError(f"more than {_MOST_TEXT_BYTES} bytes")
        return zstandard.ZstdDecompressor().decompress(content).decode("utf-8")
    except (OSError, zstandard.ZstdError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a captured text ({error})") from error


def write_text(path: pathlib.Path, text: str, level: int = _ZSTD_LEVEL) -> None:
    """Writes a text, compressed at a level of zstd, as `write_atomically` does."""
    compressor = zstandard.ZstdCompressor(level=level)
    write_atomically(path, compressor.compress(text.encode("utf-8")))


def takes_bytes_only(path: pathlib.Path) -> bool:
    """Whether there is a pipe, a device or the like, which can only be written to, not replaced.

    An open file of this process is such a path, too: a shell may have redirected /dev/stdout.
    """
    if _own_descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _own_descriptor(path: pathlib.Path) -> int | None:
    """Returns the open file of this process that `path` names, as /dev/stdout does, or None."""
    try:
        target = behind_links(path)
    except OSError:
        return None
    return int(target.name) if _is_open_here(target) else None


def _is_open_here(path: pathlib.Path) -> bool:
    return str(path.parent) in ("/proc/self/fd", "/dev/fd") and path.name.isdecimal()


def behind_links(path: pathlib.Path) -> pathlib.Path:
    """Returns the path that `path` leads to, which need not exist.

    Stops at an open file of this process, such as /proc/self/fd/1, which is a link of its own.
    Raises OSError for links in a circle, and for a link that another user has made in a folder such
    as /tmp. The kernel has the same rule (fs.protected_symlinks), and does not see links that are
    followed here.
    """
    target = path
    for _ in range(_MOST_LINKS):
        if _is_open_here(target) or not target.is_symlink():
            return target
        if _is_of_another_user(target):
            raise PermissionError(errno.EACCES, "a link of another user", str(path))
        target = target.parent / target.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _is_of_another_user(link: pathlib.Path) -> bool:
    own, folder = link.lstat(), link.parent.stat()
    for_all = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    return bool(for_all) and own.st_uid not in (os.geteuid(), folder.st_uid)


def write_atomically(path: pathlib.Path, content: bytes) -> None:
    """Writes `content` to `path`: a reader sees all of it or nothing, even after a power cut.

    A link stays, and what it leads to is written (`behind_links`). What `takes_bytes_only` gets the
    bytes.
    """
    write_together({path: content})


def write_together(contents: Mapping[pathlib.Path, bytes]) -> None:
    """Writes files as `write_atomically` does. If one has no room, all stay as they are."""
    partials: dict[pathlib.Path, tuple[pathlib.Path, pathlib.Path]] = {}  # and their targets
    path = None
    try:
        for path, content in contents.items():
            if not takes_bytes_only(path):
                target = behind_links(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                # Others may write here, too: nobody can foresee the name, and "x" follows no link.
                partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
                partials[path] = partial, target
                _write_to_disk(partial, content)
        for path, content in contents.items():
            if path in partials:
                partial, target = partials[path]
                partial.replace(target)
            else:
                _write_into(path, content)
    except BaseException as error:
        for partial, _ in partials.values():
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise type(error)(error.errno, error.strerror, str(path)) from error  # not of a partial
        raise


def _write_into(path: pathlib.Path, content: bytes) -> None:
    # A second open of a redirected file would begin at its start.
    own = _own_descriptor(path)
    with path.open("wb") if own is None else os.fdopen(os.dup(own), "wb") as stream:
        stream.write(content)


def _write_to_disk(path: pathlib.Path, content: bytes) -> None:
    with path.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
