"""Full disks: small file systems that are filled up, and limits of file sizes."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pathlib
import random
import resource
import shutil
import subprocess

from fault import Fault
from loopback_cluster import Cluster
from roles import Role

# Bytes that others may send to a shard while its disk is full. Players have at most two rounds of
# games each that wait, and those of a shard that was away before. The learner draws, and sends
# priorities, until the rate limiter stops it. In an hour, 53 full disks got up to 1.01 MiB. A
# player that sent its games again and again would exceed the limit within seconds.
MOST_SENT = 2 << 20


class FullDisk(Fault):
    """The disk of a shard or of the learner is full: its file system is filled up."""

    def __init__(
        self, cluster: Cluster, role: Role, folder: pathlib.Path, rand: random.Random
    ) -> None:
        self._cluster = cluster
        self._role = role
        self._filler = folder / "filler"
        self._sent = 0
        is_shard = role in cluster.shards
        self.kind = f"full disk of {'a shard' if is_shard else 'the learner'}"
        self.victim = role.name
        # The learner notices it at its next checkpoint.
        self.seconds = rand.uniform(2, 6) if is_shard else rand.uniform(6, 12)

    def begin(self) -> None:
        self._sent = self._bytes_sent()
        block = b"\0" * (1 << 20)
        try:
            with self._filler.open("wb", buffering=0) as file:
                while file.write(block) == len(block):
                    pass
                # Fill the rest, which is smaller than a block.
                while file.write(b"\0" * 512):
                    pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    def end(self) -> None:
        self._filler.unlink(missing_ok=True)
        sent = self._bytes_sent() - self._sent
        self._cluster.sent_to_full_disks.append(sent)
        if sent > MOST_SENT:
            self._role.unexpected.append(
                f"{self._role.name}: others sent {sent} bytes while its disk was full"
            )

    def _bytes_sent(self) -> int:
        """Returns the bytes that others have sent to the shard."""
        if self._role not in self._cluster.shards:
            return 0
        return self._cluster.proxy_of(self._role).bytes_sent


class FileSizeLimit(Fault):
    """A full disk without a file system of its own: no file of the process may grow."""

    kind = "file size limit"

    def __init__(self, role: Role, rand: random.Random) -> None:
        self._role = role
        self.victim = role.name
        self.seconds = rand.uniform(2, 6)

    def begin(self) -> None:
        self._set(1024)

    def end(self) -> None:
        self._set(None)

    def _set(self, limit: int | None) -> None:
        """Sets the limit; for None, the largest that is permitted."""
        if not self._role.runs():
            return
        with contextlib.suppress(ProcessLookupError):
            _, hard = resource.prlimit(self._role.pid, resource.RLIMIT_FSIZE)
            soft = hard if limit is None else limit
            resource.prlimit(self._role.pid, resource.RLIMIT_FSIZE, (soft, hard))


def hide_mounts() -> None:
    """Gives this process mounts of its own, if that is permitted.

    They end with it and its children, even if it is killed. Call it before other threads start.
    """
    if shutil.which("mount") is None:
        return
    # CLONE_NEWNS of linux/sched.h.
    if ctypes.CDLL(None).unshare(0x00020000) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=False)


class SmallDisks:
    """Mounts a file system on each folder, if that is permitted."""

    def __init__(self, folders: list[pathlib.Path], mebibytes: int) -> None:
        self._mounted: list[pathlib.Path] = []
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            if os.geteuid() != 0 or shutil.which("mount") is None:
                continue
            command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                self._mounted.append(folder)

    def has(self, folder: pathlib.Path) -> bool:
        return folder in self._mounted

    def unmount(self, keep: bool) -> None:
        """Unmounts all; leaves their files in the folders if `keep`."""
        for folder in self._mounted:
            kept = folder.with_name(f"{folder.name}.kept")
            if keep:
                shutil.copytree(folder, kept, symlinks=True)
            subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)
            if keep:
                kept.replace(folder)
        self._mounted.clear()
