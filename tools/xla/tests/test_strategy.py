"""The strategy of the search, against made-up compilers, clocks and gains."""

from __future__ import annotations

import dataclasses
import math
import random

import pytest

from mallocmuzero_xla.search_steps import Candidate, Costs, Kind, Outcome, Space, Step
from mallocmuzero_xla.strategy import OVERTIME, best, next_steps

OWN = 16 * 1024
SETTINGS = tuple(f"setting_{number}=1" for number in range(10))
COSTS = Costs(compile=10.0, trial=1.0, prepare=25.0, overrides=60.0)


def space(**changes: object) -> Space:
    whole = Space(OWN, memory=128 * 1024, settings=SETTINGS)
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]


def compiled(cycles: float | None, mebibytes: float = 16, *settings: str) -> Outcome:
    candidate = Candidate(int(mebibytes * 1024), settings)
    return Outcome(Step(Kind.COMPILE, candidate), 10.0, cycles)


def tried(cycles: float, mebibytes: float, *settings: str) -> Outcome:
    return Outcome(Step(Kind.TRIAL, Candidate(int(mebibytes * 1024), settings)), 1.0, cycles)


def following(record: list[Outcome], remaining: float = 1000.0, width: int = 1) -> list[Step]:
    return next_steps(space(), record, remaining, 1000.0, COSTS, width)


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
                min(left, 3 * self.compile_seconds),
            )
            steps = next_steps(of, self.record, left, budget, costs, width)
            if not steps:
                return clock
            assert len(set(steps)) == len(steps) <= width
            outcomes = [self.do(step) for step in steps]
            rounds = {Kind.OVERRIDES: costs.overrides, Kind.PLACED: costs.placed}
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


def test_the_default_comes_first_whatever_the_time() -> None:
    (step,) = following([], remaining=0.0)
    assert (step.kind, step.candidate) == (Kind.COMPILE, Candidate(OWN))


