"""U-Nets for segmentation and for diffusion."""

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
    floats,
    group_norm,
    layer_norm,
    max_pool,
    mlp,
    transformer_layer,
    upsample,
)
from .registry import ALL_CHIPS, Architecture


def conv_pair(p: Params, x: jax.Array, features: int) -> jax.Array:
    """Two 3x3 convolutions, each with batch normalisation and ReLU."""
    for i in range(2):
        x = conv(p / i, x, features, 3)
        x = jax.nn.relu(batch_norm(p / i / "norm", x, train=False))
    return x


def unet(p: Params, images: jax.Array, *, width: int, levels: int, classes: int) -> jax.Array:
    """U-Net (arXiv 1505.04597): per-pixel classes."""
    x = images
    skips = []
    for level in range(levels):
        x = conv_pair(p / "down" / level, x, width << level)
        skips.append(x)
        x = max_pool(x, 2, 2)
    x = conv_pair(p / "middle", x, width << levels)
    for level in reversed(range(levels)):
        x = conv(p / "up" / level / "resize", upsample(x), width << level, 3)
        x = jnp.concatenate([skips[level], x], -1)
        x = conv_pair(p / "up" / level, x, width << level)
    return dense(p / "head", x, classes)


def time_embedding(p: Params, times: jax.Array, width: int) -> jax.Array:
    """Sinusoidal embedding of diffusion times [batch], through a perceptron."""
    frequencies = jnp.exp(-9.2 * jnp.arange(width // 2) / (width // 2))
    angles = times.astype(jnp.float32)[:, None] * frequencies
    waves = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1).astype(times.dtype)
    return mlp(p, waves, (4 * width, 4 * width), jax.nn.silu)


def residual_block(p: Params, x: jax.Array, time: jax.Array, features: int) -> jax.Array:
    """Two convolutions with group normalisation, shifted by the time embedding."""
    h = conv(p / "conv1", jax.nn.silu(group_norm(p / "norm1", x)), features, 3)
    h = h + dense(p / "time", jax.nn.silu(time), features)[:, None, None, :]
    h = conv(p / "conv2", jax.nn.silu(group_norm(p / "norm2", h)), features, 3)
    if x.shape[-1] != features:
        x = dense(p / "shortcut", x, features)
    return x + h


def spatial_attention(p: Params, x: jax.Array, heads: int) -> jax.Array:
    """Self-attention over all pixels."""
    h = group_norm(p / "norm", x).reshape(x.shape[0], -1, x.shape[-1])
    return x + attention(p, h, heads).reshape(x.shape)


def diffusion_unet(
    p: Params, noisy: jax.Array, times: jax.Array, *, width: int, levels: int
) -> jax.Array:
    """DDPM's U-Net (arXiv 2006.11239): predicts the noise; attention at the coarsest level."""
    time = time_embedding(p / "time", times, width)
    x = conv(p / "stem", noisy, width, 3)
    skips = []
    for level in range(levels):
        x = residual_block(p / "down" / level, x, time, width << level)
        skips.append(x)
        if level + 1 < levels:
            x = conv(p / "down" / level / "resize", x, width << level, 3, stride=2)
    x = residual_block(p / "middle" / 0, x, time, x.shape[-1])
    x = spatial_attention(p / "middle" / "attention", x, 8)
    x = residual_block(p / "middle" / 1, x, time, x.shape[-1])
    for level in reversed(range(levels)):
        x = jnp.concatenate([x, skips[level]], -1)
        x = residual_block(p / "up" / level, x, time, width << level)
        if level:
            x = conv(p / "up" / level / "resize", upsample(x), width << level, 3)
    return conv(p / "head", jax.nn.silu(group_norm(p / "norm", x)), noisy.shape[-1], 3)


def diffusion_transformer(
    p: Params, latents: jax.Array, times: jax.Array, *, layers: int, width: int, heads: int
) -> jax.Array:
    """DiT (arXiv 2212.09748) with in-context conditioning, on latents as patches [batch, t, c]."""
    x = dense(p / "in", latents, width) + p.weight("positions", latents.shape[1], width)
    x = x + time_embedding(p / "time", times, width // 4)[:, None]
    for i in range(layers):
        x = transformer_layer(p / i, x, heads)
    return dense(p / "head", layer_norm(p / "norm", x), latents.shape[-1])


_UNET = Architecture("unet", "segmentation")
_DDPM = Architecture("diffusion_unet", "diffusion")
_DIT = Architecture("dit", "diffusion")

PROGRAMS = (
    _UNET.forward(
        "unet_32_b8x256", partial(unet, width=32, levels=2, classes=21), floats(8, 256, 256, 3)
    ),
    _DDPM.forward(
        "diffusion_unet_128_b32x64",
        partial(diffusion_unet, width=128, levels=2),
        floats(32, 64, 64, 4),
        floats(32),
    ),
    _DIT.forward(
        "dit_4x1024_b48x256",
        partial(diffusion_transformer, layers=4, width=1024, heads=16),
        floats(48, 256, 16),
        floats(48),
        chips=ALL_CHIPS,
    ),
)
