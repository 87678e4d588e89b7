"""Training steps of one model at many depths, for searches on long programs.

Only the number of layers differs between the programs of one model. `bench/solvers/ladder.py`
captures them; it makes deeper ones than the compiler compiles by repeating layers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from zoo.layers import Params, floats, tokens
from zoo.moe import switch_loss
from zoo.registry import Architecture, Program
from zoo.transformers import gpt_loss, llama_loss
from zoo.unet import diffusion_transformer

DEPTHS = (7, 14, 28, 56, 112)
CHIPS = ("tpu_v4i", "tpu_v6e")


def dit_loss(
    p: Params,
    latents: jax.Array,
    times: jax.Array,
    noise: jax.Array,
    *,
    layers: int,
    width: int,
    heads: int,
) -> jax.Array:
    """Mean squared error of the predicted noise."""
    predicted = diffusion_transformer(p, latents, times, layers=layers, width=width, heads=heads)
    return jnp.mean(jnp.square((predicted - noise).astype(jnp.float32)))


def _step(name: str, loss: Callable[..., jax.Array], family: str, *batch: Any) -> Program:
    return Architecture(f"{name}_ladder", family).train(name, loss, *batch, chips=CHIPS)


def _programs(layers: int) -> tuple[Program, ...]:
    return (
        _step(
            f"gpt_{layers}x512_train_b4x256",
            partial(gpt_loss, layers=layers, width=512, heads=4),
            "causal_language_model",
            tokens(4, 256),
        ),
        _step(
            f"llama_{layers}x512_train_b4x256",
            partial(llama_loss, layers=layers, width=512, heads=4, kv_heads=2),
            "grouped_query_language_model",
            tokens(4, 256),
        ),
        _step(
            f"switch_{layers}x512_e8_train_b4x256",
            partial(switch_loss, layers=layers, width=512, heads=4, experts=8),
            "mixture_of_experts",
            tokens(4, 256),
        ),
        _step(
            f"dit_{layers}x512_train_b8x256",
            partial(dit_loss, layers=layers, width=512, heads=4),
            "diffusion",
            floats(8, 256, 16),
            floats(8),
            floats(8, 256, 16),
        ),
    )


PROGRAMS: dict[str, Program] = {
    program.name: program for layers in DEPTHS for program in _programs(layers)
}

__all__ = ["PROGRAMS"]
