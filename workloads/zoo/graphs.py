"""Graph networks on edge lists and on dense adjacency."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .layers import Params, cross_entropy, dense, floats, layer_norm, mlp, tokens
from .registry import ALL_CHIPS, Architecture

FAMILY = "graph"


def dense_gcn(
    p: Params, adjacency: jax.Array, features: jax.Array, *, layers: int, width: int
) -> jax.Array:
    """Graph convolution (arXiv 1609.02907) on a normalised dense adjacency [nodes, nodes]."""
    x = features
    for i in range(layers):
        x = layer_norm(p / i / "norm", jax.nn.relu(adjacency @ dense(p / i, x, width)))
    return dense(p / "head", x, 64)


def dense_gcn_loss(
    p: Params,
    adjacency: jax.Array,
    features: jax.Array,
    labels: jax.Array,
    *,
    layers: int,
    width: int,
) -> jax.Array:
    """Node classification loss."""
    return cross_entropy(dense_gcn(p, adjacency, features, layers=layers, width=width), labels)


def graph_attention(
    p: Params, adjacency: jax.Array, features: jax.Array, *, layers: int, width: int, heads: int
) -> jax.Array:
    """Graph attention (arXiv 1710.10903) on batches of dense graphs [batch, nodes, nodes]."""
    x = dense(p / "in", features, width)
    edges = jnp.where(adjacency > 0, 0.0, -1e9).astype(jnp.float32)[..., None]
    for i in range(layers):
        h = layer_norm(p / i / "norm", x)
        source, target = dense(p / i / "source", h, heads), dense(p / i / "target", h, heads)
        scores = jax.nn.leaky_relu(source[:, :, None] + target[:, None])
        weights = jax.nn.softmax(scores.astype(jnp.float32) + edges, 2).astype(x.dtype)
        values = dense(p / i / "values", h, width).reshape(*h.shape[:2], heads, width // heads)
        x = x + jnp.einsum("bijh,bjhd->bihd", weights, values).reshape(x.shape)
        x = x + mlp(p / i / "mlp", x, (2 * width, width))
    return dense(p / "head", x.mean(1), 64)


def mesh_graph_net(
    p: Params,
    nodes: jax.Array,
    edges: jax.Array,
    senders: jax.Array,
    receivers: jax.Array,
    *,
    steps: int,
    width: int,
) -> jax.Array:
    """MeshGraphNet (arXiv 2010.03409): edges and nodes update each other by message passing."""
    x = mlp(p / "nodes", nodes, (width, width))
    e = mlp(p / "edges", edges, (width, width))
    for i in range(steps):
        q = p / i
        messages = jnp.concatenate([e, jnp.take(x, senders, 0), jnp.take(x, receivers, 0)], -1)
        e = e + layer_norm(q / "edge_norm", mlp(q / "edge", messages, (width, width)))
        received = jax.ops.segment_sum(e, receivers, num_segments=x.shape[0])
        h = mlp(q / "node", jnp.concatenate([x, received], -1), (width, width))
        x = x + layer_norm(q / "node_norm", h)
    return mlp(p / "head", x, (width, 3))


_GCN = Architecture("dense_gcn", FAMILY)
_GAT = Architecture("graph_attention", FAMILY)
_MESH = Architecture("mesh_graph_net", FAMILY)

PROGRAMS = (
    _GCN.train(
        "dense_gcn_4x256_train_n8192",
        partial(dense_gcn_loss, layers=4, width=256),
        floats(8192, 8192),
        floats(8192, 256),
        tokens(8192),
        chips=ALL_CHIPS,
    ),
    _GAT.forward(
        "graph_attention_3x256_b32x256",
        partial(graph_attention, layers=3, width=256, heads=8),
        floats(32, 256, 256),
        floats(32, 256, 64),
        chips=ALL_CHIPS,
    ),
    _MESH.forward(
        "mesh_graph_net_4x128_n16384",
        partial(mesh_graph_net, steps=4, width=128),
        floats(16384, 16),
        floats(65536, 8),
        tokens(65536),
        tokens(65536),
        chips=ALL_CHIPS,
    ),
)
