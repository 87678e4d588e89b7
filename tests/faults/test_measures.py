"""Tests of measures.py."""

from __future__ import annotations

import pathlib
from typing import cast

import pytest
from loopback_cluster import Cluster
from measures import DamageMeter, UpdateMeter, lost_checkpoints, memory_failures, rss_report
from roles import Memory, Role


class FakeCluster:
    """A cluster whose learner has made the updates of a list, one entry a look."""

    def __init__(self, updates: list[float | None], role: Role) -> None:
        self._updates = updates
        self.learners = [role]

    def updates(self) -> float | None:
        return self._updates.pop(0)


def test_updates_that_a_restarted_learner_repeats_count_once(tmp_path: pathlib.Path) -> None:
    role = Role("learner", [], tmp_path)
    # It is away, starts with 0 until it has read its checkpoint, and repeats 20 updates.
    cluster = FakeCluster([100.0, 200.0, None, 0.0, 180.0, 260.0], role)
    meter = UpdateMeter(cast(Cluster, cluster))
    for second in range(6):
        meter.sample(10.0 + second)
        role.cpu_seconds += 0.5
    rates = meter.rates(10.0, 15.0)
    # 100 to 260 in 5 s, with 5 x 0.5 s of the processor.
    assert rates["updates"] == 160
    assert rates["updates_per_second"] == 32
    assert rates["updates_per_cpu_second"] == 64


@pytest.mark.parametrize(("end_mib", "is_flat"), [(104, True), (106, False)])
def test_memory_is_flat_if_its_end_is_near_half_time(
    tmp_path: pathlib.Path, end_mib: int, is_flat: bool
) -> None:
    role = Role("shard", [], tmp_path)
    # 100 MiB until the last sixth of an hour.
    role.memory = [Memory(at, 9, (100 if at < 3000 else end_mib) << 20) for at in range(3601)]
    report = rss_report(role, 3600)
    assert report["half_time_mib"] == 100
    assert report["ratio"] == end_mib / 100
    assert report["flat"] is is_flat
    failures = memory_failures({"shard": report}, 3600)
    assert failures == ([] if is_flat else ["the memory of shard grows"])


def test_the_memory_of_processes_of_alike_age_is_compared(tmp_path: pathlib.Path) -> None:
    # A process has 100 MiB at its start and a tenth of a MiB more each second.
    def memory(at: int, age: int) -> Memory:
        return Memory(at, age, (1000 + age << 20) // 10)

    role = Role("shard", [], tmp_path)
    # Every process lives for two minutes, but the last one for ten.
    role.memory = [memory(at, at % 120 if at < 3000 else at - 3000) for at in range(3601)]
    report = rss_report(role, 3600)
    assert report["oldest_compared_seconds"] == 119
    assert report["highest_mib"] == 160
    assert report["flat"]
    # One process that lives through all of the run is compared with itself.
    role.memory = [memory(at, at) for at in range(3601)]
    assert not rss_report(role, 3600)["flat"]


def test_memory_that_was_not_measured_in_a_long_run_is_a_failure(tmp_path: pathlib.Path) -> None:
    role = Role("shard", [], tmp_path)
    assert memory_failures({"shard": rss_report(role, 3600)}, 3600) == [
        "the memory of shard was not measured"
    ]
    # It was away at half time.
    role.memory = [Memory(at, 9, 100 << 20) for at in range(3601) if not 1000 < at < 2500]
    assert memory_failures({"shard": rss_report(role, 3600)}, 3600) == [
        "the memory of shard was not measured"
    ]
    assert memory_failures({"shard": rss_report(role, 60)}, 60) == []


def test_damaged_games_that_a_shard_finds_count_through_its_restarts(
    tmp_path: pathlib.Path,
) -> None:
    figures: dict[str, list[float | None]] = {
        "a": [0.0, 2.0, None, 1.0, 1.0],
        "b": [0.0, 0.0, 0.0, 0.0, 3.0],
        "c": [None, None, None, None, None],
    }

    class Shards:
        def __init__(self) -> None:
            self.shards = [Role(name, [], tmp_path) for name in figures]

        def unreadable(self, shard: Role) -> float | None:
            return figures[shard.name].pop(0)

    meter = DamageMeter(cast(Cluster, Shards()))
    for _ in range(5):
        meter.sample()
    assert meter.found == [3, 3, 0]
    assert meter.silent() == ["c"]


@pytest.mark.parametrize(
    ("steps", "lost"),
    [
        ([0, 0, 50, 50, 90], 0),
        # The checkpoint of step 50, or 90, was not synced before the power cut.
        ([0, 50, 0, 60], 0),
        ([0, 50, 90, 50, 90], 0),
        ([0, 50, 90, 0], 1),
        ([0, 50, 90, 40, 90], 1),
    ],
)
def test_a_learner_may_lose_only_its_latest_checkpoint(steps: list[int], lost: int) -> None:
    lines = [
        f"2026-11-26T04:46:08.758Z I learner: step {step}, listens on 127.0.0.1:1\n"
        "2026-11-26T04:46:08.759Z I learner.1: step 0\n"
        for step in steps
    ]
    assert len(lost_checkpoints("".join(lines))) == lost