def test_a_default_that_does_not_compile_makes_other_limits_come_first() -> None:
    record = [compiled(None)]
    tried_limits = []
    while steps := following(record, remaining=0.0):
        tried_limits.append(steps[0].candidate.limit // 1024)
        record.append(compiled(None, steps[0].candidate.limit / 1024))
    assert tried_limits == [24, 32, 48, 64, 12, 8, 4]


def test_limits_beyond_a_slower_one_are_dropped() -> None:
    limits_only = space(settings=(), overrides=False)
    record = [compiled(1000.0), compiled(1100.0, 24), compiled(1100.0, 12)]
    while steps := next_steps(limits_only, record, 1e6, 1e6, COSTS):
        record.append(compiled(1050.0, steps[0].candidate.limit / 1024))
    limits = {each.step.candidate.limit // 1024 for each in record}
    # Beside the best, which is 16: 12 and 20. Never 32, 48, 64, 8, 4.
    assert limits == {16, 24, 12, 20}


def test_a_refused_limit_does_not_drop_those_beyond_it() -> None:
    limits_only = space(settings=(), overrides=False)
    record = [compiled(1000.0), compiled(None, 24), compiled(1100.0, 12)]
    (step,) = next_steps(limits_only, record, 1e6, 1e6, COSTS)
    assert step.candidate == Candidate(32 * 1024)


def test_a_limit_that_gained_is_followed_before_the_other_side() -> None:
    record = [compiled(1000.0), compiled(1000.0, 24), compiled(900.0, 12)]
    limits_only = space(settings=(), overrides=False)
    (step,) = next_steps(limits_only, record, 1e6, 1e6, COSTS)
    assert step.candidate == Candidate(8 * 1024)


def test_a_setting_whose_trial_promises_most_is_compiled_and_says_why() -> None:
    record = [compiled(1000.0), *(tried(1001.0, 16, kind) for kind in SETTINGS[:6])]
    record += [tried(900.0, 16, SETTINGS[6]), tried(950.0, 16, SETTINGS[7])]
    (step,) = following(record)
    assert (step.kind, step.candidate) == (Kind.COMPILE, Candidate(OWN, (SETTINGS[6],)))
    assert step.why == "its trial promises 10.0%"


def test_a_setting_that_helped_under_one_limit_is_compiled_under_a_better_one() -> None:
    fixed = space(settings=SETTINGS[:1], overrides=False)
    record = [
        compiled(1000.0),
        tried(900.0, 16, SETTINGS[0]),
        compiled(905.0, 16, SETTINGS[0]),
        compiled(800.0, 24),
    ]
    steps: list[Step] = []
    while not steps or steps[-1].candidate != Candidate(24 * 1024, SETTINGS[:1]):
        (step,) = next_steps(fixed, record, 1e6, 1e6, COSTS)
        steps.append(step)
        cycles = 790.0 if step.candidate.settings else 1000.0
        record.append(Outcome(step, 1.0, cycles))
    assert len(steps) < 10


def test_settings_are_tried_under_fewer_limits_the_worse_these_are() -> None:
    without_overrides = space(overrides=False)
    record = [compiled(1000.0), compiled(990.0, 24), compiled(995.0, 12), compiled(2000.0, 32)]
    while steps := next_steps(without_overrides, record, 1e6, 1e6, COSTS, 2):
        for step in steps:
            record.append(Outcome(step, 1.0, 5000.0))
    counts = {
        limit: sum(
            each.step.kind == Kind.TRIAL and each.step.candidate.limit == limit * 1024
            for each in record
        )
        for limit in (24, 12, 16, 32)
    }
    assert counts == {24: 8, 12: 4, 16: 2, 32: 0}


def test_a_short_budget_has_no_overrides_and_a_long_one_has() -> None:
    def kinds(budget: float) -> set[Kind]:
        record: list[Outcome] = []
        clock = 0.0
        while steps := next_steps(space(), record, budget - clock, budget, COSTS):
            for step in steps:
                seconds = {Kind.COMPILE: 10.0, Kind.TRIAL: 1.0, Kind.PREPARE: 25.0}
                clock += seconds.get(step.kind, 60.0)
                # The chip's own limit is best, and settings do nothing.
                cycles = 1000.0 if step.candidate.limit == OWN else 1100.0
                record.append(Outcome(step, 1.0, cycles))
        return {each.step.kind for each in record}

    assert Kind.OVERRIDES not in kinds(60.0)
    assert {Kind.COMPILE, Kind.TRIAL} <= kinds(60.0)
    assert Kind.OVERRIDES in kinds(300.0)


def test_overrides_go_on_while_they_gain_and_give_way_when_they_do_not() -> None:
    prepared = Outcome(Step(Kind.PREPARE, Candidate(OWN)), 25.0, 1000.0)
    limits = [compiled(1100.0, 24), compiled(1100.0, 12)]
    settings = [tried(1000.0, 16, kind) for kind in SETTINGS[:8]]
    record = [compiled(1000.0), *limits, *settings, prepared]
    rounds = Step(Kind.OVERRIDES, Candidate(OWN))
    assert following(record) == [rounds]
    gained = [*record, Outcome(rounds, 60.0, 900.0)]
    assert following(gained) == [rounds]
    idle = [*gained, Outcome(rounds, 60.0, 900.0)]
    assert following(idle) != [rounds]
    ended = [*gained, Outcome(rounds, 60.0, 900.0, finished=True)]
    assert rounds not in following(ended)


def test_overrides_come_before_steps_that_exclude_them_and_are_worth_less() -> None:
    # A lower limit promises 3 % in 10 s, overrides 6 % in 39 s. A limit leaves too little of 44 s.
    record = [compiled(1000.0), *(tried(1001.0, 16, kind) for kind in SETTINGS[:8])]
    record.append(compiled(1001.0, 24))
    assert following(record, remaining=1000.0)[0].kind == Kind.COMPILE
    (step,) = next_steps(space(), record, 34.0, 100.0, COSTS)
    assert step.kind == Kind.PREPARE
    (step,) = next_steps(space(), record, 20.0, 100.0, COSTS)
    assert step.kind == Kind.COMPILE


def test_a_limit_must_make_up_what_its_side_is_behind() -> None:
    # 12 MiB gained 2 %, but 24 MiB gained 10 %: 8 MiB promises less than the limits beside 24 MiB.
    record = [compiled(1000.0), compiled(900.0, 24), compiled(905.0, 32), compiled(980.0, 12)]
    limits_only = space(settings=(), overrides=False)
    (step,) = next_steps(limits_only, record, 1e6, 1e6, COSTS)
    assert step.candidate == Candidate(20 * 1024)


def test_two_steps_at_once_are_different_and_fit_together() -> None:
    steps = following([compiled(1000.0)], width=2)
    assert len(set(steps)) == 2
    assert {step.kind for step in steps} <= {Kind.COMPILE, Kind.TRIAL}
    (only,) = next_steps(
        space(settings=(), overrides=False), [compiled(1000.0)], 12.0, 60.0, COSTS, 2
    )
    assert only.kind == Kind.COMPILE


def test_overrides_come_alone() -> None:
    record = [compiled(1000.0)]
    fixed = space(memory=0, settings=())
    (step,) = next_steps(fixed, record, 1000.0, 1000.0, COSTS, 2)
    assert step.kind == Kind.PREPARE
    # A trial is worth more a second. There is room for a second step, but overrides need it all.
    one_setting = space(memory=0, settings=SETTINGS[:1])
    (step,) = next_steps(one_setting, record, 1000.0, 1000.0, COSTS, 2)
    assert step.kind == Kind.TRIAL


def test_promises_that_do_not_come_true_count_less() -> None:
    promises = [tried(930.0, 16, kind) for kind in SETTINGS[:2]]
    record = [compiled(1000.0), *promises, *(tried(1001.0, 16, kind) for kind in SETTINGS[2:8])]
    (step,) = following(record)
    assert step.candidate == Candidate(OWN, SETTINGS[:1])
    # Half of 7 % is more than the 3 % that a limit promises; a quarter is less.
    (step,) = following([*record, compiled(1001.0, 16, SETTINGS[0])])
    assert step.why == "a higher limit of scoped memory"


def test_each_limit_that_cannot_be_prepared_makes_overrides_under_the_next_worth_half() -> None:
    settled = space(settings=(), memory=0)
    both = [compiled(1000.0), compiled(1001.0, 24)]
    failed = Outcome(Step(Kind.PREPARE, Candidate(OWN)), 25.0, None, error="aborted")
    (first,) = next_steps(settled, both, 1000.0, 1000.0, COSTS)
    assert (first.kind, first.candidate) == (Kind.PREPARE, Candidate(OWN))
    (second,) = next_steps(settled, [*both, failed], 1000.0, 1000.0, COSTS)
    assert (second.kind, second.candidate) == (Kind.PREPARE, Candidate(24 * 1024))
    # 1.5 % in 39 s is less a second than half a per cent in 10 s, but more than the least.
    with_limits = space(settings=())
    (step,) = next_steps(with_limits, [*both, failed], 1000.0, 1000.0, COSTS)
    assert step.kind == Kind.COMPILE


def test_a_slower_limit_gets_a_mapping_later_and_one_far_behind_none() -> None:
    fixed = space(settings=(), memory=0)
    record = [compiled(900.0), compiled(950.0, 24), compiled(1200.0, 48)]
    limits = []
    while steps := next_steps(fixed, record, 1e6, 1e6, COSTS):
        (step,) = steps
        if step.kind == Kind.PREPARE:
            limits.append(step.candidate.limit // 1024)
        record.append(Outcome(step, 1.0, 900.0, finished=True))
    assert limits == [16, 24]


def test_a_mapping_that_promises_much_under_a_slower_limit_gets_overrides_first() -> None:
    fixed = space(settings=(), memory=0)
    record = [compiled(900.0), compiled(1000.0, 24)]
    for limit, promise in ((OWN, 890.0), (24 * 1024, 700.0)):
        record.append(Outcome(Step(Kind.PREPARE, Candidate(limit)), 25.0, promise))
    (step,) = next_steps(fixed, record, 1000.0, 1000.0, COSTS)
    assert (step.kind, step.candidate) == (Kind.OVERRIDES, Candidate(24 * 1024))


def test_a_limit_beside_one_that_has_a_mapping_waits_for_one_that_is_farther_away() -> None:
    fixed = space(settings=(), memory=0)
    record = [compiled(900.0), compiled(901.0, 20), compiled(910.0, 32)]
    record.append(Outcome(Step(Kind.PREPARE, Candidate(OWN)), 25.0, None, error="aborted"))
    (step,) = next_steps(fixed, record, 1000.0, 1000.0, COSTS)
    assert (step.kind, step.candidate) == (Kind.PREPARE, Candidate(32 * 1024))


def test_overrides_and_placed_modules_need_one_preparation_and_take_turns_by_their_gains() -> None:
    both = space(settings=(), memory=0, placed=True)
    costs = dataclasses.replace(COSTS, placed=45.0)
    record = [compiled(1000.0)]
    kinds = []
    cycles = {Kind.PREPARE: [1000.0], Kind.PLACED: [900.0, 898.0, 898.0]}
    cycles[Kind.OVERRIDES] = [890.0, 890.0]
    while steps := next_steps(both, record, 1000.0, 1000.0, costs):
        (step,) = steps
        kinds.append(step.kind)
        compiled_to = cycles[step.kind].pop(0)
        finished = step.kind != Kind.PREPARE and not cycles[step.kind]
        record.append(Outcome(step, 1.0, compiled_to, finished))
    # Placed modules gained 10 %, so they go on; then they gain less than overrides promise.
    assert kinds[:4] == [Kind.PREPARE, Kind.PLACED, Kind.PLACED, Kind.OVERRIDES]
    assert sorted(kinds[4:]) == [Kind.OVERRIDES, Kind.PLACED]
    found = best(record)
    assert found is not None
    assert found.cycles == 890.0


def test_placed_modules_alone_are_prepared_for_as_overrides_are() -> None:
    alone = space(settings=(), memory=0, overrides=False, placed=True)
    (step,) = next_steps(alone, [compiled(1000.0)], 1000.0, 1000.0, COSTS, 2)
    assert step.kind == Kind.PREPARE
    prepared = Outcome(step, 25.0, 1000.0)
    (step,) = next_steps(alone, [compiled(1000.0), prepared], 1000.0, 1000.0, COSTS, 2)
    assert step.kind == Kind.PLACED


def test_a_setting_that_was_slower_than_promised_is_not_compiled_under_another_limit() -> None:
    fixed = space(settings=SETTINGS[:1], overrides=False)
    record = [compiled(1000.0), tried(900.0, 16, SETTINGS[0]), compiled(1010.0, 16, SETTINGS[0])]
    record += [compiled(800.0, 24), tried(720.0, 24, SETTINGS[0])]
    while steps := next_steps(fixed, record, 1e6, 1e6, COSTS):
        assert steps[0].kind != Kind.COMPILE or not steps[0].candidate.settings
        record.append(Outcome(steps[0], 1.0, 1000.0))


def test_an_earlier_search_comes_right_after_the_default() -> None:
    earlier = space(start=48 * 1024, start_more=True)
    (first,) = next_steps(earlier, [compiled(1000)], 1000.0, 1000.0, COSTS)
    assert first == Step(Kind.COMPILE, Candidate(48 * 1024))
    record = [compiled(1000), compiled(990, 48)]
    start = Step(Kind.START, Candidate(48 * 1024))
    assert next_steps(earlier, record, 1000.0, 1000.0, COSTS) == [start]
    for cycles in (900.0, None):  # it comes once, whether or not it compiles
        again = next_steps(earlier, [*record, Outcome(start, 11.0, cycles)], 1000.0, 1000.0, COSTS)
        assert again[0].kind != Kind.START
    assert best([*record, Outcome(start, 11.0, 900.0)]) == Outcome(start, 11.0, 900.0)


def test_nothing_starts_under_an_earlier_limit_that_no_longer_compiles() -> None:
    earlier = space(start=48 * 1024, start_more=True)
    record = [compiled(1000), compiled(None, 48)]
    (step,) = next_steps(earlier, record, 1000.0, 1000.0, COSTS)
    assert (step.kind, step.candidate.limit) == (Kind.COMPILE, 24 * 1024)


def test_the_earlier_limit_is_the_first_after_a_default_that_fails() -> None:
    earlier = space(start=48 * 1024)
    (step,) = next_steps(earlier, [compiled(None)], 1000.0, 1000.0, COSTS)
    assert step.candidate.limit == 48 * 1024


def test_a_start_that_does_not_fit_into_the_budget_is_left_out() -> None:
    earlier = space(start=OWN, start_more=True)
    steps = next_steps(earlier, [compiled(1000)], 5.0, 5.0, COSTS)
    assert all(step.kind != Kind.START for step in steps)
