"""Trains a flax model with a better placement.

Search on any machine, then train on the machine with the TPU:

    mallocmuzero-xla optimize tools/xla/examples/flax_training.py:build --chip tpu_v6e \
        --output flax.json
    python tools/xla/examples/flax_training.py flax.json

`nnx.split` divides a model into its structure and its arrays, so that the training step is a pure
function. A model of your own takes the place of `Network`; everything else stays.
"""

import dataclasses
import sys
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from mallocmuzero_xla import apply


@dataclasses.dataclass(frozen=True)
class Size:
    """The sizes of the model and of a batch."""

    width: int = 1024
    depth: int = 4
    batch: int = 64


# The training state is donated: each step writes the new state over the old one.
JIT = {"donate_argnums": 0}


class Network(nnx.Module):  # type: ignore[misc]  # flax may be absent
    """Layers that look at 256 positions and at the channels of each position in turn."""

    def __init__(self, size: Size, rngs: nnx.Rngs) -> None:
        def linear(inputs: int, outputs: int) -> Any:
            return nnx.Linear(inputs, outputs, param_dtype=jnp.bfloat16, rngs=rngs)

        sizes = [(256, 512), (512, 256), (size.width, 4 * size.width), (4 * size.width, size.width)]
        self.layers = nnx.List(
            [nnx.List([linear(*pair) for pair in sizes]) for _ in range(size.depth)]
        )

    def __call__(self, x: Any) -> Any:
        """Maps (batch, 256, width) to the same shape."""
        for first, second, up, down in self.layers:
            mixed = second(nnx.gelu(first(x.swapaxes(1, 2)))).swapaxes(1, 2)
            x = x + mixed
            x = x + down(nnx.gelu(up(x)))
        return x


def make_step(size: Size) -> tuple[Any, Any]:
    """Returns the training step and a function that makes the first training state."""
    optimizer = optax.adamw(1e-4)

    def make_state() -> Any:
        arrays = nnx.split(Network(size, nnx.Rngs(0)))[1]
        return arrays, optimizer.init(arrays)

    structure = nnx.split(nnx.eval_shape(lambda: Network(size, nnx.Rngs(0))))[0]

    def step(state: Any, x: Any, wanted: Any) -> Any:
        def loss(arrays: Any) -> Any:
            return jnp.square(nnx.merge(structure, arrays)(x) - wanted).astype(jnp.float32).mean()

        arrays, optimizer_state = state
        value, gradient = jax.value_and_grad(loss)(arrays)
        updates, optimizer_state = optimizer.update(gradient, optimizer_state, arrays)
        return (optax.apply_updates(arrays, updates), optimizer_state), value

    return step, make_state


def build(size: Size = Size()) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Returns the function, the shapes and the options of jit for `mallocmuzero-xla optimize`."""
    step, make_state = make_step(size)
    x = jax.ShapeDtypeStruct((size.batch, 256, size.width), jnp.bfloat16)
    return step, (jax.eval_shape(make_state), x, x), JIT


def run(artefact: Any, size: Size = Size(), steps: int = 10) -> Any:
    """Trains; returns the function, which knows whether the artefact fits."""
    step, make_state = make_step(size)
    fast = apply(step, artefact, **JIT)
    state, x = make_state(), jnp.ones((size.batch, 256, size.width), jnp.bfloat16)
    for number in range(steps):
        state, loss = fast(state, x, 2 * x)
        print(f"step {number}: loss {float(loss):.4f}")
    return fast


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python flax_training.py ARTEFACT")
    run(sys.argv[1])
