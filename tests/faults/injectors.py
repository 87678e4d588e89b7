"""Faults of processes, connections and full disks; draws from all kinds of faults."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable

from credentials import NewCertificate, NewToken
from fault import Fault
from loopback_cluster import Cluster
from namespaces import FirstProcess, can_unshare
from power import Disk, HangingDisk, Library, PowerCut
from proxy import Link, Proxy
from roles import Role


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


# A run of this many seconds or more has disks that hang for a minute.
LONG_RUN_SECONDS = 240.0


class Faults:
    """Draws faults of all kinds."""

    def __init__(self, cluster: Cluster, disks: SmallDisks, seconds: float, seed: int) -> None:
        self._cluster = cluster
        self._disks = disks
        self._random = random.Random(seed)
        self._hang_seconds = [8.0, 60.0] if seconds >= LONG_RUN_SECONDS else [8.0]
        # Roles whose disk can lose power or hang.
        self._watched: list[tuple[Role, Disk]] = []
        self.left_out: list[str] = []
        weights = {
            self._kill: 4,
            self._suspend: 3,
            self._terminate: 1,
            self._fill: 2,
            self._cut: 3,
            self._delay: 2,
            self._cut_power: 3,
            self._hang: 1,
            self._run_as_first: 2,
            self._replace_certificate: 1,
            self._replace_token: 1,
        }
        if compiler := shutil.which("cc") or shutil.which("gcc"):
            self._watch(Library(cluster.folder, compiler))
        else:
            self._leave_out(weights, "no compiler", self._cut_power, self._hang)
        if not can_unshare():
            self._leave_out(weights, "no right to unshare", self._run_as_first)
        self._weights = weights
        # Every kind comes once before one comes again.
        self._first = list(weights)
        self._random.shuffle(self._first)

    def draw(self, busy: set[str]) -> Fault | None:
        """Returns a fault of a random victim; None if the victim already has one."""
        make = self._first[-1] if self._first else self._any()
        fault = make()
        if fault.victim in busy:
            return None
        if self._first:
            self._first.pop()
        return fault

    def cut_power_of(self, shard: Role) -> Fault:
        disk = dict(self._watched)[shard]
        return PowerCut(shard, disk, self._random)

    @property
    def can_cut_power(self) -> bool:
        return bool(self._watched)

    def _any(self) -> Callable[[], Fault]:
        return self._random.choices(list(self._weights), list(self._weights.values()))[0]

    def _watch(self, library: Library) -> None:
        cluster = self._cluster
        folders = [*cluster.data, cluster.run_dir]
        for role, folder in zip([*cluster.shards, cluster.learner], folders, strict=True):
            disk = Disk(library, folder, cluster.folder / "synced" / role.name)
            role.environment |= disk.environment()
            self._watched.append((role, disk))

    def _leave_out(
        self, weights: dict[Callable[[], Fault], int], why: str, *kinds: Callable[[], Fault]
    ) -> None:
        for kind in kinds:
            del weights[kind]
        self.left_out.append(why)

    def _kill(self) -> Fault:
        return Kill(self._role(), self._random)

    def _suspend(self) -> Fault:
        return Suspend(self._role(), self._random)

    def _terminate(self) -> Fault:
        return Terminate(self._role(), self._random)

    def _fill(self) -> Fault:
        i = self._random.randrange(len(self._cluster.shards))
        shard = self._cluster.shards[i]
        data = self._cluster.data[i]
        if self._disks.has(data):
            return FullDisk(shard, data, self._random)
        return FileSizeLimit(shard, self._random)

    def _cut(self) -> Fault:
        return BadLink(self._cluster, self._proxy(), Link.CUT, self._random.uniform(0, 3))

    def _delay(self) -> Fault:
        link = self._random.choice([Link.SLOW, Link.BLACK_HOLE])
        seconds = self._random.choice([3.0, 8.0, 20.0])
        return BadLink(self._cluster, self._proxy(), link, seconds)

    def _cut_power(self) -> Fault:
        """Spares shards that make no promise about power cuts."""
        promised = [
            (role, disk)
            for role, disk in self._watched
            if role not in self._cluster.shards or role is self._cluster.synced_shard
        ]
        return PowerCut(*self._random.choice(promised), self._random)

    def _hang(self) -> Fault:
        role, disk = self._random.choice(self._watched)
        return HangingDisk(self._cluster, role, disk, self._random.choice(self._hang_seconds))

    def _run_as_first(self) -> Fault:
        return FirstProcess(self._role(), self._random)

    def _replace_certificate(self) -> Fault:
        return NewCertificate(self._cluster.credentials)

    def _replace_token(self) -> Fault:
        return NewToken(self._cluster.credentials)

    def _role(self) -> Role:
        return self._random.choice(self._cluster.roles)

    def _proxy(self) -> Proxy:
        return self._random.choice(self._cluster.proxies)


def temporary_folder() -> pathlib.Path:
    return pathlib.Path(tempfile.mkdtemp(prefix="mallocmuzero-faults-"))
