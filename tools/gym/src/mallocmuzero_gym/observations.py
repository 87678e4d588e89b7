"""The spaces of observations, and observations as dictionaries of blocks."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt

from mallocmuzero_gym import _game

KINDS = ("full", "brief")

# An array, or a dictionary of arrays: that depends on `flat`.
Observation: TypeAlias = Any


@dataclasses.dataclass(frozen=True)
class Block:
    """A part of the observation.

    Attributes:
        name: such as "decision".
        offset: of its first number in the flat observation.
        shape: of the block.
        features: names of the entries of the last dimension, of the first dimension for "memory".
    """

    name: str
    offset: int
    shape: tuple[int, ...]
    features: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many numbers the block has."""
        return math.prod(self.shape)


def observation_blocks(kind: str = "full") -> list[Block]:
    """Returns the blocks of observations of a kind, "full" or "brief", in their order.

    A brief observation has only the blocks that are about the current access: "decision", "access"
    (the first row of the block "accesses") and "program".
    """
    blocks = [
        Block(name, offset, shape, tuple(features))
        for name, offset, shape, features in _game.observation_blocks()
    ]
    if kind == "full":
        return blocks
    if kind != "brief":
        raise ValueError(f"observation {kind!r}: expected one of {', '.join(KINDS)}")
    brief, offset = [], 0
    for block in blocks:
        if block.name == "accesses":
            block = dataclasses.replace(block, name="access", shape=block.shape[1:])
        if block.name in ("decision", "access", "program"):
            brief.append(dataclasses.replace(block, offset=offset))
            offset += block.size
    return brief


class ObservationFormat:
    """How the rows that the game writes become observations.

    Args:
        kind: "full" or "brief".
        flat: whether an observation is one array, or else a dictionary of blocks.
    """

    def __init__(self, kind: str, flat: bool) -> None:
        self.blocks = observation_blocks(kind)
        self.brief = kind == "brief"
        self._flat = flat
        self._parts = [
            (block.name, slice(block.offset, block.offset + block.size), block.shape)
            for block in self.blocks
        ]

    def space(self) -> gymnasium.Space[Any]:
        """Returns the space of one observation. All numbers are in [-1, 1]."""
        if self._flat:
            return _box((sum(block.size for block in self.blocks),))
        return gymnasium.spaces.Dict({block.name: _box(block.shape) for block in self.blocks})

    def present(self, rows: npt.NDArray[np.float32]) -> Observation:
        """Returns the observation of a row, or of rows [games, numbers], without copying it."""
        if self._flat:
            return rows
        if rows.ndim == 1:  # every step of a single environment comes here
            return {name: rows[part].reshape(shape) for name, part, shape in self._parts}
        return {
            name: rows[:, part].reshape((len(rows), *shape)) for name, part, shape in self._parts
        }


def _box(shape: tuple[int, ...]) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(-1.0, 1.0, shape, np.float32)
