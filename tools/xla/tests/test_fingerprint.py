"""A search and a TPU host give a function the same fingerprint."""

from __future__ import annotations

from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="lowers functions")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from mallocmuzero_xla.chips import CHIPS, topology_devices  # noqa: E402
from mallocmuzero_xla.compiler.fingerprint import fingerprint  # noqa: E402
from mallocmuzero_xla.compiler.lowering import fingerprint_of, lower, text_of  # noqa: E402

COMMITTED = """\
module @jit_f {
  sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>, \
tf.aliasing_output = 0 : i32}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@empty_mesh, []>})
"""
FREE = """\
module @jit_f {
  func.func public @main(%arg0: tensor<8xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<f32>)
"""


def test_arguments_on_the_only_device_do_not_count() -> None:
    assert fingerprint(COMMITTED, 1) == fingerprint(FREE, 1)
    assert fingerprint(COMMITTED, 4) != fingerprint(FREE, 4)


def test_everything_else_counts() -> None:
    other = FREE.replace("8xf32", "9xf32")
    assert fingerprint(FREE, 1) != fingerprint(other, 1)


def drop(key: Any, x: Any) -> Any:
    def half(key: Any, x: Any) -> Any:
        return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0.0)

    def layer(key: Any, _: None) -> tuple[Any, Any]:
        key, own = jax.random.split(key)
        return key, half(own, x)

    return jax.lax.cond(x[0, 0] > 0, half, half, key, x), jax.lax.scan(layer, key, length=3)


@pytest.mark.parametrize("fn", [drop, lambda key, x: (x, jax.random.split(key, 3)[1])])
def test_random_keys_count_alike_whether_or_not_they_are_on_the_device(fn: Any) -> None:
    free = jax.random.key(0), jnp.ones((4, 8))
    committed = jax.device_put(free, jax.devices()[0])
    texts = [text_of(jax.jit(fn).lower(*args)) for args in (free, committed)]
    assert fingerprint(texts[0], 1) != fingerprint(texts[1], 1)  # jax names the key's sharding
    lowered = [jax.jit(fn).lower(*args) for args in (free, committed)]
    assert fingerprint_of(lowered[0]) == fingerprint_of(lowered[1])
    assert text_of(lowered[0]) == texts[0]  # the module itself stays
    other = jax.jit(fn).lower(free[0], jnp.ones((4, 9)))
    assert fingerprint_of(other) != fingerprint_of(lowered[0])


def test_mesh_of_one_device_does_not_count() -> None:
    devices = jax.devices()
    rows = jax.sharding.PartitionSpec("x", None)

    def square(x: Any) -> Any:
        return x @ x

    def lowered(count: int, constrain: bool) -> Any:
        mesh = jax.sharding.Mesh(np.array(devices[:count]), ("x",))
        sharding = jax.sharding.NamedSharding(mesh, rows)

        def square(x: Any) -> Any:
            return jax.lax.with_sharding_constraint(x, sharding) @ x if constrain else x @ x

        return jax.jit(square).lower(jax.device_put(jnp.ones((8, 8)), sharding))

    free = fingerprint_of(jax.jit(square).lower(jnp.ones((8, 8))))
    assert fingerprint_of(lowered(1, constrain=False)) == free
    assert fingerprint_of(lowered(1, constrain=True)) == free
    if len(devices) > 1:
        assert fingerprint_of(lowered(2, constrain=False)) != free


def block(weights: Any, x: Any, key: Any) -> Any:
    hidden = jax.nn.gelu(x @ weights["up"]) @ weights["down"]
    order = jnp.argsort(hidden[:, 0])
    return jax.nn.softmax(hidden[order]) + jax.random.normal(key, hidden.shape)


@pytest.mark.compiler
@pytest.mark.parametrize("chip", ["tpu_v6e", "tpu7x"])
def test_host_whose_arrays_are_uncommitted_gives_the_fingerprint_of_the_search(chip: str) -> None:
    weights = {"up": jnp.ones((64, 256)), "down": jnp.ones((256, 64))}
    args = (weights, jnp.ones((32, 64)), jax.random.key(0))
    searched = lower(block, args, CHIPS[chip], {"donate_argnums": 1})
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), args)
    with jax.default_device(topology_devices(chip)[0]):
        here = jax.jit(block, donate_argnums=1).lower(*shapes)
    assert fingerprint_of(here) == searched.fingerprint
