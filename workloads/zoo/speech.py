"""Speech: Conformer and WaveNet."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .layers import (
    Params,
    attention,
    batch_norm,
    conv,
    dense,
    depthwise_conv,
    floats,
    layer_norm,
    mlp,
)
from .registry import ALL_CHIPS, Architecture

FAMILY = "speech"


def conformer_layer(p: Params, x: jax.Array, *, heads: int) -> jax.Array:
    """Half a feed-forward layer, attention, convolution, and the other half."""
    width = x.shape[-1]

    def half_feed_forward(q: Params, x: jax.Array) -> jax.Array:
        return x + 0.5 * mlp(q, layer_norm(q / "norm", x), (4 * width, width), jax.nn.silu)

    x = half_feed_forward(p / "first", x)
    x = x + attention(p / "attention", layer_norm(p / "attention" / "norm", x), heads)
    q = p / "conv"
    h = jax.nn.glu(dense(q / "in", layer_norm(q / "norm", x), 2 * width))
    h = batch_norm(q / "batch_norm", depthwise_conv(q / "depthwise", h, 31), train=False)
    x = x + dense(q / "out", jax.nn.silu(h), width)
    return layer_norm(p / "norm", half_feed_forward(p / "second", x))


def conformer(p: Params, features: jax.Array, *, layers: int, width: int, heads: int) -> jax.Array:
    """Conformer encoder (arXiv 2005.08100) over filter banks [batch, frames, 80]."""
    x = jax.nn.relu(conv(p / "subsample0", features[..., None], 64, 3, stride=2, bias=True))
    x = jax.nn.relu(conv(p / "subsample1", x, 64, 3, stride=2, bias=True))
    x = dense(p / "project", x.reshape(*x.shape[:2], -1), width)
    for i in range(layers):
        x = conformer_layer(p / i, x, heads=heads)
    return dense(p / "head", x, 1024)


def wavenet(
    p: Params, signal: jax.Array, *, layers: int, residual: int = 128, skip: int = 256
) -> jax.Array:
    """WaveNet (arXiv 1609.03499): gated causal convolutions, dilation doubling ten times."""

    def causal(q: Params, x: jax.Array, features: int, dilation: int) -> jax.Array:
        return conv(q, x, features, 2, dilation=dilation, padding=[(dilation, 0)], bias=True)

    x = causal(p / "stem", signal, residual, 1)
    total = jnp.zeros((), x.dtype)
    for i in range(layers):
        gate, value = jnp.split(causal(p / i / "gated", x, 2 * residual, 1 << (i % 10)), 2, -1)
        h = jnp.tanh(value) * jax.nn.sigmoid(gate)
        total = total + dense(p / i / "skip", h, skip)
        x = x + dense(p / i / "residual", h, residual)
    return dense(p / "head", jax.nn.relu(dense(p / "top", jax.nn.relu(total), skip)), 256)


_CONFORMER = Architecture("conformer", FAMILY)
_WAVENET = Architecture("wavenet", FAMILY)

PROGRAMS = (
    _CONFORMER.forward(
        "conformer_2x512_b64x1024",
        partial(conformer, layers=2, width=512, heads=8),
        floats(64, 1024, 80),
    ),
    _WAVENET.forward(
        "wavenet_10_b16x8192", partial(wavenet, layers=10), floats(16, 8192, 1), chips=ALL_CHIPS
    ),
)
