"""Building blocks shared by the models: weights by path, layers, attention, losses.

A model is a function `model(p, *inputs)` that asks `p` for its weights where it uses them. The same
function declares the weights' shapes (`declare`) and computes with them (`Params(weights)`); no
weight is ever materialised here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

BF16 = jnp.bfloat16


class Params:
    """The weights of a model or of a part of it: `p / "block0"` is the part below that path."""

    def __init__(
        self,
        weights: Mapping[str, jax.Array] | None = None,
        *,
        declared: dict[str, jax.ShapeDtypeStruct] | None = None,
        path: str = "",
    ) -> None:
        self._weights = weights
        self._declared = declared
        self._path = path

    def __truediv__(self, name: str | int) -> Params:
        return Params(self._weights, declared=self._declared, path=f"{self._path}{name}/")

    @property
    def declaring(self) -> bool:
        """Whether this pass only finds out which weights there are."""
        return self._declared is not None

    def weight(self, name: str, *shape: int) -> jax.Array:
        """The weight `name` (bf16, as the model computes with it) of this part."""
        path = self._path + name
        if self._declared is not None:
            self._declared[path] = jax.ShapeDtypeStruct(shape, BF16)
            return jnp.zeros(shape, BF16)
        assert self._weights is not None
        return self._weights[path]

    def stacked(self) -> dict[str, jax.Array]:
        """The weights below this path, keyed by the rest of their paths."""
        assert self._weights is not None
        start = len(self._path)
        return {k[start:]: v for k, v in self._weights.items() if k.startswith(self._path)}


def declare(model: Callable[..., Any], *inputs: Any) -> dict[str, jax.ShapeDtypeStruct]:
    """Shapes of all weights that `model(p, *inputs)` asks for."""
    declared: dict[str, jax.ShapeDtypeStruct] = {}
    jax.eval_shape(lambda *args: model(Params(declared=declared), *args), *inputs)
    return declared


def scan_layers(
    p: Params,
    count: int,
    layer: Callable[..., tuple[jax.Array, Any]],
    x: jax.Array,
    *per_layer: Any,
) -> tuple[jax.Array, Any]:
    """`x, out = layer(p, x, *per_layer[i])`, `count` times, as one loop over stacked weights.

    Returns the last `x` and the stacked `out`s.
    """
    if p.declaring:
        firsts = jax.tree.map(lambda a: a[0], per_layer)
        for path, weight in declare(layer, x, *firsts).items():
            p.weight(path, count, *weight.shape)
        out = jax.eval_shape(lambda *a: layer(Params(declared={}), *a), x, *firsts)[1]
        return x, jax.tree.map(lambda a: jnp.zeros((count, *a.shape), a.dtype), out)
    scanned: tuple[jax.Array, Any] = lax.scan(
        lambda c, s: layer(Params(s[0]), c, *s[1]), x, (p.stacked(), per_layer)
    )
    return scanned


def tokens(*shape: int) -> jax.ShapeDtypeStruct:
    """Integer inputs: token ids, labels, indices."""
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    """bf16 inputs: images, features, caches."""
    return jax.ShapeDtypeStruct(shape, BF16)


# Dense layers, embeddings and norms.


def dense(p: Params, x: jax.Array, features: int, *, bias: bool = True) -> jax.Array:
    """Affine map of the last axis."""
    y = x @ p.weight("kernel", x.shape[-1], features)
    return y + p.weight("bias", features) if bias else y


def embed(p: Params, ids: jax.Array, rows: int, features: int) -> jax.Array:
    """Rows of a table."""
    return jnp.take(p.weight("table", rows, features), ids, axis=0, mode="clip")


def mlp(
    p: Params,
    x: jax.Array,
    widths: Sequence[int],
    activation: Callable[[jax.Array], jax.Array] = jax.nn.relu,
) -> jax.Array:
    """Dense layers with an activation between them, none after the last."""
    for i, width in enumerate(widths):
        x = dense(p / i, activation(x) if i else x, width)
    return x


def swiglu(p: Params, x: jax.Array, hidden: int) -> jax.Array:
    """SwiGLU feed-forward layer (arXiv 2002.05202)."""
    gate = jax.nn.silu(dense(p / "gate", x, hidden, bias=False))
    return dense(p / "down", gate * dense(p / "up", x, hidden, bias=False), x.shape[-1], bias=False)


def layer_norm(p: Params, x: jax.Array) -> jax.Array:
    """Layer normalisation (arXiv 1607.06450) over the last axis, statistics in f32."""
    h = x.astype(jnp.float32)
    h = h - h.mean(-1, keepdims=True)
    h = h * lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-6)
    return h.astype(x.dtype) * p.weight("scale", x.shape[-1]) + p.weight("bias", x.shape[-1])


def rms_norm(p: Params, x: jax.Array) -> jax.Array:
    """Root-mean-square normalisation (arXiv 1910.07467) over the last axis."""
    h = x.astype(jnp.float32)
    h = h * lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-6)
    return h.astype(x.dtype) * p.weight("scale", x.shape[-1])


def group_norm(p: Params, x: jax.Array, groups: int = 32) -> jax.Array:
    """Group normalisation (arXiv 1803.08494) of channels-last features."""
    h = x.astype(jnp.float32).reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    h = h - h.mean((1, 3), keepdims=True)
    h = h * lax.rsqrt((h * h).mean((1, 3), keepdims=True) + 1e-5)
    h = h.reshape(x.shape).astype(x.dtype)
    return h * p.weight("scale", x.shape[-1]) + p.weight("bias", x.shape[-1])


def batch_norm(p: Params, x: jax.Array, *, train: bool) -> jax.Array:
    """Batch normalisation (arXiv 1502.03167): batch statistics if `train`, else folded ones."""
    if train:
        h = x.astype(jnp.float32)
        axes = tuple(range(x.ndim - 1))
        mean = h.mean(axes)
        variance = (h * h).mean(axes) - mean * mean
        x = ((h - mean) * lax.rsqrt(variance + 1e-5)).astype(x.dtype)
    return x * p.weight("scale", x.shape[-1]) + p.weight("bias", x.shape[-1])


# Convolutions and pooling, channels last, in one, two or three dimensions.


def conv(
    p: Params,
    x: jax.Array,
    features: int,
    kernel: int,
    *,
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
    padding: str | Sequence[tuple[int, int]] = "SAME",
    bias: bool = False,
) -> jax.Array:
    """Convolution with a cubic kernel; as many spatial dimensions as `x` has."""
    rank = x.ndim - 2
    space = "DHW"[-rank:]
    shape = (kernel,) * rank + (x.shape[-1] // groups, features)
    y = lax.conv_general_dilated(
        x,
        p.weight("kernel", *shape),
        (stride,) * rank,
        padding,
        rhs_dilation=(dilation,) * rank,
        dimension_numbers=(f"N{space}C", f"{space}IO", f"N{space}C"),
        feature_group_count=groups,
    )
    return y + p.weight("bias", features) if bias else y


def depthwise_conv(p: Params, x: jax.Array, kernel: int, *, stride: int = 1) -> jax.Array:
    """One filter for each channel."""
    return conv(p, x, x.shape[-1], kernel, stride=stride, groups=x.shape[-1])


def max_pool(x: jax.Array, window: int, stride: int) -> jax.Array:
    """Largest value in each cubic window."""
    rank = x.ndim - 2
    sizes, steps = (1, *(window,) * rank, 1), (1, *(stride,) * rank, 1)
    return lax.reduce_window(x, np.array(-np.inf, x.dtype), lax.max, sizes, steps, "SAME")


def mean_pool(x: jax.Array) -> jax.Array:
    """Mean over all spatial positions: [batch, channels]."""
    return x.astype(jnp.float32).mean(tuple(range(1, x.ndim - 1))).astype(x.dtype)


def upsample(x: jax.Array, factor: int = 2) -> jax.Array:
    """Nearest-neighbour upsampling of every spatial dimension."""
    for axis in range(1, x.ndim - 1):
        x = jnp.repeat(x, factor, axis)
    return x


def patches(p: Params, images: jax.Array, size: int, features: int) -> jax.Array:
    """Embedded image patches: [batch, patches, features]."""
    x = conv(p, images, features, size, stride=size, padding="VALID", bias=True)
    return x.reshape(x.shape[0], -1, features)


# Attention.


def split_heads(x: jax.Array, heads: int) -> jax.Array:
    """[..., heads * depth] to [..., heads, depth]."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


