"""Neural radiance fields."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .layers import Params, dense, floats
from .registry import Architecture


def fourier_features(x: jax.Array, octaves: int) -> jax.Array:
    """Sines and cosines of each coordinate at doubling frequencies."""
    angles = x[..., None] * (2.0 ** jnp.arange(octaves)).astype(x.dtype)
    angles = angles.reshape(*x.shape[:-1], -1)
    return jnp.concatenate([x, jnp.sin(angles), jnp.cos(angles)], -1)


def radiance(
    p: Params, points: jax.Array, directions: jax.Array, *, layers: int, width: int
) -> tuple[jax.Array, jax.Array]:
    """Density and colour at points [rays, samples, 3] seen along directions [rays, 3]."""
    inputs = fourier_features(points, 10)
    x = inputs
    for i in range(layers):
        if i == layers // 2:
            x = jnp.concatenate([x, inputs], -1)
        x = jax.nn.relu(dense(p / i, x, width))
    density = jax.nn.softplus(dense(p / "density", x, 1)[..., 0])
    views = jnp.broadcast_to(fourier_features(directions, 4)[:, None], (*x.shape[:2], 27))
    x = jnp.concatenate([dense(p / "features", x, width), views], -1)
    x = jax.nn.relu(dense(p / "view", x, width // 2))
    return density, jax.nn.sigmoid(dense(p / "colour", x, 3))


def nerf(
    p: Params,
    origins: jax.Array,
    directions: jax.Array,
    depths: jax.Array,
    *,
    layers: int,
    width: int,
) -> jax.Array:
    """NeRF (arXiv 2003.08934): colours of rays, composited over samples at `depths`."""
    points = origins[:, None] + directions[:, None] * depths[..., None]
    density, colours = radiance(p, points, directions, layers=layers, width=width)
    steps = jnp.diff(depths, axis=1, append=depths[:, -1:] + 1).astype(jnp.float32)
    optical = density.astype(jnp.float32) * steps
    weights = jnp.exp(optical - jnp.cumsum(optical, 1)) * (1 - jnp.exp(-optical))
    return (weights[..., None] * colours).sum(1)


_NERF = Architecture("nerf", "radiance_field")

PROGRAMS = (
    _NERF.forward(
        "nerf_8x256_r4096x64",
        partial(nerf, layers=8, width=256),
        floats(4096, 3),
        floats(4096, 3),
        floats(4096, 64),
    ),
)
