"""Draws faults of all kinds."""

from __future__ import annotations

import pathlib
import random
import shutil
from collections.abc import Callable

from clocks import Clock, ClockJump
from connections import BadLink
from credentials import NewCertificate, NewToken
from disks import FileSizeLimit, FullDisk, SmallDisks
from fault import Fault
from loopback_cluster import Cluster
from namespaces import FirstProcess, can_unshare
from power import Disk, HangingDisk, Library, PowerCut
from processes import Kill, Suspend, Terminate
from proxy import Link, Proxy
from roles import Role

# A run of this many seconds or more has disks that hang for a minute.
LONG_RUN_SECONDS = 240.0


# How often each kind comes in relation to the others, by its name on the command line. The method
# of Faults that makes it has the same name.
WEIGHTS = {
    "kill": 4,
    "kill-learner": 1,
    "suspend": 3,
    "terminate": 1,
    "fill-shard": 2,
    "fill-learner": 1,
    "cut": 3,
    "delay": 2,
    "cut-power": 3,
    "hang": 1,
    "set-clock": 2,
    "run-as-first": 2,
    "replace-certificate": 1,
    "replace-token": 1,
}


class Faults:
    """Draws faults of all kinds, or of those that are named.

    Raises RuntimeError if the machine permits none of them.
    """

    def __init__(
        self, cluster: Cluster, disks: SmallDisks, seconds: float, seed: int, named: list[str]
    ) -> None:
        self._cluster = cluster
        self._disks = disks
        self._random = random.Random(seed)
        self._hang_seconds = [8.0, 60.0] if seconds >= LONG_RUN_SECONDS else [8.0]
        # Roles whose disk can lose power or hang.
        self._watched: list[tuple[Role, Disk]] = []
        self._clocks: list[tuple[Role, Clock]] = []
        self.left_out: list[str] = []
        self._weights = {kind: WEIGHTS[kind] for kind in named or WEIGHTS}
        if compiler := shutil.which("cc") or shutil.which("gcc"):
            self._watch(Library(cluster.folder, compiler))
        else:
            self._leave_out("no compiler", "cut-power", "hang")
        if cluster.clock_library is not None:
            self._give_clocks(cluster.clock_library)
        else:
            self._leave_out("no compiler for clocks", "set-clock")
        if not can_unshare():
            self._leave_out("no right to unshare", "run-as-first")
        if not self._weights:
            raise RuntimeError(f"the machine permits none of the faults: {self.left_out}")
        # Every kind comes once before one comes again.
        self._first = list(self._weights)
        self._random.shuffle(self._first)

    def draw(self, busy: set[str]) -> Fault | None:
        """Returns a fault of a random victim.

        Returns None if an active fault touches the victim, or if its process does not run.
        """
        fault = self._make(self._first[-1] if self._first else self._any())
        away = {role.name for role in self._cluster.roles if not role.runs()}
        if fault.all_touched() & (busy | away):
            return None
        if self._first:
            self._first.pop()
        return fault

    def cut_power_of(self, shard: Role) -> Fault:
        disk = dict(self._watched)[shard]
        return PowerCut(shard, disk, self._random)

    @property
    def not_caused(self) -> list[str]:
        """The kinds that have not come yet, by their names on the command line."""
        return sorted(self._first)

    @property
    def can_cut_power(self) -> bool:
        return bool(self._watched)

    def _make(self, kind: str) -> Fault:
        make: Callable[[], Fault] = getattr(self, f"_{kind.replace('-', '_')}")
        return make()

    def _any(self) -> str:
        return self._random.choices(list(self._weights), list(self._weights.values()))[0]

    def _watch(self, library: Library) -> None:
        cluster = self._cluster
        folders = [*cluster.data, cluster.run_dir]
        for role, folder in zip([*cluster.shards, cluster.learner], folders, strict=True):
            disk = Disk(library, folder, cluster.folder / "synced" / role.name)
            role.add_environment(disk.environment())
            self._watched.append((role, disk))

    def _give_clocks(self, library: pathlib.Path) -> None:
        for role in self._cluster.roles:
            clock = Clock(library, self._cluster.folder / f"{role.name}.clock")
            role.add_environment(clock.environment())
            self._clocks.append((role, clock))

    def _leave_out(self, why: str, *kinds: str) -> None:
        for kind in kinds:
            self._weights.pop(kind, None)
        self.left_out.append(why)

    def _kill(self) -> Fault:
        return Kill(self._cluster, self._role(), self._random)

    def _kill_learner(self) -> Fault:
        return Kill(self._cluster, self._random.choice(self._cluster.learners), self._random)

    def _suspend(self) -> Fault:
        return Suspend(self._role(), self._random)

    def _terminate(self) -> Fault:
        return Terminate(self._cluster, self._role(), self._random)

    def _fill_shard(self) -> Fault:
        i = self._random.randrange(len(self._cluster.shards))
        return self._fill(self._cluster.shards[i], self._cluster.data[i])

    def _fill_learner(self) -> Fault:
        return self._fill(self._cluster.learner, self._cluster.run_dir)

    def _fill(self, role: Role, folder: pathlib.Path) -> Fault:
        if self._disks.has(folder):
            return FullDisk(self._cluster, role, folder, self._random)
        return FileSizeLimit(role, self._random)

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

    def _set_clock(self) -> Fault:
        return ClockJump(*self._random.choice(self._clocks), self._random)

    def _run_as_first(self) -> Fault:
        role = self._role()
        return FirstProcess(role, self._cluster.group_of(role), self._random)

    def _replace_certificate(self) -> Fault:
        return NewCertificate(self._cluster.credentials)

    def _replace_token(self) -> Fault:
        return NewToken(self._cluster.credentials)

    def _role(self) -> Role:
        return self._random.choice(self._cluster.roles)

    def _proxy(self) -> Proxy:
        return self._random.choice(self._cluster.proxies)
