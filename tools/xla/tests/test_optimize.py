"""optimize() takes the samples that the budget allows, and runs the loop."""

from __future__ import annotations

import errno
import gc
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import World
from optimize_runs import OPTIONS, entry, load, own_cache, run

from mallocmuzero_xla.artefacts.artefact import load_artefact
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.search.optimize import optimize
from mallocmuzero_xla.search.outcome import describe
from mallocmuzero_xla.search.settings import assignment_settings
from mallocmuzero_xla.search.verified import Verified

MakeWorld = Callable[..., World]

# All settings of the chip, which change nothing.
SETTINGS = {
    item.kind: "=".join(item.setting)
    for item in assignment_settings(CHIPS["tpu_v4i"])
    if item.setting is not None
}


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    return own_cache(tmp_path, monkeypatch)


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world(promised={"a": 40, "b": 5}, cycles={"a": -40, "b": 5})


def test_faster_program_gives_its_options(world: World) -> None:
    result = run()
    assert result.compiler_options == OPTIONS
    assert (result.default_cycles, result.optimized_cycles) == (1000, 960)
    assert result.followed_share == 0.5
    assert result.mapping is not None
    assert result.mapping.read_text(encoding="utf-8") == "first"
    assert result.report["kept"] == ["keep_value a #a"]


def test_overrides_are_compiled_in_phases_and_the_best_to_the_end(make_world: MakeWorld) -> None:
    world = make_world(
        phases="exact", promised={"a": 40, "b": 5}, cycles={"a": -40, "b": 5}, settings=SETTINGS
    )
    result = run()
    assert result.compiler_options == OPTIONS
    assert (result.default_cycles, result.optimized_cycles) == (1000, 960)
    assert [line for line in world.log() if line.startswith("compile")] == ["compile", "compile a"]
    overrides = [step for step in result.report["tried"] if step["step"] == "overrides"]
    assert {(step["cycles"], step["estimated"]) for step in overrides} == {(960, False)}


@pytest.mark.parametrize("fault", [{"hidden": {"a": 300}}, {"breaks": ["a"]}])
def test_overrides_whose_machine_code_is_slower_or_fails_are_dropped(
    make_world: MakeWorld, fault: dict[str, Any]
) -> None:
    make_world(phases="blind", promised={"a": 40}, cycles={"a": -40}, settings=SETTINGS, **fault)
    result = run()
    assert result.compiler_options == {}
    assert result.optimized_cycles == 1000


def test_disk_that_fills_up_leaves_what_was_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")

    def prepare(*_: Any) -> None:
        raise full

    monkeypatch.setattr("mallocmuzero_xla.search.step_runner.capture_for_search", prepare)
    result = run()
    assert result.default_cycles == 1000
    errors = [step["error"] for step in result.report["tried"] if step["error"]]
    assert any("No space left on device" in error for error in errors)
    # Before there is anything, the error is the caller's.
    monkeypatch.setattr("mallocmuzero_xla.search.step_runner.CaptureStore", prepare)
    with pytest.raises(OSError, match="No space left on device"):
        run(budget="70s")


def test_default_is_returned_as_no_options(make_world: MakeWorld) -> None:
    make_world(promised={"a": 40}, cycles={"a": 1})
    result = run()
    assert result.compiler_options == {}
    assert result.optimized_cycles == result.default_cycles
    assert result.mapping is None


def test_samples_are_compiled_once_and_reused(world: World, cache: pathlib.Path) -> None:
    run(samples=2)
    captured = [line for line in world.log() if line == "compile"]
    assert len(captured) == 4
    entry(cache).unlink()
    run(samples=2)
    assert [line for line in world.log() if line == "compile"] == captured


def test_damaged_text_of_a_sample_that_is_not_asked_for_is_as_none(
    world: World, cache: pathlib.Path
) -> None:
    run(samples=1)
    entry(cache).unlink()
    (text,) = (cache / "captures").rglob("sample_0.hlo.zst")
    text.write_bytes(text.read_bytes()[:-8])
    assert run(samples=0).compiler_options == OPTIONS


def test_at_most_a_fifth_of_the_budget_buys_samples(world: World) -> None:
    # Everything in HBM and the default come first.
    result = run(samples=100, budget="15s")
    share = 0.2 * 15 / result.report["compile_seconds"]
    assert 2 < world.log().count("compile") <= 2 + max(1, share)


