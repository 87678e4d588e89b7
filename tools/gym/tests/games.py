"""Helpers of the tests: programs that are quick to play, and random legal actions."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt
from mallocmuzero_gym import MallocEnv

ROOT = pathlib.Path(__file__).resolve().parents[3]

# The program of the project that imports, prices and checks.
BINARY = pathlib.Path(
    os.environ.get("MALLOCMUZERO_BINARY", ROOT / "build" / "bin" / "mallocmuzero")
)

# Contended, short, and on two chips.
SMALL = ["tpu_v6e/dcn_v2", "tpu_v4i/unet_32"]


def random_action(mask: npt.NDArray[Any], random: np.random.Generator) -> int:
    """Returns one of the actions that `mask` has."""
    return int(random.choice(np.flatnonzero(mask)))


def play_randomly(env: MallocEnv, seed: int) -> tuple[float, dict[str, Any]]:
    """Plays a game of random legal actions; returns the sum of its rewards and the last info."""
    random = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    rewards, terminated = 0.0, False
    while not terminated:
        action = random_action(info["action_mask"], random)
        _, reward, terminated, truncated, info = env.step(action)
        assert not truncated
        rewards += reward
    return rewards, info
