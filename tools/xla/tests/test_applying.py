"""apply() uses an artefact where it fits, and never fails because of one."""

from __future__ import annotations

import dataclasses
import errno
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="calls functions on the CPU")

import jax.numpy as jnp  # noqa: E402
from cpu_artefacts import OPTIONS, artefact_of, inputs, make_cpu_a_chip, step, warnings_in  # noqa: E402
from jax.experimental.compilation_cache import compilation_cache  # noqa: E402

from mallocmuzero_xla.artefacts.artefact import load_artefact  # noqa: E402
from mallocmuzero_xla.artefacts.fitting import Registry  # noqa: E402
from mallocmuzero_xla.errors import UsageError  # noqa: E402
from mallocmuzero_xla.runtime.applying import AppliedFunction, apply, load_registry  # noqa: E402
from mallocmuzero_xla.search.optimize import Optimized  # noqa: E402

JIT = {"donate_argnums": 1}


@pytest.fixture(autouse=True)
def cpu_is_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cpu_a_chip(monkeypatch)


def line_of_the_default(fast: AppliedFunction, caplog: pytest.LogCaptureFixture, calls: int) -> str:
    """Calls `fast`, which must run as jax.jit compiles it; returns its one line of the log."""
    for _ in range(calls):
        assert jnp.allclose(fast(*inputs()), step(*inputs()))
    assert fast.artefact is None
    (line,) = warnings_in(caplog)
    assert line.startswith("step runs as jax.jit compiles it: ")
    return line


def test_fitting_options_are_used_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    artefact = artefact_of(step, *inputs())
    fast = apply(step, artefact)
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    assert (fast.artefact, fast.reason) == (artefact, "")
    assert warnings_in(caplog) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fingerprint": "0" * 64}, "the function, its shapes or its jit options are not those"),
        ({"chip": "tpu_v6e"}, "found for tpu_v6e, here is chip of cpu"),
        ({"devices": 4}, "found for 4 devices, here are 1"),
        ({"versions": {"jax": "0.0.1"}}, "found with jax 0.0.1, here is"),
        ({"versions": {"libtpu": "0.0.1"}}, "found with libtpu 0.0.1, here is none"),
        ({"compiler_options": {"xla_no_such_option": "1"}}, "does not compile with the options"),
    ],
)
def test_what_does_not_fit_is_one_line_of_the_log_and_the_default_runs(
    change: dict[str, Any], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    fast = apply(step, dataclasses.replace(artefact_of(step, *inputs()), **change))
    line = line_of_the_default(fast, caplog, calls=3)
    assert message in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("name", "versions", "message"),
    [
        ("artefacts.fitting.devices_of", {}, "AttributeError: moved"),
        ("artefacts.fitting.devices_of", {"jax": "0.0.1"}, "found with jax 0.0.1, here is"),
        ("runtime.applying.jit_compiler_options", {}, "AttributeError: moved"),
        ("runtime.call_signature.trace_context", {}, "AttributeError: moved"),
    ],
)
def test_jax_whose_private_names_have_moved_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    versions: dict[str, str],
    message: str,
) -> None:
    artefact = artefact_of(step, *inputs())
    artefact = dataclasses.replace(artefact, versions={**artefact.versions, **versions})

    def moved(*_: Any) -> Any:
        raise AttributeError("moved")

    monkeypatch.setattr(f"mallocmuzero_xla.{name}", moved)
    fast = apply(step, artefact)
    line = line_of_the_default(fast, caplog, calls=2)
    assert message in line
    if name.startswith("artefacts.fitting"):
        assert Registry([artefact]).compiler_options(jax.jit(step).lower(*inputs())) == {}


