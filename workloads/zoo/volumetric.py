"""Convolution over volumes and video."""

from __future__ import annotations

from functools import partial

import jax

from .layers import (
    Params,
    batch_norm,
    conv,
    dense,
    floats,
    max_pool,
    mean_pool,
)
from .registry import Architecture

FAMILY = "volumetric"


def c3d(p: Params, clips: jax.Array, *, width: int) -> jax.Array:
    """C3D (arXiv 1412.0767), pooled by the mean: classes of clips [batch, t, h, w, channels]."""
    x = clips
    for stage, blocks in enumerate((1, 1, 2, 2)):
        for block in range(blocks):
            q = p / f"stage{stage}" / block
            x = conv(q, x, min(width << stage, 8 * width), 3)
            x = jax.nn.relu(batch_norm(q / "norm", x, train=False))
        x = max_pool(x, 2, 2)
    return dense(p / "head", mean_pool(x), 400)


def resnet3d(p: Params, clips: jax.Array, *, blocks: tuple[int, ...]) -> jax.Array:
    """R3D (arXiv 1711.11248): a residual network of 3x3x3 convolutions."""
    x = jax.nn.relu(batch_norm(p / "norm", conv(p / "stem", clips, 64, 3, stride=2), train=False))
    for stage, count in enumerate(blocks):
        for block in range(count):
            q = p / f"stage{stage}" / block
            stride = 2 if stage > 0 and block == 0 else 1
            h = conv(q / "conv1", x, 64 << stage, 3, stride=stride)
            h = jax.nn.relu(batch_norm(q / "norm1", h, train=False))
            h = batch_norm(q / "norm2", conv(q / "conv2", h, 64 << stage, 3), train=False)
            if x.shape != h.shape:
                x = conv(q / "shortcut", x, 64 << stage, 1, stride=stride)
            x = jax.nn.relu(x + h)
    return dense(p / "head", mean_pool(x), 400)


_C3D = Architecture("c3d", FAMILY)
_R3D = Architecture("resnet3d", FAMILY)

PROGRAMS = (
    _C3D.forward("c3d_32_b8x16x64", partial(c3d, width=32), floats(8, 16, 64, 64, 3)),
    _R3D.forward(
        "resnet3d_b8x16x112", partial(resnet3d, blocks=(2, 2, 2)), floats(8, 16, 112, 112, 3)
    ),
)
