"""Tests of run.py: when a cluster has recovered."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
import run
from fault import Fault
from injectors import Faults
from loopback_cluster import Cluster
from run import Run

BEGIN = 1000.0


class FakeClock:
    """A clock on which time passes only while somebody sleeps."""

    now = BEGIN

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


CLOCK = FakeClock()


@pytest.fixture(autouse=True)
def fake_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    CLOCK.now = BEGIN
    told = {"strftime": time.strftime, "gmtime": time.gmtime}
    monkeypatch.setattr(
        run, "time", SimpleNamespace(monotonic=CLOCK.monotonic, sleep=CLOCK.sleep, **told)
    )


class FakeCluster:
    """A cluster that is healthy, learns, plays and uses its proxies after so many seconds."""

    def __init__(
        self, healthy: float = 0, learns: float = 0, plays: float = 0, passes: float = 0
    ) -> None:
        self._healthy, self._learns, self._plays, self._passes = healthy, learns, plays, passes
        self.roles: list[Any] = []
        self.learners: list[Any] = []
        self.shards: list[Any] = []

    def _grown(self, after: float) -> float:
        """Returns a number that grows after so many seconds."""
        return max(0.0, CLOCK.now - BEGIN - after)

    def status(self) -> dict[str, Any]:
        return {"healthy": self._grown(self._healthy) > 0}

    def learner_step(self) -> float:
        return self._grown(self._learns)

    def updates(self) -> float:
        return 0.0

    def acknowledged(self) -> set[str]:
        return {str(i) for i in range(int(100 * self._grown(self._plays)))}

    def bytes_sent(self) -> dict[int, int]:
        return {7: int(100 * self._grown(self._passes))}

    def silent_proxies(self, since: dict[int, int]) -> list[int]:
        return [port for port, count in self.bytes_sent().items() if count == since[port]]


class FakeFault(Fault):
    """A fault that does nothing."""

    kind = "nothing"
    victim = "nobody"
    seconds = 0.1

    def begin(self) -> None: ...

    def end(self) -> None: ...


class FakeFaults:
    """Draws a fault again and again, or none."""

    def __init__(self, fault: Fault | None) -> None:
        self._fault = fault

    def draw(self, busy: set[str]) -> Fault | None:
        return self._fault


def run_of(cluster: FakeCluster, recovery_seconds: float, fault: Fault | None = None) -> Run:
    faults = cast(Faults, FakeFaults(fault))
    return Run(cast(Cluster, cluster), faults, 0.1, recovery_seconds)


def test_a_cluster_that_works_again_has_recovered() -> None:
    assert run_of(FakeCluster(healthy=0.3, learns=0.9), 20).recover() > 0.9


NEVER = 1e9


@pytest.mark.parametrize(
    ("cluster", "what"),
    [
        (FakeCluster(healthy=NEVER), "every role is healthy"),
        (FakeCluster(learns=NEVER), "the learner's step has advanced"),
        (FakeCluster(plays=NEVER), "games arrive"),
        (FakeCluster(passes=NEVER), "bytes pass every proxy"),
    ],
)
def test_a_cluster_that_does_not_work_again_has_not_recovered(
    cluster: FakeCluster, what: str
) -> None:
    with pytest.raises(TimeoutError, match=f"not within 1 s: {what}"):
        run_of(cluster, 1.0).recover()


def test_the_time_to_recover_is_that_of_all_conditions_together() -> None:
    with pytest.raises(TimeoutError, match="not within 1 s: the learner's step has advanced"):
        run_of(FakeCluster(healthy=0.7, learns=1.7), 1.0).recover()


@pytest.mark.parametrize(
    ("fault", "failures"), [(FakeFault(), []), (None, ["no fault was caused"])]
)
def test_a_run_that_causes_no_fault_fails(fault: Fault | None, failures: list[str]) -> None:
    hurt = run_of(FakeCluster(), 1.0, fault)
    hurt.hurt_in_blocks(0.5, 0)
    assert hurt.failures == failures
    assert bool(hurt.survived) is (fault is not None)
