"""Wall clocks that are set forwards or back while a process runs.

They need clock_jump.c, which is preloaded into the process.
"""

from __future__ import annotations

import pathlib
import random
import struct

from fault import Fault
from preload import check_loaded, environment_of
from roles import SET_BACK_SECONDS, Role

SOURCE = pathlib.Path(__file__).with_name("clock_jump.c")

MINUTE = 60.0
DAY = 24 * 60 * MINUTE
JUMPS = [2 * MINUTE, 10 * MINUTE, DAY, 3 * DAY]


class Clock:
    """The wall clock of one process."""

    def __init__(self, library: pathlib.Path, file: pathlib.Path) -> None:
        self._library = library
        self._file = file
        self.set_ahead(0.0)

    def environment(self) -> dict[str, str]:
        """Returns the environment variables of the process."""
        return environment_of(self._library) | {"FAULTS_CLOCK": str(self._file)}

    def check(self, role: Role) -> None:
        """Notes a failure if the process of the role does not follow the clock."""
        check_loaded(role, self._library)

    def set_ahead(self, seconds: float) -> None:
        """Sets the clock so many seconds before the machine's; behind it if negative."""
        # Processes have mapped the file, so it must stay the same file.
        with self._file.open("r+b" if self._file.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("<q", int(seconds * 1e9)))


class ClockJump(Fault):
    """The clock is set forwards or back, by minutes or days, and set right after some seconds."""

    lets_start = True

    def __init__(self, role: Role, clock: Clock, rand: random.Random) -> None:
        self._role = role
        self._clock = clock
        self._ahead = rand.choice([-1, 1]) * rand.choice(JUMPS)
        self.kind = f"clock set {'forwards' if self._ahead > 0 else 'back'}"
        self.victim = role.name
        self.seconds = rand.uniform(3, 12)

    def begin(self) -> None:
        self._clock.check(self._role)
        self._clock.set_ahead(self._ahead)

    def end(self) -> None:
        self._clock.set_ahead(0.0)
        if self._ahead > 0:  # this sets the clock back
            self._role.wait_for_own_end(SET_BACK_SECONDS)
