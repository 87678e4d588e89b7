"""apply() uses an artefact where it fits, and never fails because of one."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import errno
import functools
import json
import logging
import os
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="calls functions on the CPU")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from cpu_artefacts import OPTIONS, artefact_of, inputs, make_cpu_a_chip, step  # noqa: E402
from jax.experimental.compilation_cache import compilation_cache  # noqa: E402
from jax.experimental.layout import Format, Layout  # noqa: E402

from mallocmuzero_xla.applying import AppliedFunction, apply, load_registry  # noqa: E402
from mallocmuzero_xla.artefact import Artefact, load_artefact  # noqa: E402
from mallocmuzero_xla.chips import CHIPS  # noqa: E402
from mallocmuzero_xla.errors import UsageError  # noqa: E402
from mallocmuzero_xla.fitting import Registry  # noqa: E402
from mallocmuzero_xla.lowering import lower  # noqa: E402
from mallocmuzero_xla.optimize import Optimized  # noqa: E402

JIT = {"donate_argnums": 1}


@pytest.fixture(autouse=True)
def cpu_is_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cpu_a_chip(monkeypatch)


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


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
        ("fitting.devices_of", {}, "AttributeError: moved"),
        ("fitting.devices_of", {"jax": "0.0.1"}, "found with jax 0.0.1, here is"),
        ("applying.jit_compiler_options", {}, "AttributeError: moved"),
        ("call_signature.trace_context", {}, "AttributeError: moved"),
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
    if name.startswith("fitting"):
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


def test_other_shapes_run_by_default_and_the_first_ones_stay_fast() -> None:
    fast = apply(step, artefact_of(step, *inputs()))
    fast(*inputs())
    assert fast.artefact is not None
    assert fast(*inputs(rows=5)).shape == (5, 8)
    assert fast.artefact is None
    assert "are not those of the search" in fast.reason


def test_arguments_committed_to_the_only_device_are_the_same_program() -> None:
    device = jax.devices()[0]
    one = jax.sharding.SingleDeviceSharding(device)
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=one) for x in inputs()]
    artefact = artefact_of(step, *shapes, donate_argnums=1)
    committed = [jax.device_put(x, device) for x in inputs()]
    for args in (inputs(), committed):
        fast = apply(step, artefact, donate_argnums=1)
        fast(*args)
        assert fast.artefact == artefact, fast.reason


def test_arguments_in_another_layout_run_by_default_and_the_first_ones_stay_fast() -> None:
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    formats = [Format(Layout(order), device) for order in ((0, 1), (1, 0))]
    rows, columns = ([jax.device_put(x, each) for x in inputs()] for each in formats)
    artefact = artefact_of(step, *rows)
    fast = apply(step, artefact)
    for args, used in ((rows, artefact), (columns, None)):
        assert jnp.allclose(fast(*args), step(*inputs()))
        assert fast.artefact == used
    assert jnp.allclose(fast(*rows), step(*inputs()))


def test_other_donation_is_another_program() -> None:
    fast = apply(step, artefact_of(step, *inputs(), donate_argnums=1))
    fast(*inputs())
    assert fast.artefact is None


def test_static_arguments_and_donation_are_those_of_jit() -> None:
    options = {"static_argnums": 2, "donate_argnums": 1}
    artefact = artefact_of(step, *inputs(), 3, **options)
    fast = apply(step, artefact, **options)
    weights, x = inputs()
    assert jnp.allclose(fast(weights, x, 3), 3 * jnp.tanh(8.0))
    assert fast.artefact == artefact
    assert x.is_deleted()
    assert jnp.allclose(fast(*inputs(), 5), 5 * jnp.tanh(8.0))
    assert fast.artefact is None  # another static argument is another program


def test_equal_static_arguments_of_other_types_are_other_programs() -> None:
    def times(x: Any, factor: Any) -> Any:
        return x * factor

    x = jnp.arange(3)
    artefacts = [artefact_of(times, x, factor, static_argnums=1) for factor in (2, 2.0)]
    fast = apply(times, artefacts, static_argnums=1)
    assert fast(x, 2).dtype == jnp.int32
    assert fast(x, 2.0).dtype == jnp.float32
    assert fast.artefact == artefacts[1]


def test_bound_method_of_a_jitted_function_has_its_object() -> None:
    class Model:
        scale = 3.0

        @functools.partial(jax.jit, static_argnums=0)
        def step(self, x: Any) -> Any:
            return self.scale * x

    model, x = Model(), jnp.ones(3)
    artefact = artefact_of(model.step, x)
    fast = apply(model.step, artefact)
    assert float(fast(x)[0]) == 3.0
    assert fast.artefact == artefact


class FrameworkJit:
    """A function with a jit of a framework's own, whose `lower` returns something else."""

    def __call__(self, *args: Any) -> Any:
        return step(*args)

    def lower(self, *_: Any) -> object:
        return object()


