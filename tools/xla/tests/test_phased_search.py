"""A search with compiles in phases makes machine code of the default and of the best only."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import World
from test_earlier import BEFORE, use

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.estimates import identities
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.scoped_limit import OPTION
from mallocmuzero_xla.errors import BudgetSpentError
from mallocmuzero_xla.overrides import TENSOR_OVERRIDES
from mallocmuzero_xla.price import Price
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.search.joint_search import JointSearch
from mallocmuzero_xla.search.search_capture import Resources
from mallocmuzero_xla.search.step_runner import Scope, StepRunner
from mallocmuzero_xla.search.steps import Candidate, Kind, Outcome, Step
from mallocmuzero_xla.search.verified import Verified

MakeWorld = Callable[..., World]
PROGRAM = LoweredProgram("step", "v5e:1x1", (0,), b"", b"", {}, "1" * 64)


@pytest.fixture
def search(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., JointSearch]:
    """Returns a function that makes a search for limits alone."""
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)

    def make(seconds: float = 600.0, notes: list[str] | None = None) -> JointSearch:
        listener = notes.append if notes is not None else None
        progress = LoopProgress(quiet=True, listener=listener)
        chip, captures = CHIPS["tpu_v5e"], tmp_path / "captures"
        resources = Resources(chip, captures, Binary(), Budget(seconds), progress)
        return JointSearch(PROGRAM, resources, Scope(settings=False, overrides=False))

    return make


def whole_compiles(world: World) -> list[str]:
    return [line for line in world.log() if line.startswith("compile")]


def limit_of(found: Verified) -> str | None:
    return found.options.get(OPTION)


def test_only_the_default_and_the_best_are_compiled_to_the_end(
    make_world: MakeWorld, search: Any
) -> None:
    world = make_world(
        phases="exact", promised={}, cycles={"limit_24576": -50, "limit_32768": -100}
    )
    found = search().run()
    assert limit_of(found) == "32768"
    assert (found.default_cycles, found.optimized_cycles, found.compiles) == (1000, 900, 2)
    assert whole_compiles(world) == ["compile", "compile limit_32768"]
    estimated = {step["limit_kib"]: step["estimated"] for step in found.tried}
    assert not estimated.pop(16 * 1024)
    assert not estimated.pop(32 * 1024)
    assert len(estimated) >= 3
    assert all(estimated.values())


def test_no_machine_code_is_made_if_the_default_is_best(make_world: MakeWorld, search: Any) -> None:
    world = make_world(
        phases="exact", promised={}, cycles={f"limit_{n}": 9 for n in (24576, 12288)}
    )
    found = search().run()
    assert limit_of(found) is None
    assert whole_compiles(world) == ["compile"]


def test_estimates_that_machine_code_refutes_are_dropped(
    make_world: MakeWorld, search: Any
) -> None:
    # By its estimates 24 MiB saves 100 cycles, with machine code it costs 200. The next best holds.
    world = make_world(
        phases="blind",
        promised={},
        cycles={"limit_24576": -100, "limit_12288": -60, "limit_8192": 500, "limit_32768": 500},
        hidden={"limit_24576": 300},
    )
    notes: list[str] = []
    found = search(notes=notes).run()
    assert limit_of(found) == "12288"
    assert found.optimized_cycles == 940
    assert "compile limit_24576" in whole_compiles(world)
    (step,) = (step for step in found.tried if step["limit_kib"] == 24576)
    assert (step["cycles"], step["estimated"]) == (1200, False)
    assert any("1200 cycles, not 900 as estimated" in note for note in notes)


def test_options_that_fail_as_machine_code_are_dropped(make_world: MakeWorld, search: Any) -> None:
    make_world(
        phases="exact",
        promised={},
        cycles={"limit_24576": -100, "limit_12288": -60, "limit_8192": 500, "limit_32768": 500},
        breaks=["limit_24576"],
    )
    found = search().run()
    assert limit_of(found) == "12288"
    (step,) = (step for step in found.tried if step["limit_kib"] == 24576)
    assert "Check failed: made up" in step["error"]


def test_a_compiler_without_phases_compiles_to_the_end(make_world: MakeWorld, search: Any) -> None:
    world = make_world(promised={}, cycles={"limit_24576": -50})
    found = search().run()
    assert limit_of(found) == "24576"
    assert len(whole_compiles(world)) == len(found.tried) == found.compiles
    assert not any(step["estimated"] for step in found.tried)


def test_ctrl_c_in_the_last_compile_leaves_its_options_out(
    make_world: MakeWorld, search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(phases="exact", promised={}, cycles={"limit_24576": -50})
    made = search()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    # Ctrl-C comes while the best is compiled to the end.
    compile_ = StepRunner.compile
    monkeypatch.setattr(
        StepRunner,
        "compile",
        lambda self, candidate, in_budget: (
            compile_(self, candidate, in_budget) if not made.record else interrupt()
        ),
    )
    found = made.run()
    assert found.interrupted
    assert limit_of(found) is None
    assert whole_compiles(world) == ["compile"]


def test_ctrl_c_in_the_search_still_compiles_the_best_to_the_end(
    make_world: MakeWorld, search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(phases="exact", promised={}, cycles={"limit_24576": -50})
    notes: list[str] = []
    made = search(notes=notes)
    next_ = made._next

    def interrupted(width: int) -> list[Any]:
        if any(each.cycles == 950 for each in made.record):
            raise KeyboardInterrupt
        return list(next_(width))

    monkeypatch.setattr(made, "_next", interrupted)
    found = made.run()
    assert found.interrupted
    assert limit_of(found) == "24576"
    assert whole_compiles(world) == ["compile", "compile limit_24576"]
    assert any("another Ctrl-C leaves it out" in note for note in notes)


def test_what_overrides_name_is_known_from_the_capture(make_world: MakeWorld, search: Any) -> None:
    """Texts of compiles in phases are not in the cache."""
    make_world(phases="exact", promised={}, cycles={})
    runner, candidate = search()._runner, Candidate(24 * 1024)
    options = {TENSOR_OVERRIDES: use("fusion.1")}
    assert runner.identities_in(candidate, options) == {}
    runner._captures[candidate] = SimpleNamespace(read=lambda variant: BEFORE)
    known = identities(BEFORE)["fusion.1"]
    assert runner.identities_in(candidate, options) == {"fusion.1": known}
    runner.close()


class Clock:
    """A budget whose time passes only when a step says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)