def test_file_that_is_missing_or_damaged_does_not_raise(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = tmp_path / "a.json"
    damaged.write_text("{}", encoding="utf-8")
    for path in (damaged, tmp_path / "absent.json"):
        assert jnp.allclose(apply(step, path)(*inputs()), step(*inputs()))
    assert "not an artefact" in warnings_in(caplog)[0]
    assert "cannot be read" in warnings_in(caplog)[1]


@pytest.mark.parametrize("error", [errno.ENAMETOOLONG, errno.EACCES])
def test_path_that_cannot_be_looked_at_does_not_raise(
    error: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = pathlib.Path("x" * 300)
    if error == errno.EACCES:

        def refused(*_: Any, **__: Any) -> Any:
            raise PermissionError(error, os.strerror(error))

        monkeypatch.setattr("os.stat", refused)
        monkeypatch.setattr("io.open", refused)
    for artefacts in (path, [path]):
        fast = apply(step, artefacts)
    monkeypatch.undo()
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    assert all(f"cannot be read: {os.strerror(error)}" in line for line in warnings_in(caplog)[:2])


def test_folder_without_an_artefact_is_a_line_of_the_log(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    fast = apply(step, tmp_path)
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    reason = f"{tmp_path}: there is no artefact"
    assert warnings_in(caplog) == [f"step runs as jax.jit compiles it: {reason}"]
    assert fast.reason == reason
    assert apply(step, []).reason == "there is no artefact"


def test_artefact_of_an_executable_that_is_not_there_is_not_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    artefact = artefact_of(step, *inputs(), options={})
    other = artefact_of(step, *inputs(rows=5))
    for fast in (apply(step, artefact), apply(step, [artefact, other])):
        assert jnp.allclose(fast(*inputs()), step(*inputs()))
        assert fast.artefact is None
        assert "neither options nor the executable that was found" in fast.reason
    assert len(warnings_in(caplog)) == 2
    # The default is the best program: there is nothing to use, and nothing to say.
    fast = apply(step, dataclasses.replace(artefact, expected_cycles=1000.0))
    fast(*inputs())
    assert (fast.artefact is not None, fast.reason) == (True, "")


def test_ahead_of_time_compile_uses_the_options(caplog: pytest.LogCaptureFixture) -> None:
    artefact = artefact_of(step, *inputs())
    fast = apply(step, artefact)
    compiled = fast.lower(*inputs()).compile()
    assert jnp.allclose(compiled(*inputs()), step(*inputs()))
    assert fast.artefact == artefact
    apply(step, artefact).lower(*inputs(5)).compile()
    assert "are not those of the search" in warnings_in(caplog)[0]


@pytest.mark.parametrize(("isa", "used"), [("AVX2", True), ("SSE4_2", False)])
def test_option_of_jit_is_not_overruled(
    isa: str, used: bool, caplog: pytest.LogCaptureFixture
) -> None:
    artefact = artefact_of(step, *inputs())
    fast = apply(step, artefact, compiler_options={"xla_cpu_max_isa": isa})
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    assert (fast.artefact == artefact) == used
    assert any("jax.jit sets xla_cpu_max_isa" in line for line in warnings_in(caplog)) != used


def test_options_beside_a_jitted_function_are_refused() -> None:
    with pytest.raises(UsageError, match=r"give them to the jax\.jit that made the function"):
        apply(jax.jit(step), artefact_of(step, *inputs()), compiler_options=OPTIONS)


@pytest.mark.parametrize(("isa", "used"), [("AVX2", True), ("SSE4_2", False)])
def test_registry_has_no_options_that_overrule_those_of_jit(isa: str, used: bool) -> None:
    registry = Registry([artefact_of(step, *inputs(), options={"xla_cpu_max_isa": "AVX2"})])
    lowered = jax.jit(step, compiler_options={"xla_cpu_max_isa": isa}).lower(*inputs())
    assert bool(registry.compiler_options(lowered)) == used


@pytest.mark.parametrize("how", ["jit", "environment", "nothing"])
def test_missing_option_of_the_search_is_a_line_of_the_log(
    how: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "xla_cpu_enable_fast_math"
    artefact = dataclasses.replace(artefact_of(step, *inputs()), own_options={own: "false"})
    if how == "environment":
        monkeypatch.setenv("XLA_FLAGS", f"--{own}=false")
    fast = apply(step, artefact, **({"compiler_options": {own: False}} if how == "jit" else {}))
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    assert fast.artefact == artefact
    line = f"step runs without the option {own}=false, which the search had"
    assert warnings_in(caplog) == ([line] if how == "nothing" else [])


@pytest.fixture
def kept_compiles(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """jax's persistent compilation cache, which keeps every compile."""
    names = {
        "jax_enable_compilation_cache": True,
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in names}
    for name, value in names.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    jax.clear_caches()
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def test_persistent_cache_keeps_the_compile_with_options(kept_compiles: pathlib.Path) -> None:
    def kept() -> set[str]:
        return {path.name for path in kept_compiles.glob("jit_step-*-cache")}

    artefact = artefact_of(step, *inputs())
    apply(step, artefact)(*inputs())
    with_options = kept()
    jax.clear_caches()
    apply(step, artefact)(*inputs())
    assert kept() == with_options
    assert len(with_options) == 1
    apply(step, dataclasses.replace(artefact, compiler_options={}))(*inputs())
    assert len(kept()) == 2


def test_registry_finds_the_artefact_of_each_function(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    shapes = {rows: artefact_of(step, *inputs(rows)) for rows in (2, 3)}
    for rows, artefact in shapes.items():
        artefact.save(tmp_path / f"{rows}.json")
    (tmp_path / "other.json").write_text("[1]", encoding="utf-8")
    fast = apply(step, tmp_path)
    for rows, artefact in shapes.items():
        fast(*inputs(rows))
        assert fast.artefact == artefact
    assert len(load_registry(tmp_path)) == 2
    caplog.clear()
    assert len(load_registry(tmp_path / "absent")) == 0
    assert warnings_in(caplog) == [f"{tmp_path / 'absent'}: there is no artefact"]


def test_frameworks_that_own_jit_get_options_for_a_lowered_function() -> None:
    registry = Registry([artefact_of(step, *inputs())])
    assert registry.compiler_options(jax.jit(step).lower(*inputs())) == OPTIONS
    assert registry.compiler_options(jax.jit(step).lower(*inputs(5))) == {}


def test_of_several_that_do_not_fit_the_closest_says_why() -> None:
    artefact = artefact_of(step, *inputs())
    other = dataclasses.replace(artefact, fingerprint="0" * 64, devices=4)
    older = dataclasses.replace(artefact, versions={"jax": "0.0.1"}, expected_cycles=950.0)
    found, reason = Registry([other, older]).find(jax.jit(step).lower(*inputs()))
    assert found is None
    assert reason.startswith("found with jax 0.0.1, here is ")


def test_of_several_that_fit_the_fastest_counts() -> None:
    slow = artefact_of(step, *inputs())
    fast = dataclasses.replace(slow, expected_cycles=800.0)
    assert Registry([slow, fast]).find(jax.jit(step).lower(*inputs()))[0] == fast


def test_result_of_a_search_applies_and_saves_itself(tmp_path: pathlib.Path) -> None:
    artefact = artefact_of(step, *inputs(), donate_argnums=1)
    found = Optimized(OPTIONS, 1000.0, 900.0, 1.0, None, {}, artefact, False, step, JIT)
    assert found.gain == pytest.approx(0.1)
    for fast in (found.jit(), apply(step, found, **JIT)):
        fast(*inputs())
        assert fast.artefact == artefact
    found.save(tmp_path / "step.json")
    assert load_artefact(tmp_path / "step.json") == artefact


@pytest.mark.parametrize("given", [None, 3, [None], b"a.json"])
def test_what_can_be_no_artefact_is_a_usage_error(given: Any) -> None:
    with pytest.raises(UsageError, match="expected an artefact, its file, a folder"):
        apply(step, given)
