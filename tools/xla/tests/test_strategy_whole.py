"""Whole searches by the strategy, with made-up compilers, clocks and gains."""

from __future__ import annotations

import math
import random

import pytest
from strategy_spaces import OWN, SETTINGS, space

from mallocmuzero_xla.search.seen import best
from mallocmuzero_xla.search.steps import Candidate, Costs, Kind, Outcome, Space, Step
from mallocmuzero_xla.search.strategy import OVERTIME, next_steps


class World:
    """A compiler whose cycles depend on limit and settings, with a clock."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.compile_seconds = 10 ** draw.uniform(-0.5, 2)
        self.trial_seconds = self.compile_seconds * draw.uniform(0.02, 0.3)
        self._limits = {kib: draw.uniform(0.8, 1.2) for kib in range(0, 256 * 1024, 1024)}
        self._refused = {kib for kib in self._limits if draw.random() < 0.15}
        self.default_fails = draw.random() < 0.2
        (self._refused.add if self.default_fails else self._refused.discard)(OWN)
        self._settings = {kind: draw.choice([0.9, 0.97, 1.0, 1.0, 1.05]) for kind in SETTINGS}
        self._rounds = {
            kind: [draw.uniform(0.85, 1.0) for _ in range(draw.randrange(4))]
            for kind in (Kind.OVERRIDES, Kind.PLACED)
        }
        self._noise = draw
        self.record: list[Outcome] = []

    def cycles(self, candidate: Candidate) -> float | None:
        if candidate.limit in self._refused:
            return None
        shares = [self._settings[kind] for kind in candidate.settings]
        return 1000 * self._limits[candidate.limit] * math.prod(shares)

    def do(self, step: Step) -> Outcome:
        noise = self._noise.uniform(0.9, 1.1)
        cycles, finished = self.cycles(step.candidate), False
        seconds = self.compile_seconds * noise
        match step.kind:
            case Kind.TRIAL:
                seconds = self.trial_seconds * noise
                cycles = None if cycles is None else cycles * self._noise.uniform(0.97, 1.03)
            case Kind.PREPARE:
                seconds = 2 * seconds
                cycles = cycles if self._noise.random() < 0.8 else None
            case Kind.OVERRIDES | Kind.PLACED:
                done = sum(each.step == step for each in self.record)
                finished = done >= len(self._rounds[step.kind])
                share = min(self._rounds[step.kind][: done + 1], default=1.0)
                cycles = None if cycles is None else cycles * share
        return Outcome(step, seconds, cycles, finished)

    def search(self, of: Space, budget: float, width: int) -> float:
        """Runs a search; returns the seconds that it took, steps at once after each other."""
        clock = 0.0
        for _ in range(500):
            left = max(0.0, budget - clock)
            costs = Costs(
                self.compile_seconds,
                self.trial_seconds,
                2 * self.compile_seconds,
                0.4 * left,
                3 * self.compile_seconds,
                self.compile_seconds,
            )
            steps = next_steps(of, self.record, left, budget, costs, width)
            if not steps:
                return clock
            assert len(set(steps)) == len(steps) <= width
            outcomes = [self.do(step) for step in steps]
            placed = max(costs.placed_least, min(costs.placed, left))
            rounds = {Kind.OVERRIDES: costs.overrides, Kind.PLACED: placed}
            clock += sum(rounds.get(each.step.kind, each.seconds) for each in outcomes)
            self.record += outcomes
        pytest.fail("the search does not end")


@pytest.mark.parametrize("seed", range(300))
def test_any_search_ends_in_time_with_a_result_no_worse_than_the_default(seed: int) -> None:
    world = World(seed)
    draw = random.Random(-seed)
    of = space(
        memory=draw.choice([0, 64 * 1024, 128 * 1024]),
        settings=SETTINGS[: draw.randrange(len(SETTINGS))],
        overrides=draw.random() < 0.7,
        placed=draw.random() < 0.5,
    )
    budget = 10 ** draw.uniform(0, 3)
    clock = world.search(of, budget, draw.choice([1, 2]))
    plain = [each for each in world.record if each.step.kind == Kind.COMPILE]
    working = [each for each in plain if each.cycles is not None]
    found = best(world.record)
    if not working:
        # Every limit was tried, if there is any.
        assert found is None
        assert len(plain) == 1 + len(of.limits((1.5, 2, 3, 4, 0.75, 0.5, 0.25)))  # type: ignore[arg-type]
        return
    assert found is not None
    assert found.cycles is not None
    assert found.cycles <= min(each.cycles for each in working if each.cycles is not None)
    # The compiles up to the first that works have no limit; a step ends a tenth late at most, and
    # in this world it takes a tenth longer than expected.
    needed = sum(each.seconds for each in plain[: plain.index(working[0]) + 1])
    one_step = 0.1 * 2 * 2 * world.compile_seconds
    assert clock <= max(needed, (1 + OVERTIME) * budget + one_step)
    assert all(each.step.candidate.limit < of.memory for each in plain[1:] if of.memory)
    assert of.memory or len({each.step.candidate.limit for each in plain}) == 1
    rounds = (Kind.OVERRIDES, Kind.PLACED)
    done = [each.step for each in world.record if each.step.kind not in rounds]
    assert of.placed or all(each.step.kind != Kind.PLACED for each in world.record)
    assert len(set(done)) == len(done)
