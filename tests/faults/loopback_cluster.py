"""One learner, two durable shards, four actors and a reanalyser on the loopback.

There are proxies between them, and all calls use mutual TLS and a token.
"""

from __future__ import annotations

import json
import pathlib
import socket
import subprocess
from typing import Any

from credentials import Credentials
from proxy import Network, Proxy
from roles import Role

# A power cut must lose no game that a shard of DURABLE_SYNC has acknowledged. A shard of DURABLE
# makes no such promise: it must only open again.
MODES = ["DURABLE_SYNC", "DURABLE"]
SHARDS = len(MODES)
ACTORS = 4

# Small bounds, so that games are evicted within a minute, and short games.
MOST_POSITIONS = 20_000
LEARNER_SETTINGS = """
  publish_updates: 10
  checkpoint_seconds: 5
  threads: 1
  search { simulations: 2 }
  options { batch_size: 32 unroll_steps: 2 }
"""
ACTOR_SETTINGS = "threads: 1 games_in_flight: 4 spool_bytes: 8388608"


def shard_of(trajectory: str) -> int:
    """Returns the shard of a trajectory by its id in hexadecimal digits, as ShardOfId has it."""
    value = 0xCBF29CE484222325
    for byte in bytes.fromhex(trajectory):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return (value >> 32) * SHARDS >> 32


def free_ports(count: int) -> list[int]:
    """Returns ports that are free now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """All processes and the proxies between them.

    Every kind of role has its own configuration. Shards and the learner listen at their own
    addresses and reach other roles only through the proxies.
    """

    def __init__(self, binary: pathlib.Path, folder: pathlib.Path, program: pathlib.Path) -> None:
        self.binary = binary
        self.folder = folder
        self._program = program
        self.audit = folder / "audit"
        self.run_dir = folder / "run"
        self.credentials = Credentials(folder / "credentials")
        self.data = [folder / "shards" / str(i) for i in range(SHARDS)]
        ports = free_ports(SHARDS + 1 + 2 * SHARDS + 1)
        self._shard_ports = ports[:SHARDS]
        self._learner_port = ports[SHARDS]
        network = Network()
        self.network = network
        proxy_ports = ports[SHARDS + 1 :]
        to_shards = [
            network.add(proxy_ports[i], self._shard_ports[i % SHARDS]) for i in range(2 * SHARDS)
        ]
        self._actors_to_shards = to_shards[:SHARDS]
        self._learner_to_shards = to_shards[SHARDS:]
        self._actors_to_learner = network.add(proxy_ports[-1], self._learner_port)
        self.proxies: list[Proxy] = [*to_shards, self._actors_to_learner]
        self._write_configs()
        self.shards = [
            self._role(f"shard-{i}", "replay", "--shard", f"shard-{i}") for i in range(SHARDS)
        ]
        self.synced_shard, self.unsynced_shard = self.shards
        self.learner = self._role("learner", "learner")
        self.actors = [self._role(f"actor-{i}", "actor", "--index", str(i)) for i in range(ACTORS)]
        self.reanalyser = self._role("reanalyser", "actor", "--reanalyse")
        self.players = [*self.actors, self.reanalyser]
        self.roles = [*self.shards, self.learner, *self.players]

    def config(self, kind: str) -> pathlib.Path:
        return self.folder / f"{kind}.textproto"

    def _role(self, name: str, *arguments: str) -> Role:
        kind = {"replay": "direct", "learner": "learner", "actor": "actor"}[arguments[0]]
        command = [str(self.binary), arguments[0], "--config", str(self.config(kind))]
        return Role(name, [*command, *arguments[1:]], self.folder)

    def _write_configs(self) -> None:
        def write(kind: str, shard_ports: list[int], learner_port: int) -> None:
            text = self.credentials.config()
            text += f"learner {{\n  address: '127.0.0.1:{learner_port}'\n"
            text += (
                f"  run_dir: '{self.run_dir}'\n  workloads: '{self._program}'{LEARNER_SETTINGS}}}\n"
            )
            for i, port in enumerate(shard_ports):
                text += f"replay {{\n  name: 'shard-{i}'\n  address: '127.0.0.1:{port}'\n"
                text += f"  mode: {MODES[i]}\n  data_dir: '{self.data[i]}'\n"
                text += f"  max_positions: {MOST_POSITIONS}\n"
                text += "  rate_limit { samples_per_insert: 0.2 min_positions: 500"
                text += " error_buffer: 5000 }\n}\n"
            text += f"actor {{ count: {ACTORS} {ACTOR_SETTINGS} audit_dir: 'audit' }}\n"
            text += "reanalyse { count: 1 threads: 1 games_in_flight: 4 }\n"
            self.config(kind).write_text(text)

        write("direct", self._shard_ports, self._learner_port)
        write("learner", [p.port for p in self._learner_to_shards], self._learner_port)
        write("actor", [p.port for p in self._actors_to_shards], self._actors_to_learner.port)

    def start(self) -> None:
        for role in self.roles:
            role.start()

    def status(self) -> dict[str, Any]:
        """Returns the output of `mallocmuzero status --json`, which asks the roles, or {}."""
        command: list[str | pathlib.Path] = [
            self.binary,
            "status",
            "--config",
            self.config("direct"),
            "--json",
        ]
        try:
            ran = subprocess.run(command, capture_output=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            # The command has a deadline of 2 s, which a busy machine may exceed.
            return {}
        parsed: dict[str, Any] = json.loads(ran.stdout)
        return parsed

    def learner_step(self) -> float | None:
        """Returns the number of updates; None while the learner is away."""
        for role in self.status().get("roles", []):
            if role.get("role") == "LEARNER" and not role.get("error"):
                return float(role.get("figures", {}).get("step", 0))
        return None

    def trouble_of(self, name: str) -> str | None:
        """Returns what keeps a shard or the learner from work; None if it does not answer."""
        for role in self.status().get("roles", []):
            if role.get("name") == name and not role.get("error"):
                return f"{role.get('blocked_on', '')} {role.get('trouble', '')}"
        return None

    def shards_answer(self) -> bool:
        roles = self.status().get("roles", [])
        return bool(roles) and all(
            not role.get("error") for role in roles if role.get("role") == "REPLAY"
        )

    def acknowledged(self) -> set[str]:
        ids: set[str] = set()
        for file in self.audit.glob("*") if self.audit.is_dir() else []:
            # A line that a kill has cut short does not count as an acknowledgement.
            ids |= {line for line in file.read_text().split("\n") if len(line) == 32}
        return ids

    def listed(self) -> tuple[list[str], list[str]]:
        """Returns the ids that the shards store, and the evicted ids."""
        ran = subprocess.run(
            [self.binary, "replay", "--config", self.config("direct"), "--list-ids"],
            capture_output=True,
            check=True,
            timeout=120,
            text=True,
        )
        stored: list[str] = []
        evicted: list[str] = []
        for line in ran.stdout.splitlines():
            kind, _, name = line.partition(" ")
            (stored if kind == "stored" else evicted).append(name)
        return stored, evicted
