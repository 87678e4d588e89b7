"""Simulates the autoscaler of actors, with the chart's own settings, on a model of the limiter."""

from __future__ import annotations

import dataclasses
import math

import chart
import pytest
import yaml

# The number of actors that insert as much as the learner draws.
ENOUGH = 100
POSITIONS = 100.0  # that an actor inserts a second
POD_START = 30  # seconds until a new actor plays
SYNC = 15  # seconds between two decisions of a HorizontalPodAutoscaler
TOLERANCE = 0.1  # of a HorizontalPodAutoscaler: smaller differences change nothing
HOURS = 3


@dataclasses.dataclass
class Run:
    minutes_to_enough: float
    most: int
    mean: float
    drawn_share: float  # of what the learner could draw


def settings() -> dict[str, int]:
    values = yaml.safe_load((chart.CHART / "values.yaml").read_text())["actor"]["autoscaling"]
    assert values["window"].endswith("m")
    return {
        "window": 60 * int(values["window"][:-1]),
        **{key: values[key] for key in values if key.startswith("scale")},
    }


class Autoscaler:
    """The algorithm of Kubernetes for one metric of type Value with the target 1."""

    def __init__(self, count: int, rules: dict[str, int]) -> None:
        self.count = count
        self._rules = rules
        self._wishes: list[tuple[int, int]] = []
        self._changes: list[tuple[int, int]] = []

    def _before(self, now: int, period: int) -> int:
        return self.count - sum(change for time, change in self._changes if time > now - period)

    def decide(self, now: int, metric: float) -> int:
        """Returns the change of the count."""
        wish = self.count
        if abs(metric - 1) > TOLERANCE:
            wish = math.ceil(self.count * metric)
        self._wishes.append((now, wish))
        stable = self._rules["scaleDownSeconds"]
        recent = [each for time, each in self._wishes if time >= now - stable]
        if wish > self.count:
            before = self._before(now, self._rules["scaleUpSeconds"])
            most = max(math.ceil(before * (1 + self._rules["scaleUpPercent"] / 100)), before + 1)
            wish = max(self.count, min(wish, most))
        else:
            before = self._before(now, stable)
            rest = 1 - self._rules["scaleDownPercent"] / 100
            least = min(math.floor(before * rest), before - 1)
            wish = min(self.count, max(*recent, least, 1))
        change = wish - self.count
        self.count = wish
        if change:
            self._changes.append((now, change))
        return change


def simulate(count: int, error_buffer: float) -> Run:
    rules = settings()
    scaler = Autoscaler(count, rules)
    playing, starting = count, dict[int, int]()
    error, errors, counts, drawn = 0.0, list[float](), list[int](), list[float]()
    reached = math.inf
    for now in range(HOURS * 3600):
        playing += starting.pop(now, 0)
        # Both sides go as fast as they can and as the limiter lets them.
        wants_draws, wants_inserts = ENOUGH * POSITIONS, playing * POSITIONS
        draws = min(wants_draws, error_buffer - error + wants_inserts)
        inserts = min(wants_inserts, error_buffer + error + draws)
        error += draws - inserts
        errors.append(error / error_buffer)
        counts.append(scaler.count)
        drawn.append(draws / wants_draws)
        if now % SYNC == 0:
            recent = errors[-rules["window"] :]
            change = scaler.decide(now, 1 + sum(recent) / len(recent))
            if change > 0:
                starting[now + POD_START] = change
            playing += min(change, 0)
        if scaler.count >= ENOUGH:
            reached = min(reached, now)
    half = len(counts) // 2
    return Run(
        reached / 60, max(counts[half:]), sum(counts[half:]) / half, sum(drawn[half:]) / half
    )


@pytest.mark.parametrize("error_buffer", [20_000, 200_000])
@pytest.mark.parametrize("count", [8, 200])
def test_the_learner_has_games_and_few_actors_wait(count: int, error_buffer: float) -> None:
    run = simulate(count, error_buffer)
    assert run.minutes_to_enough <= 30
    assert run.drawn_share >= 0.99
    assert run.mean <= 1.15 * ENOUGH
    assert run.most <= 1.4 * ENOUGH
