"""The zoo and its split: names, families and shapes. Nothing is compiled."""

from __future__ import annotations

import collections
import csv
import math
import pathlib
import re
import sys

import jax
import pytest
from traces import trace_of

WORKLOADS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(WORKLOADS))

from zoo import PROGRAMS, Program  # noqa: E402

SPLITS = {"train", "validation", "test"}
CHIPS = {"tpu_v4i", "tpu_v5e", "tpu_v6e", "tpu7x"}
HBM_BYTES = 8 * 2**30


def read_split() -> list[dict[str, str]]:
    with (WORKLOADS / "split.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def bytes_of(tree: object) -> int:
    return sum(math.prod(a.shape) * a.dtype.itemsize for a in jax.tree.leaves(tree))


def test_names_are_unique_and_well_formed() -> None:
    for name, program in PROGRAMS.items():
        assert program.name == name
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)+", name), name


def test_architectures_have_at_most_three_variants_and_one_family() -> None:
    variants = collections.Counter(program.architecture for program in PROGRAMS.values())
    assert {a: n for a, n in variants.items() if n > 3} == {}
    families = {(program.architecture, program.family) for program in PROGRAMS.values()}
    assert len(families) == len(variants)


# Programs of several devices, and with a Pallas kernel, are for the chips that such models run on.
NOT_FOR_TPU_V4I = {"sharded_language_model", "flash_attention"}


def test_chips_are_known_and_every_other_program_is_for_tpu_v4i() -> None:
    for program in PROGRAMS.values():
        assert ("tpu_v4i" in program.chips) == (program.family not in NOT_FOR_TPU_V4I)
        assert set(program.chips) <= CHIPS


def test_split_lists_every_program_once_with_its_family() -> None:
    rows = read_split()
    assert len({row["name"] for row in rows}) == len(rows)
    assert {row["name"]: row["family"] for row in rows} == {
        name: program.family for name, program in PROGRAMS.items()
    }


def test_split_keeps_families_together() -> None:
    splits = collections.defaultdict(set)
    for row in read_split():
        splits[row["family"]].add(row["split"])
    assert {family: s for family, s in splits.items() if len(s) > 1} == {}
    assert set.union(*splits.values()) == SPLITS


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_program_traces_abstractly(program: Program) -> None:
    trace = trace_of(program.name)
    leaves = jax.tree.leaves(trace.args)
    assert all(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    assert 0 < bytes_of(trace.args) < HBM_BYTES
    assert 0 < bytes_of(trace.outputs) < HBM_BYTES


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_donated_arguments_come_back_with_the_same_shapes(program: Program) -> None:
    trace = trace_of(program.name)
    outputs = collections.Counter((a.shape, a.dtype) for a in jax.tree.leaves(trace.outputs))
    for index in program.donate_argnums:
        donated = collections.Counter(
            (a.shape, a.dtype) for a in jax.tree.leaves(trace.args[index])
        )
        assert donated <= outputs


SHARDED = [program for program in PROGRAMS.values() if program.sharding is not None]


@pytest.mark.parametrize("program", SHARDED, ids=lambda program: program.name)
def test_sharded_arguments_can_be_split_and_come_back_as_they_went(program: Program) -> None:
    assert program.sharding is not None
    assert set(program.sharding.topologies) == set(program.chips)
    fn, args, options = program.build_over(jax.devices())
    split = [leaf for leaf in jax.tree.leaves(args) if "x" in tuple(leaf.sharding.spec)]
    assert len(split) > len(jax.tree.leaves(args)) / 3
    for leaf in split:
        axis = list(leaf.sharding.spec).index("x")
        assert leaf.shape[axis] % 8 == 0, leaf
    (donated,) = program.donate_argnums
    shardings = jax.tree.map(lambda leaf: leaf.sharding, args[donated])
    assert options["out_shardings"] == (shardings, None)
    first = jax.eval_shape(fn, *args)[0]
    assert jax.tree.structure(first) == jax.tree.structure(args[donated])
