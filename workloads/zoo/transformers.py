"""Language models: GPT, BERT and Llama, in training, prefill and decode."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .layers import (
    Params,
    attention,
    causal_mask,
    cross_entropy,
    dense,
    dot_product_attention,
    embed,
    feed_forward,
    floats,
    layer_norm,
    rms_norm,
    rotary,
    scan_layers,
    split_heads,
    swiglu,
    tokens,
    transformer_layer,
)
from .registry import ALL_CHIPS, Architecture

VOCABULARY = 8192


def gpt(
    p: Params,
    ids: jax.Array,
    *,
    layers: int,
    width: int,
    heads: int,
    scanned: bool = False,
    vocabulary: int = VOCABULARY,
) -> jax.Array:
    """GPT-2: a causal pre-norm transformer; `scanned` makes its layers one loop."""
    x = embed(p / "tokens", ids, vocabulary, width) + p.weight("positions", ids.shape[1], width)
    layer = partial(transformer_layer, heads=heads, mask=causal_mask(ids.shape[1]))
    if scanned:
        x, _ = scan_layers(p / "layers", layers, lambda q, h: (layer(q, h), None), x)
    else:
        for i in range(layers):
            x = layer(p / i, x)
    return dense(p / "head", layer_norm(p / "norm", x), vocabulary, bias=False)


def gpt_loss(p: Params, ids: jax.Array, *, layers: int, width: int, heads: int) -> jax.Array:
    """Next-token loss."""
    logits = gpt(p, ids, layers=layers, width=width, heads=heads)
    return cross_entropy(logits[:, :-1], ids[:, 1:])


def bert(
    p: Params, ids: jax.Array, segments: jax.Array, *, layers: int, width: int, heads: int
) -> jax.Array:
    """BERT (arXiv 1810.04805): a post-norm transformer over both directions."""
    x = embed(p / "tokens", ids, VOCABULARY, width) + embed(p / "segments", segments, 2, width)
    x = layer_norm(p / "norm", x + p.weight("positions", ids.shape[1], width))
    for i in range(layers):
        x = layer_norm(p / i / "norm1", x + attention(p / i / "attention", x, heads))
        x = layer_norm(p / i / "norm2", x + feed_forward(p / i / "mlp", x))
    return x


def bert_loss(
    p: Params,
    ids: jax.Array,
    segments: jax.Array,
    labels: jax.Array,
    *,
    layers: int,
    width: int,
    heads: int,
) -> jax.Array:
    """Masked-token loss over all positions."""
    x = bert(p, ids, segments, layers=layers, width=width, heads=heads)
    x = layer_norm(p / "head" / "norm", jax.nn.gelu(dense(p / "head", x, width)))
    return cross_entropy(dense(p / "logits", x, VOCABULARY), labels)


def llama_qkv(
    p: Params, x: jax.Array, heads: int, kv_heads: int, positions: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Rotated queries and keys, and values: [batch, time, heads, depth]."""
    depth = x.shape[-1] // heads
    q = split_heads(dense(p / "q", x, heads * depth, bias=False), heads)
    k = split_heads(dense(p / "k", x, kv_heads * depth, bias=False), kv_heads)
    v = split_heads(dense(p / "v", x, kv_heads * depth, bias=False), kv_heads)
    return rotary(q, positions), rotary(k, positions), v


