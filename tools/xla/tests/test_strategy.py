"""The next steps of the search, from records that are made up."""

from __future__ import annotations

import dataclasses

from strategy_spaces import COSTS, OWN, SETTINGS, space

from mallocmuzero_xla.search.seen import best
from mallocmuzero_xla.search.steps import Candidate, Kind, Outcome, Step
from mallocmuzero_xla.search.strategy import next_steps


def compiled(cycles: float | None, mebibytes: float = 16, *settings: str) -> Outcome:
    candidate = Candidate(int(mebibytes * 1024), settings)
    return Outcome(Step(Kind.COMPILE, candidate), 10.0, cycles)


def tried(cycles: float, mebibytes: float, *settings: str) -> Outcome:
    return Outcome(Step(Kind.TRIAL, Candidate(int(mebibytes * 1024), settings)), 1.0, cycles)


def following(record: list[Outcome], remaining: float = 1000.0, width: int = 1) -> list[Step]:
    return next_steps(space(), record, remaining, 1000.0, COSTS, width)


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
    # Beside the best, which is 16: 12 and 20. At the end 96. Never 32, 48, 64, 8, 4.
    assert limits == {16, 24, 12, 20, 96}


def test_the_limit_that_frameworks_set_is_the_last_that_is_tried() -> None:
    limits_only = space(settings=(), overrides=False)
    record = [compiled(1000.0), compiled(1100.0, 24), compiled(1100.0, 12), compiled(1100.0, 20)]
    (step,) = next_steps(limits_only, record, 1e6, 1e6, COSTS)
    assert step.candidate == Candidate(96 * 1024)
    small = space(settings=(), overrides=False, memory=64 * 1024)
    assert next_steps(small, record, 1e6, 1e6, COSTS) == []


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


def test_nothing_is_done_beside_another_step_before_a_better_one_that_comes_alone() -> None:
    # Only 96 MiB is left beside the compile of the setting, and a mapping is worth more than that.
    slower = [compiled(1100.0, limit) for limit in (24, 12, 20)]
    promises = [tried(1001.0, 16, kind) for kind in SETTINGS[1:8]]
    record = [compiled(1000.0), *slower, tried(900.0, 16, SETTINGS[0]), *promises]
    (step,) = following(record, width=2)
    assert step.candidate == Candidate(OWN, SETTINGS[:1])


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


def test_placed_modules_do_not_begin_if_one_round_ends_too_late() -> None:
    alone = space(settings=(), memory=0, overrides=False, placed=True)
    prepared = Outcome(Step(Kind.PREPARE, Candidate(OWN)), 25.0, 1000.0)
    costs = dataclasses.replace(COSTS, placed=95.0, placed_least=95.0)
    # A tenth of 300 s may be late.
    (step,) = next_steps(alone, [compiled(1000.0), prepared], 65.0, 300.0, costs)
    assert step.kind == Kind.PLACED
    assert next_steps(alone, [compiled(1000.0), prepared], 64.0, 300.0, costs) == []


def test_placed_modules_come_before_overrides_that_would_leave_no_time_for_them() -> None:
    both = space(settings=(), memory=0, placed=True)
    prepared = Outcome(Step(Kind.PREPARE, Candidate(OWN)), 25.0, 1000.0)
    record = [compiled(1000.0), prepared]
    costs = dataclasses.replace(COSTS, overrides=30.0, placed=60.0, placed_least=60.0)

    def first(remaining: float) -> Kind:
        (step,) = next_steps(both, record, remaining, 300.0, costs)
        return step.kind

    # Overrides gain more a second. Placed modules alone may be late, by a tenth of 300 s.
    assert first(90.0) == Kind.OVERRIDES
    assert first(89.0) == Kind.PLACED
    assert first(30.0) == Kind.PLACED
    assert first(29.0) == Kind.OVERRIDES


def test_nothing_is_prepared_for_placed_modules_that_would_end_too_late() -> None:
    alone = space(settings=(), memory=0, overrides=False, placed=True)
    costs = dataclasses.replace(COSTS, placed=95.0, placed_least=95.0)
    # The mapping takes 25 s, and a tenth of 300 s may be late.
    (step,) = next_steps(alone, [compiled(1000.0)], 90.0, 300.0, costs)
    assert step.kind == Kind.PREPARE
    assert next_steps(alone, [compiled(1000.0)], 89.0, 300.0, costs) == []


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
