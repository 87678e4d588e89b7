"""optimize() takes its results from the cache where they fit."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import World
from optimize_runs import OPTIONS, entry, load, lowered_as, own_cache, run

from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.store import folder_of
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.search.outcome import describe
from mallocmuzero_xla.search.verified import Verified

MakeWorld = Callable[..., World]


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    return own_cache(tmp_path, monkeypatch)


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world(promised={"a": 40, "b": 5}, cycles={"a": -40, "b": 5})


def test_entry_of_a_search_without_trial_compiles_is_not_an_answer(
    world: World, cache: pathlib.Path
) -> None:
    run()
    fields = json.loads(entry(cache).read_text(encoding="utf-8"))
    unfinished = {"options": {}, "looks": 0, "rounds": [], "tried": [], "out_of_budget": True}
    fields["verified"] |= unfinished
    entry(cache).write_text(json.dumps(fields), encoding="utf-8")
    assert run().compiler_options == OPTIONS


def test_second_call_asks_the_compiler_nothing(world: World) -> None:
    first = run()
    lines = world.log()
    second = run()
    assert second.compiler_options == first.compiler_options
    assert world.log() == lines
    assert (first.from_cache, second.from_cache) == (False, True)
    words = describe(Verified.from_json(second.report), second.report["from_cache"])
    assert "from the cache" in words
    assert "a larger budget searches again" in words
    assert load() == OPTIONS
    assert world.log() == lines


def test_artefact_of_a_cached_result_has_the_budget_of_its_search(world: World) -> None:
    assert run(budget="30s").artefact.found["budget_seconds"] == 30
    again = run(budget="20s")
    assert (again.from_cache, again.artefact.found["budget_seconds"]) == (True, 30)


def test_folders_of_killed_searches_are_removed_after_a_day(
    world: World, cache: pathlib.Path
) -> None:
    program = LoweredProgram("step", "v4 lite:1x1", (0,), b"", b"", {}, "1" * 64)
    captures = folder_of(cache / "captures" / "tpu_v4i", program)
    old, new = captures / "loop-old", captures / "loop-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "imported.program").touch()
    os.utime(old, (0, 0))
    run()
    assert (old.exists(), new.exists()) == (False, True)


def other_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--xla_some_flag=1")


def other_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("compiler.store", "captures.saved_capture", "search.options_cache"):
        monkeypatch.setattr(
            f"mallocmuzero_xla.{module}.compiler_versions", lambda: {"jax": "0.0.1"}
        )


def other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_LIBRARY_PATH", "/opt/nightly/libtpu.so")


@pytest.mark.parametrize("change", [other_flags, other_versions, other_library])
def test_searches_of_other_compilers_leave_the_texts_of_each_other(
    world: World,
    cache: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[pytest.MonkeyPatch], None],
) -> None:
    run(budget="30s")
    (first,) = (cache / "captures").rglob("sample_0.hlo.zst")
    change(monkeypatch)
    assert not run(budget="30s").from_cache
    texts = set((cache / "captures").rglob("sample_0.hlo.zst"))
    assert first in texts
    assert len(texts) == 2


def test_larger_budget_searches_again_and_keeps_the_better(world: World) -> None:
    run(budget="30s")
    lines = len(world.log())
    assert run(budget="60s").optimized_cycles == 960
    assert len(world.log()) > lines


@pytest.mark.usefixtures("world")
def test_nothing_cached_is_no_options_and_no_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert load() == {}
    assert capsys.readouterr().err == ""


def test_options_of_another_version_of_the_function_warn_and_are_not_used(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    lowered_as(monkeypatch, "2" * 64)
    capsys.readouterr()
    assert load() == {}
    assert (
        "step: the cached options are for a function of this name with other code, shapes or jit "
        "options; not used" in capsys.readouterr().err
    )


def test_options_of_another_libtpu_warn_and_are_not_used(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    newer = {"jax": "1", "jaxlib": "1", "libtpu": "2"}
    monkeypatch.setattr("mallocmuzero_xla.search.options_cache.compiler_versions", lambda: newer)
    capsys.readouterr()
    assert load() == {}
    warning = capsys.readouterr().err
    assert "found with versions" in warning
    assert "'libtpu': '2'" in warning


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"format": 1}', "null", "[" * 100_000])
def test_damaged_entry_warns_and_is_not_used(
    world: World, cache: pathlib.Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    run()
    entry(cache).write_text(damage, encoding="utf-8")
    capsys.readouterr()
    assert load() == {}
    assert "damaged" in capsys.readouterr().err


def test_entry_without_its_options_is_damaged(
    world: World, cache: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    fields = json.loads(entry(cache).read_text(encoding="utf-8"))
    del fields["verified"]["options"]
    entry(cache).write_text(json.dumps(fields), encoding="utf-8")
    assert load() == {}
    assert "damaged" in capsys.readouterr().err


def test_interrupted_search_does_not_make_an_earlier_entry_one_of_its_budget(
    world: World, cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(budget="30s")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mallocmuzero_xla.search.closed_loop.Loop._rounds", interrupted)
    result = run(budget="60s")
    assert result.report["interrupted"]
    assert result.compiler_options == OPTIONS
    assert json.loads(entry(cache).read_text(encoding="utf-8"))["budget_seconds"] == 30


def test_user_without_a_home_folder_is_told_to_name_the_cache(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MALLOCMUZERO_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as for an unknown user id
    with pytest.raises(UsageError, match="name a folder in MALLOCMUZERO_CACHE"):
        run()
    assert world.log() == []
