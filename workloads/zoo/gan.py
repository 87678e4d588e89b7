"""Generative adversarial training."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from .layers import Params, batch_norm, conv, dense, floats, upsample
from .registry import Architecture, Built, Program
from .training import ADAM, State, abstract_state, apply_gradients

FAMILY = "adversarial"
SIZE = 64
LATENT = 128


def generator(p: Params, latents: jax.Array, *, width: int) -> jax.Array:
    """DCGAN's generator (arXiv 1511.06434) with resizing convolutions: 64x64 images."""
    x = dense(p / "in", latents, 4 * 4 * 8 * width).reshape(-1, 4, 4, 8 * width)
    for i, features in enumerate((4 * width, 2 * width, width, width)):
        x = jax.nn.relu(batch_norm(p / i / "norm", x, train=True))
        x = conv(p / i, upsample(x), features, 3)
    x = jax.nn.relu(batch_norm(p / "norm", x, train=True))
    return jnp.tanh(conv(p / "out", x, 3, 3))


def discriminator(p: Params, pictures: jax.Array, *, width: int) -> jax.Array:
    """DCGAN's discriminator: one logit for each image."""
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


def _build_adversarial(batch: int, width: int) -> Built:
    """One step of both players: each with its own Adam state, both donated."""
    pictures, latents = floats(batch, SIZE, SIZE, 3), floats(batch, LATENT)

    def cast(state: State) -> Params:
        return Params({k: v.astype(jnp.bfloat16) for k, v in state["params"].items()})

    def descend(state: State, loss: Any) -> tuple[State, Any]:
        def loss_of(masters: dict[str, jax.Array]) -> Any:
            return loss(cast({"params": masters}))

        (value, extra), gradients = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        return apply_gradients(ADAM, state, gradients), (value, extra)

    def step(gen: State, dis: State, real: jax.Array, noise: jax.Array) -> tuple[Any, ...]:
        def fool(p: Params) -> tuple[jax.Array, jax.Array]:
            generated = generator(p, noise, width=width)
            logits = discriminator(cast(dis), generated, width=width)
            return jnp.mean(jax.nn.softplus(-logits.astype(jnp.float32))), generated

        gen, (gen_loss, generated) = descend(gen, fool)
        dis, (dis_loss, _) = descend(
            dis, lambda p: (discriminator_loss(p, real, generated, width=width), None)
        )
        return gen, dis, gen_loss, dis_loss

    gen_state = abstract_state(partial(generator, width=width), (latents,), ADAM)
    dis_state = abstract_state(partial(discriminator, width=width), (pictures,), ADAM)
    return step, (gen_state, dis_state, pictures, latents)


_DCGAN = Architecture("dcgan", FAMILY)

PROGRAMS = (
    Program(
        "dcgan_64_train_b64",
        FAMILY,
        _DCGAN.name,
        partial(_build_adversarial, 64, 64),
        donate_argnums=(0, 1),
    ),
    _DCGAN.train(
        "dcgan_discriminator_96_train_b128",
        partial(discriminator_loss, width=96),
        floats(128, SIZE, SIZE, 3),
        floats(128, SIZE, SIZE, 3),
    ),
)
