"""Tests of run.py: when a cluster has recovered."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest
from injectors import Faults
from loopback_cluster import Cluster
from run import Run


class FakeCluster:
    """A cluster that is healthy, learns, plays and uses its proxies after so many seconds."""

    def __init__(
        self, healthy: float = 0, learns: float = 0, plays: float = 0, passes: float = 0
    ) -> None:
        self._begin = time.monotonic()
        self._healthy, self._learns, self._plays, self._passes = healthy, learns, plays, passes
        self.roles: list[Any] = []
        self.learners: list[Any] = []
        self.shards: list[Any] = []

    def _grown(self, after: float) -> float:
        """Returns a number that grows after so many seconds."""
        return max(0.0, time.monotonic() - self._begin - after)

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


def run_of(cluster: FakeCluster, recovery_seconds: float) -> Run:
    return Run(cast(Cluster, cluster), cast(Faults, None), 1.0, recovery_seconds)


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
