"""Programs of the zoo, which are made of a forward pass or a training step."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax

from .layers import Params, declare
from .training import ADAM, Optimizer, train_step

Built = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function, and its arguments as pytrees of `jax.ShapeDtypeStruct`."""

TPU_V4I = ("tpu_v4i",)
ALL_CHIPS = ("tpu_v4i", "tpu_v5e", "tpu_v6e")


@dataclasses.dataclass(frozen=True)
class Program:
    """One function with fixed shapes, to be compiled for `chips`.

    `architecture` groups the sizes and modes (inference, decode, training) of one model; `family`
    groups architectures, and is what the train / validation / test split keeps together.
    """

    name: str
    family: str
    architecture: str
    build: Callable[[], Built]
    donate_argnums: tuple[int, ...] = ()
    chips: tuple[str, ...] = TPU_V4I


@dataclasses.dataclass(frozen=True)
class Architecture:
    """Makes the programs of one architecture."""

    name: str
    family: str

    def forward(
        self,
        name: str,
        model: Callable[..., Any],
        *inputs: Any,
        chips: tuple[str, ...] = TPU_V4I,
        donate_argnums: tuple[int, ...] = (),
    ) -> Program:
        """`model(params, *inputs)`; `donate_argnums` counts the parameters as argument 0."""
        build = functools.partial(_build_forward, model, inputs)
        return Program(name, self.family, self.name, build, donate_argnums, chips)

    def train(
        self,
        name: str,
        loss: Callable[..., jax.Array],
        *batch: Any,
        optimizer: Optimizer = ADAM,
        chips: tuple[str, ...] = TPU_V4I,
    ) -> Program:
        """One optimiser step on `loss(params, *batch)`, with the state donated."""
        build = functools.partial(train_step, loss, batch, optimizer)
        return Program(name, self.family, self.name, build, (0,), chips)


def _build_forward(model: Callable[..., Any], inputs: tuple[Any, ...]) -> Built:
    def forward(params: dict[str, jax.Array], *args: Any) -> Any:
        return model(Params(params), *args)

    return forward, (declare(model, *inputs), *inputs)
