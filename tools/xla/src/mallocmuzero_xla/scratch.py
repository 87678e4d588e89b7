"""A folder for the files of compiles, in memory if there is room.

A killed process leaves its folder there, which takes memory until the machine starts anew. The next
one removes it. Each folder has a file that its process holds locked for as long as it lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile
from typing import BinaryIO

# The texts and dumps of a large program, for each process. A container often has 64 MiB there.
_TMPFS = pathlib.Path("/dev/shm")
_TMPFS_BYTES = 1 << 30

_PREFIX = "mallocmuzero-xla-"
_LOCK = "lock"


class ScratchFolder:
    """A folder, `path`, that `close` removes."""

    def __init__(self) -> None:
        _remove_abandoned()
        folder = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_in_memory())
        self.path = pathlib.Path(folder.name)
        self._stack = contextlib.ExitStack()
        if self.path.parent == _TMPFS:
            self._stack.enter_context(_locked(self.path / _LOCK))
        self._stack.callback(folder.cleanup)  # first, so that no other process removes it

    def close(self) -> None:
        """Removes the folder and all that is in it."""
        self._stack.close()


def _in_memory() -> pathlib.Path | None:
    """Returns a folder in memory for files; None if there is none, or too little room."""
    if not os.access(_TMPFS, os.W_OK) or shutil.disk_usage(_TMPFS).free < _TMPFS_BYTES:
        return None
    return _TMPFS


def _locked(path: pathlib.Path) -> BinaryIO:
    """Makes a file that is locked as long as it is open, and returns it."""
    unlocked = path.with_suffix(".new")
    stream = unlocked.open("wb")
    fcntl.flock(stream, fcntl.LOCK_EX)
    unlocked.rename(path)
    return stream


def _remove_abandoned() -> None:
    """Removes folders in memory whose processes have ended."""
    for folder in _TMPFS.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.getuid():
                _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: pathlib.Path) -> None:
    # A folder without the file is just being made, or of another release. A pipe is not waited for.
    descriptor = os.open(folder / _LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