def test_function_that_a_framework_has_jitted_runs_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fast = apply(FrameworkJit(), artefact_of(step, *inputs()))
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    (line,) = warnings_in(caplog)
    assert "lowers to a builtins.object, not as jax.jit does: give the function itself" in line


def test_search_for_a_function_that_a_framework_has_jitted_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mallocmuzero_xla.lowering.prepare_environment", lambda: None)
    monkeypatch.setattr("mallocmuzero_xla.lowering.chip_devices", lambda _: jax.devices())
    with pytest.raises(UsageError, match="give the function itself"):
        lower(FrameworkJit(), inputs(), CHIPS["tpu_v6e"])


def test_static_argument_without_a_hash_is_refused_as_jit_refuses_it() -> None:
    fast = apply(step, artefact_of(step, *inputs(), 3, static_argnums=2), static_argnums=2)
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        fast(*inputs(), [1])


def test_settings_of_jax_that_change_the_program_are_followed() -> None:
    fast = apply(step, artefact_of(step, *inputs()))
    fast(*inputs())
    assert fast.artefact is not None
    with jax.default_matmul_precision("highest"):
        fast(*inputs())
    assert fast.artefact is None  # products of another precision are another program
    wide = [np.ones(x.shape) for x in inputs()]
    fast(*wide)
    with jax.enable_x64(True):
        assert fast(*wide).dtype == jnp.float64


def test_function_runs_line_by_line_while_jit_is_disabled() -> None:
    seen: list[Any] = []

    def traced(x: Any) -> Any:
        seen.append(x)
        return x + 1

    fast = apply(traced, artefact_of(traced, jnp.ones(3)))
    fast(jnp.ones(3))
    with jax.disable_jit():
        fast(jnp.full(3, 5.0))
    assert float(seen[-1][0]) == 5.0


def test_random_keys_may_be_committed_to_a_device() -> None:
    def noise(key: Any) -> Any:
        return jax.random.normal(key, (3,))

    key = jax.device_put(jax.random.key(0), jax.devices()[0])
    artefact = artefact_of(noise, key)
    fast = apply(noise, artefact)
    assert jnp.allclose(fast(key), noise(key))
    assert fast.artefact == artefact


def test_threads_with_the_same_new_shapes_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = apply(step, artefact_of(step, *inputs()))
    choose = fast._choose
    both, calls = threading.Barrier(2), []

    def slow(args: Any, kwargs: Any) -> Any:
        calls.append(args)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)  # ends early if the other thread chooses, too
        return choose(args, kwargs)

    monkeypatch.setattr(fast, "_choose", slow)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda _: fast(*inputs()), range(2)))
    assert len(calls) == 1
    assert jnp.allclose(results[0], results[1])


