"""mallocGame as a Gymnasium environment."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
import numpy.typing as npt

from mallocmuzero_gym import _game
from mallocmuzero_gym.corpus import Named, find_programs
from mallocmuzero_gym.observations import Observation, ObservationFormat

COPY, NO_COPY, DROP = range(3)

DEFAULT_PROGRAM = "tpu_v6e/gpt_4x1024_b16x512"

ILLEGAL_ACTIONS = ("nearest", "raise")


class MallocEnv(gymnasium.Env[Observation, np.int64]):
    """One game of mallocGame: an action for each decision, from the first to the last access.

    Actions are COPY, NO_COPY and DROP; `info["action_mask"]` and `action_masks()` say which of them
    are legal. The reward of an action is the share of the all-HBM cycles that it saves. After the
    last decision the game is terminated, and the observation is 0 everywhere.

    Args:
        program: names of programs (see find_programs). reset() draws one of them.
        observation: "full", or "brief" for what is about the current access only.
        flat: whether an observation is one array, or else a dictionary of blocks.
        illegal_actions: "nearest" replaces an illegal action by the closest legal one, and sets
            info["illegal"]. "raise" raises ValueError instead, and the game stays as it is.
        render_mode: None, "ansi" for some lines of text, or "svg" for a picture as a text.
    """

    # Gymnasium declares `metadata` as an attribute of instances.
    metadata = {"render_modes": ["ansi", "svg"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        program: Named | Iterable[Named] = DEFAULT_PROGRAM,
        observation: str = "full",
        flat: bool = False,
        illegal_actions: str = "nearest",
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode {render_mode!r}: expected None, 'ansi' or 'svg'")
        self.render_mode = render_mode
        self.programs = find_programs(program)
        self._format = ObservationFormat(observation, flat)
        self.observation_space = self._format.space()
        self.action_space = gymnasium.spaces.Discrete(3)
        self._batch = make_batch(self.programs, 1, self._format, illegal_actions)
        arrays = _game.arrays(self._batch)
        self._row = arrays["observations"][0]
        self._mask = arrays["action_masks"][0]
        self._cycles, self._gains = arrays["cycles"], arrays["gains"]

    @property
    def program(self) -> _game.Program:
        """The program that is played."""
        return self.programs[self._batch.program(0)]

    @property
    def actions(self) -> npt.NDArray[np.int64]:
        """The actions taken so far, one for each decision."""
        return self._batch.actions(0)

    @property
    def total_return(self) -> float:
        """Share of the all-HBM cycles saved so far: the initial return plus all rewards."""
        return self._batch.total_return(0)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns which actions are legal, in the form that MaskablePPO of sb3-contrib expects."""
        legal: npt.NDArray[np.bool_] = self._mask != 0
        return legal

    def reset(
        self, *, seed: SupportsIndex | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts a game. `options["program"]` chooses the program, by its index in `programs`."""
        check_options(options, "program")
        named = named_program(self.programs, options)
        super().reset(seed=whole_seed(seed))
        self._batch.reset(
            0, draw_program(self.programs, self.np_random) if named is None else named
        )
        return self._observe(), self._first_info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Takes an action. `truncated` is always False."""
        index = operator.index(action)
        if not COPY <= index <= DROP:
            raise ValueError(f"the action {index} does not exist: expected 0, 1 or 2")
        reward, terminated, cycles, gain, illegal = self._batch.step_game(0, index)
        return self._observe(), reward, terminated, False, self._info(cycles, gain, illegal)

    def snapshot(self) -> _game.Snapshot:
        """Returns the state of the game. A snapshot can be restored any number of times."""
        return self._batch.snapshot(0)

    def restore(self, snapshot: _game.Snapshot) -> tuple[Observation, dict[str, Any]]:
        """Goes to a snapshot of this or of another environment with the same program.

        Returns what reset() returns. Raises ValueError if the snapshot is of another program.
        """
        self._batch.restore(0, snapshot)
        return self._observe(), self._first_info()

    def save_mapping(self, path: str | os.PathLike[str]) -> None:
        """Writes the mapping of a finished game to a file, which `mallocmuzero` reads.

        Raises OSError if the file cannot be written, and RuntimeError if the game is not finished.
        """
        self._batch.save_mapping(0, os.fspath(path))

    def render(self) -> str | None:
        """Returns the text or the picture of the game; None without a render mode.

        The picture shows the game played to its end with DROP, beside the compiler's placement.
        """
        if self.render_mode is None:
            return None
        return self._batch.text(0) if self.render_mode == "ansi" else self._batch.svg(0)

    def _observe(self) -> Observation:
        return self._format.present(self._row.copy())

    def _first_info(self) -> dict[str, Any]:
        info = self._info(float(self._cycles[0]), float(self._gains[0]), False)
        info["program"] = full_name(self.program)
        info["initial_return"] = self._batch.initial_return(0)
        return info

    def _info(self, cycles: float, gain: float, illegal: bool) -> dict[str, Any]:
        info = {"action_mask": self._mask.copy(), "cycles": cycles, "illegal": illegal}
        if not math.isnan(gain):
            info["gain"] = gain
        return info


def make_batch(
    programs: list[_game.Program],
    games: int,
    observation: ObservationFormat,
    illegal_actions: str,
    threads: int = 1,
) -> _game.GameBatch:
    """Returns games of the first program."""
    if illegal_actions not in ILLEGAL_ACTIONS:
        raise ValueError(
            f"illegal_actions {illegal_actions!r}: expected one of {', '.join(ILLEGAL_ACTIONS)}"
        )
    return _game.GameBatch(
        programs,
        games,
        brief=observation.brief,
        raise_illegal=illegal_actions == "raise",
        threads=threads,
    )


def whole_seed(seed: SupportsIndex | None) -> int | None:
    """Returns a seed as Gymnasium takes it, which refuses the integers of NumPy."""
    return None if seed is None else operator.index(seed)


def check_options(options: dict[str, Any] | None, *known: str) -> None:
    """Raises ValueError if reset() does not know one of its options."""
    for name in options or {}:
        if name not in known:
            raise ValueError(f"options: there is no {name!r}: expected {' or '.join(known)}")


def named_program(programs: list[_game.Program], options: dict[str, Any] | None) -> int | None:
    """Returns the index of the program that the options of reset() name; None if they name none."""
    named = (options or {}).get("program")
    if named is None:
        return None
    index = operator.index(named)
    if not 0 <= index < len(programs):
        raise ValueError(f"options['program'] {index}: expected 0 to {len(programs) - 1}")
    return index


def draw_program(programs: list[_game.Program], random: np.random.Generator) -> int:
    """Returns the index of a random program."""
    return int(random.integers(len(programs))) if len(programs) > 1 else 0


def full_name(program: _game.Program) -> str:
    """Returns the name that is unique in the corpus."""
    return f"{program.chip}/{program.name}"
