"""Callers of optimize choose what it may use, and the seed of its searches for mappings."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import VERSIONS, World, lower_to
from test_optimize_placed import FakeExecutables

from mallocmuzero_xla.compiler.lowering import LoweredProgram, Traced
from mallocmuzero_xla.compiler.scoped_limit import OPTION
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.search.optimize import Optimized, load_options, optimize
from mallocmuzero_xla.search.verified import Verified

MakeWorld = Callable[..., World]
OVERRIDES = {"xla_tpu_msa_tensor_overrides": "overrides { a }"}


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own, and functions that are traced to one program."""
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    program = LoweredProgram("step", "v5e:1x1", (0,), b"", b"", {}, "1" * 64)
    lower_to(monkeypatch, program)
    traced = Traced(program, None, None, (), frozenset())
    monkeypatch.setattr("mallocmuzero_xla.search.optimize.trace", lambda *_: traced)
    monkeypatch.setattr("mallocmuzero_xla.search.optimize.compiler_versions", lambda: VERSIONS)
    monkeypatch.setattr("mallocmuzero_xla.search.optimize.Executables", FakeExecutables)
    rounds = "mallocmuzero_xla.search.placed_rounds"
    monkeypatch.setattr(f"{rounds}.readable_module", lambda *_: b"module")
    monkeypatch.setattr(f"{rounds}.compiler_library", lambda: pathlib.Path("libtpu.so"))


def run(**options: Any) -> Optimized:
    given = {"chip": "tpu_v5e", "samples": 1, **options}
    return optimize(lambda: None, budget="20m", progress=False, **given)


def kinds(found: Optimized) -> set[str]:
    return {step["step"] for step in found.report["tried"]}


def test_without_the_assignment_only_limits_are_tried(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40, "limit_24576": -100})
    found = run(assignment=False)
    assert found.compiler_options == {OPTION: "24576"}
    assert kinds(found) == {"compile"}
    assert not any(line.startswith("trial") for line in world.log())


def test_without_the_assignment_placed_modules_are_tried_all_the_same(
    make_world: MakeWorld,
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [900]})
    found = run(chip="tpu_v4i", assignment=False, placed=True)
    assert found.optimized_cycles == 900
    assert kinds(found) == {"compile", "prepare", "placed"}
    price = Verified.from_json(found.report).optimized_price
    assert price is not None
    assert price.total == 900


def test_keeping_the_assignment_has_a_cache_entry_of_its_own(make_world: MakeWorld) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_24576": -100})
    limit = {OPTION: "24576"}
    assert run(assignment=False).compiler_options == limit
    assert run().compiler_options == {**limit, **OVERRIDES}
    assert load_options(lambda: None, chip="tpu_v5e", assignment=False) == limit
    assert load_options(lambda: None, chip="tpu_v5e") == {**limit, **OVERRIDES}


def test_the_seed_reaches_all_searches_for_mappings(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [900, 850]})
    run(chip="tpu_v4i", placed=True, seed=3)
    seeds = [line for line in world.log() if "with seed" in line]
    assert "map with seed 3" in seeds
    # Each call of the binary makes other games than the call before it.
    assert {"placed with seed 3001000", "placed with seed 3002000"} <= set(seeds)


def test_searches_without_a_seed_are_those_of_seed_0(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [900]})
    run(chip="tpu_v4i", placed=True)
    assert not any("with seed" in line for line in world.log())


def test_a_seed_below_0_is_refused() -> None:
    with pytest.raises(UsageError, match="seed is -1: expected 0 to 1000000000000"):
        run(seed=-1)
