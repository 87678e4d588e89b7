"""apply() tells calls apart as jax.jit does."""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="calls functions on the CPU")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from cpu_artefacts import artefact_of, inputs, make_cpu_a_chip, step  # noqa: E402
from jax.experimental.layout import Format, Layout  # noqa: E402
from placed_world import on_cpu  # noqa: E402

from mallocmuzero_xla.artefacts.artefact import Artefact  # noqa: E402
from mallocmuzero_xla.artefacts.fitting import Registry  # noqa: E402
from mallocmuzero_xla.runtime.applying import apply  # noqa: E402

_AUTO = jax.sharding.AxisType.Auto


@pytest.fixture(autouse=True)
def cpu_is_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu(monkeypatch)  # four devices
    make_cpu_a_chip(monkeypatch)


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


def test_mesh_of_other_devices_is_another_program() -> None:
    devices, args = jax.devices(), [np.asarray(x) for x in inputs()]
    pairs = devices[:2], devices[2:4]
    meshes = [jax.sharding.Mesh(np.array(pair), ("x",), axis_types=(_AUTO,)) for pair in pairs]
    with jax.set_mesh(meshes[0]):
        artefact = artefact_of(step, *args)
    fast = apply(step, artefact)
    for pair, mesh in zip(pairs, meshes, strict=True):
        with jax.set_mesh(mesh):
            assert fast(*args).sharding.device_set == set(pair)
        assert fast.artefact == artefact


@pytest.mark.parametrize("name", ["jax_optimization_level", "jax_memory_fitting_level"])
def test_levels_of_the_compiler_are_followed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = apply(step, artefact_of(step, *inputs()))
    monkeypatch.setattr(fast, "_choose", counted := _Counted(fast._choose))
    before = getattr(jax.config, name)
    try:
        for level in ("O1", "O2", "O1"):
            jax.config.update(name, level)
            fast(*inputs())
    finally:
        jax.config.update(name, before)
    assert counted.calls == 2


@pytest.mark.parametrize("trace", [jax.jit, jax.make_jaxpr, lambda fn: lambda: jax.eval_shape(fn)])
def test_call_within_another_jit_runs_nothing(trace: Any) -> None:
    options = {"donate_argnums": 1}
    artefact = artefact_of(step, *inputs(), **options)
    fast = apply(step, artefact, **options)
    weights, x = inputs()
    trace(lambda: fast(weights, x))()
    assert not x.is_deleted()
    # A gradient by other arguments traces no part of this call.
    jax.grad(lambda scale: scale * fast(weights, x)[0, 0])(1.0)
    assert fast.artefact == artefact


def test_call_that_jit_refuses_does_not_decide_for_later_ones() -> None:
    scale: dict[str, float] = {}

    def made() -> Any:
        return lambda x, count: scale["by"] * x * count

    x = jnp.ones(3)
    scale["by"] = 2.0
    artefact = artefact_of(made(), x, 1)
    scale.clear()  # as in a notebook, where a name is not defined yet
    fast = apply(made(), artefact)
    with pytest.raises(KeyError):
        fast(x, 1)
    scale["by"] = 2.0
    with pytest.raises(OverflowError):
        fast(x, 1 << 40)
    assert float(fast(x, 1)[0]) == 2.0
    assert (fast.artefact, fast.reason) == (artefact, "")
