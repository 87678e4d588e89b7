"""What a program of this registry is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

Built = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function, and its arguments as pytrees of `jax.ShapeDtypeStruct`."""

CHIPS = ("tpu_v5e", "tpu_v6e")


@dataclasses.dataclass(frozen=True)
class Program:
    """One function with fixed shapes, to be compiled for `chips`.

    Attributes:
        family: groups models of one kind; the train / validation / test split keeps it together.
        origin: where the model is from, such as "keras_hub.models.BertBackbone".
        build: imports the library of the model and returns the function with its arguments.
        layers: returns the Python modules that define the layers of a model of keras-hub; None for
            models that are made here of layers.
    """

    name: str
    family: str
    origin: str
    build: Callable[[], Built]
    layers: Callable[[], set[str]] | None = None
    donate_argnums: tuple[int, ...] = ()
    chips: tuple[str, ...] = CHIPS
