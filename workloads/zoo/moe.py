"""Mixtures of experts."""

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
    embed,
    layer_norm,
    rms_norm,
    tokens,
)
from .registry import ALL_CHIPS, Architecture
from .transformers import VOCABULARY, cached_attention, caches, llama_qkv


def switch_layer(p: Params, x: jax.Array, *, experts: int, hidden: int) -> jax.Array:
    """Switch layer (arXiv 2101.03961): each token goes to one expert, up to its capacity.

    Tokens are sent to slots [experts, capacity] and back by one-hot products, as in
    Mesh TensorFlow; what exceeds the capacity (1.25 times an even share) is dropped.
    """
    length, width = x.shape[1:]
    capacity = length * 5 // (4 * experts)
    gates = jax.nn.softmax(dense(p / "router", x, experts, bias=False).astype(jnp.float32))
    chosen = jax.nn.one_hot(gates.argmax(-1), experts)
    place = (jnp.cumsum(chosen, 1) - 1) * chosen
    slots = (
        chosen[..., None] * jax.nn.one_hot(place.sum(-1).astype(jnp.int32), capacity)[:, :, None]
    )
    combine = (slots * gates.max(-1)[..., None, None]).astype(x.dtype)

    h = jnp.einsum("btec,btd->ebcd", slots.astype(x.dtype), x)
    h = jnp.einsum("ebcd,edf->ebcf", h, p.weight("up", experts, width, hidden))
    h = jnp.einsum("ebcf,efd->ebcd", jax.nn.gelu(h), p.weight("down", experts, hidden, width))
    return jnp.einsum("btec,ebcd->btd", combine, h)


def dense_mixture(p: Params, x: jax.Array, *, experts: int, hidden: int) -> jax.Array:
    """Soft mixture: every expert sees every token, weighted by its two largest gates.

    This is how small serving batches run Mixtral (arXiv 2401.04088): all experts are read anyway.
    """
    width = x.shape[-1]
    logits = dense(p / "router", x, experts, bias=False).astype(jnp.float32)
    second = jnp.sort(logits, -1)[..., -2:-1]
    gates = jax.nn.softmax(jnp.where(logits >= second, logits, -1e9)).astype(x.dtype)
    h = jnp.einsum("btd,edf->btef", x, p.weight("gate", experts, width, hidden))
    h = jax.nn.silu(h) * jnp.einsum("btd,edf->btef", x, p.weight("up", experts, width, hidden))
    return jnp.einsum("btef,efd,bte->btd", h, p.weight("down", experts, hidden, width), gates)


def switch_transformer(
    p: Params, ids: jax.Array, *, layers: int, width: int, heads: int, experts: int
) -> jax.Array:
    """Causal switch transformer (arXiv 2101.03961) with experts in every layer."""
    x = embed(p / "tokens", ids, VOCABULARY, width)
    for i in range(layers):
        h = layer_norm(p / i / "norm1", x)
        x = x + attention(p / i / "attention", h, heads, mask=causal_mask(ids.shape[1]))
        h = layer_norm(p / i / "norm2", x)
        x = x + switch_layer(p / i / "experts", h, experts=experts, hidden=2 * width)
    return dense(p / "head", layer_norm(p / "norm", x), VOCABULARY, bias=False)


def switch_loss(
    p: Params, ids: jax.Array, *, layers: int, width: int, heads: int, experts: int
) -> jax.Array:
    """Next-token loss of the switch transformer."""
    logits = switch_transformer(p, ids, layers=layers, width=width, heads=heads, experts=experts)
    return cross_entropy(logits[:, :-1], ids[:, 1:])


def mixtral_decode(
    p: Params,
    kv_caches: list[jax.Array],
    ids: jax.Array,
    position: jax.Array,
    *,
    width: int,
    heads: int,
    kv_heads: int,
    experts: int,
) -> tuple[list[jax.Array], jax.Array]:
    """One decoding step of Mixtral (arXiv 2401.04088), caches [2, batch, time, kv_heads, depth]."""
    x = embed(p / "tokens", ids[:, None], VOCABULARY, width)
    updated = []
    for i, cache in enumerate(kv_caches):
        h = rms_norm(p / i / "norm1", x)
        q, k, v = llama_qkv(p / i / "attention", h, heads, kv_heads, position[None])
        h, cache = cached_attention(q, k, v, cache, position)
        x = x + dense(p / i / "attention" / "out", h, width, bias=False)
        h = rms_norm(p / i / "norm2", x)
        x = x + dense_mixture(p / i / "experts", h, experts=experts, hidden=2 * width)
        updated.append(cache)
    return updated, dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False)


_SWITCH = Architecture("switch_transformer", "mixture_of_experts")
_MIXTRAL = Architecture("mixtral", "mixture_of_experts")

PROGRAMS = (
    _SWITCH.forward(
        "switch_3x1024_e8_b8x512",
        partial(switch_transformer, layers=3, width=1024, heads=16, experts=8),
        tokens(8, 512),
        chips=ALL_CHIPS,
    ),
    _SWITCH.train(
        "switch_2x768_e8_train_b8x256",
        partial(switch_loss, layers=2, width=768, heads=12, experts=8),
        tokens(8, 256),
    ),
    _MIXTRAL.forward(
        "mixtral_decode_18x1024_e8_b16x1024",
        partial(mixtral_decode, width=1024, heads=8, kv_heads=4, experts=8),
        caches(18, 16, 1024, 4, 128),
        tokens(16),
        tokens(),
        donate_argnums=(1,),
    ),
)
