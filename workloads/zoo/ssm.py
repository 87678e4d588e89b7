"""State space models."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .layers import (
    Params,
    conv,
    dense,
    embed,
    floats,
    rms_norm,
    scan_layers,
    split_heads,
    tokens,
)
from .registry import ALL_CHIPS, Architecture

VOCABULARY = 8192


def selective_scan(decay: jax.Array, inputs: jax.Array, *, sequential: bool) -> jax.Array:
    """h[t] = decay[t] h[t-1] + inputs[t] along axis 1, step by step or as a parallel prefix sum."""
    if sequential:

        def step(h: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            h = now[0] * h + now[1]
            return h, h

        first = (jnp.moveaxis(decay, 1, 0), jnp.moveaxis(inputs, 1, 0))
        return jnp.moveaxis(lax.scan(step, jnp.zeros_like(inputs[:, 0]), first)[1], 0, 1)

    def combine(a: tuple[jax.Array, ...], b: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        return a[0] * b[0], b[0] * a[1] + b[1]

    return lax.associative_scan(combine, (decay, inputs), axis=1)[1]


def mamba_layer(p: Params, x: jax.Array, *, states: int = 16, sequential: bool) -> jax.Array:
    """Mamba (arXiv 2312.00752): a gated, input-dependent linear recurrence."""
    inner = 2 * x.shape[-1]
    h, gate = jnp.split(dense(p / "in", x, 2 * inner, bias=False), 2, -1)
    h = jax.nn.silu(conv(p / "conv", h, inner, 4, groups=inner, padding=[(3, 0)]))
    step = jax.nn.softplus(dense(p / "step", dense(p / "rank", h, inner // 32), inner))
    b, c = jnp.split(dense(p / "bc", h, 2 * states, bias=False), 2, -1)
    decay = jnp.exp(-step[..., None] * jnp.exp(p.weight("decay", inner, states)))
    inputs = (step * h)[..., None] * b[:, :, None, :]
    h = h * p.weight("skip", inner) + jnp.einsum(
        "btds,bts->btd", selective_scan(decay, inputs, sequential=sequential), c
    )
    return dense(p / "out", h * jax.nn.silu(gate), x.shape[-1], bias=False)


def mamba(
    p: Params, ids: jax.Array, *, layers: int, width: int, sequential: bool = False
) -> jax.Array:
    """Mamba language model (arXiv 2312.00752)."""
    x = embed(p / "tokens", ids, VOCABULARY, width)
    for i in range(layers):
        x = x + mamba_layer(p / i, rms_norm(p / i / "norm", x), sequential=sequential)
    return dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False)


def mamba_decode_layer(
    p: Params, x: jax.Array, state: jax.Array, window: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """One step of a Mamba layer: state [batch, inner, states], window [batch, 4, inner]."""
    inner, states = state.shape[1:]
    h, gate = jnp.split(dense(p / "in", x, 2 * inner, bias=False), 2, -1)
    window = jnp.concatenate([window[:, 1:], h[:, None]], 1)
    h = jax.nn.silu((window * p.weight("conv", 4, inner)).sum(1))
    step = jax.nn.softplus(dense(p / "step", dense(p / "rank", h, inner // 32), inner))
    b, c = jnp.split(dense(p / "bc", h, 2 * states, bias=False), 2, -1)
    decay = jnp.exp(-step[..., None] * jnp.exp(p.weight("decay", inner, states)))
    state = decay * state + (step * h)[..., None] * b[:, None, :]
    h = h * p.weight("skip", inner) + (state * c[:, None, :]).sum(-1)
    return dense(p / "out", h * jax.nn.silu(gate), x.shape[-1], bias=False), state, window


def mamba_decode(
    p: Params, states: list[jax.Array], windows: list[jax.Array], ids: jax.Array, *, width: int
) -> tuple[list[jax.Array], list[jax.Array], jax.Array]:
    """One decoding step of Mamba: every layer's state and convolution window are replaced."""
    x = embed(p / "tokens", ids, VOCABULARY, width)
    new_states, new_windows = [], []
    for i, (state, window) in enumerate(zip(states, windows, strict=True)):
        h = rms_norm(p / i / "norm", x)
        h, state, window = mamba_decode_layer(p / i, h, state, window)
        x = x + h
        new_states.append(state)
        new_windows.append(window)
    logits = dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False)
    return new_states, new_windows, logits


