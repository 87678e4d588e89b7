"""Starts a cluster on ten machines as docs/operations.md says, and upgrades it role by role.

The ten machines are namespaces on this one (machines.py). They use
deploy/cluster/many-machines.textproto, with smaller networks, searches and batches. Every call goes
over addresses that are not loopback, with mutual TLS and a token, whose files are made by the
commands of the document.

  1. The roles start in a bad order: actors first, shards last. The cluster must get healthy.
  2. The machine of a shard is lost and comes back.
  3. Every role gets the new release, one after the other. No acknowledged game may be lost or
     stored twice.
  4. With --other-rules, an actor of a release with other rules starts, and then a learner. Both
     must be refused with one line that names both versions. Then all roles get that release and
     begin a new run with the networks of the old one.

Needs tests/faults in PYTHONPATH. Prints a JSON report; exit code 1 if a check fails, 77 if there is
no right to make machines.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from audit import Content, acknowledged_ids, compare, failures_in, listed_ids
from document import ROOT, blocks_of
from faults import import_program
from machines import Machine, Machines, be_alone, can_make_machines

# Exit code of a test that ctest counts as skipped.
SKIPPED = 77

ACTORS = 6
SHARDS = ["replay-a", "replay-b"]
PATIENCE_SECONDS = 240.0

SMALLER = {
    "replay.0.rate_limit.min_positions": "500",
    "replay.1.rate_limit.min_positions": "500",
    "learner.network.latent": "32",
    "learner.network.memory_channels": "8",
    "learner.network.memory_blocks": "1",
    "learner.network.access_channels": "16",
    "learner.network.representation_blocks": "1",
    "learner.network.dynamics_blocks": "1",
    "learner.network.head_hidden": "32",
    "learner.options.batch_size": "32",
    "learner.search.simulations": "2",
    "learner.threads": "1",
    "learner.demonstration_seconds": "0",
    "learner.checkpoint_seconds": "5",
    "actor.threads": "1",
    "actor.games_in_flight": "4",
    "actor.expected": str(ACTORS),
    "actor.audit_dir": "/var/lib/mallocmuzero/audit",
    "reanalyse.threads": "1",
}


class Walk:
    """The cluster on its machines."""

    def __init__(self, folder: pathlib.Path, release: pathlib.Path, program: pathlib.Path) -> None:
        self._folder = folder
        self.program = program
        self._config = folder / "many-machines.textproto"
        shutil.copyfile(ROOT / "deploy/cluster/many-machines.textproto", self._config)
        names = [*SHARDS, "learner", *(f"actor-{i}" for i in range(ACTORS)), "reanalyser"]
        self.machines = Machines(folder, {name: f"{name}.example" for name in names})
        self.commands = {name: self._command(name) for name in names}
        for machine in self.machines.all.values():
            self.install(machine, release)

    def _command(self, name: str) -> list[str]:
        arguments = {
            "replay": ["replay", "--shard", name],
            "learner": ["learner"],
            "actor": ["actor", "--index", name.rpartition("-")[2]],
            "reanalyser": ["actor", "--reanalyse"],
        }[name.partition("-")[0]]
        settings = [f"--set={field}={value}" for field, value in SMALLER.items()]
        return ["mallocmuzero", *arguments, "--config", str(self._config), *settings]

    def train_further(self, checkpoint: str) -> None:
        """Changes the configuration to a run that begins with these networks."""
        text, count = re.subn(
            r"\n  network \{.*?\n  \}\n",
            f'\n  from: "{checkpoint}"\n',
            self._config.read_text(),
            flags=re.DOTALL,
        )
        assert count == 1
        self._config.write_text(text)
        for name, command in self.commands.items():
            self.commands[name] = [part for part in command if "learner.network" not in part]

    def install(self, machine: Machine, release: pathlib.Path) -> None:
        machine.release.unlink(missing_ok=True)
        machine.release.symlink_to(release)

    def make_credentials(self) -> None:
        """Runs the commands of the document: the authority once, the rest on each machine."""
        block = blocks_of("## TLS and token")[0]
        authority, host_and_rest = block.split("host=", 1)
        _, for_each = host_and_rest.split("\n", 1)
        for_each, tokens = for_each.split("openssl rand", 1)
        folder = self._folder / "credentials"
        folder.mkdir()
        first = self.machines["replay-a"]
        first.run(authority, folder)
        for machine in self.machines.all.values():
            machine.run(f"host={machine.host}\n{for_each}", folder)
        first.run(f"openssl rand{tokens}\ncp /etc/mallocmuzero/*token {folder}", folder)
        for machine in self.machines.all.values():
            machine.run("cp token /etc/mallocmuzero/", folder)
            if machine.name in (*SHARDS, "learner"):
                machine.run("cp admin-token /etc/mallocmuzero/", folder)

    def start(self, name: str) -> None:
        self.machines[name].start(self.commands[name])

    def status(self) -> dict[str, Any]:
        settings = f"--set=actor.expected={ACTORS}"
        text = self.machines["replay-a"].run(
            f"mallocmuzero status --config {self._config} {settings} --json || true"
        )
        parsed: dict[str, Any] = json.loads(text) if text else {}
        return parsed

    def wait_until(self, what: str, condition: Callable[[], bool], may_end: str = "") -> float:
        """Returns the seconds until the condition was true. Only the role `may_end` may end."""
        begin = time.monotonic()
        while not condition():
            for name, machine in self.machines.all.items():
                if name != may_end and (code := machine.exit_code()) is not None:
                    raise RuntimeError(f"{name} ended with code {code}: {machine.log}")
            if time.monotonic() > begin + PATIENCE_SECONDS:
                raise TimeoutError(f"not within {PATIENCE_SECONDS:.0f} s: {what}: {self.status()}")
            time.sleep(1)
        print(f"{what}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
        return round(time.monotonic() - begin, 1)

    def is_healthy(self) -> bool:
        return bool(self.status().get("healthy"))

    def step(self) -> float:
        for role in self.status().get("roles", []):
            if role.get("role") == "LEARNER":
                return float(role.get("figures", {}).get("step", 0))
        return 0.0

    def learns_on(self, what: str) -> float:
        """Waits until the cluster is healthy and makes updates. Returns the seconds."""
        first = self.step()
        return self.wait_until(what, lambda: self.is_healthy() and self.step() > first)

    def audit(self) -> dict[str, Any]:
        """Compares the games that were acknowledged with those that the shards list."""
        acknowledged: set[str] = set()
        for name, machine in self.machines.all.items():
            if name.startswith("actor"):
                acknowledged |= acknowledged_ids(machine.var / "mallocmuzero/audit")
        command = f"mallocmuzero replay --config {self._config} --list-ids --shard"
        contents = []
        for shard in SHARDS:
            stored, evicted = listed_ids(self.machines[shard].run(f"{command} {shard}"))
            # Nothing cuts the power of a machine here, so the bytes are not looked for.
            contents.append(Content(stored, evicted, written=set(stored)))
        return compare(acknowledged, contents, holder=lambda _: 0)

    def wait_for_log(self, name: str, pattern: str) -> str:
        """Waits for a line in the log of a role; returns the line."""

        def find() -> str:
            found = re.findall(pattern, self.machines[name].log.read_text())
            return str(found[-1]) if found else ""

        self.wait_until(f"the log of {name} has {pattern!r}", lambda: bool(find()), name)
        return find()


def start_all(walk: Walk) -> dict[str, Any]:
    walk.machines.boot()
    walk.make_credentials()
    folder = "/var/lib/mallocmuzero/programs"
    walk.machines["learner"].run(f"mkdir -p {folder}; cp {walk.program} {folder}")
    for name in reversed(list(walk.commands)):
        walk.start(name)
    return {"healthy_after_seconds": walk.learns_on("a start with actors first")}


def lose_a_machine(walk: Walk) -> dict[str, Any]:
    walk.machines["replay-b"].lose()
    away = walk.wait_until(
        "status shows the lost shard",
        lambda: any(
            r.get("name") == "replay-b" and r.get("error") for r in walk.status().get("roles", [])
        ),
    )
    walk.machines["replay-b"].boot(walk.machines.hosts)
    walk.start("replay-b")
    return {
        "lost_machine_shown_after_seconds": away,
        "healthy_after_the_loss_seconds": walk.learns_on("the lost machine is back"),
    }


def upgrade(walk: Walk, release: pathlib.Path) -> dict[str, Any]:
    """Shards first, then the learner, then the others, as the document says."""
    seconds = {}
    for name, machine in walk.machines.all.items():
        if (code := machine.stop()) != 0:
            raise RuntimeError(f"{name} stopped with code {code}")
        walk.install(machine, release)
        walk.start(name)
        seconds[name] = walk.learns_on(f"{name} is upgraded")
    return {"healthy_after_upgrade_seconds": seconds}


def change_rules(walk: Walk, release: pathlib.Path) -> dict[str, Any]:
    pattern = r"[^\n]*rules \d+[^\n]*(?:rules|plays) \d+[^\n]*"
    found = {}
    for name in ("actor-0", "learner"):
        machine = walk.machines[name]
        machine.stop()
        old = machine.release.readlink()
        walk.install(machine, release)
        walk.start(name)
        found[f"refusal_of_{name}"] = walk.wait_for_log(name, pattern)
        # The learner ends by itself. An actor waits for an assignment of its own rules.
        machine.stop()
        walk.install(machine, old)
        walk.start(name)
        walk.learns_on(f"{name} has its old release again")
    return found


def begin_again(walk: Walk, release: pathlib.Path) -> dict[str, Any]:
    """Gives all roles the release with other rules, as the document says."""
    for name in reversed(list(walk.commands)):
        walk.machines[name].stop()
    walk.train_further("/var/lib/mallocmuzero/old/run/checkpoints/latest")
    for name, machine in walk.machines.all.items():
        # The learner keeps its programs.
        machine.run(
            "cd /var/lib/mallocmuzero; mkdir old\n"
            "for kept in run replay-a replay-b spool audit; do\n"
            "  if [ -e $kept ]; then mv $kept old/; fi\ndone"
        )
        walk.install(machine, release)
        walk.start(name)
    return {"healthy_with_new_rules_seconds": walk.learns_on("a new run with other rules")}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--release", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--new-release", type=pathlib.Path, help="default: the same release")
    parser.add_argument("--other-rules", type=pathlib.Path, help="a release with other rules")
    parser.add_argument(
        "--steps",
        type=lambda text: text.split(","),
        default=["loss", "upgrade"],
        help="the steps 2 and 3 to do; default: loss,upgrade",
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if not can_make_machines():
        print("ten_machines: no right to make namespaces", file=sys.stderr)
        return SKIPPED
    be_alone()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mallocmuzero-walks-"))
    print(f"ten_machines: logs in {folder}", file=sys.stderr)
    release = arguments.release.resolve()
    walk = Walk(folder, release, import_program(release / "mallocmuzero", folder))
    report: dict[str, Any] = {}
    try:
        report |= start_all(walk)
        if "loss" in arguments.steps:
            report |= lose_a_machine(walk)
        if "upgrade" in arguments.steps:
            report |= upgrade(walk, (arguments.new_release or arguments.release).resolve())
        if arguments.other_rules:
            report |= change_rules(walk, arguments.other_rules.resolve())
        found = walk.audit()
        report |= {key: found[key] for key in ("acknowledged", "lost", "stored_twice")}
        report["failures"] = failures_in(found)
        if arguments.other_rules:
            report |= begin_again(walk, arguments.other_rules.resolve())
    except (TimeoutError, RuntimeError) as error:
        report.setdefault("failures", []).append(str(error))
    print(json.dumps(report, indent=2))
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
