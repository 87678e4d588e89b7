"""Decides what a search compiles next, from what it has seen and the time that is left.

A search has six kinds of steps. A *compile* makes the program under a limit of scoped memory and
settings, and shows its cycles. A *trial* predicts the cycles of settings for a tenth of that time.
*Overrides* are rounds of the search for single tensors under one limit, and *placed* are rounds of
the search for placed modules; *prepare* finds the mapping that both begin with. A *start* compiles
what an earlier search has found. Each step that could come next has an expected gain and a cost.
The step with the largest gain a second comes next, so time goes where the last gain came from.

Nothing here compiles, reads a clock or keeps state: the record of the steps is the state.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from mallocmuzero_xla.search.seen import Seen
from mallocmuzero_xla.search.steps import Candidate, Costs, Kind, Outcome, Space, Step

# Limits to try, as multiples of the chip's own: outwards on both sides, then finer beside the best.
_ABOVE = (Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4))
_BELOW = (Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))
_FINER = Fraction(1, 4)

# The limit in KiB that public frameworks set for all programs (docs/results.md). It comes after the
# others, which are mostly faster.
_FRAMEWORKS_LIMIT = 96 * 1024

# A limit that is slower than the one before it by more than this share dominates those beyond.
_TOLERANCE = 0.002

# Expected gains before a step of the kind has been seen, as shares of the default's cycles, with
# those of the steps that may follow from it. bench/compiler/replay_strategy.py compares such values
# on the train split.
_START_GAIN = 0.1
_LIMIT_GAIN = 0.03
_SETTINGS_GAIN = 0.02
_ROUNDS_GAIN = {Kind.OVERRIDES: 0.06, Kind.PLACED: 0.07}

# A further step of a kind is expected to gain this share of what the last one gained.
_DECAY = 0.5
_LEAST_GAIN = 0.001

# A prediction by a trial or by a mapping is expected to come true by this share.
_TRUST = 0.5

# Settings are tried under the best limit first; each next limit gets half as many.
_SETTINGS_ALONE = 8
_LIMITS_WITH_SETTINGS = 3

# Overrides and placed modules are for budgets that leave time for limits and settings: the compiles
# that they need may take this share, with the first of their steps.
_LARGEST_SHARE = 0.6

# A step may end after the budget by this share of the budget.
OVERTIME = 0.1

# A round of overrides needs the time of this many trials and one compile.
_LEAST_TRIALS = 4

# Steps that use all cores.
_ALONE = (Kind.PREPARE, Kind.OVERRIDES, Kind.PLACED)

_WHY = {
    Kind.PREPARE: "a mapping, and the compiles that it needs",
    Kind.OVERRIDES: "overrides of single tensors",
    Kind.PLACED: "modules that are placed as a mapping says",
}


@dataclasses.dataclass(frozen=True)
class _Arm:
    """Steps that belong together, with their expected gain and cost."""

    steps: tuple[Step, ...]
    gain: float
    cost: float

    @property
    def rate(self) -> float:
        return self.gain / max(self.cost, 1e-9)

    @property
    def kind(self) -> Kind:
        return self.steps[0].kind

    @property
    def prepares(self) -> bool:
        return self.kind == Kind.PREPARE


def next_steps(
    space: Space,
    record: Sequence[Outcome],
    remaining: float,
    budget: float,
    costs: Costs,
    width: int = 1,
) -> list[Step]:
    """Returns up to `width` steps to do at once; none if nothing helps or fits.

    The default comes first, and if it fails, other limits until one compiles: these have no time
    limit. Any other step is expected to end within the budget and a tenth of it. `prepare`,
    `overrides` and `placed` use all cores, so they come alone.
    """
    seen = Seen(space, record)
    if seen.default is None:
        return _first(space, seen)
    if remaining <= 0:
        return []
    room = remaining + OVERTIME * budget
    arms = [arm for arm in _arms(seen, remaining, costs) if arm.cost <= room]
    arms = [arm for arm in arms if not arm.prepares or arm.cost <= _LARGEST_SHARE * budget]
    arms = _with_room_for_overrides(sorted(arms, key=lambda arm: -arm.rate), room)
    arms = _with_room_for_placed(arms, remaining - costs.placed_least)
    steps: list[Step] = []
    cost = 0.0
    for arm in arms:
        alone = arm.kind in _ALONE
        if alone and steps:
            break  # the steps beside another one would be worth less a second, and take its cores
        for step in arm.steps[: width - len(steps)]:
            each = arm.cost / len(arm.steps)
            # Steps at once share the cores: together they take at most the sum of their times.
            if not steps or cost + each <= room:
                steps.append(step)
                cost += each
        if alone or len(steps) >= width:
            break
    return steps


def _with_room_for_overrides(arms: list[_Arm], room: float) -> list[_Arm]:
    """Returns arms by rate, but overrides first if they are worth more than what excludes them.

    Overrides need a large part of the budget. A cheap step that leaves too little for them has the
    larger gain a second, but not always the larger gain.
    """
    overrides = next((arm for arm in arms if arm.prepares), None)
    if overrides is None or arms[0] is overrides or room - arms[0].cost >= overrides.cost:
        return arms
    gain, left = 0.0, room
    for arm in arms:
        if arm is not overrides and arm.cost <= left:
            gain += arm.gain
            left -= arm.cost
    others = [arm for arm in arms if arm is not overrides]
    return [overrides, *others] if overrides.gain > gain else arms


def _with_room_for_placed(arms: list[_Arm], room: float) -> list[_Arm]:
    """Returns arms by rate, but placed modules first if overrides would leave no time for them.

    Overrides always take the same share of the time that is left. The less is left, the larger is
    their gain a second, although they find less. They may also take longer than expected, so
    `room`, what may pass before placed modules, does not count the overtime.
    """
    placed = next((arm for arm in arms if arm.kind == Kind.PLACED), None)
    if placed is None or arms[0].kind != Kind.OVERRIDES or arms[0].cost <= room:
        return arms
    if placed.gain <= arms[0].gain:
        return arms
    return [placed, *(arm for arm in arms if arm is not placed)]


def _first(space: Space, seen: Seen) -> list[Step]:
    own = Candidate(space.own)
    if not seen.tried(Kind.COMPILE, own):
        return [Step(Kind.COMPILE, own, "the default, which all gains are relative to")]
    earlier = [] if space.start is None else [space.start]
    for limit in (*earlier, *space.limits((*_ABOVE, *_BELOW))):
        other = Candidate(limit)
        if not seen.tried(Kind.COMPILE, other):
            return [Step(Kind.COMPILE, other, "the default does not compile")]
    return []


def _arms(seen: Seen, remaining: float, costs: Costs) -> Iterator[_Arm]:
    yield from _start_arms(seen, costs)
    yield from _limit_arms(seen, costs)
    yield from _settings_arms(seen, costs)
    yield from _promotions(seen, costs)
    yield from _round_arms(seen, remaining, costs)


def _start_arms(seen: Seen, costs: Costs) -> Iterator[_Arm]:
    """Yields the limit of an earlier search, then what it found under this limit."""
    space, why = seen.space, "what an earlier search has found"
    if space.start is None:
        return
    candidate = Candidate(space.start)
    if not seen.tried(Kind.COMPILE, candidate):
        yield _Arm((Step(Kind.COMPILE, candidate, why),), _START_GAIN, costs.compile)
        return
    compiles = math.isfinite(seen.cycles(candidate))
    if space.start_more and compiles and not seen.tried(Kind.START, candidate):
        cost = costs.trial + costs.compile
        yield _Arm((Step(Kind.START, candidate, why),), _START_GAIN, cost)


def _limit_arms(seen: Seen, costs: Costs) -> Iterator[_Arm]:
    """Yields the next limit outwards on each side, then others: beside the best, and the last."""
    space = seen.space
    outer = []
    for side, name in ((_ABOVE, "higher"), (_BELOW, "lower")):
        limit, gain = _next_outwards(seen, space.limits(side))
        if limit is not None:
            step = Step(Kind.COMPILE, Candidate(limit), f"a {name} limit of scoped memory")
            outer.append(_Arm((step,), gain, costs.compile))
    yield from outer
    if any(arm.gain > _LEAST_GAIN for arm in outer) or not seen.limits():
        return
    found, finer = seen.limits()[0], int(space.own * _FINER)
    gain = max(_LEAST_GAIN, _DECAY * (1 - seen.cycles(Candidate(found)) / (seen.default or 1.0)))
    beside = "a limit of scoped memory beside the best"
    last = "a limit that frameworks set for all programs"
    for limit, expected, why in (
        (found - finer, gain, beside),
        (found + finer, gain, beside),
        (_FRAMEWORKS_LIMIT, _LEAST_GAIN, last),
    ):
        candidate = Candidate(limit)
        if 0 < limit < space.memory and not seen.tried(Kind.COMPILE, candidate):
            yield _Arm((Step(Kind.COMPILE, candidate, why),), expected * _DECAY, costs.compile)


def _next_outwards(seen: Seen, limits: Sequence[int]) -> tuple[int | None, float]:
    """Returns the next limit and its expected gain; None if a slower limit dominates it."""
    last, gain = seen.cycles(Candidate(seen.space.own)), _LIMIT_GAIN
    for limit in limits:
        candidate = Candidate(limit)
        if not seen.tried(Kind.COMPILE, candidate):
            return limit, gain
        cycles = seen.cycles(candidate)
        if math.isinf(cycles):
            continue  # refused; the next may still compile
        if cycles > (1 + _TOLERANCE) * last:
            return None, 0.0
        if math.isfinite(last):
            # The next limit must make up what this one is behind the best.
            gain = max(_LEAST_GAIN, _DECAY * (1 - cycles / last) - (cycles / seen.best - 1))
        last = cycles
    return None, 0.0


def _settings_arms(seen: Seen, costs: Costs) -> Iterator[_Arm]:
    """Yields trials of settings under the best limits, fewer under each next limit."""
    for rank, limit in enumerate(seen.near_best()[:_LIMITS_WITH_SETTINGS]):
        count = _SETTINGS_ALONE >> rank
        candidates = [Candidate(limit, (kind,)) for kind in seen.space.settings[:count]]
        why = "a setting of the assignment" if rank == 0 else "a setting under another good limit"
        steps = [
            Step(Kind.TRIAL, candidate, why)
            for candidate in candidates
            if not seen.tried(Kind.TRIAL, candidate)
        ]
        if steps:
            gain = _SETTINGS_GAIN * _DECAY**rank * len(steps) / _SETTINGS_ALONE
            yield _Arm(tuple(steps), gain, costs.trial * len(steps))


def _promotions(seen: Seen, costs: Costs) -> Iterator[_Arm]:
    """Yields compiles of the candidates that promise to beat the best."""
    promised: dict[Candidate, float] = {}
    for each in seen.record:
        if each.step.kind == Kind.TRIAL and each.cycles is not None:
            promised[each.step.candidate] = each.cycles
    # A setting that saves cycles under one limit may save them under the best.
    for limit in seen.limits()[:1]:
        under = seen.cycles(Candidate(limit))
        for candidate, cycles in list(promised.items()):
            before = seen.cycles(Candidate(candidate.limit))
            there = Candidate(limit, candidate.settings)
            if math.isfinite(before) and not seen.tried(Kind.TRIAL, there):
                promised.setdefault(there, under * (1 - _DECAY * (1 - cycles / before)))
    failures = 0
    errors: dict[tuple[str, ...], float] = {}
    for each in seen.record:
        candidate = each.step.candidate
        if each.step.kind == Kind.COMPILE and candidate.settings:
            failures = 0 if each.cycles is not None and each.cycles <= seen.best else failures + 1
            if each.cycles is not None and candidate in promised:
                errors[candidate.settings] = max(1.0, each.cycles / promised[candidate])
    for candidate, cycles in promised.items():
        # A trial under another limit is expected to be as wrong as the one that was checked.
        gain = 1 - errors.get(candidate.settings, 1.0) * cycles / seen.best
        if gain > _LEAST_GAIN and not seen.tried(Kind.COMPILE, candidate):
            why = f"its trial promises {gain:.1%}"
            step = Step(Kind.COMPILE, candidate, why)
            yield _Arm((step,), gain * _TRUST * _DECAY**failures, costs.compile)


def _round_arms(seen: Seen, remaining: float, costs: Costs) -> Iterator[_Arm]:
    """Yields overrides and placed modules, after the compiles and the mapping that they need.

    Each limit that compiles may get them: one that is slower by itself leaves other memory to
    tensors, which a mapping may use better. What is known about one limit holds half for the next.
    """
    prepared = [each for each in seen.record if each.step.kind == Kind.PREPARE]
    shortest: dict[Kind, float] = {}
    if seen.space.overrides:
        shortest[Kind.OVERRIDES] = _LEAST_TRIALS * costs.trial + costs.to_the_end
    if seen.space.placed:
        shortest[Kind.PLACED] = costs.placed_least
    for limit in seen.limits():
        candidate = Candidate(limit)
        arms = list(_rounds_under(seen, candidate, remaining, costs, shortest))
        tried = seen.steps(Kind.PREPARE, candidate)
        if tried and tried[-1].cycles is not None:
            yield from arms
        elif arms and not tried:
            near = any(
                abs(each.step.candidate.limit - limit) <= _FINER * seen.space.own
                for each in prepared
            )
            gain = max(arm.gain for arm in arms) * _DECAY ** (len(prepared) + near)
            if gain > _LEAST_GAIN:
                step = Step(Kind.PREPARE, candidate, _WHY[Kind.PREPARE])
                yield _Arm((step,), gain, costs.prepare + min(shortest.values()))


def _rounds_under(
    seen: Seen,
    candidate: Candidate,
    remaining: float,
    costs: Costs,
    shortest: Mapping[Kind, float],
) -> Iterator[_Arm]:
    """Yields the steps under one limit that may still help, as if its compiles were there.

    `shortest` has the kinds that may come, with the least seconds of a step.
    """
    for kind, least in shortest.items():
        done = seen.steps(kind, candidate)
        if done and done[-1].finished:
            continue
        gains = seen.gains(kind)
        again = max(_LEAST_GAIN, _DECAY * gains[-1]) if done and gains else None
        gain = _first_gain(seen, candidate, _ROUNDS_GAIN[kind]) if again is None else again
        cost = costs.overrides if kind == Kind.OVERRIDES else costs.placed
        step = Step(kind, candidate, _WHY[kind])
        # A step takes no more rounds or trials than the time that is left has room for.
        yield _Arm((step,), gain, max(least, min(cost, remaining)))


def _first_gain(seen: Seen, candidate: Candidate, mean: float) -> float:
    """Returns what a first step under a limit is expected to gain over the best.

    Gains are spread widely around their `mean`. If they are distributed exponentially, the
    expected part of a gain above a share is `mean * exp(-share / mean)`; the share is what the
    limit is behind. Half of what the mapping promises counts as well, once there is one.
    """
    behind = max(0.0, seen.cycles(candidate) / seen.best - 1)
    expected = mean * math.exp(-behind / mean)
    promised = [each.cycles for each in seen.steps(Kind.PREPARE, candidate)]
    if not promised or promised[-1] is None:
        return expected
    gain = max(0.0, 1 - promised[-1] / seen.best)
    return _TRUST * gain + (1 - _TRUST) * expected
