"""Roles as the first process of a PID namespace, as in a container."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import shutil
import subprocess

from fault import Fault
from roles import Role

# The time since boot differs from that of other processes by an hour, as on another machine.
WRAPPER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--time"]
WRAPPER += ["--monotonic", "3600", "--boottime", "3600"]


def can_unshare() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    return subprocess.run([*WRAPPER, "true"], capture_output=True, check=False).returncode == 0


def zombies_of(pid: int) -> list[str]:
    """Returns the children of a process that have ended and that it has not waited for."""
    zombies = []
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        # The thread or the child may end meanwhile.
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                status = pathlib.Path(f"/proc/{child}/status").read_text()
                if "State:\tZ" in status:
                    zombies.append(status.splitlines()[0])
    return zombies


class FirstProcess(Fault):
    """The process runs as PID 1, for which SIGTERM does nothing by default; it must end it all the
    same. It starts again as an ordinary process."""

    kind = "SIGTERM as PID 1"

    def __init__(self, role: Role, group: frozenset[str], rand: random.Random) -> None:
        self._role = role
        self.victim = role.name
        self.touches = group
        self.seconds = rand.uniform(2, 6)

    def begin(self) -> None:
        self._role.stop()
        self._role.start(WRAPPER)

    def end(self) -> None:
        self._role.wait_for_log()
        if self._role.runs() and (zombies := zombies_of(self._role.pid)):
            self._role.unexpected.append(f"{self._role.name} leaves zombies as PID 1: {zombies}")
        self._role.note_end()
        self._role.stop()
        self._role.start()
