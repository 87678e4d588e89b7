"""What a run measures: memory of the roles, updates and processor time of the learner."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import statistics
from typing import Any

from loopback_cluster import Cluster
from roles import Memory, Role

# The span of time for which rates are reported, seconds.
BLOCK_SECONDS = 600.0

# Memory at the end is at most this much above the memory at half time. Both are the 90th percentile
# of the samples of a sixth of the run. A process uses more while it fills its buffers, such as
# RocksDB's of 16 MiB, so that only processes up to the same age are compared.
RSS_RATIO = 1.05
RSS_PERCENTILE = 90
# Shorter runs do not show growth: caches still fill.
RSS_SECONDS = 1800.0


@dataclasses.dataclass
class Sample:
    """Totals at one time."""

    at: float  # time, seconds
    updates: float  # the most that the learner has made, those before a restart counted
    cpu_seconds: float  # of all learner processes


class UpdateMeter:
    """Counts the updates of the learner and the processor time of its processes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._samples: list[Sample] = [Sample(0.0, 0.0, 0.0)]

    def sample(self, now: float) -> None:
        last = self._samples[-1]
        # A learner that has started again repeats the updates since its last checkpoint, which do
        # not count a second time.
        updates = max(last.updates, self._cluster.updates() or 0.0)
        cpu_seconds = sum(role.cpu_seconds for role in self._cluster.learners)
        self._samples.append(Sample(now, updates, cpu_seconds))

    def rates(self, begin: float, end: float) -> dict[str, float]:
        """Returns the updates of a span of time, by time and by processor time."""
        inside = [s for s in self._samples if begin <= s.at <= end]
        if len(inside) < 2:
            return {}
        first, last = inside[0], inside[-1]
        updates = last.updates - first.updates
        return {
            "seconds": round(last.at - first.at, 1),
            "updates": updates,
            "updates_per_second": round(updates / (last.at - first.at), 2),
            "updates_per_cpu_second": round(
                updates / max(1e-9, last.cpu_seconds - first.cpu_seconds), 2
            ),
            "load_average_15_minutes": round(os.getloadavg()[2], 1),
        }


# A line of the learner's process 0 at its start, with the step of the checkpoint that it goes on
# from.
START = re.compile(r" learner: step (\d+), listens on ")


def lost_checkpoints(log: str) -> list[str]:
    """Returns the starts of the learner by its log that went on from a checkpoint that is too old.

    A process that is killed may leave a checkpoint that is not synced yet. The next start may read
    it, and a power cut may take it after that. The one before it is synced.
    """
    lost = []
    seen: set[int] = set()
    for step in map(int, START.findall(log)):
        synced = sorted(seen)[-2:-1]
        if synced and step < synced[0]:
            lost.append(f"the learner started from step {step} after step {synced[0]} was saved")
        seen.add(step)
    return lost


class DamageMeter:
    """Counts the draws by which each shard has found a game whose bytes are damaged.

    The shard then lists the game as evicted, so an audit of ids does not find it.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._last: list[float | None] = [None for _ in cluster.shards]
        self.found = [0.0 for _ in cluster.shards]

    def silent(self) -> list[str]:
        """Returns the names of shards that have never told the figure."""
        shards = zip(self._cluster.shards, self._last, strict=True)
        return [shard.name for shard, last in shards if last is None]

    def sample(self) -> None:
        for i, shard in enumerate(self._cluster.shards):
            now = self._cluster.unreadable(shard)
            if now is None:
                continue
            last = self._last[i] or 0.0
            # A shard that has started again counts from 0.
            self.found[i] += now - last if now >= last else now
            self._last[i] = now


def percentile(values: list[int]) -> float:
    """Returns the least value that RSS_PERCENTILE % do not exceed (base/percentile.h)."""
    rank = math.ceil(len(values) * RSS_PERCENTILE / 100)
    return float(sorted(values)[rank - 1])


def up_to_age(span: list[Memory], oldest: float) -> list[int]:
    """Returns the memory of processes up to this age, or of all if none is that young."""
    return [s.rss for s in span if s.age <= oldest] or [s.rss for s in span]


def rss_report(role: Role, seconds: float) -> dict[str, Any]:
    """Returns figures of a role's memory, MiB."""
    samples = role.memory
    if not samples:
        return {}
    begin, end = samples[0].at, samples[-1].at
    sixth = (end - begin) / 6
    half_time = [s for s in samples if begin + 2.5 * sixth <= s.at < begin + 3.5 * sixth]
    last = [s for s in samples if s.at >= begin + 5 * sixth]
    report: dict[str, Any] = {
        "median_mib": round(statistics.median(s.rss for s in samples) / 2**20, 1),
        "highest_mib": round(max(s.rss for s in samples) / 2**20, 1),
    }
    if half_time and last:
        oldest = min(max(s.age for s in span) for span in (half_time, last))
        before, after = (percentile(up_to_age(span, oldest)) for span in (half_time, last))
        report["oldest_compared_seconds"] = round(oldest)
        report["half_time_mib"] = round(before / 2**20, 1)
        report["end_mib"] = round(after / 2**20, 1)
        report["ratio"] = round(after / before, 3)
        if seconds >= RSS_SECONDS:
            report["flat"] = after <= RSS_RATIO * before
    return report


def memory_failures(memory: dict[str, dict[str, Any]], seconds: float) -> list[str]:
    """Returns what is wrong with the reports of the roles' memory after a run of these seconds."""
    if seconds < RSS_SECONDS:
        return []
    says = {None: "was not measured", False: "grows"}
    flat = {name: report.get("flat") for name, report in memory.items()}
    return [f"the memory of {name} {says[what]}" for name, what in flat.items() if not what]
