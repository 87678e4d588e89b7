"""Loaded functions run the placed executable, or fall back to the function.

The tests use CPU devices. The placed executable is that of another function, so the result shows
which one runs.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import inspect
import pathlib
import warnings
from typing import Any

import pytest
from placed_world import (
    HAS_JAX,
    add,
    multiply,
    needs_jax,
    on_cpu,
    placed_add,
    shape,
    swapped,
    threes,
)

from mallocmuzero_xla import FallbackWarning, PlacedError, load_placed
from mallocmuzero_xla.artefacts.placed_file import PlacedFile
from mallocmuzero_xla.errors import CaptureError

if HAS_JAX:
    import jax
    import jax.numpy as jnp
    import numpy as np

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class State:
        """A tree of a user's own."""

        weights: Any
        count: Any


pytestmark = needs_jax


@pytest.fixture(autouse=True)
def cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu(monkeypatch)
    warnings.simplefilter("error", FallbackWarning)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "f.placed"


@pytest.mark.parametrize("with_function", [True, False])
def test_placed_executable_is_what_runs(path: pathlib.Path, with_function: bool) -> None:
    placed_add(path)
    call = load_placed(path, add if with_function else None)
    assert call(threes(), threes()).tolist() == [9.0] * 4
    assert call(np.full(4, 2, np.float32), threes()).tolist() == [6.0] * 4
    assert call.reason is None
    assert call.__name__ == "add"
    names = list(inspect.signature(call).parameters)
    assert names == (["x", "y"] if with_function else ["args", "kwargs"])


def test_arguments_may_be_given_by_name(path: pathlib.Path) -> None:
    placed_add(path)
    call = load_placed(path, add)
    assert call(threes(), y=threes()).tolist() == [9.0] * 4
    assert call(y=2 * threes(), x=threes()).tolist() == [18.0] * 4


def test_trees_go_in_and_come_out(path: pathlib.Path) -> None:
    def step(state: Any, batch: Any) -> Any:
        weights = state.weights + batch["x"][0]
        return State(weights, state.count + 1), {"loss": (weights.sum(), None)}

    def other(state: Any, batch: Any) -> Any:
        weights = state.weights * batch["x"][0]
        return State(weights, state.count + 10), {"loss": (weights.max(), None)}

    args = (State(shape(4), jax.ShapeDtypeStruct((), jnp.int32)), {"x": [shape(4), shape(2)]})
    swapped(step, other, args).write(path)
    call = load_placed(path, step)
    state, aux = call(State(threes(), jnp.int32(0)), {"x": [2 * threes(), threes(2)]})
    assert isinstance(state, State)
    assert state.weights.tolist() == [18.0] * 4
    assert int(state.count) == 10
    assert float(aux["loss"][0]) == 18.0
    assert aux["loss"][1] is None