def chunked_retention(
    q: jax.Array, k: jax.Array, v: jax.Array, decay: jax.Array, chunk: int
) -> jax.Array:
    """Linear attention with a decay for each head, quadratic inside chunks, a loop over them.

    q, k, v: [batch, time, heads, depth]; decay: log of the factor a step, [heads].
    """
    batch, length, heads, depth = q.shape
    shape = (batch, length // chunk, chunk, heads, depth)
    q, k, v = (jnp.moveaxis(a.reshape(shape), 1, 0) for a in (q, k, v))
    time = jnp.arange(chunk, dtype=jnp.float32)
    distance = time[:, None] - time[None, :]
    inside = jnp.where(distance >= 0, jnp.exp(distance * decay[:, None, None]), 0).astype(q.dtype)
    since_start = jnp.exp((time + 1)[:, None] * decay).astype(q.dtype)[..., None]
    until_end = jnp.exp((chunk - 1 - time)[:, None] * decay).astype(q.dtype)[..., None]
    whole = jnp.exp(chunk * decay).astype(q.dtype)[:, None, None]

    def step(state: jax.Array, now: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        q, k, v = now
        scores = jnp.einsum("bthd,bshd->bhts", q, k) * inside
        y = jnp.einsum("bhts,bshd->bthd", scores, v)
        y = y + jnp.einsum("bthd,bhde->bthe", q * since_start, state)
        state = whole * state + jnp.einsum("bthd,bthe->bhde", k * until_end, v)
        return state, y

    start = jnp.zeros((batch, heads, depth, depth), q.dtype)
    return jnp.moveaxis(lax.scan(step, start, (q, k, v))[1], 0, 1).reshape(
        batch, length, heads * depth
    )


def retention_layer(p: Params, x: jax.Array, *, heads: int, chunk: int) -> jax.Array:
    """Retention with a gate (arXiv 2307.08621), the scalar-decay case of Mamba-2."""
    width = x.shape[-1]
    h = rms_norm(p / "norm", x)
    q, k, v, gate = jnp.split(dense(p / "in", h, 4 * width, bias=False), 4, -1)
    q, k, v = (a.reshape(*a.shape[:2], heads, width // heads) for a in (q, k, v))
    decay = -jax.nn.softplus(p.weight("decay", heads).astype(jnp.float32))
    h = chunked_retention(q, k, v, decay, chunk)
    return x + dense(p / "out", rms_norm(p / "inner", h) * jax.nn.silu(gate), width, bias=False)


def retnet(
    p: Params, ids: jax.Array, *, layers: int, width: int, heads: int, chunk: int
) -> jax.Array:
    """RetNet (arXiv 2307.08621) without feed-forward layers: loops over layers and chunks."""
    x = embed(p / "tokens", ids, VOCABULARY, width)
    layer = partial(retention_layer, heads=heads, chunk=chunk)
    x, _ = scan_layers(p / "layers", layers, lambda q, h: (layer(q, h), None), x)
    return dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False)


def retnet_decode(
    p: Params, states: list[jax.Array], ids: jax.Array, *, width: int
) -> tuple[list[jax.Array], jax.Array]:
    """One decoding step of RetNet with states [batch, heads, depth, depth]."""
    x = embed(p / "tokens", ids, VOCABULARY, width)
    updated = []
    for i, state in enumerate(states):
        h = rms_norm(p / i / "norm", x)
        q, k, v, gate = jnp.split(dense(p / i / "in", h, 4 * width, bias=False), 4, -1)
        q, k, v = (split_heads(a, state.shape[1]) for a in (q, k, v))
        decay = jax.nn.sigmoid((p / i).weight("decay", state.shape[1], 1, 1))
        state = decay * state + k[..., :, None] * v[..., None, :]
        h = jnp.einsum("bhd,bhde->bhe", q, state).reshape(x.shape)
        h = rms_norm(p / i / "inner", h) * jax.nn.silu(gate)
        x = x + dense(p / i / "out", h, width, bias=False)
        updated.append(state)
    return updated, dense(p / "head", rms_norm(p / "norm", x), VOCABULARY, bias=False)


_MAMBA = Architecture("mamba", "state_space")
_RETNET = Architecture("retnet", "state_space")

PROGRAMS = (
    _MAMBA.forward("mamba_2x512_b4x512", partial(mamba, layers=2, width=512), tokens(4, 512)),
    _MAMBA.forward(
        "mamba_sequential_2x768_b8x256",
        partial(mamba, layers=2, width=768, sequential=True),
        tokens(8, 256),
    ),
    _MAMBA.forward(
        "mamba_decode_40x1024_b64",
        partial(mamba_decode, width=1024),
        [floats(64, 2048, 16) for _ in range(40)],
        [floats(64, 4, 2048) for _ in range(40)],
        tokens(64),
        donate_argnums=(1, 2),
    ),
    _RETNET.forward(
        "retnet_scan_8x1024_b8x1024",
        partial(retnet, layers=8, width=1024, heads=8, chunk=256),
        tokens(8, 1024),
        chips=ALL_CHIPS,
    ),
    _RETNET.forward(
        "retnet_decode_54x1024_b64",
        partial(retnet_decode, width=1024),
        [floats(64, 8, 128, 128) for _ in range(54)],
        tokens(64),
        donate_argnums=(1,),
    ),
)
