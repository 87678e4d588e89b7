"""Two learner processes, two durable shards, four actors and a reanalyser on the loopback.

There are proxies between them, and all calls use mutual TLS and a token.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import pathlib
import random
import re
import shutil
import socket
import subprocess
import urllib.request
from typing import Any

from audit import Content, acknowledged_ids, listed_ids, written_ids
from clocks import DAY, SOURCE, Clock
from credentials import Credentials
from preload import compile_library
from proxy import Network, Proxy
from roles import LEARNER_STOP_SECONDS, STOP_SECONDS, Role

# A power cut must lose no game that a shard of DURABLE_SYNC has acknowledged. A shard of DURABLE
# makes no such promise: it must only open again.
MODES = ["DURABLE_SYNC", "DURABLE"]
SHARDS = len(MODES)
ACTORS = 4
LEARNERS = 2

# Services of the machine have ports below this.
FIRST_PORT = 10_000

# Each holds the name of a port that this process has taken, until the process ends.
TAKEN: list[socket.socket] = []

# A process that does not send its metrics within this time is not waited for.
METRICS_SECONDS = 0.3

# Small bounds, so that games are evicted within a minute, and short games.
MOST_POSITIONS = 20_000

# Clocks go wrong by at most three days. Certificates must be valid before that, and a shard must
# remember evicted ids for longer.
CERTIFICATES_SINCE = -10 * DAY
REMEMBER_SECONDS = int(10 * DAY)
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
    """Returns ports that are free now, below those that the kernel gives to connections.

    A connection could take one of the others while the role that listens there is away. No other
    call returns them while this process runs, also none of another process.
    """
    given = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    candidates = list(range(FIRST_PORT, max(int(given[0]), 2 * FIRST_PORT)))
    random.SystemRandom().shuffle(candidates)
    ports: list[int] = []
    with contextlib.ExitStack() as stack:
        while len(ports) < count:
            port = candidates.pop()
            one, name = stack.enter_context(socket.socket()), socket.socket(socket.AF_UNIX)
            try:
                one.bind(("127.0.0.1", port))
                name.bind(f"\0mallocmuzero-test-port-{port}")  # a name without a file
            except OSError:
                name.close()
                continue
            TAKEN.append(name)
            ports.append(port)
    return ports


def metric(port: int, name: str) -> float | None:
    """Returns a metric of the process that serves its metrics there; None if it does not answer."""
    url = f"http://127.0.0.1:{port}/metrics"
    try:
        with urllib.request.urlopen(url, timeout=METRICS_SECONDS) as answer:
            text = answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None  # a process that is killed may leave half an answer
    found = re.search(rf"^{name} ([-+0-9.e]+)$", text, re.MULTILINE)
    return float(found.group(1)) if found else None


def compile_clock_library(folder: pathlib.Path) -> pathlib.Path | None:
    """Returns None if there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    return compile_library(SOURCE, folder, compiler) if compiler else None


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
        self.clock_library = compile_clock_library(folder)
        self.credentials = Credentials(folder / "credentials", self._early_clock())
        self.data = [folder / "shards" / str(i) for i in range(SHARDS)]
        ports = iter(free_ports(3 * SHARDS + 4))

        def take(count: int) -> list[int]:
            return list(itertools.islice(ports, count))

        self._shard_ports, self._shard_metrics_ports = take(SHARDS), take(SHARDS)
        self._learner_port, self._meeting_port, self._metrics_port = take(3)
        self.network = Network()
        self._to_shards = [
            self.network.add(proxy_port, port)
            for proxy_port, port in zip(take(SHARDS), self._shard_ports, strict=True)
        ]
        self._to_learner = self.network.add(take(1)[0], self._learner_port)
        # Bytes that others have sent to a shard during each time that its disk was full.
        self.sent_to_full_disks: list[int] = []
        self.proxies: list[Proxy] = [*self._to_shards, self._to_learner]
        self._write_configs()
        self.shards = [
            self._role(f"shard-{i}", "replay", "--shard", f"shard-{i}") for i in range(SHARDS)
        ]
        for i, port in enumerate(self._shard_metrics_ports):
            variable = f"MALLOCMUZERO_SET_replay__{i}__metrics_address"
            self.shards[i].add_environment({variable: f"127.0.0.1:{port}"})
        self.synced_shard, self.unsynced_shard = self.shards
        self.learners = [
            self._role(f"learner-{i}", "learner", "--rank", str(i)) for i in range(LEARNERS)
        ]
        # The process that serves actors and writes the run.
        self.learner = self.learners[0]
        metrics_address = f"127.0.0.1:{self._metrics_port}"
        self.learner.add_environment({"MALLOCMUZERO_SET_learner__metrics_address": metrics_address})
        self.actors = [self._role(f"actor-{i}", "actor", "--index", str(i)) for i in range(ACTORS)]
        self.reanalyser = self._role("reanalyser", "actor", "--reanalyse")
        self.players = [*self.actors, self.reanalyser]
        self.roles = [*self.shards, *self.learners, *self.players]

    def config(self, kind: str) -> pathlib.Path:
        return self.folder / f"{kind}.textproto"

    def _role(self, name: str, *arguments: str) -> Role:
        kind = {"replay": "direct", "learner": "learner", "actor": "actor"}[arguments[0]]
        command = [str(self.binary), arguments[0], "--config", str(self.config(kind))]
        stop_seconds = LEARNER_STOP_SECONDS if arguments[0] == "learner" else STOP_SECONDS
        return Role(name, [*command, *arguments[1:]], self.folder, stop_seconds)

    def _early_clock(self) -> dict[str, str]:
        """Returns the environment of a process in the past."""
        if self.clock_library is None:
            return {}
        clock = Clock(self.clock_library, self.folder / "openssl.clock")
        clock.set_ahead(CERTIFICATES_SINCE)
        return clock.environment()

    def group_of(self, role: Role) -> frozenset[str]:
        """Returns the names of the processes that make updates together with this one."""
        return frozenset(r.name for r in self.learners) if role in self.learners else frozenset()

    def proxy_of(self, shard: Role) -> Proxy:
        """Returns the proxy between all others and a shard."""
        return self._to_shards[self.shards.index(shard)]

    def bytes_sent(self) -> dict[int, int]:
        """Returns how many bytes each proxy has passed on, by its port."""
        return {proxy.port: proxy.bytes_sent for proxy in self.proxies}

    def silent_proxies(self, since: dict[int, int]) -> list[int]:
        """Returns the ports of proxies that have passed nothing on since `bytes_sent`."""
        return [port for port, count in self.bytes_sent().items() if count == since[port]]

    def _write_configs(self) -> None:
        def write(kind: str, shard_ports: list[int], learner_port: int) -> None:
            text = self.credentials.config()
            text += f"learner {{\n  address: '127.0.0.1:{learner_port}'\n"
            text += (
                f"  run_dir: '{self.run_dir}'\n  workloads: '{self._program}'{LEARNER_SETTINGS}"
                f"  processes: {LEARNERS}\n"
                f"  rendezvous_address: '127.0.0.1:{self._meeting_port}'\n}}\n"
            )
            for i, port in enumerate(shard_ports):
                text += f"replay {{\n  name: 'shard-{i}'\n  address: '127.0.0.1:{port}'\n"
                text += f"  mode: {MODES[i]}\n  data_dir: '{self.data[i]}'\n"
                text += f"  max_positions: {MOST_POSITIONS}\n"
                text += f"  remember_evicted_seconds: {REMEMBER_SECONDS}\n"
                text += "  rate_limit { samples_per_insert: 0.2 min_positions: 500"
                text += " error_buffer: 5000 }\n}\n"
            text += f"actor {{ count: {ACTORS} {ACTOR_SETTINGS} audit_dir: 'audit' }}\n"
            text += "reanalyse { count: 1 threads: 1 games_in_flight: 4 }\n"
            self.config(kind).write_text(text)

        write("direct", self._shard_ports, self._learner_port)
        # Actors take over the addresses of the shards that the learner has.
        to_shards = [proxy.port for proxy in self._to_shards]
        write("learner", to_shards, self._learner_port)
        write("actor", to_shards, self._to_learner.port)

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

    def updates(self) -> float | None:
        """Returns the learner's updates by its metrics, which cost less than `status`."""
        return metric(self._metrics_port, "mallocmuzero_learner_step")

    def unreadable(self, shard: Role) -> float | None:
        """Returns how many games without their bytes the shard has found since its start."""
        port = self._shard_metrics_ports[self.shards.index(shard)]
        return metric(port, "mallocmuzero_replay_unreadable_items_total")

    def trouble_of(self, name: str) -> str | None:
        """Returns what keeps a shard or the learner from work; None if it does not answer."""
        for role in self.status().get("roles", []):
            if role.get("name") == name and not role.get("error"):
                return f"{role.get('blocked_on', '')} {role.get('trouble', '')}"
        return None

    def shards_answer(self) -> bool:
        roles = self.status().get("roles", [])
        answers = [r for r in roles if r.get("role") == "REPLAY" and not r.get("error")]
        return len(answers) == SHARDS

    def acknowledged(self) -> set[str]:
        return acknowledged_ids(self.audit)

    def content(self, shard: Role) -> Content:
        """Returns what a running shard has. Games that come meanwhile may be in one part only."""
        data = self.data[self.shards.index(shard)]
        written = written_ids(data)
        command = [str(self.binary), "replay", "--config", str(self.config("direct"))]
        ran = subprocess.run(
            [*command, "--list-ids", "--shard", shard.name],
            capture_output=True,
            check=True,
            timeout=120,
            text=True,
        )
        # The shard may have moved items into another file since the first look.
        return Content(*listed_ids(ran.stdout), written | written_ids(data))
