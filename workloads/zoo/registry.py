"""Programs of the zoo, which are made of a forward pass or a training step."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .layers import Params, declare
from .training import ADAM, Optimizer, train_step

Built = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function, and its arguments as pytrees of `jax.ShapeDtypeStruct`."""

TPU_V4I = ("tpu_v4i",)
ALL_CHIPS = ("tpu_v4i", "tpu_v5e", "tpu_v6e")


@dataclasses.dataclass(frozen=True)
class Sharding:
    """How a program runs on several devices.

    Attributes:
        topologies: libtpu's name of a topology, by chip. The mesh has one axis, "x", over all of
            its devices.
        spec: how an argument is split, by its path, such as "0/params/3/mlp/up/kernel", and shape.
    """

    topologies: Mapping[str, str]
    spec: Callable[[str, jax.ShapeDtypeStruct], PartitionSpec]

    def of(self, args: Any, devices: Sequence[jax.Device]) -> Any:
        """The sharding of every array of `args`."""
        mesh = Mesh(np.array(devices), ("x",))

        def sharding(path: tuple[Any, ...], leaf: jax.ShapeDtypeStruct) -> NamedSharding:
            name = jax.tree_util.keystr(path, simple=True, separator="/")
            return NamedSharding(mesh, self.spec(name, leaf))

        return jax.tree_util.tree_map_with_path(sharding, args)


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
    sharding: Sharding | None = None

    def build_over(
        self, devices: Sequence[jax.Device]
    ) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """The function, its arguments sharded over `devices`, and keyword arguments of jax.jit.

        The first output takes over the donated argument, so it has the same sharding.
        """
        assert self.sharding is not None
        fn, args = self.build()
        shardings = self.sharding.of(args, devices)
        sharded = jax.tree.map(
            lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
            args,
            shardings,
        )
        (donated,) = self.donate_argnums
        return fn, sharded, {"out_shardings": (shardings[donated], None)}


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
        sharding: Sharding | None = None,
    ) -> Program:
        """`model(params, *inputs)`; `donate_argnums` counts the parameters as argument 0."""
        build = functools.partial(_build_forward, model, inputs)
        return Program(name, self.family, self.name, build, donate_argnums, chips, sharding)

    def train(
        self,
        name: str,
        loss: Callable[..., jax.Array],
        *batch: Any,
        optimizer: Optimizer = ADAM,
        chips: tuple[str, ...] = TPU_V4I,
        sharding: Sharding | None = None,
    ) -> Program:
        """One optimiser step on `loss(params, *batch)`, with the state donated."""
        build = functools.partial(train_step, loss, batch, optimizer)
        return Program(name, self.family, self.name, build, (0,), chips, sharding)


def _build_forward(model: Callable[..., Any], inputs: tuple[Any, ...]) -> Built:
    def forward(params: dict[str, jax.Array], *args: Any) -> Any:
        return model(Params(params), *args)

    return forward, (declare(model, *inputs), *inputs)