def test_method_gets_its_object_as_from_jit(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plus(self: Any, x: Any) -> Any:
        return self.weights + x

    def times(self: Any, x: Any) -> Any:
        return self.weights * x

    swapped(plus, times, (State(shape(4), jax.ShapeDtypeStruct((), int)), shape(4))).write(path)
    call = load_placed(path, plus)
    model: Any = State
    monkeypatch.setattr(model, "step", call, raising=False)
    assert model.step is call
    assert model(threes(), 1).step(threes()).tolist() == [9.0] * 4


@pytest.mark.parametrize("how", ["function", "jit"])
def test_donated_argument_is_gone(path: pathlib.Path, how: str) -> None:
    swapped(add, multiply, (shape(4), shape(4)), donate_argnums=0).write(path)
    fn: Any = add if how == "function" else jax.jit(add, donate_argnums=0)
    call = load_placed(path, fn)
    x, y = threes(), threes()
    assert call(x, y).tolist() == [9.0] * 4
    assert x.is_deleted()
    assert not y.is_deleted()


def test_call_within_another_jit_runs_nothing(path: pathlib.Path) -> None:
    swapped(add, multiply, (shape(4), shape(4)), donate_argnums=0).write(path)
    call = load_placed(path, add)
    x, y = threes(), threes()
    with pytest.warns(FallbackWarning, match="add: called inside a transformation of jax") as seen:
        assert jax.jit(lambda: call(x, y))().tolist() == [6.0] * 4
    assert seen[0].filename == __file__
    assert not x.is_deleted()
    assert call(x, threes()).tolist() == [9.0] * 4


def test_argument_survives_a_call_that_does_not_fit(path: pathlib.Path) -> None:
    swapped(add, multiply, (shape(4), shape(4)), donate_argnums=0).write(path)
    call = load_placed(path)
    x = threes()
    with pytest.raises(PlacedError, match="add: called with what it was not placed for"):
        call(x, threes(3))
    assert not x.is_deleted()


def scaled(x: Any, by: int, mode: str = "times") -> Any:
    return x * by if mode == "times" else x + by


def scaled_otherwise(x: Any, by: int, mode: str = "times") -> Any:
    return x - by if mode == "times" else x / by


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize(
    "options", [{"static_argnums": (1, 2)}, {"static_argnames": ("by", "mode")}]
)
def test_static_arguments_are_those_it_was_placed_with(
    path: pathlib.Path, options: dict[str, Any], again: bool
) -> None:
    swapped(scaled, scaled_otherwise, (shape(4), 2, "times"), **options).write(path)
    call = load_placed(path, scaled, **(options if again else {}))
    assert call(threes(), 2, "times").tolist() == [1.0] * 4
    assert call(threes(), by=2, mode="times").tolist() == [1.0] * 4
    with pytest.warns(FallbackWarning, match="static argument 1 is 5, placed with 2"):
        assert call(threes(), 5, "times").tolist() == [15.0] * 4
    # The warning comes once, and the placed executable still works.
    assert call(threes(), 2, "plus").tolist() == [5.0] * 4
    assert call(threes(), 2, "times").tolist() == [1.0] * 4


def test_static_argument_that_cannot_be_pickled_is_an_error(path: pathlib.Path) -> None:
    apply: Any = lambda x, fn: fn(x)  # noqa: E731
    twice: Any = lambda x: 2 * x  # noqa: E731
    with pytest.raises(CaptureError, match="cannot be pickled"):
        swapped(apply, apply, (shape(4), twice), static_argnums=1)


def test_unused_argument_may_have_any_value(path: pathlib.Path) -> None:
    first: Any = lambda x, unused: x + 1  # noqa: E731
    second: Any = lambda x, unused: x + 2  # noqa: E731
    swapped(first, second, (shape(4), shape(7))).write(path)
    assert load_placed(path, first)(threes(), threes(7)).tolist() == [5.0] * 4


def rows(devices: int) -> Any:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("x",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("with_function", [True, False])
def test_program_of_several_devices_runs_on_them(
    path: pathlib.Path, devices: int, with_function: bool
) -> None:
    options = {"in_shardings": (rows(devices), rows(devices)), "out_shardings": rows(devices)}
    swapped(add, multiply, (shape(8), shape(8)), **options).write(path)
    fn: Any = jax.jit(add, **options) if with_function else None
    result = load_placed(path, fn)(threes(8), jax.device_put(threes(8), rows(devices)))
    assert result.tolist() == [9.0] * 8
    assert result.sharding == rows(devices)
    assert len(result.addressable_shards) == devices


def test_shard_map_runs(path: pathlib.Path) -> None:
    spec, whole = jax.sharding.PartitionSpec("x"), jax.sharding.PartitionSpec()

    def summed(operation: Any) -> Any:
        inner = lambda x, y: jax.lax.psum(operation(x, y).sum(), "x")  # noqa: E731
        mesh = rows(4).mesh
        return jax.shard_map(inner, mesh=mesh, in_specs=(spec, spec), out_specs=whole)

    swapped(summed(add), summed(multiply), (shape(8), shape(8))).write(path)
    call = load_placed(path, summed(add))
    assert float(call(threes(8), threes(8))) == 72.0


def test_arguments_on_other_devices_are_run_by_the_function(path: pathlib.Path) -> None:
    placed_add(path)
    call = load_placed(path, add)
    x = jax.device_put(threes(), jax.devices()[1])
    with pytest.warns(FallbackWarning, match="called with what it was not placed for: .*sharding"):
        assert call(x, x).tolist() == [6.0] * 4


def test_default_device_of_a_call_is_that_of_the_function(path: pathlib.Path) -> None:
    placed_add(path)
    call, (here, other, *_) = load_placed(path, add), jax.devices()
    with jax.default_device(here):
        assert call(threes(), threes()).tolist() == [9.0] * 4
    with jax.default_device(other):
        x = jax.device_put(threes(), here)
        assert call(x, x).tolist() == [9.0] * 4
        with pytest.warns(FallbackWarning, match="under another default device than it was placed"):
            found = call(threes(), threes())
    assert found.tolist() == [6.0] * 4
    assert found.devices() == {other}


def test_mesh_of_a_call_is_that_of_the_function(path: pathlib.Path) -> None:
    placed_add(path)
    call, x = load_placed(path, add), threes()
    with jax.set_mesh(jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])):
        assert call(x, x).tolist() == [9.0] * 4
    another = jax.set_mesh(jax.make_mesh((4,), ("x",)))
    with another, pytest.warns(FallbackWarning, match="under another mesh than it was placed for"):
        found = call(x, x)
    assert found.tolist() == [6.0] * 4
    assert found.devices() == set(jax.devices())


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("weak", [False, True])
def test_results_have_the_types_of_those_of_jit(
    path: pathlib.Path, committed: bool, weak: bool
) -> None:
    placed_add(path)
    call = load_placed(path, add)
    x = threes() if weak else jnp.array([3.0] * 4, jnp.float32)
    x = jax.device_put(x, jax.devices()[0]) if committed else x
    expected = jax.jit(add)(x, x)
    assert (expected.committed, expected.weak_type) == (committed, weak)
    for found in (call(x, x), call.prepared((x, x))()):
        assert found.tolist() == [9.0] * 4
        assert (found.committed, found.weak_type) == (committed, weak)
    # An array that is committed to no device may be used with arrays of another one.
    there = jax.device_put(jnp.ones(4), jax.devices()[1])
    if not committed:
        assert jax.jit(add)(call(x, x), there).tolist() == [10.0] * 4


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (lambda: (threes(3), threes(3)), "Argument types differ"),
        (lambda: (jnp.full((4,), 3), threes()), "Argument types differ"),
        (lambda: ((threes(), threes()), threes()), "pytree"),
    ],
)
def test_other_arguments_are_run_by_the_function_and_warned_of_once(
    path: pathlib.Path, args: Any, reason: str
) -> None:
    placed_add(path)
    fn: Any = lambda x, y: (x[0] if isinstance(x, tuple) else x) + y  # noqa: E731
    fn.__name__ = "add"
    call = load_placed(path, fn)
    with pytest.warns(FallbackWarning, match=reason) as caught:
        assert call(*args()).tolist()[0] == 6.0
    assert len(caught) == 1
    assert "runs as jax.jit compiles it" in str(caught[0].message)
    assert call(*args()).tolist()[0] == 6.0
    assert reason in (call.reason or "")
    assert call(threes(), threes()).tolist() == [9.0] * 4