def test_call_with_other_shapes_meanwhile_does_not_change_what_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    artefact = artefact_of(step, *inputs())
    registry = Registry([artefact])
    fast = apply(step, registry)

    def slow(_: Artefact) -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as other:
            assert other.submit(fast, *inputs(rows=5)).result().shape == (5, 8)

    monkeypatch.setattr(registry, "executable", slow)
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    assert fast.artefact == artefact


def test_numbers_that_change_are_no_new_program(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = apply(step, artefact_of(step, *inputs(), 1))
    monkeypatch.setattr(fast, "_choose", counted := _Counted(fast._choose))
    assert [float(fast(*inputs(), scale)[0, 0]) for scale in (1, 2, 3)] == pytest.approx(
        [1.0, 2.0, 3.0], rel=1e-5
    )
    assert counted.calls == 1


class _Counted:
    def __init__(self, function: Any) -> None:
        self.calls, self._function = 0, function

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self._function(*args)


def test_function_works_inside_transformations() -> None:
    fast = apply(step, artefact_of(step, *inputs()))
    weights, x = inputs()
    gradient = jax.grad(lambda w: fast(w, x).sum())(weights)
    assert jnp.allclose(gradient, jax.grad(lambda w: step(w, x).sum())(weights))
    assert jax.jit(fast)(weights, x).shape == (4, 8)


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


def test_exported_function_has_an_artefact_of_its_own() -> None:
    called = jax.export.export(jax.jit(step))(*inputs()).call
    fast = apply(called, artefact_of(called, *inputs()))
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    assert fast.artefact is not None


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


def test_of_several_that_fit_the_fastest_counts() -> None:
    slow = artefact_of(step, *inputs())
    fast = dataclasses.replace(slow, expected_cycles=800.0)
    assert Registry([slow, fast]).find(jax.jit(step).lower(*inputs()))[0] == fast


def test_result_of_a_search_applies_and_saves_itself(tmp_path: pathlib.Path) -> None:
    artefact = artefact_of(step, *inputs(), donate_argnums=1)
    found = Optimized(OPTIONS, 1000.0, 900.0, 1.0, None, {}, artefact, False, step, JIT)
    assert found.gain == pytest.approx(0.1)
    fast = found.jit()
    fast(*inputs())
    assert fast.artefact == artefact
    found.save(tmp_path / "step.json")
    assert load_artefact(tmp_path / "step.json") == artefact


def test_saved_artefact_is_read_as_it_was(tmp_path: pathlib.Path) -> None:
    artefact = artefact_of(step, *inputs())
    artefact.save(tmp_path / "a.json")
    assert load_artefact(tmp_path / "a.json") == artefact
    assert artefact.gain == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("kind", "x"), "not an artefact"),
        (("format", 9), "format 9, expected 1"),
        (("compiler_options", {"a": 1}), "damaged artefact"),
        (("compiler_options", []), "damaged artefact .compiler_options is not an object"),
        (("versions", []), "damaged artefact .versions is not an object"),
        (("own_options", [["a", "b"]]), "damaged artefact .own_options is not an object"),
        (("surplus", 1), "damaged artefact"),
        (("expected_cycles", "900"), "damaged artefact .expected_cycles is not a number above 0"),
        (("expected_cycles", None), "damaged artefact .expected_cycles is not a number above 0"),
        (("default_cycles", 0), "damaged artefact .default_cycles is not a number above 0"),
        (("devices", "1"), "damaged artefact .devices is not a whole number above 0"),
        (("found", []), "damaged artefact .found is not an object"),
        (("executable", {"file": 5, "sha256": "0"}), "executable has something other than texts"),
    ],
)
def test_file_of_something_else_is_refused(
    tmp_path: pathlib.Path, change: tuple[str, Any], message: str
) -> None:
    path = tmp_path / "a.json"
    artefact_of(step, *inputs()).save(path)
    fields = json.loads(path.read_text(encoding="utf-8"))
    fields[change[0]] = change[1]
    path.write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        load_artefact(path)