def causal_mask(length: int) -> jax.Array:
    """True where a query (row) may see a key (column)."""
    return jnp.tril(jnp.ones((length, length), bool))


def dot_product_attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    mask: jax.Array | None = None,
    bias: jax.Array | None = None,
) -> jax.Array:
    """Softmax attention of q [..., t, heads, depth] over k, v [..., s, kv_heads, depth].

    With fewer key-value heads than query heads, groups of query heads share one (arXiv 2305.13245).
    `mask` and `bias` broadcast to [..., heads, t, s]. Returns [..., t, heads * depth].
    """
    *batch, length, heads, depth = q.shape
    kv_heads = k.shape[-2]
    grouped = q.reshape(*batch, length, kv_heads, heads // kv_heads, depth)
    scores = jnp.einsum("...tkgd,...skd->...kgts", grouped, k) * depth**-0.5
    scores = scores.astype(jnp.float32).reshape(*batch, heads, length, -1)
    if bias is not None:
        scores = scores + bias.astype(jnp.float32)
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    weights = jax.nn.softmax(scores).astype(q.dtype)
    weights = weights.reshape(*batch, kv_heads, heads // kv_heads, length, -1)
    mixed = jnp.einsum("...kgts,...skd->...tkgd", weights, v)
    return mixed.reshape(*batch, length, heads * depth)


def attention(
    p: Params,
    x: jax.Array,
    heads: int,
    *,
    memory: jax.Array | None = None,
    mask: jax.Array | None = None,
    bias: jax.Array | None = None,
) -> jax.Array:
    """Multi-head attention of `x` over `memory`, by default over itself (arXiv 1706.03762)."""
    width = x.shape[-1]
    if memory is None:
        q, k, v = jnp.split(dense(p / "qkv", x, 3 * width), 3, axis=-1)
    else:
        q = dense(p / "q", x, width)
        k, v = jnp.split(dense(p / "kv", memory, 2 * width), 2, axis=-1)
    q, k, v = (split_heads(a, heads) for a in (q, k, v))
    return dense(p / "out", dot_product_attention(q, k, v, mask=mask, bias=bias), width)


def feed_forward(p: Params, x: jax.Array, expansion: int = 4) -> jax.Array:
    """The transformer's two-layer perceptron."""
    return mlp(p, x, (expansion * x.shape[-1], x.shape[-1]), jax.nn.gelu)


def transformer_layer(
    p: Params, x: jax.Array, heads: int, *, mask: jax.Array | None = None
) -> jax.Array:
    """Pre-norm transformer layer (arXiv 2002.04745)."""
    x = x + attention(p / "attention", layer_norm(p / "norm1", x), heads, mask=mask)
    return x + feed_forward(p / "mlp", layer_norm(p / "norm2", x))


def rotary(x: jax.Array, positions: jax.Array) -> jax.Array:
    """Rotary position embedding (arXiv 2104.09864) of x [..., t, heads, depth]."""
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angles = positions.astype(jnp.float32)[..., None, None] * frequencies
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


# Losses.


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean negative log-likelihood of integer labels."""
    logits = logits.astype(jnp.float32)
    picked = jnp.sum(jnp.where(jnp.arange(logits.shape[-1]) == labels[..., None], logits, 0.0), -1)
    return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)
