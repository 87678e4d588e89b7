"""Many games of mallocGame at once, stepped by C++ without Python's global lock."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from mallocmuzero_gym import _game
from mallocmuzero_gym.corpus import Named, find_programs
from mallocmuzero_gym.environment import (
    DEFAULT_PROGRAM,
    check_options,
    draw_program,
    full_name,
    make_batch,
    named_program,
    whole_seed,
)
from mallocmuzero_gym.observations import Observation, ObservationFormat

# A thread with fewer games than these would mostly wait.
_GAMES_OF_A_THREAD = 32

Seeds: TypeAlias = (
    int | np.integer[Any] | Sequence[SupportsIndex | None] | npt.NDArray[np.integer[Any]] | None
)

_Step = tuple[
    Observation,
    npt.NDArray[np.float64],
    npt.NDArray[np.bool_],
    npt.NDArray[np.bool_],
    dict[str, Any],
]


class MallocVectorEnv(gymnasium.vector.VectorEnv[Observation, npt.NDArray[np.int64], Any]):
    """Games side by side, each like a MallocEnv.

    A terminated game starts anew in the next step (AutoresetMode.NEXT_STEP): that step ignores the
    game's action, and its reward is 0. Game k of reset(seed=s) draws its programs as a MallocEnv
    with seed s + k does.

    Args:
        num_envs: the number of games.
        program, observation, flat, illegal_actions: as in MallocEnv. With "raise", one illegal
            action raises ValueError, and all games stay as they are.
        copy: False returns observations and action masks that show the memory of the games. The
            next call changes them.
        threads: threads that play at the same time; by default one for each core that the process
            may use, but at least 32 games a thread. Results do not depend on it.
    """

    # Gymnasium declares `metadata` as an attribute of instances.
    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        program: Named | Iterable[Named] = DEFAULT_PROGRAM,
        observation: str = "full",
        flat: bool = False,
        illegal_actions: str = "nearest",
        copy: bool = True,
        threads: int | None = None,
    ) -> None:
        if threads is None:
            most = max(1, num_envs // _GAMES_OF_A_THREAD)
            threads = min(_game.cores(), most)
        self.num_envs = num_envs
        self.programs = find_programs(program)
        self._format = ObservationFormat(observation, flat)
        self._copy = copy
        self._batch = make_batch(self.programs, num_envs, self._format, illegal_actions, threads)
        self._arrays = _game.arrays(self._batch)
        generators = [seeding.np_random() for _ in range(num_envs)]
        self._random = [generator for generator, _ in generators]
        self._random_seeds = [seed for _, seed in generators]
        # Programs that were drawn for games, by game, until the games start with them.
        self._drawn: dict[int, int] = {}
        self.single_observation_space = self._format.space()
        self.single_action_space = gymnasium.spaces.Discrete(3)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: Seeds = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts all games, or those of a mask. The others go on, and are in what it returns.

        Args:
            seed: that of game 0, which counts up; or one for each game.
            options: `"program"` chooses the program, by its index in `programs`. `"reset_mask"` is
                an array of booleans, one for each game: which games to start.
        """
        # Everything is checked before the first game changes.
        check_options(options, "program", "reset_mask")
        named = named_program(self.programs, options)
        games = self._chosen(options)
        seeds = self._seeds(seed)
        seeded = {k: seeding.np_random(s) for k, s in enumerate(seeds) if s is not None}
        for game in games:
            if game in seeded:
                self._random[game], self._random_seeds[game] = seeded[game]
                self._drawn.pop(game, None)
            self._batch.reset(game, self._draw(game) if named is None else named)
            if named is None:
                del self._drawn[game]
        return self._observe(), self._info()

    def step(self, actions: npt.ArrayLike) -> _Step:
        """Takes an action in each game. No game is truncated."""
        checked = self._checked(actions)
        several = len(self.programs) > 1
        ended = np.flatnonzero(self._arrays["terminated"]).tolist() if several else []
        for game in ended:
            self._batch.choose_next(game, self._draw(game))
        self._batch.step(checked)
        for game in ended:
            del self._drawn[game]
        return (
            self._observe(),
            self._arrays["rewards"].copy(),
            self._arrays["terminated"].astype(np.bool_),
            np.zeros(self.num_envs, np.bool_),
            self._info(),
        )

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generator of each game, which draws its programs."""
        return tuple(self._random)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of each game's generator."""
        return tuple(self._random_seeds)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns which actions are legal in each game, none in a terminated one: [num_envs, 3]."""
        return self._arrays["action_masks"].astype(np.bool_)

    def playing(self, game: int) -> _game.Program:
        """Returns the program of a game."""
        return self.programs[self._batch.program(game)]

    def snapshot(self, game: int) -> _game.Snapshot:
        """Returns the state of a game."""
        return self._batch.snapshot(game)

    def restore(self, game: int, snapshot: _game.Snapshot) -> None:
        """Sets a game to a snapshot. The next step() goes on from there."""
        self._batch.restore(game, snapshot)

    def observations(self) -> tuple[Observation, dict[str, Any]]:
        """Returns what reset() returns, of the present state: after restore(), for example."""
        return self._observe(), self._info()

    def _seeds(self, seed: Seeds) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            first = operator.index(seed)
            return range(first, first + self.num_envs)
        if len(seed) != self.num_envs:
            raise ValueError(f"seed: expected a number or {self.num_envs} of them, not {len(seed)}")
        return [whole_seed(own) for own in seed]

    def _chosen(self, options: dict[str, Any] | None) -> list[int]:
        """Returns the games that reset() starts."""
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return list(range(self.num_envs))
        if (
            not isinstance(mask, np.ndarray)
            or mask.shape != (self.num_envs,)
            or mask.dtype != np.bool_
            or not mask.any()
        ):
            raise ValueError(
                f"options['reset_mask']: expected an array of {self.num_envs} booleans, at least "
                "one of them True"
            )
        chosen: list[int] = np.flatnonzero(mask).tolist()
        return chosen

    def _draw(self, game: int) -> int:
        """Draws the next program of a game, once: a call that is refused draws none twice."""
        if game not in self._drawn:
            self._drawn[game] = draw_program(self.programs, self._random[game])
        return self._drawn[game]

    def _checked(self, actions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise ValueError(
                f"actions: expected {self.num_envs} integers, not an array of {array.dtype} with "
                f"shape {array.shape}"
            )
        return np.ascontiguousarray(array, np.int64)

    def _observe(self) -> Observation:
        rows = self._arrays["observations"]
        return self._format.present(rows.copy() if self._copy else rows)

    def _info(self) -> dict[str, Any]:
        masks = self._arrays["action_masks"]
        info: dict[str, Any] = {
            "action_mask": masks.copy() if self._copy else masks,
            "cycles": self._arrays["cycles"].copy(),
            "gain": self._arrays["gains"].copy(),
            "illegal": self._arrays["illegal"].astype(np.bool_),
        }
        # Gymnasium's wrappers expect an array _KEY that says which games have the entry KEY.
        info |= {f"_{key}": np.ones(self.num_envs, np.bool_) for key in info}
        info["_gain"] = ~np.isnan(info["gain"])
        return info

    def program_names(self) -> list[str]:
        """Returns the names of the programs that the games play."""
        return [full_name(self.playing(game)) for game in range(self.num_envs)]
