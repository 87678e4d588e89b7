"""Tests of faults that need a preloaded library, on processes that do without it."""

from __future__ import annotations

import pathlib
import random
import sys
from collections.abc import Iterator

import pytest
from clocks import SOURCE, Clock, ClockJump
from fault import Fault
from power import Disk, HangingDisk, Library, PowerCut
from preload import compile_library, environment_of
from roles import Role

# Tells that it runs, and does nothing.
CODE = "import signal\nprint('ready', flush=True)\nsignal.pause()"


class NoShards:
    shards: tuple[Role, ...] = ()


@pytest.fixture
def role(tmp_path: pathlib.Path) -> Iterator[Role]:
    role = Role("victim", [sys.executable, "-c", CODE], tmp_path)
    yield role
    role.kill()


def faults_of(role: Role, folder: pathlib.Path) -> list[tuple[Fault, dict[str, str], str]]:
    """Returns each fault with the environment and the library that it needs."""
    clock = Clock(compile_library(SOURCE, folder, "cc"), folder / "clock")
    disk = Disk(Library(folder, "cc"), folder / "data", folder / "record")
    rand = random.Random(1)
    return [
        (ClockJump(role, clock, rand), clock.environment(), "clock_jump.so"),
        (HangingDisk(NoShards(), role, disk, 0), disk.environment(), "power_cut.so"),  # type: ignore
        (PowerCut(role, disk, rand), disk.environment(), "power_cut.so"),
    ]


@pytest.mark.parametrize("index", range(3))
def test_a_process_without_the_library_of_a_fault_is_a_failure(
    role: Role, tmp_path: pathlib.Path, index: int
) -> None:
    fault, environment, library = faults_of(role, tmp_path)[index]
    role.start()
    role.wait_for_log()
    fault.begin()
    assert role.unexpected == [f"victim has not loaded {library}"]
    role.kill()
    role.unexpected.clear()
    role.add_environment(environment)
    role.start()
    role.wait_for_log()
    fault.begin()
    assert role.unexpected == []


def test_a_library_that_the_loader_would_ignore_is_refused(tmp_path: pathlib.Path) -> None:
    for name in ("a folder", "a:folder"):
        with pytest.raises(ValueError, match="LD_PRELOAD takes no path with spaces or colons"):
            environment_of(tmp_path / name / "library.so")