def test_budget_that_ends_with_the_default_gives_no_verdict_and_no_entry(
    world: World, cache: pathlib.Path
) -> None:
    result = run(budget="0.01s")
    assert world.log() == ["compile"]
    assert result.report["out_of_budget"]
    assert Verified.from_json(result.report).undecided
    assert not (cache / "options").exists()
    assert "grant at least 1m; what has been compiled is kept" in describe(
        Verified.from_json(result.report)
    )
    # Another call continues from there and finds an answer.
    assert run().compiler_options == OPTIONS


def test_result_without_an_answer_is_not_written_over_an_artefact(
    world: World, tmp_path: pathlib.Path
) -> None:
    result = run(budget="0.01s")
    path = tmp_path / "step.json"
    path.write_text("an earlier artefact", encoding="utf-8")
    with pytest.raises(UsageError, match=r"step\.json: not written, .*: budget spent before any"):
        result.save(path)
    assert path.read_text(encoding="utf-8") == "an earlier artefact"
    assert result.undecided
    found = run()
    found.save(path)
    assert (found.undecided, load_artefact(path)) == (False, found.artefact)


def test_function_without_work_is_a_usage_error(make_world: MakeWorld) -> None:
    make_world(default=0, promised={}, cycles={})
    with pytest.raises(UsageError, match="step takes no cycles by the compiler's estimates"):
        run()


def test_mapping_that_cannot_be_kept_leaves_the_options(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mallocmuzero_xla.search.override_rounds._kept", kept)
    result = run()
    assert (result.compiler_options, result.mapping) == (OPTIONS, None)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), UsageError("not a captured text")]
)
def test_texts_that_are_gone_leave_the_options(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def identities(*_: Any) -> None:
        raise error

    monkeypatch.setattr("mallocmuzero_xla.search.step_runner.StepRunner._identities", identities)
    result = run()
    assert result.compiler_options == OPTIONS
    assert result.artefact.found["identities"] == {}


def test_listener_hears_of_each_compile_of_a_capture(world: World) -> None:
    lines: list[str] = []
    run(samples=1, on_progress=lines.append)
    assert {"step all_hbm", "step default", "step sample_0"} <= set(lines)


def test_error_of_a_search_begins_a_line_of_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def search(run: Any, *_: object) -> None:
        run._progress.status("a line that changes")
        raise CaptureError("failed")

    monkeypatch.setattr("mallocmuzero_xla.progress._can_redraw", lambda: True)
    monkeypatch.setattr("mallocmuzero_xla.search.optimize._Run._search", search)
    with pytest.raises(CaptureError):
        optimize(lambda: None, budget="60s")
    assert capsys.readouterr().err == "\ra line that changes\n"


def test_interrupted_search_returns_its_best_and_is_not_taken_for_the_last_word(
    world: World, cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mallocmuzero_xla.search.closed_loop.Loop._refit", interrupted)
    monkeypatch.setattr("mallocmuzero_xla.search.closed_loop._SURPRISE", -1.0)
    result = run()
    assert result.report["interrupted"]
    assert result.compiler_options == OPTIONS
    assert load() == {}


def test_the_mapping_kept_is_that_of_the_options_kept(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40})
    first = run(budget="30s")

    # A longer search finds another mapping, but no better options.
    def solve(_: Any, __: Any, output: pathlib.Path, ___: float) -> dict[str, Any]:
        output.write_text("worse", encoding="utf-8")
        return {"total_cycles": 1000, "default_cycles": 1000}

    monkeypatch.setattr("mallocmuzero_xla.binary.Binary.solve", solve)
    second = run(budget="60s")
    assert second.mapping == first.mapping
    assert second.mapping is not None
    assert second.mapping.read_text(encoding="utf-8") == "first"
    left = {path.suffix for path in second.mapping.parent.iterdir()}
    assert left == {".json", ".zst", ".mapping", ".program"}


def test_search_leaves_no_open_file(world: World) -> None:
    def opened() -> int:
        return sum(1 for _ in pathlib.Path("/proc/self/fd").iterdir())

    run(budget="20s")
    gc.collect()
    before = opened()
    gc.disable()  # a process with many objects collects cycles seldom
    try:
        run(budget="21s")
        assert opened() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("budget", ["0s", "-1m", "soon"])
def test_impossible_budgets_are_usage_errors_before_anything_is_compiled(
    world: World, budget: str
) -> None:
    with pytest.raises(UsageError, match="expected a time above 0"):
        run(budget=budget)
    assert world.log() == []
