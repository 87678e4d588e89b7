"""A search starts from the result of an earlier one: the cache's, or that of an artefact."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import World, lower_to

from mallocmuzero_xla.artefacts.artefact import Artefact
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.scoped_limit import OPTION
from mallocmuzero_xla.overrides import TENSOR_OVERRIDES
from mallocmuzero_xla.search.optimize import Optimized, optimize

MakeWorld = Callable[..., World]
OVERRIDES = {TENSOR_OVERRIDES: "overrides { a }"}


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A cache of the test's own, and functions that lower to what `lowered_as` says."""
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    lowered_as(monkeypatch, "1")
    return tmp_path / "cache"


def lowered_as(monkeypatch: pytest.MonkeyPatch, version: str, **options: str) -> None:
    program = LoweredProgram("step", "v5e:1x1", (0,), b"", b"", {**options}, 64 * version)
    lower_to(monkeypatch, program)


def run(**options: Any) -> Optimized:
    given = {"chip": "tpu_v5e", "budget": "10m", "samples": 1, "progress": False, **options}
    return optimize(lambda: None, **given)


def artefact(chip: str, options: dict[str, str]) -> Artefact:
    """Returns the artefact of a search for an earlier version of the function."""
    return Artefact(
        function="step",
        chip=chip,
        topology="v5e:1x1",
        devices=1,
        versions={},
        fingerprint="0" * 64,
        default_cycles=1000.0,
        expected_cycles=900.0,
        compiler_options=options,
    )


def steps(result: Optimized, kind: str) -> list[dict[str, Any]]:
    return [step for step in result.report["tried"] if step["step"] == kind]


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world(promised={"a": 40}, cycles={"a": -40, "limit_49152": -100})


def test_a_changed_function_starts_from_what_the_cache_has(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run()
    assert first.compiler_options == {OPTION: "49152", **OVERRIDES}
    assert steps(first, "start") == []
    lowered_as(monkeypatch, "2")
    lines: list[str] = []
    second = run(on_progress=lines.append)
    assert second.compiler_options == first.compiler_options
    assert "starting from an earlier search for step, which gained 14.00%" in lines
    assert "scoped memory up to 48 MiB, with what an earlier search has found: 14.00% compiled" in (
        lines
    )
    # The limit comes before nearer ones, and the overrides before any search for a mapping.
    tried = [(step["step"], step["limit_kib"]) for step in second.report["tried"]]
    assert tried.index(("compile", 49152)) < tried.index(("start", 49152))
    assert tried.index(("start", 49152)) < tried.index(("prepare", 49152))
    assert steps(second, "start")[0]["cycles"] == 860
    assert len(second.report["kept"]) == 1


def test_a_larger_budget_for_the_same_function_starts_from_the_limit_only(world: World) -> None:
    run(budget="5m")
    lines: list[str] = []
    run(budget="10m", on_progress=lines.append)
    # Two compiles may be made at once, so either may be the first.
    compiled = [line for line in lines if line.endswith("compiled")]
    assert "scoped memory up to 48 MiB: 10.00% compiled" in compiled[:2]
    assert not any("earlier search" in line for line in lines)


def test_an_artefact_is_a_start_on_another_machine(
    world: World, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run().save(tmp_path / "step.json")
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "empty"))
    lowered_as(monkeypatch, "2")
    result = run(start_from=tmp_path / "step.json")
    assert steps(result, "start")[0]["cycles"] == 860
    assert result.compiler_options == {OPTION: "49152", **OVERRIDES}


def test_what_the_compiler_refuses_is_left_out(world: World, tmp_path: pathlib.Path) -> None:
    first = run(chip="tpu_v4i")
    # This setting is of another version of the compiler.
    first.artefact.compiler_options["xla_gone"] = "1"
    first.save(tmp_path / "step.json")
    result = run(chip="tpu_v4i", start_from=tmp_path / "step.json", cache_dir=tmp_path / "empty")
    assert steps(result, "start")[0]["cycles"] == 960
    assert result.compiler_options == OVERRIDES


def test_a_start_that_does_not_compile_does_not_end_the_search(
    make_world: MakeWorld, tmp_path: pathlib.Path
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40}, nameless=["broken"])
    first = run(chip="tpu_v4i")
    first.artefact.compiler_options[TENSOR_OVERRIDES] = "overrides { broken }"
    first.save(tmp_path / "step.json")
    lines: list[str] = []
    result = run(
        chip="tpu_v4i",
        start_from=tmp_path / "step.json",
        cache_dir=tmp_path / "empty",
        on_progress=lines.append,
    )
    assert result.compiler_options == OVERRIDES
    assert "something is wrong" in steps(result, "start")[0]["error"]
    assert any("with what an earlier search has found: " in line for line in lines)


def test_a_start_in_phases_gets_machine_code_once_it_is_the_best(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One step at a time: after a first compile in phases that fails, there is no other one.
    monkeypatch.setattr("mallocmuzero_xla.search.step_runner.compiles_at_once", lambda: 1)
    world = make_world(promised={}, cycles={"a": -40}, phases="exact")
    earlier = artefact(chip="tpu_v4i", options=OVERRIDES)
    found = run(chip="tpu_v4i", start_from=earlier)
    assert found.compiler_options == OVERRIDES
    assert found.optimized_cycles == 960
    with_it = [line for line in world.log() if line.endswith(" a")]
    assert with_it == ["trial a", "phase a", "compile a"]


def test_options_of_the_user_are_not_replaced(
    world: World, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run()
    first.artefact.compiler_options["xla_mine"] = "1"
    first.save(tmp_path / "step.json")
    lowered_as(monkeypatch, "2", xla_mine="2", **{OPTION: "32768"})
    result = run(start_from=tmp_path / "step.json")
    # The limit is the user's, so the overrides are compiled under it.
    assert {step["limit_kib"] for step in result.report["tried"]} == {32768}
    assert result.compiler_options == OVERRIDES


def test_without_assignment_only_the_limit_is_a_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    lowered_as(monkeypatch, "2")
    result = run(assignment=False)
    assert result.report["tried"][1]["limit_kib"] == 49152
    assert steps(result, "start") == []
    assert result.compiler_options == {OPTION: "49152"}


def test_a_default_that_no_longer_compiles_begins_with_the_earlier_limit(
    make_world: MakeWorld,
) -> None:
    make_world(promised={}, cycles={"limit_49152": -100}, default_fails="out of memory")
    earlier = artefact(chip="tpu_v5e", options={OPTION: "49152"})
    result = run(start_from=earlier)
    assert [step["limit_kib"] for step in result.report["tried"][:2]] == [16384, 49152]
    assert result.compiler_options == {OPTION: "49152"}
