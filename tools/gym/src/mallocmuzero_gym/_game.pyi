"""The game in C++. Arguments out of range raise ValueError or IndexError."""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

class Program:
    """A program file. FileNotFoundError if there is none, ValueError if it cannot be played."""

    def __init__(self, path: str) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def chip(self) -> str: ...
    @property
    def fingerprint(self) -> str:
        """SHA-256 of the program, in hexadecimal digits."""

    @property
    def decisions(self) -> int:
        """Decisions of a game that always takes fast memory: about the length of all games."""

    @property
    def fast_memory_bytes(self) -> int: ...
    @property
    def all_hbm_cycles(self) -> float: ...
    @property
    def default_cycles(self) -> float | None:
        """Cycles of the compiler's own placement, as compiled; None if the file has none."""

    def instructions(self) -> dict[str, Any]:
        """Columns: lists of texts, or arrays. `cycles` and `fast_cycles` are those of one execution
        with all accesses in HBM and in fast memory.
        """

    def accesses(self) -> dict[str, npt.NDArray[Any]]:
        """Columns. `default_fast` is 1 where the compiler uses fast memory."""

    def buffers(self) -> dict[str, npt.NDArray[Any]]:
        """Columns, as in the message Buffer of program.proto."""

class Snapshot:
    """A game at some point."""

    @property
    def program_name(self) -> str: ...
    @property
    def actions(self) -> npt.NDArray[np.int64]:
        """The actions taken so far, one for each decision."""

    @property
    def cycles(self) -> float: ...
    @property
    def finished(self) -> bool: ...

class GameBatch:
    """Games side by side. Calls raise RuntimeError while another thread is in step()."""

    def __init__(
        self,
        programs: Sequence[Program],
        games: int,
        *,
        brief: bool = False,
        raise_illegal: bool = False,
        threads: int = 1,
    ) -> None: ...
    def reset(self, game: int, program: int) -> None: ...
    def choose_next(self, game: int, program: int) -> None:
        """Chooses the program with which step() starts a finished game anew."""

    def step(self, actions: npt.NDArray[np.int64]) -> None:
        """Takes an action in each game. A finished game ignores its action and starts anew.

        RuntimeError in a fork of the process that made the batch, if it has several threads.
        """

    def step_game(self, game: int, action: int) -> tuple[float, bool, float, float, bool]:
        """Returns reward, terminated, cycles, gain, and whether the action was replaced."""

    def snapshot(self, game: int) -> Snapshot: ...
    def restore(self, game: int, snapshot: Snapshot) -> None: ...
    def program(self, game: int) -> int:
        """The index of the game's program."""

    def actions(self, game: int) -> npt.NDArray[np.int64]: ...
    def total_return(self, game: int) -> float: ...
    def initial_return(self, game: int) -> float: ...
    def text(self, game: int) -> str: ...
    def svg(self, game: int) -> str: ...
    def save_mapping(self, game: int, path: str) -> None:
        """OSError if the file cannot be written, RuntimeError if the game is not finished."""

class Arrays(TypedDict):
    """The state of a batch: read-only, and every call of the batch changes the arrays."""

    observations: npt.NDArray[np.float32]
    action_masks: npt.NDArray[np.int8]
    rewards: npt.NDArray[np.float64]
    cycles: npt.NDArray[np.float64]
    gains: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.uint8]
    illegal: npt.NDArray[np.uint8]

def arrays(batch: GameBatch) -> Arrays: ...
def observation_blocks() -> list[tuple[str, int, tuple[int, ...], list[str]]]:
    """The blocks of a full observation: name, offset, shape, names of the features."""

def cores() -> int:
    """The cores that this process may use: in a container with a limit of two CPUs, two."""
