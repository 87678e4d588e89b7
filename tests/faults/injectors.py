"""The faults: each begins, lasts for a while, and is repaired."""

from __future__ import annotations

import abc
import contextlib
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import tempfile

from loopback_cluster import Cluster
from proxy import Link, Proxy
from roles import Role


class Fault(abc.ABC):
    """One fault of a kind at one victim. `end` is called once, `seconds` after `begin`."""

    kind: str
    victim: str
    seconds: float

    @abc.abstractmethod
    def begin(self) -> None: ...

    @abc.abstractmethod
    def end(self) -> None: ...


class Kill(Fault):
    """kill -9; the process starts again later."""

    kind = "kill -9"

    def __init__(self, role: Role, random_source: random.Random) -> None:
        self._role = role
        self.victim = role.name
        self.seconds = random_source.uniform(0.1, 3)

    def begin(self) -> None:
        self._role.kill()

    def end(self) -> None:
        self._role.start()


class Terminate(Fault):
    """SIGTERM, which must end the process in order; it starts again at once."""

    kind = "SIGTERM"

    def __init__(self, role: Role, random_source: random.Random) -> None:
        self._role = role
        self.victim = role.name
        self.seconds = random_source.uniform(0, 1)

    def begin(self) -> None:
        self._role.stop()

    def end(self) -> None:
        self._role.start()


class Suspend(Fault):
    """SIGSTOP: the process does not answer, and its connections stay open."""

    kind = "SIGSTOP"

    def __init__(self, role: Role, random_source: random.Random) -> None:
        self._role = role
        self.victim = role.name
        # Shorter and longer than the time in which keep-alive finds a dead peer (15 s).
        self.seconds = random_source.choice([1.0, 3.0, 8.0, 20.0])

    def begin(self) -> None:
        self._role.signal(signal.SIGSTOP)

    def end(self) -> None:
        self._role.signal(signal.SIGCONT)


class BadLink(Fault):
    """Connections that are cut, slow, or pass nothing on."""

    def __init__(self, cluster: Cluster, proxy: Proxy, link: Link, seconds: float) -> None:
        self.kind = f"{link.value} connection"
        self._network = cluster.network
        self._proxy = proxy
        self._link = link
        self.victim = f"port {proxy.port}"
        self.seconds = seconds

    def begin(self) -> None:
        self._network.set_link(self._proxy, self._link)

    def end(self) -> None:
        self._network.set_link(self._proxy, Link.PASS)


class FullDisk(Fault):
    """A shard's disk is full: its file system is filled up."""

    kind = "full disk"

    def __init__(self, shard: Role, data: pathlib.Path, random_source: random.Random) -> None:
        self._filler = data / "filler"
        self.victim = shard.name
        self.seconds = random_source.uniform(2, 6)

    def begin(self) -> None:
        block = b"\0" * (1 << 20)
        with contextlib.suppress(OSError), self._filler.open("wb", buffering=0) as file:
            while file.write(block) == len(block):
                pass
            # Fill the rest, which is smaller than a block.
            while file.write(b"\0" * 512):
                pass

    def end(self) -> None:
        self._filler.unlink(missing_ok=True)


class FileSizeLimit(Fault):
    """A full disk without a file system of its own: no file of the shard may grow."""

    kind = "file size limit"

    def __init__(self, shard: Role, random_source: random.Random) -> None:
        self._shard = shard
        self.victim = shard.name
        self.seconds = random_source.uniform(2, 6)

    def begin(self) -> None:
        self._set(1024)

    def end(self) -> None:
        self._set(resource.RLIM_INFINITY)

    def _set(self, limit: int) -> None:
        if not self._shard.runs():
            return
        with contextlib.suppress(OSError, ValueError):
            _, hard = resource.prlimit(self._shard.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(self._shard.pid, resource.RLIMIT_FSIZE, (limit, hard))


class SmallDisks:
    """Mounts a file system for each shard, if that is permitted."""

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

    def unmount(self) -> None:
        for folder in self._mounted:
            subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


class Faults:
    """Draws faults of all kinds."""

    def __init__(self, cluster: Cluster, disks: SmallDisks, seed: int) -> None:
        self._cluster = cluster
        self._disks = disks
        self._random = random.Random(seed)

    def draw(self, busy: set[str]) -> Fault | None:
        """Returns a fault of a random victim; None if the victim already has one."""
        fault = self._draw()
        return None if fault.victim in busy else fault

    def _draw(self) -> Fault:
        rand = self._random
        role = rand.choice(self._cluster.roles)
        proxy = rand.choice(self._cluster.proxies)
        i = rand.randrange(len(self._cluster.shards))
        shard = self._cluster.shards[i]
        match rand.choices(range(6), weights=[4, 3, 1, 2, 3, 2])[0]:
            case 0:
                return Kill(role, rand)
            case 1:
                return Suspend(role, rand)
            case 2:
                return Terminate(role, rand)
            case 3:
                if self._disks.has(self._cluster.data[i]):
                    return FullDisk(shard, self._cluster.data[i], rand)
                return FileSizeLimit(shard, rand)
            case 4:
                return BadLink(self._cluster, proxy, Link.CUT, rand.uniform(0, 3))
            case _:
                link = rand.choice([Link.SLOW, Link.BLACK_HOLE])
                return BadLink(self._cluster, proxy, link, rand.choice([3.0, 8.0, 20.0]))


def temporary_folder() -> pathlib.Path:
    return pathlib.Path(tempfile.mkdtemp(prefix="mallocmuzero-faults-"))