class Fake:
    """Does compiles that take `whole` seconds, or `phased` in phases, and save 1 % each."""

    def __init__(self, clock: Clock, whole: float, phased: float) -> None:
        self._clock, self._whole, self._phased = clock, whole, phased
        self.rounds: dict[Candidate, Any] = {}
        self.settings: dict[str, Any] = {}
        self.placed_round: float | None = None
        self.width = 1
        self.in_phases = True
        self.compiler = self
        self.trial_compiles = self.compiles = 0
        self.prices: dict[Candidate, Price] = {}
        self.ended_to_the_end: list[float] = []
        self.started = None

    def compile(self, candidate: Candidate, in_budget: bool) -> tuple[float, float]:
        self._clock.now += self._whole
        self.compiles += 1
        self.ended_to_the_end.append(self._clock.now)
        cycles = self._by_limit(candidate)
        self.prices[candidate] = Price(cycles, cycles, 0.0, 0.0)
        return cycles, self._whole

    def estimate(self, candidate: Candidate) -> tuple[float, float, bool]:
        self._clock.now += self._phased
        return self._by_limit(candidate), self._phased, True

    def to_the_end(self, step: Step) -> tuple[float, float]:
        return self.compile(step.candidate, in_budget=False)

    def identities_in(self, candidate: Candidate, options: dict[str, str]) -> dict[str, str]:
        return {}

    def _by_limit(self, candidate: Candidate) -> float:
        return 2000.0 - candidate.limit / 1024

    def options(self, candidate: Candidate) -> dict[str, str]:
        return {OPTION: str(candidate.limit)}

    def words(self, candidate: Candidate) -> str:
        return str(candidate.limit)

    def close(self) -> None:
        pass


