"""Attention over two or three axes: axial, AlphaTensor, Evoformer."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .layers import (
    Params,
    attention,
    dense,
    embed,
    feed_forward,
    floats,
    layer_norm,
    tokens,
)
from .registry import Architecture

FAMILY = "axial_attention"


def row_attention(
    p: Params, x: jax.Array, heads: int, *, bias: jax.Array | None = None
) -> jax.Array:
    """Attention within each row of [batch, rows, columns, features], with a residual."""
    return x + attention(p, layer_norm(p / "norm", x), heads, bias=bias)


def column_attention(p: Params, x: jax.Array, heads: int) -> jax.Array:
    """Attention within each column of [batch, rows, columns, features], with a residual."""
    return row_attention(p, x.swapaxes(1, 2), heads).swapaxes(1, 2)


def axial_transformer(
    p: Params, pixels: jax.Array, *, layers: int, width: int, heads: int
) -> jax.Array:
    """Axial transformer (arXiv 1912.12180) over images of 256 levels: [batch, rows, columns]."""
    x = embed(p / "levels", pixels, 256, width)
    x = (
        x
        + p.weight("rows", pixels.shape[1], 1, width)
        + p.weight("columns", pixels.shape[2], width)
    )
    for i in range(layers):
        x = row_attention(p / i / "rows", x, heads)
        x = column_attention(p / i / "columns", x, heads)
        x = x + feed_forward(p / i / "mlp", layer_norm(p / i / "norm", x))
    return dense(p / "head", x, 256)


def alpha_tensor(
    p: Params, tensor: jax.Array, *, layers: int, width: int, heads: int
) -> tuple[jax.Array, jax.Array]:
    """AlphaTensor's torso and heads (Fawzi et al., Nature 2022) for tensors [batch, s, s, s].

    Three grids, one a mode of the tensor; each pair of them attends along the shared axis.
    """
    grids = [dense(p / "in" / mode, jnp.moveaxis(tensor, mode + 1, 3), width) for mode in range(3)]
    for i in range(layers):
        for first, second in ((0, 1), (1, 2), (2, 0)):
            q = p / i / f"{first}{second}"
            pair = jnp.concatenate([grids[first], grids[second].swapaxes(1, 2)], 2)
            pair = row_attention(q, pair, heads)
            pair = pair + feed_forward(q / "mlp", layer_norm(q / "mlp" / "norm", pair))
            grids[first], back = jnp.split(pair, 2, 2)
            grids[second] = back.swapaxes(1, 2)
    x = jnp.concatenate(grids, -1)
    value = dense(p / "value", jax.nn.relu(dense(p / "summary", x, width)).mean((1, 2)), 8)
    return dense(p / "policy", x, 256), value


def triangle_update(p: Params, pair: jax.Array, *, outgoing: bool) -> jax.Array:
    """Evoformer's multiplicative update of edges [batch, i, j, features] through third nodes."""
    width = pair.shape[-1]
    x = layer_norm(p / "norm", pair)
    left, right = jnp.split(
        jax.nn.sigmoid(dense(p / "gates", x, 2 * width)) * dense(p / "edges", x, 2 * width), 2, -1
    )
    products = jnp.einsum("bikc,bjkc->bijc" if outgoing else "bkic,bkjc->bijc", left, right)
    update = dense(p / "out", layer_norm(p / "out_norm", products), width)
    return pair + update * jax.nn.sigmoid(dense(p / "gate", x, width))


def evoformer(
    p: Params, alignment: jax.Array, pair: jax.Array, *, layers: int, heads: int
) -> tuple[jax.Array, jax.Array]:
    """AlphaFold 2's Evoformer (Jumper et al., Nature 2021).

    alignment [batch, sequences, residues, features], pair [batch, residues, residues, features].
    """
    m, z = alignment, pair
    for i in range(layers):
        q = p / i
        bias = jnp.moveaxis(dense(q / "bias", z, heads, bias=False), -1, 1)[:, None]
        m = row_attention(q / "rows", m, heads, bias=bias)
        m = column_attention(q / "columns", m, heads)
        m = m + feed_forward(q / "alignment", layer_norm(q / "alignment" / "norm", m))
        h = dense(q / "outer", layer_norm(q / "outer" / "norm", m), 16)
        outer = jnp.einsum("bsic,bsjd->bijcd", h, h) / m.shape[1]
        z = z + dense(q / "outer_out", outer.reshape(*outer.shape[:3], -1), z.shape[-1])
        z = triangle_update(q / "outgoing", z, outgoing=True)
        z = triangle_update(q / "incoming", z, outgoing=False)
        z = row_attention(q / "starting", z, heads // 2)
        z = column_attention(q / "ending", z, heads // 2)
        z = z + feed_forward(q / "pair", layer_norm(q / "pair" / "norm", z))
    return m, z


_AXIAL = Architecture("axial_transformer", FAMILY)
_ALPHA_TENSOR = Architecture("alpha_tensor", FAMILY)
_EVOFORMER = Architecture("evoformer", FAMILY)

PROGRAMS = (
    _AXIAL.forward(
        "axial_2x256_b6x128",
        partial(axial_transformer, layers=2, width=256, heads=4),
        tokens(6, 128, 128),
    ),
    _ALPHA_TENSOR.forward(
        "alpha_tensor_1x256_b128",
        partial(alpha_tensor, layers=1, width=256, heads=8),
        floats(128, 16, 16, 16),
    ),
    _EVOFORMER.forward(
        "evoformer_1_b1x128x256",
        partial(evoformer, layers=1, heads=8),
        floats(1, 128, 256, 256),
        floats(1, 256, 256, 128),
    ),
)
