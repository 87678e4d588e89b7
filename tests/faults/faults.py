"""Injects faults into a cluster on the loopback and checks that it loses nothing.

Runs 2 processes of a learner, 2 durable replay shards, 4 actors and a reanalyser with proxies
between them, with mutual TLS and a token. Every few seconds it causes a fault (injectors.py). At
the end it repairs everything and kills the shards once more. Every trajectory that a shard has
acknowledged must then be stored or evicted, and none stored twice. At last it cuts the power of the
shard of DURABLE, which may lose games but must start. Prints a JSON report; exit code 1 if a check
fails.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

from audit import compare, failures_in, written_ids
from disks import SmallDisks
from fault import Fault
from injectors import LONG_RUN_SECONDS, Faults
from loopback_cluster import Cluster, shard_of
from measures import BLOCK_SECONDS, UpdateMeter, rss_report

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Size of the disk of a shard and of the learner: several times what they store.
DISK_MEBIBYTES = 256

# Time for the cluster to be healthy and to learn again after the last fault, on an idle machine.
RECOVERY_SECONDS = 90.0

# Time in which the shard of DURABLE takes games before each of its power cuts, and the number of
# cuts in short and long runs.
PLAY_SECONDS = 3.0
CUTS = 1
CUTS_OF_LONG_RUNS = 5

TICK_SECONDS = 0.1


@dataclasses.dataclass
class Pending:
    """A fault that is still active."""

    fault: Fault
    end: float


class Run:
    """One run: the cluster, the faults, and the observations."""

    def __init__(
        self, cluster: Cluster, faults: Faults, interval: float, recovery_seconds: float
    ) -> None:
        self._cluster = cluster
        self._faults = faults
        self._interval = interval
        self.recovery_seconds = recovery_seconds
        self._pending: list[Pending] = []
        self.survived: collections.Counter[str] = collections.Counter()
        self.steps: list[float] = []
        self.failures: list[str] = []
        self._meter = UpdateMeter(cluster)
        # Rates of updates in spans with faults, and in spans without before and after them.
        self.hurt_rates: list[dict[str, float]] = []
        self.calm_rates: list[dict[str, float]] = []

    def hurt_in_blocks(self, seconds: float, calm_seconds: float) -> None:
        """Causes faults for `seconds`; leaves the cluster alone before, between and after blocks.

        The cluster must be healthy and learning again after each block.
        """
        self._calm(calm_seconds)
        while seconds > 0:
            begin = time.monotonic()
            block = min(seconds, BLOCK_SECONDS)
            self.hurt(block)
            seconds -= block
            self._note_rates("with faults", self.hurt_rates, begin)
            if calm_seconds <= 0:
                continue
            try:
                self.recover()
                self._calm(calm_seconds)
            except TimeoutError as error:
                # The run goes on, since its other checks are worth as much.
                self.failures.append(str(error))

    def _calm(self, seconds: float) -> None:
        if seconds <= 0:
            return
        begin = time.monotonic()
        self.wait_until("time passes", seconds + 60, lambda: time.monotonic() > begin + seconds)
        self._note_rates("without faults", self.calm_rates, begin)

    def _note_rates(self, what: str, to: list[dict[str, float]], begin: float) -> None:
        rates = self._meter.rates(begin, time.monotonic())
        print(f"{what}: {rates}", file=sys.stderr)
        to.append(rates)

    def recover(self) -> float:
        """Waits until the cluster is healthy and learns; returns the seconds."""
        begin = time.monotonic()
        self.wait_until(
            "every role is healthy",
            self.recovery_seconds,
            lambda: bool(self._cluster.status().get("healthy")),
        )
        self.learns_on()
        return time.monotonic() - begin

    def hurt(self, seconds: float) -> None:
        """Begins and ends faults until the time is over; then ends the active ones."""
        begin = time.monotonic()
        next_fault = begin + self._interval
        next_look = begin
        while (now := time.monotonic()) < begin + seconds:
            self._end_due(now)
            if now >= next_fault:
                self._begin_one(now)
                next_fault = now + self._interval
            if now >= next_look:
                self.watch(now)
                next_look = now + 1
            time.sleep(TICK_SECONDS)
        self._end_due(float("inf"))

    def watch(self, now: float) -> None:
        """Takes samples; notes and restarts processes that ended by themselves."""
        hurt = {p.fault.victim for p in self._pending if not p.fault.lets_start}
        for role in self._cluster.roles:
            role.sample(now)
            if role.name not in hurt and role.is_wanted and role.note_end():
                role.start()
        self._meter.sample(now)

    def _begin_one(self, now: float) -> None:
        busy = {name for pending in self._pending for name in pending.fault.all_touched()}
        fault = self._faults.draw(busy)
        if fault is None:
            return
        now_text = time.strftime("%H:%M:%S", time.gmtime())
        print(f"{now_text} {fault.kind}: {fault.victim} for {fault.seconds:.1f} s", file=sys.stderr)
        fault.begin()
        self._pending.append(Pending(fault, time.monotonic() + fault.seconds))

    def _end_due(self, now: float) -> None:
        for pending in [p for p in self._pending if p.end <= now]:
            pending.fault.end()
            self._pending.remove(pending)
            self.survived[pending.fault.kind] += 1

    def wait_until(self, what: str, seconds: float, condition: Callable[[], bool]) -> None:
        """Waits for a condition; raises TimeoutError, which names it, if it stays false."""
        end = time.monotonic() + seconds
        while True:
            self.watch(time.monotonic())
            if condition():
                return
            if time.monotonic() > end:
                status = json.dumps(self._cluster.status())
                raise TimeoutError(f"not within {seconds:.0f} s: {what}; status: {status}")
            time.sleep(0.5)

    def learns_on(self) -> None:
        """Waits for further updates of the learner."""
        first: list[float] = []

        def has_advanced() -> bool:
            step = self._cluster.learner_step()
            if step is None:
                return False
            self.steps.append(step)
            first.append(step)
            # The learner may have gone back to its last checkpoint meanwhile.
            return step > min(first)

        self.wait_until("the learner's step has advanced", self.recovery_seconds, has_advanced)

    def takes_games(self, seconds: float) -> None:
        """Waits for an acknowledgement, and then for some seconds more."""
        before = len(self._cluster.acknowledged())
        self.wait_until(
            "games arrive",
            self.recovery_seconds,
            lambda: len(self._cluster.acknowledged()) > before,
        )
        end = time.monotonic() + seconds
        self.wait_until("time passes", self.recovery_seconds, lambda: time.monotonic() > end)


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
    for shard in cluster.shards:
        shard.kill()
        shard.start()
    run.wait_until("the shards are back", run.recovery_seconds, cluster.shards_answer)
    return {"actor_stop_seconds": round(max(stop_seconds), 1), **audit(cluster, holder)}


def cut_unsynced_shard(
    cluster: Cluster, run: Run, faults: Faults, seconds: float
) -> dict[str, Any]:
    """Cuts the power of the shard of DURABLE while games arrive; then audits again.

    The shard must start again each time. Losses are allowed there and nowhere else.
    """
    for role in [*cluster.learners, *cluster.actors]:
        role.start()
    holder: dict[str, int] = {}
    unsynced = cluster.shards.index(cluster.unsynced_shard)
    for _ in range(CUTS_OF_LONG_RUNS if seconds >= LONG_RUN_SECONDS else CUTS):
        run.takes_games(PLAY_SECONDS)
        for index, shard in enumerate(cluster.shards):
            content = cluster.content(shard)
            holder |= dict.fromkeys([*content.stored, *content.evicted], index)
        cut = faults.cut_power_of(cluster.unsynced_shard)
        # What came after the list was printed is still in the files of the killed shard.
        cluster.unsynced_shard.kill()
        holder |= dict.fromkeys(written_ids(cluster.data[unsynced]), unsynced)
        cut.begin()
        cut.end()
        run.survived["power cut of a shard of DURABLE"] += 1
        run.wait_until("the shards are back", run.recovery_seconds, cluster.shards_answer)
    found = audit_shards(cluster, run, holder)
    lost, without_bytes = found["lost_by_shard"], found["without_bytes_by_shard"]
    return {
        "lost_by_power_cuts_of_durable": lost.pop(unsynced),
        "without_bytes_by_power_cuts_of_durable": without_bytes.pop(unsynced),
        "lost_after_power_cuts": sum(lost),
        "lost_ids_after_power_cuts": found["lost_ids"],
        "stored_twice_after_power_cuts": found["stored_twice"],
        "without_bytes_after_power_cuts": sum(without_bytes),
        "acknowledged": found["acknowledged"],
    }


def torment(arguments: argparse.Namespace, folder: pathlib.Path) -> dict[str, Any]:
    """Runs everything; returns the report."""
    binary: pathlib.Path = arguments.binary
    cluster = Cluster(binary, folder, import_program(binary, folder))
    disks = SmallDisks([*cluster.data, cluster.run_dir], DISK_MEBIBYTES)
    faults = Faults(cluster, disks, arguments.seconds, arguments.seed, arguments.kinds)
    run = Run(cluster, faults, arguments.interval, arguments.recovery_seconds)
    failures: list[str] = []
    found: dict[str, Any] = {}
    try:
        cluster.start()
        run.learns_on()
        run.hurt_in_blocks(arguments.seconds, arguments.calm_seconds)
        try:
            found["recovered_seconds"] = round(run.recover(), 1)
        finally:
            found |= audit_shards(cluster, run, {})
        if faults.can_cut_power:
            found |= cut_unsynced_shard(cluster, run, faults, arguments.seconds)
    except TimeoutError as error:
        failures.append(str(error))
    finally:
        for role in reversed(cluster.roles):
            role.stop()
        disks.unmount()
    failures += run.failures
    failures += [text for role in cluster.roles for text in role.unexpected]
    failures += failures_in(found)
    memory = {role.name: rss_report(role, arguments.seconds) for role in cluster.roles}
    failures += [
        f"the memory of {name} grows" for name, rss in memory.items() if rss.get("flat") is False
    ]
    return {
        "seconds": arguments.seconds,
        "seed": arguments.seed,
        "left_out": faults.left_out,
        "faults_survived": sum(run.survived.values()),
        "faults_survived_by_kind": dict(sorted(run.survived.items())),
        **found,
        "learner_step": {"first": run.steps[0], "last": run.steps[-1]} if run.steps else {},
        "rates_with_faults": run.hurt_rates,
        "rates_without_faults": run.calm_rates,
        "starts": {role.name: role.starts for role in cluster.roles},
        "ends_for_a_full_disk": sum(role.ends_without_room for role in cluster.roles),
        "most_bytes_sent_to_a_full_disk": max(cluster.sent_to_full_disks, default=0),
        "ends_for_a_clock_set_back": sum(role.ends_after_set_back for role in cluster.roles),
        "ends_while_learners_met": sum(role.ends_in_meetings for role in cluster.roles),
        "rss": memory,
        "failures": failures,
    }


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
        type=lambda text: text.split(","),
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


def main() -> int:
    arguments = parse_arguments()
    if not arguments.binary.is_file():
        print(f"faults: no {arguments.binary}; build it or give --binary", file=sys.stderr)
        return 2
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mallocmuzero-faults-"))
    print(f"faults: logs in {folder}", file=sys.stderr)
    report = torment(arguments, folder)
    print(json.dumps(report, indent=2))
    if report["failures"] or arguments.keep:
        print(f"faults: {folder} is kept", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