@pytest.mark.parametrize("weak", [True, False])
def test_number_of_another_kind_is_that_of_the_function(path: pathlib.Path, weak: bool) -> None:
    half = jax.ShapeDtypeStruct((4,), jnp.bfloat16)
    python, strong = 3.0, jnp.float32(3.0)
    placed, other = (python, strong) if weak else (strong, python)
    swapped(add, multiply, (half, placed)).write(path)
    call, alone = load_placed(path, add), load_placed(path)
    x = jnp.ones((4,), jnp.bfloat16)
    assert call(x, placed).tolist() == [3.0] * 4
    kinds = "an array, placed with that of a Python number"
    kinds = kinds if weak else "a Python number, placed with that of an array"
    with pytest.warns(FallbackWarning, match=f"array argument 1 has the type of {kinds}"):
        found = call(x, other)
    assert found.tolist() == [4.0] * 4
    assert found.dtype == add(x, other).dtype
    assert call(x, placed).tolist() == alone(x, other).tolist() == [3.0] * 4


def test_too_few_arguments_are_the_functions_own_error(path: pathlib.Path) -> None:
    placed_add(path)
    call = load_placed(path, add)
    with pytest.warns(FallbackWarning), pytest.raises(TypeError, match="missing 1 required"):
        call(threes())


