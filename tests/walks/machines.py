"""Machines that share this one: each has a host name, an address, processes and folders of its own.

A machine consists of namespaces (network, processes, mounts, host name). A bridge connects all of
them, in a network namespace that the calling process must have for itself. Needs root.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence

NETWORK = "10.77.0"
BRIDGE = "walks"
NAMESPACES = ["--net", "--pid", "--mount", "--uts", "--ipc"]
# Tells a process that it has a network for itself.
MARK = "MALLOCMUZERO_WALKS_ALONE"
START_SECONDS = 20.0


def can_make_machines() -> bool:
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in ("unshare", "ip")):
        return False
    command = ["unshare", "--net", "--mount", "ip", "link", "add", BRIDGE, "type", "bridge"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def be_alone() -> None:
    """Starts this program again with a network and mounts of its own, unless it has them."""
    if MARK in os.environ:
        return
    os.environ[MARK] = "1"
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


class Machine:
    """One machine. Its folders /etc and /var/lib belong to it; other folders are shared."""

    def __init__(self, number: int, name: str, host: str, folder: pathlib.Path) -> None:
        self.name = name
        self.host = host
        self.address = f"{NETWORK}.{number}"
        self.folder = folder
        self.release = folder / "release"  # a link to the folder of the executables
        folder.mkdir(parents=True)
        self._number = number
        self._holder: subprocess.Popen[bytes] | None = None
        self._role: subprocess.Popen[bytes] | None = None

    def boot(self, hosts: str) -> None:
        """Makes the namespaces. Files of an earlier boot are still there."""
        command = ["unshare", *NAMESPACES, "--fork", "--kill-child", "--mount-proc"]
        self._holder = subprocess.Popen([*command, "sleep", "infinity"])
        pid = self._pid()
        link = f"port{self._number}"
        for arguments in (
            f"link add {link} type veth peer name eth0 netns {pid}",
            f"link set {link} master {BRIDGE} up",
        ):
            subprocess.run(["ip", *arguments.split()], check=True)
        layers = "\n".join(
            f"mkdir -p {self.folder}/{name}/new {self.folder}/{name}/work\n"
            f"mount -t overlay overlay -o lowerdir={path},"
            f"upperdir={self.folder}/{name}/new,workdir={self.folder}/{name}/work {path}"
            for name, path in (("etc", "/etc"), ("var", "/var/lib"))
        )
        self.run(
            f"ip addr add {self.address}/24 dev eth0\nip link set eth0 up\nip link set lo up\n"
            f"hostname {self.host}\n{layers}\nmkdir -p /var/lib/mallocmuzero\n"
            f"cat > /etc/hosts <<'END'\n127.0.0.1 localhost\n{hosts}END\n"
        )

    def lose(self) -> None:
        """Ends all processes of the machine at once. Its files stay."""
        assert self._holder is not None
        self._holder.kill()
        self._holder.wait()
        if self._role is not None:
            self._role.wait()
            self._role = None

    def run(self, script: str, cwd: pathlib.Path | None = None) -> str:
        """Runs a script of bash on the machine; returns its output."""
        ran = subprocess.run(
            [*self._enter(cwd), "bash", "-euo", "pipefail", "-c", script],
            check=False,
            capture_output=True,
            text=True,
            env=self._environment(),
        )
        if ran.returncode != 0:
            raise RuntimeError(f"{self.name}: {script}: {ran.stdout}{ran.stderr}")
        return ran.stdout

    def start(self, command: Sequence[str]) -> None:
        """Starts a role, whose log is NAME.log beside the folder."""
        with self.log.open("ab") as log:
            script = 'echo $$ > /var/lib/role.pid; exec "$@"'
            self._role = subprocess.Popen(
                [*self._enter(None), "bash", "-c", script, "bash", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(),
            )

    def stop(self) -> int:
        """Sends SIGTERM to the role; returns its exit code."""
        assert self._role is not None
        if self._role.poll() is None:
            self.run("kill -TERM $(cat /var/lib/role.pid)")
        code = self._role.wait(90)
        self._role = None
        return code

    def exit_code(self) -> int | None:
        """Returns None while the role runs, and before it has started."""
        return None if self._role is None else self._role.poll()

    @property
    def var(self) -> pathlib.Path:
        """Returns where the files are that the machine has made in its /var/lib."""
        return self.folder / "var/new"

    @property
    def log(self) -> pathlib.Path:
        return self.folder.parent / f"{self.name}.log"

    def _pid(self) -> int:
        assert self._holder is not None
        children = pathlib.Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if found := children.read_text().split():
                return int(found[0])
            time.sleep(0.01)
        raise TimeoutError(f"{self.name} does not start")

    def _enter(self, cwd: pathlib.Path | None) -> list[str]:
        folder = f"--wd={cwd or self.folder}"
        return ["nsenter", f"--target={self._pid()}", *NAMESPACES, folder]

    def _environment(self) -> dict[str, str]:
        return os.environ | {"PATH": f"{self.release}:{os.environ['PATH']}"}


class Machines:
    """All machines, by name."""

    def __init__(self, folder: pathlib.Path, hosts: dict[str, str]) -> None:
        subprocess.run(["ip", "link", "add", BRIDGE, "type", "bridge"], check=True)
        subprocess.run(["ip", "link", "set", BRIDGE, "up"], check=True)
        self.all = {
            name: Machine(number, name, host, folder / name)
            for number, (name, host) in enumerate(hosts.items(), 1)
        }
        self.hosts = "".join(f"{m.address} {m.host}\n" for m in self.all.values())

    def boot(self) -> None:
        for machine in self.all.values():
            machine.boot(self.hosts)

    def __getitem__(self, name: str) -> Machine:
        return self.all[name]
