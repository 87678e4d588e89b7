"""Recommenders: embedding tables and wide perceptrons."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .layers import Params, cross_entropy, dense, embed, floats, mlp, tokens
from .registry import ALL_CHIPS, Architecture
from .training import SGD

FAMILY = "recommender"
ROWS = 100_000


def embed_features(p: Params, ids: jax.Array, width: int) -> jax.Array:
    """One table for each categorical feature: [batch, features] to [batch, features, width]."""
    return jnp.stack([embed(p / i, ids[:, i], ROWS, width) for i in range(ids.shape[1])], 1)


def dlrm(p: Params, numbers: jax.Array, ids: jax.Array, *, width: int, hidden: int) -> jax.Array:
    """DLRM (arXiv 1906.00091): pairwise products of embeddings between two perceptrons."""
    bottom = mlp(p / "bottom", numbers, (hidden, hidden, width))
    x = jnp.concatenate([bottom[:, None], embed_features(p / "tables", ids, width)], 1)
    products = jnp.einsum("bid,bjd->bij", x, x).reshape(x.shape[0], -1)
    x = jnp.concatenate([bottom, products], -1)
    return mlp(p / "top", x, (hidden, hidden, hidden, 1))[:, 0]


def click_loss(logits: jax.Array, clicks: jax.Array) -> jax.Array:
    """Mean binary cross-entropy."""
    logits = logits.astype(jnp.float32)
    return jnp.mean(jax.nn.softplus(logits) - logits * clicks)


def dlrm_loss(
    p: Params, numbers: jax.Array, ids: jax.Array, clicks: jax.Array, *, width: int, hidden: int
) -> jax.Array:
    """Click loss of DLRM."""
    return click_loss(dlrm(p, numbers, ids, width=width, hidden=hidden), clicks)


def cross_network(p: Params, ids: jax.Array, *, layers: int, width: int, hidden: int) -> jax.Array:
    """DCN v2 (arXiv 2008.13535): stacked products with the input, then a perceptron."""
    start = embed_features(p / "tables", ids, width).reshape(ids.shape[0], -1)
    x = start
    for i in range(layers):
        x = x + start * dense(p / "cross" / i, x, x.shape[-1])
    return mlp(p / "deep", x, (hidden, hidden, 1))[:, 0]


def tower(p: Params, ids: jax.Array, *, width: int, hidden: int) -> jax.Array:
    """Normalised representation of one side."""
    x = embed_features(p / "tables", ids, width).reshape(ids.shape[0], -1)
    x = mlp(p / "layers", x, (hidden, hidden, hidden // 2, 256))
    return x / jnp.linalg.norm(x.astype(jnp.float32), axis=-1, keepdims=True).astype(x.dtype)


def two_tower_loss(
    p: Params, users: jax.Array, items: jax.Array, *, width: int, hidden: int
) -> jax.Array:
    """Two-tower retrieval with sampled softmax over the batch (Yi et al., RecSys 2019)."""
    user = tower(p / "user", users, width=width, hidden=hidden)
    item = tower(p / "item", items, width=width, hidden=hidden)
    return cross_entropy(20 * user @ item.T, jnp.arange(users.shape[0]))


_DLRM = Architecture("dlrm", FAMILY)
_DCN = Architecture("dcn_v2", FAMILY)
_TWO_TOWER = Architecture("two_tower", FAMILY)

PROGRAMS = (
    _DLRM.forward(
        "dlrm_8x128_b8192",
        partial(dlrm, width=128, hidden=1024),
        floats(8192, 13),
        tokens(8192, 8),
    ),
    _DLRM.train(
        "dlrm_4x64_train_b4096",
        partial(dlrm_loss, width=64, hidden=1024),
        floats(4096, 13),
        tokens(4096, 4),
        floats(4096),
        optimizer=SGD,
    ),
    _DCN.forward(
        "dcn_v2_4_b8192",
        partial(cross_network, layers=4, width=128, hidden=2048),
        tokens(8192, 16),
        chips=ALL_CHIPS,
    ),
    _TWO_TOWER.train(
        "two_tower_train_b4096",
        partial(two_tower_loss, width=64, hidden=2048),
        tokens(4096, 2),
        tokens(4096, 2),
        optimizer=SGD,
    ),
)
