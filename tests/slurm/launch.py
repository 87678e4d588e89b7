"""Runs a cluster under a real Slurm, hurts it, and checks that it loses nothing and learns on.

Starts Slurm's daemons for six made-up nodes (slurm_cluster.py), submits two shards, a learner and
two actors with `mallocmuzero launch slurm`, kills nodes, requeues and preempts jobs. At the end
every acknowledged game must be in the shards' data in the shared folder. Prints a JSON report; exit
code 1 if a check fails, 77 if Slurm is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from faults import import_program
from loopback_cluster import free_ports
from slurm_cluster import PARTITIONS, SlurmCluster, missing_tools

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACTORS = 2
SHARDS = ("s0", "s1")

# A variable of the shell that submits the jobs, which must not get to the jobs.
VARIABLE = "MALLOCMUZERO_TEST_SECRET"

# Exit code of a test that ctest counts as skipped.
SKIPPED = 77

CONFIGURATION = """
security {{ token_file: "token" allow_clear_text_token: true }}
learner {{
  address: "127.0.0.1:{ports[0]}"
  metrics_address: "127.0.0.1:{ports[1]}"
  run_dir: "run"
  workloads: "gpt_small.program"
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
host_command: "echo 127.0.0.1${{SLURMD_NODENAME#n}}"
time_limit: "60"
drain_seconds: 60
copy_seconds: 5
replay {{ partition: "shards" cpus: 1 }}
learner {{ partition: "gpus" cpus: 1 gpus: 1 }}
actor {{ partition: "actors" cpus: 1 }}
"""


class Run:
    """The cluster under Slurm, and what was seen of it."""

    def __init__(
        self, binary: pathlib.Path, folder: pathlib.Path, patience: float, is_hurried: bool
    ) -> None:
        self.is_hurried = is_hurried
        self.binary = binary
        self.folder = folder
        self.shared = folder / "shared"
        self._patience = patience  # seconds to wait for a condition
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
        ports = free_ports(3 + len(SHARDS))
        text = CONFIGURATION.format(ports=ports, actors=ACTORS)
        for name, port in zip(SHARDS, ports[3:], strict=True):
            text += SHARD.format(name=name, port=port)
        (self.folder / "cluster.textproto").write_text(text)
        (self.folder / "site.textproto").write_text(SITE.format(folder=self.folder))

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
        end = time.monotonic() + self._patience
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(
                    f"not within {self._patience:.0f} s: {what}; jobs: {self.jobs()};"
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
        ids: set[str] = set()
        audit = self.folder / "audit"
        for file in audit.glob("*") if audit.is_dir() else []:
            ids |= {line for line in file.read_text().split("\n") if len(line) == 32}
        return ids

    def learns_on(self, after: str) -> None:
        """Waits for further updates and further acknowledged games."""
        games = len(self.acknowledged())
        step = self.step()
        self.wait_until(f"games after {after}", lambda: len(self.acknowledged()) > games + 5)
        # The learner may have gone back to its last checkpoint.
        self.wait_until(f"updates after {after}", lambda: self.step() not in (0.0, step))
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


def check_dry_run(run: Run) -> None:
    """Fails if --dry-run writes a file or leaves a script out."""
    printed = run.launch("--dry-run")
    for text in ("#SBATCH hetjob", f"#SBATCH --array=0-{ACTORS - 1}", "sbatch --parsable"):
        if text not in printed:
            raise RuntimeError(f"--dry-run does not print {text}")
    if run.shared.exists():
        raise RuntimeError("--dry-run writes files")


def see_training(run: Run) -> None:
    run.wait_until("the learner learns", lambda: run.step() > 0)
    run.wait_until("games are acknowledged", lambda: len(run.acknowledged()) > 5)
    run.note("learns")
    if "GPUs 0" not in (run.shared / "logs/learner.0.log").read_text():
        raise RuntimeError("the learner did not get the GPU that its job asks for")


def kill_actor_node(run: Run) -> None:
    """Kills a node of actors. Slurm requeues its actors, with the same numbers."""
    parts = run.slurm.states(run.actors)
    victim = next(node for state, node in parts if state == "RUNNING")
    before = run.restarts(f"{run.actors}_0") + run.restarts(f"{run.actors}_1")
    killed = run.slurm.kill_node(victim)
    run.note(f"killed {killed} processes of {victim} (actors)")
    if run.is_hurried:
        # Slurm would take half a minute to notice.
        run.slurm.run("scontrol", "update", f"NodeName={victim}", "State=DOWN", "Reason=killed")
    run.wait_until(
        "the actors run again",
        lambda: (
            run.restarts(f"{run.actors}_0") + run.restarts(f"{run.actors}_1") > before
            and [state for state, _ in run.slurm.states(run.actors)] == ["RUNNING"] * ACTORS
        ),
    )
    run.slurm.start_node(victim)
    run.learns_on("the loss of a node of actors")


def requeue_actor(run: Run) -> None:
    job = f"{run.actors}_0"
    before = run.restarts(job)
    run.slurm.run("scontrol", "requeue", job)
    run.wait_until(
        "the actor runs again",
        lambda: (
            run.restarts(job) > before
            and [state for state, _ in run.slurm.states(run.actors)] == ["RUNNING"] * ACTORS
        ),
    )
    run.learns_on("the requeue of an actor")


def wait_for_servers(run: Run, restarts: int) -> None:
    run.wait_until(
        "the servers run again",
        lambda: run.restarts(run.servers) > restarts and run.server_states() == {"RUNNING"},
    )


def requeue_servers(run: Run) -> None:
    """Requeues the heterogeneous job, whose shards save their data first."""
    before = run.restarts(run.servers)
    run.slurm.run("scontrol", "requeue", run.servers)
    wait_for_servers(run, before)
    run.learns_on("the requeue of the servers")


def kill_shard_node(run: Run) -> None:
    """Kills the node of the shards. They continue on the other node with the data of that one."""
    before = run.restarts(run.servers)
    victim = run.node_of("s0")
    # Slurm would choose the victim again as soon as it is back.
    other = next(node for node in PARTITIONS["shards"] if node != victim)
    killed = run.slurm.kill_node(victim)
    run.note(f"killed {killed} processes of {victim} (shards)")
    wait_for_servers(run, before)
    run.wait_until("the shards have announced their new node", lambda: run.node_of("s0") == other)
    run.note(f"the shards wait on {other} for the disk of {victim}")
    run.slurm.start_node(victim)
    run.learns_on("the loss of the node of the shards")
    home = (run.shared / "shards/s0/home").read_text()
    if not home.startswith(f"node {other} "):
        raise RuntimeError(f"the shard's data are not on its new node: {home}")


def kill_learner_node(run: Run) -> None:
    before = run.restarts(run.servers)
    victim = run.node_of("learner")
    killed = run.slurm.kill_node(victim)
    run.note(f"killed {killed} processes of {victim} (learner)")
    wait_for_servers(run, before)
    run.slurm.start_node(victim)
    run.learns_on("the loss of the node of the learner")


def preempt(run: Run, partition: str, job: str) -> None:
    """Submits a job with precedence that needs all nodes of a partition."""
    before = run.restarts(job)
    nodes = ",".join(PARTITIONS[partition])
    urgent = run.slurm.run(
        "sbatch",
        "--parsable",
        "--partition=urgent",
        "--exclusive",
        f"--nodelist={nodes}",
        f"--output={run.folder}/urgent.log",
        "--wrap=sleep 5",
    )
    run.wait_until(
        "the urgent job has run",
        lambda: {state for state, _ in run.slurm.states(urgent)} == {"COMPLETED"},
    )
    run.note(f"an urgent job has taken the nodes of the partition {partition}")
    if run.restarts(job) == before:
        raise RuntimeError(f"job {job} was not preempted")


def preempt_actors(run: Run) -> None:
    preempt(run, "actors", f"{run.actors}_0")
    run.learns_on("the preemption of the actors")


def preempt_servers(run: Run) -> None:
    preempt(run, "gpus", run.servers)
    run.learns_on("the preemption of the servers")


def reach_time_limit(run: Run) -> None:
    """Lets the servers come to their time limit, at which they queue themselves again."""
    before = run.restarts(run.servers)
    shown = run.slurm.run("scontrol", "show", "job", run.servers)
    found = re.search(r"RunTime=(\d+):(\d+):(\d+)", shown)
    assert found is not None
    minutes = int(found[1]) * 60 + int(found[2]) + 3
    for part in re.findall(r"JobId=(\d+)", shown):
        run.slurm.run("scontrol", "update", f"JobId={part}", f"TimeLimit={minutes}")
    wait_for_servers(run, before)
    if "stops: limit" not in (run.shared / "logs/servers.log").read_text():
        raise RuntimeError("the servers did not stop ahead of their time limit")
    run.learns_on("the time limit of the servers")


def end(run: Run) -> None:
    """Ends all jobs, actors first."""
    run.slurm.run("scancel", run.actors)
    run.wait_until("the actors end", lambda: not is_active(run, run.actors))
    run.slurm.run("scancel", run.servers)
    run.wait_until("the servers end", lambda: not is_active(run, run.servers))


def is_active(run: Run, job: str) -> bool:
    ended = {"CANCELLED", "COMPLETED", "FAILED", "TIMEOUT"}
    return any(state not in ended for state, _ in run.slurm.states(job))


def audit(run: Run) -> dict[str, Any]:
    """Compares the acknowledged games with those in the shards' data in the shared folder."""
    listed: dict[str, list[str]] = {"stored": [], "evicted": []}
    for name in SHARDS:
        state = run.shared / "shards" / name
        kind, _, where = (state / "home").read_text().strip().partition(" ")
        if kind != "copy":
            raise RuntimeError(f"{name}: its data are not in the shared folder but at {where}")
        port = free_ports(1)[0]
        config = run.folder / f"audit-{name}.textproto"
        config.write_text(
            f"replay {{ name: '{name}' address: '127.0.0.1:{port}'"
            f" data_dir: '{state / where}' max_positions: 20000 }}\n"
        )
        for line in list_ids(run.binary, config):
            word, _, game = line.partition(" ")
            listed[word].append(game)
    acknowledged = run.acknowledged()
    stored = set(listed["stored"])
    lost = acknowledged - stored - set(listed["evicted"])
    return {
        "acknowledged": len(acknowledged),
        "stored": len(stored),
        "evicted": len(listed["evicted"]),
        "lost": len(lost),
        "stored_twice": len(listed["stored"]) - len(stored),
    }


def list_ids(binary: pathlib.Path, config: pathlib.Path) -> list[str]:
    """Runs a shard and returns the lines of --list-ids."""
    shard = subprocess.Popen([binary, "replay", "--config", config], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            ran = subprocess.run(
                [binary, "replay", "--config", config, "--list-ids"],
                capture_output=True,
                check=False,
                text=True,
            )
            if ran.returncode == 0:
                return ran.stdout.splitlines()
            time.sleep(0.3)
        raise RuntimeError(f"{config}: {ran.stderr}")
    finally:
        shard.terminate()
        shard.wait()


def check_secrets(run: Run) -> None:
    """Fails if the token is in a script, a log, or the command line or environment of a process."""
    secret = (run.folder / "token").read_bytes().strip()
    for file in run.shared.rglob("*"):
        if file.is_file() and file.stat().st_size < 1 << 22 and secret in file.read_bytes():
            raise RuntimeError(f"the token is in {file}")
    for process in pathlib.Path("/proc").iterdir():
        for name in ("cmdline", "environ"):
            try:
                text = (process / name).read_bytes() if process.name.isdecimal() else b""
            except OSError:
                continue
            if secret in text or (VARIABLE.encode() in text and b"SLURM_JOB_ID" in text):
                raise RuntimeError(f"a secret is in {process / name}: {text[:200]!r}")


SHORT: tuple[Callable[[Run], None], ...] = (kill_actor_node, requeue_servers)
LONG: tuple[Callable[[Run], None], ...] = (
    kill_actor_node,
    requeue_actor,
    preempt_actors,
    requeue_servers,
    kill_shard_node,
    kill_learner_node,
    preempt_servers,
    reach_time_limit,
)


def try_all(run: Run, scenes: tuple[Callable[[Run], None], ...]) -> dict[str, Any]:
    failures: list[str] = []
    found: dict[str, Any] = {}
    try:
        run.write_configuration()
        run.slurm.start()
        check_dry_run(run)
        run.slurm.environment[VARIABLE] = "a secret"
        run.submit()
        del run.slurm.environment[VARIABLE]
        see_training(run)
        check_secrets(run)
        for scene in scenes:
            print(f"slurm: {scene.__name__}", file=sys.stderr)
            scene(run)
        end(run)
        found = audit(run)
        if found["lost"] or found["stored_twice"] or not found["acknowledged"]:
            failures.append(f"games: {found}")
    except (RuntimeError, TimeoutError) as error:
        failures.append(str(error))
    finally:
        run.slurm.stop()
    return {"seen": run.seen, **found, "failures": failures}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/slurm", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="two faults only, for ctest")
    parser.add_argument(
        "--only", action="append", default=[], help="the name of a fault; may be repeated"
    )
    parser.add_argument(
        "--binary",
        type=pathlib.Path,
        default=ROOT / "build/bin/mallocmuzero",
        help="default: build/bin/mallocmuzero",
    )
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and data")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if missing := missing_tools():
        print(f"slurm: SKIPPED: {', '.join(missing)} not installed", file=sys.stderr)
        return SKIPPED
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mallocmuzero-slurm-"))
    print(f"slurm: files in {folder}", file=sys.stderr)
    scenes = SHORT if arguments.short else LONG
    if arguments.only:
        scenes = tuple(scene for scene in LONG if scene.__name__ in arguments.only)
    patience = float(os.environ.get("MALLOCMUZERO_TEST_PATIENCE", "120"))
    report = try_all(Run(arguments.binary.resolve(), folder, patience, arguments.short), scenes)
    print(json.dumps(report, indent=2))
    if report["failures"] or arguments.keep:
        print(f"slurm: {folder} is kept", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
