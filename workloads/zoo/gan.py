"""Generative adversarial training: the discriminator's turn."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .layers import Params, conv, dense, floats
from .registry import Architecture

FAMILY = "adversarial"
SIZE = 64


def discriminator(p: Params, pictures: jax.Array, *, width: int) -> jax.Array:
    """DCGAN's discriminator (arXiv 1511.06434): one logit for each image."""
    x = pictures
    for i in range(4):
        x = jax.nn.leaky_relu(conv(p / i, x, width << i, 5, stride=2, bias=True), 0.2)
    return dense(p / "out", x.reshape(x.shape[0], -1), 1)[:, 0]


def discriminator_loss(
    p: Params, pictures: jax.Array, generated: jax.Array, *, width: int
) -> jax.Array:
    """Non-saturating loss on true and generated images."""
    real = discriminator(p, pictures, width=width).astype(jnp.float32)
    fake = discriminator(p, generated, width=width).astype(jnp.float32)
    return jnp.mean(jax.nn.softplus(-real)) + jnp.mean(jax.nn.softplus(fake))


_DCGAN = Architecture("dcgan", FAMILY)

PROGRAMS = (
    _DCGAN.train(
        "dcgan_discriminator_96_train_b128",
        partial(discriminator_loss, width=96),
        floats(128, SIZE, SIZE, 3),
        floats(128, SIZE, SIZE, 3),
    ),
)
