"""The ladder of depths: names, families and shapes. Nothing is compiled."""

from __future__ import annotations

import pathlib
import re
import sys

import jax

WORKLOADS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(WORKLOADS))

import ladder  # noqa: E402
import zoo  # noqa: E402


def arrays(name: str) -> int:
    """The number of arrays among the arguments of a program."""
    return len(jax.tree.leaves(ladder.PROGRAMS[name].build()[1]))


def test_every_model_is_there_at_every_depth() -> None:
    depths: dict[str, list[int]] = {}
    for name in ladder.PROGRAMS:
        match = re.fullmatch(r"([a-z]+)_(\d+)(x\w+)", name)
        assert match, name
        depths.setdefault(match[1] + match[3], []).append(int(match[2]))
    assert len(depths) == 4
    assert all(tuple(found) == ladder.DEPTHS for found in depths.values())


def test_each_layer_has_the_same_weights() -> None:
    for model in ("gpt_{}x512_train_b4x256", "dit_{}x512_train_b8x256"):
        seven, fourteen, twenty_eight = (arrays(model.format(n)) for n in (7, 14, 28))
        assert twenty_eight - fourteen == 2 * (fourteen - seven) > 0


def test_families_are_those_of_the_zoo() -> None:
    families = {program.family for program in zoo.PROGRAMS.values()}
    assert {program.family for program in ladder.PROGRAMS.values()} <= families


def test_the_least_depth_is_the_zoo_program_where_there_is_one() -> None:
    ours = ladder.PROGRAMS["gpt_7x512_train_b4x256"].build()[1]
    theirs = zoo.PROGRAMS["gpt_7x512_train_b4x256"].build()[1]
    assert jax.tree.all(jax.tree.map(lambda a, b: a.shape == b.shape, ours, theirs))