def test_parameters_after_a_positional_one_may_be_given_by_name(path: pathlib.Path) -> None:
    def minus(x: Any, /, y: Any, z: Any) -> Any:
        return x - y - z

    def times(x: Any, y: Any, z: Any) -> Any:
        return x * y * z

    swapped(minus, times, (shape(4),) * 3).write(path)
    call = load_placed(path, minus)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        assert call(threes(), threes(), z=threes()).tolist() == [27.0] * 4
        assert call(threes(), z=threes(), y=threes()).tolist() == [27.0] * 4


def test_other_precision_of_products_is_that_of_the_function(path: pathlib.Path) -> None:
    placed_add(path)
    call, alone = load_placed(path, add), load_placed(path)
    precise = jax.default_matmul_precision("highest")
    with precise, pytest.warns(FallbackWarning, match="another precision of products"):
        assert call(threes(), threes()).tolist() == [6.0] * 4
        assert alone(threes(), threes()).tolist() == [9.0] * 4
    assert call(threes(), threes()).tolist() == [9.0] * 4


@pytest.mark.parametrize(
    ("setting", "value"),
    [("enable_x64", True), ("default_prng_impl", "rbg"), ("threefry_partitionable", False)],
)
def test_other_settings_that_change_programs_are_those_of_the_function(
    path: pathlib.Path, setting: str, value: Any
) -> None:
    placed_add(path)
    call, arguments = load_placed(path, add), (threes(), threes())
    changed = getattr(jax, setting)(value)
    with changed, pytest.warns(FallbackWarning, match=f"another jax_{setting} than"):
        assert call(*arguments).tolist() == [6.0] * 4
    assert call(*arguments).tolist() == [9.0] * 4


def test_function_runs_line_by_line_while_jit_is_disabled(path: pathlib.Path) -> None:
    placed_add(path)
    call = load_placed(path, add)
    with jax.disable_jit():
        assert call(threes(), threes()).tolist() == [6.0] * 4
    assert call(threes(), threes()).tolist() == [9.0] * 4


def test_gradient_is_taken_of_the_function(path: pathlib.Path) -> None:
    placed_add(path)
    call = load_placed(path, add)
    with pytest.warns(FallbackWarning, match="transformations"):
        gradient = jax.grad(lambda x: call(x, threes()).sum())(threes())
    assert gradient.tolist() == [1.0] * 4


def installed(name: str) -> str:
    return importlib.metadata.version(name)


def test_header_says_what_the_file_is_for(path: pathlib.Path) -> None:
    swapped(add, multiply, (shape(4), shape(4)), donate_argnums=0).write(path)
    header = PlacedFile.read(path).header
    assert (header.function, header.chip, header.platform) == ("add", "tpu_v6e", "cpu")
    assert header.topology == "v6e:1x1"
    assert header.versions == {name: installed(name) for name in ("jax", "jaxlib")}
    assert [(entry["shape"], entry["donated"]) for entry in header.inputs] == [
        ([4], True),
        ([4], False),
    ]
    assert [(entry["shape"], entry["dtype"]) for entry in header.outputs] == [([4], "float32")]
    assert header.parameters == ["x", "y"]
    assert header.jit_options["donate_argnums"] == [0]
    assert header.report["optimized_cycles"] == 900.0
