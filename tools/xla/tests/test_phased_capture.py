"""Captures of a search whose compiles are in phases."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import World

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.saved_capture import SavedCapture
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.variants import ALL_HBM, DEFAULT, standard_variants
from mallocmuzero_xla.errors import BudgetSpentError, CaptureError
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.search.phased_capture import Phases, capture_in_phases
from mallocmuzero_xla.search.search_capture import Resources

MakeWorld = Callable[..., World]
PROGRAM = LoweredProgram("step", "v5e:1x1", (0,), b"", b"", {}, "1" * 64)


class FakePhases:
    """Compiles in phases whose texts are the options, but None for those with a word of `fails`."""

    def __init__(self, *fails: str) -> None:
        self._fails = fails
        self.asked: list[str] = []

    def text(self, options: dict[str, str]) -> str | None:
        words = str(options)
        self.asked.append(words)
        return None if any(word in words for word in self._fails) else f"HloModule {words}"


@pytest.fixture
def capture(tmp_path: pathlib.Path) -> Callable[..., SavedCapture]:
    """Returns a function that makes a capture with two samples."""
    folders = (tmp_path / f"capture_{number}" for number in range(10))

    def make(text: Any, chip: str = "tpu_v5e", seconds: float = 600.0) -> SavedCapture:
        progress = LoopProgress(quiet=True)
        captures = tmp_path / "captures"
        resources = Resources(CHIPS[chip], captures, Binary(), Budget(seconds), progress)
        phases = Phases(text, compile_seconds=0.1, folder=next(folders))
        return capture_in_phases(PROGRAM, resources, standard_variants(2), phases)

    return make


def whole_compiles(world: World) -> int:
    return sum(line.startswith("compile") for line in world.log())


def test_only_everything_in_hbm_is_compiled_to_the_end(make_world: MakeWorld, capture: Any) -> None:
    world = make_world(promised={}, cycles={"all_hbm_under_own": 500})
    phases = FakePhases()
    made = capture(phases.text)
    assert made.variants == (ALL_HBM, DEFAULT, "sample_0", "sample_1")
    assert whole_compiles(world) == 1
    assert '"compiled": true' in made.read(ALL_HBM)
    assert made.read(DEFAULT) == "HloModule {}"
    assert len(phases.asked) == 3
    # A compile of the fake process takes 0.5 s.
    assert made.compile_seconds == 0.5


def test_nothing_is_compiled_to_the_end_where_instructions_have_a_memory_of_their_own(
    make_world: MakeWorld, capture: Any
) -> None:
    world = make_world(promised={}, cycles={})
    made = capture(FakePhases().text, chip="tpu_v4i")
    assert len(made.variants) == 4
    assert whole_compiles(world) == 0
    assert made.compile_seconds == 0.1


def test_texts_of_compiles_to_the_end_are_reused(make_world: MakeWorld, capture: Any) -> None:
    world = make_world(promised={}, cycles={})
    first, again = (capture(FakePhases().text) for _ in range(2))
    assert whole_compiles(world) == 1
    assert again.texts() == first.texts()


def test_a_required_text_without_phases_is_compiled_to_the_end(
    make_world: MakeWorld, capture: Any
) -> None:
    world = make_world(promised={}, cycles={})
    made = capture(FakePhases("{}").text)
    assert whole_compiles(world) == 2
    assert '"compiled": true' in made.read(DEFAULT)


def test_a_sample_that_fails_is_drawn_again_once(make_world: MakeWorld, capture: Any) -> None:
    make_world(promised={}, cycles={})
    phases = FakePhases("seed: 1 ", "seed: 2 ", "seed: 100002 ")
    made = capture(phases.text)
    assert made.variants == (ALL_HBM, DEFAULT, "sample_0")
    assert "seed: 100001 " in made.read("sample_0")
    assert len(phases.asked) == 5


def test_a_capture_without_time_has_no_samples(make_world: MakeWorld, capture: Any) -> None:
    make_world(promised={}, cycles={})

    def text(options: dict[str, str]) -> str:
        if options:
            raise BudgetSpentError
        return "HloModule default"

    assert capture(text).variants == (ALL_HBM, DEFAULT)
    assert capture(FakePhases().text, seconds=1e-6).variants == (ALL_HBM, DEFAULT)


def test_a_program_that_does_not_compile_in_hbm_alone_has_no_capture(
    make_world: MakeWorld, capture: Any
) -> None:
    make_world(promised={}, cycles={}, aborts=["all_hbm_under_own"])
    with pytest.raises(
        CaptureError, match=r"^it does not compile with everything in HBM .*made up"
    ):
        capture(FakePhases().text)
