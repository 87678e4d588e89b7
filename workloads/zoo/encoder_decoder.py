"""Encoder and decoder: T5, forward and decode."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .layers import (
    Params,
    attention,
    causal_mask,
    dense,
    dot_product_attention,
    embed,
    rms_norm,
    split_heads,
    swiglu,
    tokens,
)
from .registry import Architecture
from .transformers import VOCABULARY, cached_attention, caches


def relative_bias(p: Params, rows: int, columns: int, heads: int) -> jax.Array:
    """T5's learned bias by distance, in 32 logarithmic buckets: [heads, rows, columns]."""
    distance = jnp.abs(jnp.arange(columns)[None, :] - jnp.arange(rows)[:, None])
    logarithm = 8 * jnp.log2(jnp.maximum(distance, 1).astype(jnp.float32) / 16)
    bucket = jnp.minimum(jnp.where(distance < 16, distance, 16 + logarithm.astype(jnp.int32)), 31)
    return embed(p, bucket, 32, heads).transpose(2, 0, 1)


def t5(
    p: Params, source: jax.Array, target: jax.Array, *, layers: int, width: int, heads: int
) -> jax.Array:
    """T5 1.1 (arXiv 1910.10683): encoder and decoder with relative biases and gated layers."""
    x = embed(p / "tokens", source, VOCABULARY, width)
    bias = relative_bias(p / "encoder" / "bias", source.shape[1], source.shape[1], heads)
    for i in range(layers):
        q = p / "encoder" / i
        x = x + attention(q / "attention", rms_norm(q / "norm1", x), heads, bias=bias)
        x = x + swiglu(q / "mlp", rms_norm(q / "norm2", x), 5 * width // 2)
    memory = rms_norm(p / "encoder" / "norm", x)

    x = embed(p / "targets", target, VOCABULARY, width)
    length = target.shape[1]
    bias = relative_bias(p / "decoder" / "bias", length, length, heads)
    for i in range(layers):
        q = p / "decoder" / i
        h = rms_norm(q / "norm1", x)
        x = x + attention(q / "attention", h, heads, bias=bias, mask=causal_mask(length))
        x = x + attention(q / "cross", rms_norm(q / "norm2", x), heads, memory=memory)
        x = x + swiglu(q / "mlp", rms_norm(q / "norm3", x), 5 * width // 2)
    return dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False)


def t5_decode(
    p: Params,
    caches: list[jax.Array],
    memories: list[jax.Array],
    ids: jax.Array,
    position: jax.Array,
    *,
    width: int,
    heads: int,
) -> tuple[list[jax.Array], jax.Array]:
    """One decoding step of T5's decoder.

    Keys and values of the targets so far and of the source: [2, batch, time, heads, depth] each.
    """
    x = embed(p / "tokens", ids[:, None], VOCABULARY, width)
    updated = []
    for i, (cache, memory) in enumerate(zip(caches, memories, strict=True)):
        h = dense(p / i / "qkv", rms_norm(p / i / "norm1", x), 3 * width, bias=False)
        q, k, v = (split_heads(a, heads) for a in jnp.split(h, 3, axis=-1))
        h, cache = cached_attention(q, k, v, cache, position)
        x = x + dense(p / i / "out", h, width, bias=False)
        q = split_heads(dense(p / i / "query", rms_norm(p / i / "norm2", x), width), heads)
        h = dot_product_attention(q, memory[0], memory[1])
        x = x + dense(p / i / "cross_out", h, width, bias=False)
        x = x + swiglu(p / i / "mlp", rms_norm(p / i / "norm3", x), 5 * width // 2)
        updated.append(cache)
    return updated, dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False)


_T5 = Architecture("t5", "encoder_decoder")

PROGRAMS = (
    _T5.forward(
        "t5_2x1024_b16x512",
        partial(t5, layers=2, width=1024, heads=8),
        tokens(16, 512),
        tokens(16, 128),
    ),
    _T5.forward(
        "t5_decode_27x1024_b16x1024",
        partial(t5_decode, width=1024, heads=8),
        caches(27, 16, 1024, 8, 128),
        caches(27, 16, 1024, 8, 128),
        tokens(16),
        tokens(),
        donate_argnums=(1,),
    ),
)