def with_fake(made: Any, runner: Fake) -> tuple[Any, Fake]:
    """Returns a search that makes its compiles by `runner`, and `runner`."""
    made._runner.close()
    made._runner = runner
    return made, runner


@pytest.mark.parametrize(("whole", "phased"), [(10.0, 2.0), (24.0, 8.0), (40.0, 1.0), (29.0, 20.0)])
def test_the_search_ends_within_the_budget_and_a_tenth(
    make_world: MakeWorld,
    search: Any,
    monkeypatch: pytest.MonkeyPatch,
    whole: float,
    phased: float,
) -> None:
    make_world(promised={}, cycles={})
    clock = Clock(monkeypatch)
    made, runner = with_fake(search(seconds=60.0), Fake(clock, whole, phased))
    found = made.run()
    assert clock.now <= 66.0
    steps = [each for each in made.record if each.step.kind == Kind.COMPILE]
    best: Outcome = min(steps, key=lambda each: each.cycles or 0.0)
    # What is returned has machine code, and time was left for it.
    assert not best.estimated
    assert found.optimized_cycles == best.cycles
    assert runner.compiles == (1 if len(steps) == 1 else 2)


def test_a_compile_that_takes_longer_than_the_budget_is_announced(
    make_world: MakeWorld, search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={}, cycles={})
    clock, notes = Clock(monkeypatch), list[str]()
    made, runner = with_fake(search(seconds=60.0, notes=notes), Fake(clock, whole=25.0, phased=5.0))
    estimate = runner.estimate

    def slow(candidate: Candidate) -> tuple[float, float, bool]:
        clock.now += 25.0  # the machine has other work all of a sudden
        return estimate(candidate)

    runner.estimate = slow  # type: ignore[method-assign]
    found = made.run()
    # 25 s for the default, 30 s for the estimates, and 25 s for the machine code: 20 s late.
    assert clock.now == 80.0
    assert found.compiles == 2
    assert "a last compile, which may end 20 s after the budget" in notes


def test_only_one_compile_ends_late_however_many_estimates_are_wrong(
    make_world: MakeWorld, search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={}, cycles={})
    clock = Clock(monkeypatch)
    made, runner = with_fake(search(seconds=60.0), Fake(clock, whole=20.0, phased=3.0))
    compile_ = runner.compile

    def wrong(candidate: Candidate, in_budget: bool) -> tuple[float, float]:
        cycles, seconds = compile_(candidate, in_budget)
        return cycles + (1000.0 if runner.compiles > 1 else 0.0), seconds

    runner.compile = wrong  # type: ignore[method-assign]
    found = made.run()
    assert clock.now <= 66.0
    assert len([each for each in made.record if each.step.kind == Kind.COMPILE]) > 3
    assert found.optimized_cycles == found.default_cycles
    assert found.out_of_budget


def test_time_that_ends_in_a_compile_in_phases_keeps_what_is_there(
    make_world: MakeWorld, search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={}, cycles={})
    clock = Clock(monkeypatch)
    made, runner = with_fake(search(seconds=60.0), Fake(clock, whole=10.0, phased=2.0))

    def spent(candidate: Candidate) -> tuple[float, float, bool]:
        clock.now = 66.0
        raise BudgetSpentError("the budget of seconds is spent")

    runner.estimate = spent  # type: ignore[method-assign]
    found = made.run()
    assert found.out_of_budget
    assert found.optimized_cycles == found.default_cycles
