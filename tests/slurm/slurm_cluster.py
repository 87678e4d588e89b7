"""A Slurm of its own on this machine: munged, slurmctld, and a slurmd for each made-up node.

All state is in one folder. The nodes differ in their names, ports and loopback addresses: node nK
is 127.0.0.1K for the roles that run on it.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

from loopback_cluster import free_ports

TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "srun")

# Slurm has its daemons in a folder that not every PATH has.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

# Nodes by partition. Every node has two processors as far as Slurm knows.
PARTITIONS = {"shards": ("n1", "n2"), "gpus": ("n3", "n4"), "actors": ("n5", "n6")}
NODES = tuple(node for nodes in PARTITIONS.values() for node in nodes)

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
# Slurm lets a requeued job start only after its credential has expired.
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=200000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=6
KillWait=30
# A rebooted node may say sooner that it does not have a job.
BatchStartTimeout=1
MessageTimeout=5
GresTypes=gpu
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
"""


def missing_tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]


class SlurmCluster:
    """Starts the daemons and ends them; kills nodes."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self.environment = {
            "PATH": PATH,
            "HOME": os.environ.get("HOME", "/"),
            "SLURM_CONF": str(folder / "slurm.conf"),
        }
        for name in ("munge", "state", "log", *(f"spool/{node}" for node in NODES)):
            (folder / name).mkdir(parents=True)
        (folder / "munge").chmod(0o700)
        self._write_configuration()

    def _write_configuration(self) -> None:
        host = socket.gethostname().partition(".")[0]
        port, *ports = free_ports(1 + len(NODES))
        text = CONFIGURATION.format(
            folder=self._folder, host=host, port=port, user=getpass.getuser()
        )
        gres = ""
        for node, node_port in zip(NODES, ports, strict=True):
            text += f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={node_port}"
            text += " CPUs=2 RealMemory=1000"
            if node in PARTITIONS["gpus"]:
                # Slurm hands out a file as a GPU; no program opens the file.
                text += " Gres=gpu:1"
                gres += f"NodeName={node} Name=gpu File=/dev/null\n"
            text += "\n"
        for name, nodes in PARTITIONS.items():
            text += f"PartitionName={name} Nodes={','.join(nodes)} PriorityTier=1 State=UP\n"
        text += f"PartitionName=urgent Nodes={','.join(NODES)} PriorityTier=10 PreemptMode=OFF"
        (self._folder / "slurm.conf").write_text(text + " State=UP\n")
        (self._folder / "gres.conf").write_text(gres)

    def start(self) -> None:
        munge = self._folder / "munge"
        (munge / "key").write_bytes(os.urandom(1024))
        (munge / "key").chmod(0o600)
        files = [f"--{name}-file={munge / name}" for name in ("key", "pid", "log", "seed")]
        self.run("munged", "--force", f"--socket={munge / 'socket'}", *files)
        self.run("slurmctld", "-c")
        for node in NODES:
            self.start_node(node)

    def start_node(self, node: str) -> None:
        self.run("slurmd", "-N", node)

    def run(self, *command: str) -> str:
        """Runs a command; returns what it prints. Raises CalledProcessError if it fails."""
        ran = subprocess.run(
            command,
            env=self.environment,
            capture_output=True,
            check=False,
            text=True,
            timeout=120,
        )
        if ran.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {ran.stdout}{ran.stderr}")
        return ran.stdout.strip()

    def kill_node(self, node: str) -> int:
        """Kills the slurmd of a node and all processes there at once; returns their number."""
        killed = 0
        # Until nothing starts new processes any longer.
        while victims := list(self._processes(node)):
            for pid in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
            time.sleep(0.05)
        return killed

    def _processes(self, node: str | None) -> Iterator[int]:
        """Yields the processes of a node, or of all nodes and the controller for None."""
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdecimal() and self._is_of(entry, node):
                    yield int(entry.name)

    def _is_of(self, process: pathlib.Path, node: str | None) -> bool:
        # Processes of jobs have Slurm's variables. slurmd and slurmstepd hold their log file open.
        variables = (process / "environ").read_bytes().split(b"\0")
        if f"SLURM_CONF={self._folder / 'slurm.conf'}".encode() in variables:
            wanted = f"SLURMD_NODENAME={node}" if node else ""
            if wanted.encode() in variables or node is None:
                return True
        log = self._folder / "log"
        files = [str(file.readlink()) for file in (process / "fd").iterdir()]
        if node is None:
            return any(file.startswith(f"{log}/") for file in files)
        return str(log / f"slurmd.{node}.log") in files

    def stop(self) -> None:
        """Kills all daemons and all processes of jobs."""
        while victims := [pid for pid in self._processes(None) if pid != os.getpid()]:
            for pid in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((self._folder / "munge/pid").read_text()), signal.SIGTERM)

    def states(self, job: str) -> list[tuple[str, str]]:
        """Returns state and node of each part of a job that Slurm still has."""
        listed = self.run("squeue", "--noheader", "--states=all", "--format=%i %T %N", "-r")
        parts = []
        for line in listed.splitlines():
            name, state, *nodes = line.split()
            if name.replace("+", "_").split("_")[0] == job:
                parts.append((state, nodes[0] if nodes else ""))
        return parts
