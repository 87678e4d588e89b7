"""A cluster that `mallocmuzero launch slurm` has submitted, and what was seen of it."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import sys
import time
from collections.abc import Callable
from typing import Any

from audit import acknowledged_ids
from faults import import_program
from loopback_cluster import free_ports
from slurm_cluster import SlurmCluster

ACTORS = 2
SHARDS = ("s0", "s1")

CONFIGURATION = """
security {{ token_file: "token" allow_clear_text_token: true }}
learner {{
  address: "127.0.0.1:{ports[0]}"
  metrics_address: "127.0.0.1:{ports[1]}"
  run_dir: "run"
  workloads: "gpt_small.program"
  processes: {processes}
  rendezvous_address: "127.0.0.1:{ports[3]}"
  publish_updates: 10
  checkpoint_seconds: 2
  search {{ simulations: 2 }}
  options {{ batch_size: 32 unroll_steps: 2 }}
}}
actor {{
  count: {actors}
  games_in_flight: 4
  metrics_address: "127.0.0.1:{ports[2]}"
  audit_dir: "audit"
}}
"""
SHARD = """
replay {{
  name: "{name}"
  address: "127.0.0.1:{port}"
  mode: DURABLE
  max_positions: 20000
  rate_limit {{ samples_per_insert: 0.2 min_positions: 500 error_buffer: 5000 }}
}}
"""
SITE = """
name: "test"
shared_dir: "shared"
local_dir: "{folder}/disks/$SLURMD_NODENAME"
local_shards: {local}
host_command: "echo 127.0.0.1${{SLURMD_NODENAME#n}}"
time_limit: "60"
drain_seconds: 60
copy_seconds: 5
replay {{ partition: "shards" cpus: 1 }}
learner {{ partition: "gpus" cpus: 1 gpus: 1 }}
actor {{ partition: "actors" cpus: 1 }}
"""


@dataclasses.dataclass
class Options:
    binary: pathlib.Path
    patience: float  # seconds to wait for a condition
    is_hurried: bool
    processes: int  # of the learner
    local_shards: bool


class Run:
    """The cluster under Slurm, and what was seen of it."""

    def __init__(self, folder: pathlib.Path, options: Options) -> None:
        self.options = options
        self.binary = options.binary
        self.folder = folder
        self.shared = folder / "shared"
        self.slurm = SlurmCluster(folder / "slurm")
        self.seen: list[dict[str, Any]] = []
        self._begin = time.monotonic()
        self.servers = ""  # ids of the jobs
        self.actors = ""

    def write_configuration(self) -> None:
        import_program(self.binary, self.folder)
        token = self.folder / "token"
        token.write_text("a secret of 16 characters or more\n")
        token.chmod(0o600)
        ports = free_ports(4 + len(SHARDS))
        text = CONFIGURATION.format(ports=ports, actors=ACTORS, processes=self.options.processes)
        for name, port in zip(SHARDS, ports[4:], strict=True):
            text += SHARD.format(name=name, port=port)
        (self.folder / "cluster.textproto").write_text(text)
        (self.folder / "site.textproto").write_text(
            SITE.format(folder=self.folder, local=str(self.options.local_shards).lower())
        )

    def launch(self, *flags: str) -> str:
        config, site = self.folder / "cluster.textproto", self.folder / "site.textproto"
        command = ("launch", "slurm", "--config", str(config), "--site", str(site), *flags)
        return self.slurm.run(str(self.binary), *command)

    def submit(self) -> None:
        printed = self.launch()
        found = re.search(r"^jobs +(\d+) (\d+)$", printed, re.MULTILINE)
        if found is None:
            raise RuntimeError(f"launch printed no jobs: {printed}")
        self.servers, self.actors = found[1], found[2]

    def note(self, what: str) -> None:
        """Notes that something was seen, with the state of the learning at that time."""
        entry = {
            "seconds": round(time.monotonic() - self._begin, 1),
            "what": what,
            "step": self.step(),
            "acknowledged": len(self.acknowledged()),
        }
        self.seen.append(entry)
        print(entry, file=sys.stderr)

    def wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + self.options.patience
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(
                    f"not within {self.options.patience:.0f} s: {what}; jobs: {self.jobs()};"
                    f" servers: {self._tail('servers')} {self._tail('learner.0')}"
                )
            time.sleep(0.3)

    def _tail(self, log: str) -> str:
        try:
            return " / ".join((self.shared / f"logs/{log}.log").read_text().splitlines()[-4:])
        except OSError:
            return ""

    def jobs(self) -> str:
        return self.slurm.run("squeue", "--noheader", "--format=%i %T %N %r", "-r")

    def step(self) -> float:
        """Returns the updates that the learner has written to its metrics; 0: none yet."""
        try:
            lines = (self.folder / "run/metrics.jsonl").read_text().splitlines()
            return float(json.loads(lines[-1]).get("updates", 0)) if lines else 0.0
        except (OSError, ValueError):
            return 0.0

    def acknowledged(self) -> set[str]:
        """Returns the ids of games that a shard has acknowledged, as the actors wrote them down."""
        return acknowledged_ids(self.folder / "audit")

    def learns_on(self, after: str) -> None:
        """Waits for further updates and further acknowledged games."""
        games = len(self.acknowledged())
        steps: list[float] = []

        def has_advanced() -> bool:
            if step := self.step():
                steps.append(step)
            # The learner may have gone back to its last checkpoint meanwhile.
            return bool(steps) and steps[-1] > min(steps)

        has_advanced()
        self.wait_until(f"games after {after}", lambda: len(self.acknowledged()) > games + 5)
        self.wait_until(f"updates after {after}", has_advanced)
        self.note(f"learns on after {after}")

    def address(self, name: str) -> str:
        try:
            return (self.shared / "addresses" / name).read_text().strip()
        except OSError:
            return ""

    def node_of(self, name: str) -> str:
        """Returns the node of a shard or of the learner by its address 127.0.0.1K."""
        return "n" + self.address(name).partition(":")[0].rpartition(".")[2][1:]

    def restarts(self, job: str) -> int:
        found = re.search(r"Restarts=(\d+)", self.slurm.run("scontrol", "show", "job", job))
        return int(found[1]) if found else 0

    def server_states(self) -> set[str]:
        return {state for state, _ in self.slurm.states(self.servers)}
