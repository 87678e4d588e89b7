"""optimize_many() divides a budget and goes on after a failure."""

from __future__ import annotations

import errno
import pathlib
import types
from collections.abc import Callable
from typing import Any

import pytest
from conftest import World, lower_to

from mallocmuzero_xla import load_registry, optimize_many
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.errors import CaptureError, UsageError


def program(name: str) -> LoweredProgram:
    sha256 = name[0] * 64
    return LoweredProgram(name, "v4 lite:1x1", (0,), b"", b"", {}, sha256, sha256)


def test_every_function_gets_its_artefact(
    make_world: Callable[..., World], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40}, sha256="a" * 64)
    lower_to(monkeypatch, program("abc"))
    lines: list[str] = []
    many = optimize_many(
        {"bucket_1": (None, ()), "bucket_2": (None, (), {"donate_argnums": 0})},
        "60s",
        samples=0,
        cache_dir=tmp_path / "cache",
        on_progress=lines.append,
        progress=False,
    )
    assert {name: result.gain for name, result in many.results.items()} == pytest.approx(
        {"bucket_1": 0.04, "bucket_2": 0.04}
    )
    assert any(line.startswith("bucket_1: ") for line in lines)
    assert many.summary().startswith("bucket_1: default 0.001 Mcycles")
    many.save(tmp_path / "found")
    assert len(load_registry(tmp_path / "found")) == len(many.registry) == 2


def test_function_that_fails_leaves_its_time_to_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    granted: list[float] = []

    def fails(fn: Any, *_: Any, budget: Budget, **__: Any) -> None:
        granted.append(budget.seconds)
        raise CaptureError(f"{fn} does not compile")

    monkeypatch.setattr("mallocmuzero_xla.search.many.optimize", fails)
    many = optimize_many({"a": ("f", ()), "b": ("g", ())}, "100s")
    assert granted == pytest.approx([50, 100], abs=1)
    assert many.failures == {"a": "f does not compile", "b": "g does not compile"}
    assert many.summary() == "a: failed: f does not compile\nb: failed: g does not compile"


def test_request_that_is_wrong_for_all_functions_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"^unknown chip 'v6e': expected one of tpu_v6e"):
        optimize_many({"a": ("f", ()), "b": ("g", ())}, chip="v6e")


@pytest.mark.parametrize("name", ["budget", "chip"])
def test_option_that_is_given_twice_is_a_usage_error(name: str) -> None:
    functions: dict[str, tuple[Any, ...]] = {"a": ("f", ()), "b": ("g", (), {name: "5m"})}
    with pytest.raises(UsageError, match=rf"^'b': {name} is given for all functions$"):
        optimize_many(functions, chip="tpu_v6e")


def test_functions_that_are_wrong_in_their_own_ways_are_failures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(fn: Any, *_: Any, **__: Any) -> None:
        raise UsageError(f"{fn} is sharded over other devices")

    monkeypatch.setattr("mallocmuzero_xla.search.many.optimize", fails)
    many = optimize_many({"a": ("f", ()), "b": ("g", ())})
    assert list(many.failures) == ["a", "b"]


def test_search_that_ends_before_an_answer_is_a_failure(
    make_world: Callable[..., World], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40})
    lower_to(monkeypatch, program("abc"))
    # The budget of the first function ends with the compile of the default.
    monkeypatch.setattr(Budget, "remaining", lambda self: 0.0 if self.seconds < 60 else 60.0)
    options: dict[str, Any] = {"samples": 0, "cache_dir": tmp_path / "cache", "progress": False}
    many = optimize_many({"a": ("f", ()), "b": ("g", ())}, "60s", **options)
    assert (list(many.results), list(many.failures)) == (["b"], ["a"])
    assert "budget spent before any placement was tried" in many.failures["a"]
    many.save(tmp_path / "found")
    assert [path.name for path in (tmp_path / "found").iterdir()] == ["b.json"]


def test_second_call_with_the_same_budget_asks_the_compiler_nothing(
    make_world: Callable[..., World], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40})
    monkeypatch.setattr("mallocmuzero_xla.search.optimize.lower", lambda fn, *_: program(fn))

    def gains(budget: str) -> list[float | None]:
        functions = {"x": ("abc", ()), "y": ("bcd", ())}
        options: dict[str, Any] = {"samples": 0, "cache_dir": tmp_path / "cache", "progress": False}
        many = optimize_many(functions, budget, **options)
        assert not many.failures
        return [result.gain for result in many.results.values()]

    first, asked = gains("5m"), world.log()
    assert gains("5m") == first
    assert world.log() == asked
    gains("10m")
    assert len(world.log()) > len(asked)


def test_disk_that_fills_up_leaves_the_results_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def optimized(fn: str, *_: Any, **__: Any) -> Any:
        if fn == "second":
            raise OSError(errno.ENOSPC, "No space left on device")
        return types.SimpleNamespace(report={"interrupted": False}, undecided=False)

    monkeypatch.setattr("mallocmuzero_xla.search.many.optimize", optimized)
    many = optimize_many({name: (name, ()) for name in ("first", "second", "third")}, "100s")
    assert list(many.results) == ["first", "third"]
    assert many.failures == {"second": "[Errno 28] No space left on device"}


@pytest.mark.parametrize("raises", [True, False])
def test_interrupt_keeps_the_results_before_it_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, raises: bool
) -> None:
    def optimized(fn: str, *_: Any, **__: Any) -> Any:
        if fn == "second" and raises:
            raise KeyboardInterrupt
        report = {"interrupted": fn == "second"}
        return types.SimpleNamespace(report=report, summary=lambda: fn, undecided=False)

    monkeypatch.setattr("mallocmuzero_xla.search.many.optimize", optimized)
    many = optimize_many({name: (name, ()) for name in ("first", "second", "third")}, "100s")
    assert list(many.results) == (["first"] if raises else ["first", "second"])
    assert many.failures["third"] == "not searched: Ctrl-C came before"
    assert ("second" in many.failures) == raises


def test_interrupt_before_the_first_result_is_not_held_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mallocmuzero_xla.search.many.optimize", interrupted)
    with pytest.raises(KeyboardInterrupt):
        optimize_many({"first": (None, ())})


@pytest.mark.parametrize("first", [True, False])
def test_interrupt_before_an_answer_is_no_result(
    monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    def optimized(fn: str, *_: Any, **__: Any) -> Any:
        cut = fn == "cut"
        report = {"interrupted": cut}
        return types.SimpleNamespace(report=report, summary=lambda: f"{fn} off", undecided=cut)

    monkeypatch.setattr("mallocmuzero_xla.search.many.optimize", optimized)
    functions = {name: (name, ()) for name in (("cut", "last") if first else ("found", "cut"))}
    if first:
        with pytest.raises(KeyboardInterrupt):
            optimize_many(functions, "100s")
        return
    many = optimize_many(functions, "100s")
    assert (list(many.results), many.failures) == (["found"], {"cut": "cut off"})


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"a/b": (None, ())}, "'a/b': expected a name for a file"),
        ({"": (None, ())}, "'': expected a name for a file"),
        ({1: (None, ())}, "1: expected a name for a file"),
        ({"a": (None,)}, r"'a': expected \(fn, args\) or"),
        ({"a": abs}, r"'a': expected \(fn, args\) or"),
        ({"a": (None, "xy")}, "'a': args must be a tuple, not str"),
        ({"a": (None, (), None)}, "'a': options must be a dictionary, not NoneType"),
    ],
)
def test_entries_of_something_else_are_refused(functions: dict[Any, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        optimize_many(functions)
