"""Faults of processes: kill -9, SIGTERM, SIGSTOP."""

from __future__ import annotations

import random
import signal

from fault import Fault
from loopback_cluster import Cluster
from roles import Role


class Kill(Fault):
    """kill -9; the process starts again later."""

    def __init__(self, cluster: Cluster, role: Role, rand: random.Random) -> None:
        self._role = role
        is_learner = role in cluster.learners
        self.kind = f"kill -9 of {role.name}" if is_learner else "kill -9"
        self.victim = role.name
        self.seconds = rand.uniform(0.1, 3)

    def begin(self) -> None:
        self._role.kill()

    def end(self) -> None:
        self._role.start()


class Terminate(Fault):
    """SIGTERM, which must end the process in order; it starts again at once."""

    kind = "SIGTERM"

    def __init__(self, cluster: Cluster, role: Role, rand: random.Random) -> None:
        self._role = role
        self.victim = role.name
        self.touches = cluster.group_of(role)
        self.seconds = rand.uniform(0, 1)

    def begin(self) -> None:
        self._role.stop()

    def end(self) -> None:
        self._role.start()


class Suspend(Fault):
    """SIGSTOP: the process does not answer, and its connections stay open."""

    kind = "SIGSTOP"

    def __init__(self, role: Role, rand: random.Random) -> None:
        self._role = role
        self.victim = role.name
        # Shorter and longer than the time in which keep-alive finds a dead peer (15 s).
        self.seconds = rand.choice([1.0, 3.0, 8.0, 20.0])

    def begin(self) -> None:
        self._role.signal(signal.SIGSTOP)

    def end(self) -> None:
        self._role.signal(signal.SIGCONT)
