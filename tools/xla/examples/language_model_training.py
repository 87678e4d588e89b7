"""Trains a language model as MaxText does, with a better placement.

The layers are one scan, whose body is computed again for the gradient. The optimizer is AdamW with
clipped gradients, and the training state is donated. Search on any machine, then train on the
machine with the TPU:

    mallocmuzero-xla optimize tools/xla/examples/language_model_training.py:build \
        --chip tpu_v6e --output train.json
    python tools/xla/examples/language_model_training.py train.json
"""

import dataclasses
import sys
from typing import Any

import jax
import jax.numpy as jnp
import optax

from mallocmuzero_xla import apply


@dataclasses.dataclass(frozen=True)
class Config:
    """The sizes of the model and of a batch of tokens."""

    vocabulary: int = 32000
    width: int = 1024
    depth: int = 8
    head: int = 128
    batch: int = 8
    length: int = 1024


# The training state is donated: each step writes the new state over the old one.
JIT = {"donate_argnums": 0}


def make_weights(config: Config) -> Any:
    """Returns random weights; those of all layers are stacked for the scan."""
    width = config.width
    sizes = {"qkv": (width, 3 * width), "out": (width, width)}
    sizes |= {"gate": (width, 4 * width), "up": (width, 4 * width), "down": (4 * width, width)}
    keys = iter(jax.random.split(jax.random.key(0), len(sizes) + 1))

    def drawn(*shape: int) -> Any:
        return (0.02 * jax.random.normal(next(keys), shape)).astype(jnp.bfloat16)

    layers = {name: drawn(config.depth, *size) for name, size in sizes.items()}
    return {"embedding": drawn(config.vocabulary, width), "layers": layers}


def layer(x: Any, weights: Any, head: int) -> Any:
    """One decoder layer: causal attention and a gated MLP, both after a normalization."""

    def normalized(x: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6)

    heads = (*x.shape[:2], x.shape[2] // head, head)
    q, k, v = (part.reshape(heads) for part in jnp.split(normalized(x) @ weights["qkv"], 3, -1))
    attended = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + attended.reshape(x.shape) @ weights["out"]
    inner = normalized(x)
    return x + (jax.nn.silu(inner @ weights["gate"]) * (inner @ weights["up"])) @ weights["down"]


def make_step(config: Config) -> tuple[Any, Any]:
    """Returns the training step and a function that makes the first training state."""
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-4))

    def make_state() -> Any:
        weights = make_weights(config)
        return weights, optimizer.init(weights)

    def body(x: Any, weights: Any) -> tuple[Any, None]:
        return layer(x, weights, config.head), None

    def loss(weights: Any, tokens: Any) -> Any:
        x = weights["embedding"][tokens[:, :-1]]
        x, _ = jax.lax.scan(jax.checkpoint(body), x, weights["layers"])
        logits = (x @ weights["embedding"].T).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    def train_step(state: Any, tokens: Any) -> Any:
        weights, optimizer_state = state
        value, gradient = jax.value_and_grad(loss)(weights, tokens)
        updates, optimizer_state = optimizer.update(gradient, optimizer_state, weights)
        return (optax.apply_updates(weights, updates), optimizer_state), value

    return train_step, make_state


def build(config: Config = Config()) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Returns the function, the shapes and the options of jit for `mallocmuzero-xla optimize`."""
    train_step, make_state = make_step(config)
    tokens = jax.ShapeDtypeStruct((config.batch, config.length + 1), jnp.int32)
    return train_step, (jax.eval_shape(make_state), tokens), JIT


def run(artefact: Any, config: Config = Config(), steps: int = 10) -> Any:
    """Trains; returns the function, which knows whether the artefact fits."""
    train_step, make_state = make_step(config)
    fast = apply(train_step, artefact, **JIT)
    state = make_state()
    counts = jnp.arange(config.batch * (config.length + 1), dtype=jnp.int32) % config.vocabulary
    tokens = counts.reshape(config.batch, config.length + 1)
    for number in range(steps):
        state, loss = fast(state, tokens)
        print(f"step {number}: loss {float(loss):.4f}")
    return fast


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python language_model_training.py ARTEFACT")
    run(sys.argv[1])
