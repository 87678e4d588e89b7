"""Injects faults into a cluster on the loopback and checks that it loses nothing.

Runs 2 processes of a learner, 2 durable replay shards, 4 actors and a reanalyser with proxies
between them, with mutual TLS and a token. Every few seconds it causes a fault (injectors.py). At
the end it repairs everything and kills the shards once more. Every trajectory that a shard has
acknowledged must then be stored or evicted, and none stored twice. At last it cuts the power of
both shards. That of DURABLE may lose games but must start. Prints a JSON report; exit code 1 if a
check fails.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from audit import compare, failures_in, written_ids
from disks import SmallDisks, hide_mounts
from injectors import LONG_RUN_SECONDS, WEIGHTS, Faults
from loopback_cluster import Cluster, shard_of
from measures import lost_checkpoints, memory_failures, rss_report
from run import Run

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Size of the disk of a shard and of the learner: several times what they store.
DISK_MEBIBYTES = 256

# Time for the cluster to be healthy and to learn again after the last fault, on an idle machine.
RECOVERY_SECONDS = 90.0

# Time in which the shards take games before each of their power cuts at the end, and the number of
# cuts in short and long runs.
PLAY_SECONDS = 3.0
CUTS = 1
CUTS_OF_LONG_RUNS = 5


def audit(cluster: Cluster, holder: Mapping[str, int]) -> dict[str, Any]:
    """Compares the acknowledged trajectories with those of the shards.

    `holder` has the indices of the shards that have had an id. Actors may give a game to another
    shard than the one that the id selects.
    """
    acknowledged = cluster.acknowledged()
    contents = [cluster.content(shard) for shard in cluster.shards]
    return compare(
        acknowledged, contents, lambda name: holder[name] if name in holder else shard_of(name)
    )


def import_program(binary: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Imports a small program to train on, from the committed captures."""
    program = folder / "gpt_small.program"
    captures = sorted((ROOT / "tests/data/hlo/gpt_small").iterdir())
    flags = {"all_hbm": "--all-hbm", "default": "--default", "sample_": "--sample"}
    arguments: list[str] = []
    for capture in captures:
        for prefix, flag in flags.items():
            if capture.name.startswith(prefix):
                arguments += [flag, str(capture)]
    subprocess.run(
        [binary, "import", "--hardware", "tpu_v4i", "--output", program, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return program


def audit_shards(cluster: Cluster, run: Run, holder: Mapping[str, int]) -> dict[str, Any]:
    """Ends play, kills the shards once more, since only their disks count, and audits."""
    stop_seconds = [player.stop() for player in cluster.players]
    for learner in cluster.learners:
        learner.stop()
    run.damage.sample()
    for shard in cluster.shards:
        shard.kill()
        shard.start()
    run.wait_until("the shards are back", run.recovery_seconds, cluster.shards_answer)
    return {
        "actor_stop_seconds": round(max(stop_seconds), 1),
        **audit(cluster, holder),
        "unreadable_by_shard": list(run.damage.found),
        "unreadable": sum(run.damage.found),
    }


def cut_shards(cluster: Cluster, run: Run, faults: Faults, seconds: float) -> dict[str, Any]:
    """Cuts the power of both shards while games arrive; then audits again.

    The shards must start again each time. The shard of DURABLE may lose games, the other one none.
    """
    for role in [*cluster.learners, *cluster.actors]:
        role.start()
    holder: dict[str, int] = {}
    for _ in range(CUTS_OF_LONG_RUNS if seconds >= LONG_RUN_SECONDS else CUTS):
        run.takes_games(PLAY_SECONDS)
        for index, shard in enumerate(cluster.shards):
            content = cluster.content(shard)
            holder |= dict.fromkeys([*content.stored, *content.evicted], index)
        for index, shard in enumerate(cluster.shards):
            cut = faults.cut_power_of(shard)
            # Games that came after the list was printed are in the files of the killed shard.
            shard.kill()
            holder |= dict.fromkeys(written_ids(cluster.data[index]), index)
            cut.begin()
            cut.end()
            run.survived[cut.kind] += 1
        run.wait_until("the shards are back", run.recovery_seconds, cluster.shards_answer)
    unsynced = cluster.shards.index(cluster.unsynced_shard)
    found = audit_shards(cluster, run, holder)
    lost, without_bytes = found["lost_by_shard"], found["without_bytes_by_shard"]
    unreadable, lost_ids = found["unreadable_by_shard"], found["lost_ids_by_shard"]
    del lost_ids[unsynced]
    return {
        "lost_by_power_cuts_of_durable": lost.pop(unsynced),
        "without_bytes_by_power_cuts_of_durable": without_bytes.pop(unsynced),
        "unreadable_by_power_cuts_of_durable": unreadable.pop(unsynced),
        "lost_after_power_cuts": sum(lost),
        "lost_ids_after_power_cuts": lost_ids,
        "stored_twice_after_power_cuts": found["stored_twice"],
        "without_bytes_after_power_cuts": sum(without_bytes),
        "unreadable_after_power_cuts": sum(unreadable),
        "acknowledged": found["acknowledged"],
    }


def experiment(
    run: Run, cluster: Cluster, faults: Faults, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Hurts the cluster and audits it; returns what it has found, with failures."""
    found: dict[str, Any] = {}
    failures: list[str] = []
    try:
        cluster.start()
        run.learns_on()
        run.hurt_in_blocks(arguments.seconds, arguments.calm_seconds)
        try:
            found["recovered_seconds"] = round(run.recover(), 1)
        finally:
            found |= audit_shards(cluster, run, {})
        if faults.can_cut_power:
            found |= cut_shards(cluster, run, faults, arguments.seconds)
    except TimeoutError as error:
        failures.append(str(error))
    for role in reversed(cluster.roles):
        role.stop()
    failures += run.failures
    failures += [text for role in cluster.roles for text in role.unexpected]
    failures += failures_in(found)
    failures += lost_checkpoints(cluster.learner.log.read_text(errors="replace"))
    failures += [f"{name} has never told its metrics" for name in run.damage.silent()]
    return found | {"failures": failures}


def torment(arguments: argparse.Namespace, folder: pathlib.Path) -> dict[str, Any]:
    """Runs everything; returns the report."""
    binary: pathlib.Path = arguments.binary
    cluster = Cluster(binary, folder, import_program(binary, folder))
    disks = SmallDisks([*cluster.data, cluster.run_dir], DISK_MEBIBYTES)
    keeps = True
    try:
        faults = Faults(cluster, disks, arguments.seconds, arguments.seed, arguments.kinds)
        run = Run(cluster, faults, arguments.interval, arguments.recovery_seconds)
        found = experiment(run, cluster, faults, arguments)
        memory = {role.name: rss_report(role, arguments.seconds) for role in cluster.roles}
        found["failures"] += memory_failures(memory, arguments.seconds)
        keeps = arguments.keep or bool(found["failures"])
    finally:
        # A run that was interrupted has left its processes.
        for role in cluster.roles:
            role.kill()
        disks.unmount(keeps)
    return report_of(arguments, cluster, faults, run, memory) | found


def report_of(
    arguments: argparse.Namespace,
    cluster: Cluster,
    faults: Faults,
    run: Run,
    memory: dict[str, Any],
) -> dict[str, Any]:
    return {
        "seconds": arguments.seconds,
        "seed": arguments.seed,
        "left_out": faults.left_out,
        "not_caused": faults.not_caused,
        "faults_survived": sum(run.survived.values()),
        "faults_survived_by_kind": dict(sorted(run.survived.items())),
        "learner_step": {"first": run.steps[0], "last": run.steps[-1]} if run.steps else {},
        "rates_with_faults": run.hurt_rates,
        "rates_without_faults": run.calm_rates,
        "starts": {role.name: role.starts for role in cluster.roles},
        "ends_for_a_full_disk": sum(role.ends_without_room for role in cluster.roles),
        "most_bytes_sent_to_a_full_disk": max(cluster.sent_to_full_disks, default=0),
        "ends_for_a_clock_set_back": sum(role.ends_after_set_back for role in cluster.roles),
        "ends_while_learners_met": sum(role.ends_in_meetings for role in cluster.roles),
        "rss": memory,
    }


def kinds(text: str) -> list[str]:
    """Returns the kinds of faults of a list with commas. ArgumentTypeError if there is no such."""
    named = text.split(",")
    if unknown := [kind for kind in named if kind not in WEIGHTS]:
        raise argparse.ArgumentTypeError(
            f"there is no {', '.join(unknown)}; one or more of {', '.join(WEIGHTS)} expected"
        )
    return named


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/faults", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="time with faults; default: 60")
    parser.add_argument(
        "--calm-seconds",
        type=float,
        default=0,
        help="time without faults before, between and after each ten minutes; default: 0",
    )
    parser.add_argument(
        "--recovery-seconds",
        type=float,
        default=RECOVERY_SECONDS,
        help="time to be healthy and to learn again; more on a busy machine; default: 90",
    )
    parser.add_argument(
        "--kinds",
        type=kinds,
        default=[],
        help="only these faults, such as kill,set-clock; default: all",
    )
    parser.add_argument("--interval", type=float, default=2, help="seconds between two; default: 2")
    parser.add_argument("--seed", type=int, default=0, help="of what goes wrong; default: 0")
    parser.add_argument(
        "--binary",
        type=pathlib.Path,
        default=ROOT / "build/bin/mallocmuzero",
        help="default: build/bin/mallocmuzero",
    )
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and data")
    return parser.parse_args()


def unusable(binary: pathlib.Path) -> str:
    """Returns why the roles cannot be started with this executable, or an empty string."""
    if not binary.is_file():
        return f"no {binary}; build it or give --binary"
    # It may lack the other executables that its commands start.
    help_of_role: list[str | pathlib.Path] = [binary, "actor", "--help"]
    ran = subprocess.run(help_of_role, capture_output=True, check=False, text=True)
    return "" if ran.returncode == 0 else ran.stderr.strip()


def main() -> int:
    arguments = parse_arguments()
    if why := unusable(arguments.binary):
        print(f"faults: {why}", file=sys.stderr)
        return 2
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mallocmuzero-faults-"))
    print(f"faults: logs in {folder}", file=sys.stderr)
    hide_mounts()
    # An exception ends the processes and unmounts the file systems.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    keeps = True
    try:
        report = torment(arguments, folder)
        keeps = arguments.keep or bool(report["failures"])
    finally:
        if keeps:
            print(f"faults: {folder} is kept", file=sys.stderr)
    print(json.dumps(report, indent=2))
    if not keeps:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