def llama_layer(
    p: Params, x: jax.Array, *, heads: int, kv_heads: int, mask: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """One layer over whole sequences; returns its keys and values as well."""
    h = rms_norm(p / "norm1", x)
    q, k, v = llama_qkv(p / "attention", h, heads, kv_heads, jnp.arange(x.shape[1]))
    h = dot_product_attention(q, k, v, mask=mask)
    x = x + dense(p / "attention" / "out", h, x.shape[-1], bias=False)
    return x + swiglu(p / "mlp", rms_norm(p / "norm2", x), x.shape[-1] * 11 // 4), (k, v)


def llama(
    p: Params,
    ids: jax.Array,
    *,
    layers: int,
    width: int,
    heads: int,
    kv_heads: int,
) -> tuple[jax.Array, list[tuple[jax.Array, jax.Array]]]:
    """Llama 2 (arXiv 2307.09288): rotary positions, grouped queries, SwiGLU; logits and caches."""
    x = embed(p / "tokens", ids, VOCABULARY, width)
    mask = causal_mask(ids.shape[1])
    caches = []
    for i in range(layers):
        x, cache = llama_layer(p / i, x, heads=heads, kv_heads=kv_heads, mask=mask)
        caches.append(cache)
    return dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False), caches


def llama_prefill(
    p: Params, ids: jax.Array, *, layers: int, width: int, heads: int, kv_heads: int
) -> tuple[jax.Array, list[tuple[jax.Array, jax.Array]]]:
    """The last position's logits, and the caches that decoding starts from."""
    logits, caches = llama(p, ids, layers=layers, width=width, heads=heads, kv_heads=kv_heads)
    return logits[:, -1], caches


def llama_loss(
    p: Params, ids: jax.Array, *, layers: int, width: int, heads: int, kv_heads: int
) -> jax.Array:
    """Next-token loss."""
    logits, _ = llama(p, ids, layers=layers, width=width, heads=heads, kv_heads=kv_heads)
    return cross_entropy(logits[:, :-1], ids[:, 1:])


def cached_attention(
    q: jax.Array, k: jax.Array, v: jax.Array, cache: jax.Array, position: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Attention of one new position over a cache [2, batch, time, kv_heads, depth], updated."""
    new = jnp.stack([k, v])
    cache = jax.lax.dynamic_update_slice_in_dim(cache, new, position, axis=2)
    visible = jnp.arange(cache.shape[2]) <= position
    return dot_product_attention(q, cache[0], cache[1], mask=visible), cache


def llama_decode_layer(
    p: Params,
    x: jax.Array,
    cache: jax.Array,
    *,
    position: jax.Array,
    heads: int,
    kv_heads: int,
) -> tuple[jax.Array, jax.Array]:
    """One layer for one new position; returns the updated cache as well."""
    h = rms_norm(p / "norm1", x)
    q, k, v = llama_qkv(p / "attention", h, heads, kv_heads, position[None])
    h, cache = cached_attention(q, k, v, cache, position)
    x = x + dense(p / "attention" / "out", h, x.shape[-1], bias=False)
    return x + swiglu(p / "mlp", rms_norm(p / "norm2", x), x.shape[-1] * 11 // 4), cache


def llama_decode(
    p: Params,
    caches: list[jax.Array],
    ids: jax.Array,
    position: jax.Array,
    *,
    width: int,
    heads: int,
    kv_heads: int,
) -> tuple[list[jax.Array], jax.Array]:
    """One decoding step of Llama 2 with caches [2, batch, time, kv_heads, depth]."""
    x = embed(p / "tokens", ids[:, None], VOCABULARY, width)
    updated = []
    for i, cache in enumerate(caches):
        x, cache = llama_decode_layer(
            p / i, x, cache, position=position, heads=heads, kv_heads=kv_heads
        )
        updated.append(cache)
    return updated, dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False)


def llama_decode_scanned(
    p: Params,
    caches: jax.Array,
    ids: jax.Array,
    position: jax.Array,
    *,
    width: int,
    heads: int,
    kv_heads: int,
) -> tuple[jax.Array, jax.Array]:
    """One decoding step, as one loop over stacked layers and caches [layers, 2, batch, ...]."""
    x = embed(p / "tokens", ids[:, None], VOCABULARY, width)
    layer = partial(llama_decode_layer, position=position, heads=heads, kv_heads=kv_heads)
    x, caches = scan_layers(p / "layers", caches.shape[0], layer, x, caches)
    return caches, dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False)


def gpt_decode(
    p: Params,
    caches: list[jax.Array],
    ids: jax.Array,
    position: jax.Array,
    *,
    width: int,
    heads: int,
) -> tuple[list[jax.Array], jax.Array]:
    """One decoding step of GPT-2 with caches [2, batch, time, heads, depth]."""
    x = embed(p / "tokens", ids[:, None], VOCABULARY, width)
    updated = []
    for i, cache in enumerate(caches):
        h = dense(p / i / "qkv", layer_norm(p / i / "norm1", x), 3 * width)
        q, k, v = (split_heads(a, heads) for a in jnp.split(h, 3, axis=-1))
        h, cache = cached_attention(q, k, v, cache, position)
        x = x + dense(p / i / "out", h, width)
        x = x + feed_forward(p / i / "mlp", layer_norm(p / i / "norm2", x))
        updated.append(cache)
    return updated, dense(p / "head", layer_norm(p / "norm", x), VOCABULARY, bias=False)


def caches(
    layers: int, batch: int, length: int, kv_heads: int, depth: int
) -> list[jax.ShapeDtypeStruct]:
    """Keys and values of every layer: [2, batch, time, kv_heads, depth] each."""
    return [floats(2, batch, length, kv_heads, depth) for _ in range(layers)]


_GPT = Architecture("gpt", "causal_language_model")
_GPT_SERVING = Architecture("gpt_serving", "causal_language_model")
_BERT = Architecture("bert", "masked_language_model")
_LLAMA = Architecture("llama", "grouped_query_language_model")
_LLAMA_SERVING = Architecture("llama_serving", "grouped_query_language_model")

PROGRAMS = (
    _GPT.forward(
        "gpt_4x1024_b16x512",
        partial(gpt, layers=4, width=1024, heads=16),
        tokens(16, 512),
        chips=("tpu_v4i", "tpu_v6e"),
    ),
    _GPT.train(
        "gpt_7x512_train_b4x256", partial(gpt_loss, layers=7, width=512, heads=4), tokens(4, 256)
    ),
    _GPT_SERVING.forward(
        "gpt_scan_12x1024_b8x512",
        partial(gpt, layers=12, width=1024, heads=16, scanned=True),
        tokens(8, 512),
        chips=ALL_CHIPS,
    ),
    _GPT_SERVING.forward(
        "gpt_decode_4x1536_b32x1024",
        partial(gpt_decode, width=1536, heads=12),
        caches(4, 32, 1024, 12, 128),
        tokens(32),
        tokens(),
        donate_argnums=(1,),
        chips=ALL_CHIPS,
    ),
    _GPT_SERVING.forward(
        "gpt_decode_34x1024_b16x1024",
        partial(gpt_decode, width=1024, heads=8),
        caches(34, 16, 1024, 8, 128),
        tokens(16),
        tokens(),
        donate_argnums=(1,),
    ),
    _BERT.forward(
        "bert_3x1024_b64x256",
        partial(bert, layers=3, width=1024, heads=16),
        tokens(64, 256),
        tokens(64, 256),
        chips=ALL_CHIPS,
    ),
    _BERT.train(
        "bert_7x512_train_b8x128",
        partial(bert_loss, layers=7, width=512, heads=4),
        tokens(8, 128),
        tokens(8, 128),
        tokens(8, 128),
    ),
    _LLAMA.forward(
        "llama_prefill_3x2048_b4x1024",
        partial(llama_prefill, layers=3, width=2048, heads=16, kv_heads=4),
        tokens(4, 1024),
        chips=("tpu_v4i", "tpu_v5e"),  # libtpu 0.0.51 cannot print it for tpu_v6e
    ),
    _LLAMA.train(
        "llama_8x512_train_b4x256",
        partial(llama_loss, layers=8, width=512, heads=4, kv_heads=2),
        tokens(4, 256),
    ),
    _LLAMA_SERVING.forward(
        "llama_decode_4x2048_b16x2048",
        partial(llama_decode, width=2048, heads=16, kv_heads=4),
        caches(4, 16, 2048, 4, 128),
        tokens(16),
        tokens(),
        donate_argnums=(1,),
        chips=ALL_CHIPS,
    ),
    _LLAMA_SERVING.forward(
        "llama_decode_scan_8x2048_b16x1024",
        partial(llama_decode_scanned, width=2048, heads=16, kv_heads=4),
        floats(8, 2, 16, 1024, 4, 128),
        tokens(16),
        tokens(),
        donate_argnums=(1,),
        chips=ALL_CHIPS,
    ),
    _LLAMA_SERVING.forward(
        "llama_decode_24x1024_b16x1024",
        partial(llama_decode, width=1024, heads=8, kv_heads=4),
        caches(24, 16, 1024, 4, 128),
        tokens(16),
        tokens(),
        donate_argnums=(1,),
    ),
)
