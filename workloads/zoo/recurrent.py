"""Recurrent networks: one loop over time for each layer."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .layers import Params, dense, embed, split_heads, tokens
from .layers import dot_product_attention as attend
from .registry import Architecture

FAMILY = "recurrent"
VOCABULARY = 8192


def lstm(p: Params, x: jax.Array, width: int) -> jax.Array:
    """Long short-term memory (Hochreiter and Schmidhuber 1997) over [batch, time, features]."""
    recurrent = p.weight("recurrent", width, 4 * width)
    inputs = jnp.moveaxis(dense(p / "input", x, 4 * width), 1, 0)
    start = jnp.zeros((x.shape[0], width), x.dtype)

    def step(
        state: tuple[jax.Array, jax.Array], now: jax.Array
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        h, c = state
        i, f, g, o = jnp.split(now + h @ recurrent, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return jnp.moveaxis(lax.scan(step, (start, start), inputs)[1], 0, 1)


def gru(p: Params, x: jax.Array, width: int) -> jax.Array:
    """Gated recurrent unit (arXiv 1406.1078) over [batch, time, features]."""
    recurrent = p.weight("recurrent", width, 3 * width)
    inputs = jnp.moveaxis(dense(p / "input", x, 3 * width), 1, 0)

    def step(h: jax.Array, now: jax.Array) -> tuple[jax.Array, jax.Array]:
        r, z, n = jnp.split(h @ recurrent, 3, -1)
        now_r, now_z, now_n = jnp.split(now, 3, -1)
        z = jax.nn.sigmoid(now_z + z)
        n = jnp.tanh(now_n + jax.nn.sigmoid(now_r + r) * n)
        h = z * h + (1 - z) * n
        return h, h

    start = jnp.zeros((x.shape[0], width), x.dtype)
    return jnp.moveaxis(lax.scan(step, start, inputs)[1], 0, 1)


def lstm_language_model(p: Params, ids: jax.Array, *, layers: int, width: int) -> jax.Array:
    """Stacked LSTM language model (arXiv 1409.2329)."""
    x = embed(p / "tokens", ids, VOCABULARY, width)
    for i in range(layers):
        x = lstm(p / i, x, width)
    return dense(p / "head", x, VOCABULARY)


def gru_translator(
    p: Params, source: jax.Array, target: jax.Array, *, layers: int, width: int
) -> jax.Array:
    """Sequence to sequence with attention (arXiv 1409.0473), stacked one-directional GRUs."""
    memory = embed(p / "source", source, VOCABULARY, width)
    x = embed(p / "target", target, VOCABULARY, width)
    for i in range(layers):
        memory = gru(p / "encoder" / i, memory, width)
        x = gru(p / "decoder" / i, x, width)
    query, keys = split_heads(dense(p / "query", x, width), 8), split_heads(memory, 8)
    x = jnp.concatenate([x, attend(query, keys, keys)], -1)
    return dense(p / "head", jnp.tanh(dense(p / "mix", x, width)), VOCABULARY)


_LSTM = Architecture("lstm", FAMILY)
_GRU = Architecture("gru_translator", FAMILY)

PROGRAMS = (
    _LSTM.forward(
        "lstm_2x2048_b64x128",
        partial(lstm_language_model, layers=2, width=2048),
        tokens(64, 128),
    ),
    _GRU.forward(
        "gru_translator_2x1024_b64x64",
        partial(gru_translator, layers=2, width=1024),
        tokens(64, 64),
        tokens(64, 64),
    ),
)
