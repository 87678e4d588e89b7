"""The programs of other projects: names, origins, families, shapes, captures. Nothing is compiled.

Tests that build a model are skipped where its library is missing.
"""

from __future__ import annotations

import collections
import csv
import json
import math
import os
import pathlib
import re
import sys

import jax
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER))
os.environ.setdefault("KERAS_BACKEND", "jax")  # before keras is imported

from zoo import PROGRAMS, Program  # noqa: E402

CHIPS = ("tpu_v5e", "tpu_v6e")
SPLITS = {"train", "validation", "test"}
BYTES = 2**30

# Families of keras-hub that are kept for checks of what was learned, each with its relatives. No
# model of the registry is one of them or has a layer of one.
KEPT_FOR_CHECKS = {
    "gemma": "gemma gemma3 gemma3n gemma4 pali_gemma siglip t5gemma t5gemma2",
    "llama": "llama llama3 smollm3",
    "mixtral": "mixtral mistral",
    "whisper": "whisper moonshine",
    "vit": "vit vit_det deit dinov2 dinov3 depth_anything parseq blip2 sam sam3 video_prism",
    "segformer": "segformer mit",
    "resnet": "resnet basnet",
    "densenet": "densenet",
}
KEPT = {name for names in KEPT_FOR_CHECKS.values() for name in names.split()}


def read_split(folder: pathlib.Path) -> list[dict[str, str]]:
    with (folder / "split.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def bytes_of(tree: object) -> int:
    return sum(math.prod(a.shape) * a.dtype.itemsize for a in jax.tree.leaves(tree))


def build(program: Program) -> tuple[object, tuple[object, ...]]:
    """Builds the program, or skips the test."""
    pytest.importorskip("keras_hub" if program.name.startswith("keras_hub_") else "flax")
    pytest.importorskip("optax")
    return program.build()


def programs_in_folder() -> list[pathlib.Path]:
    return sorted(FOLDER.glob("tpu_*/*.program"))


def test_names_are_well_formed_and_say_the_origin() -> None:
    for name, program in PROGRAMS.items():
        assert program.name == name
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)+", name), name
        library = "keras_hub" if name.startswith("keras_hub_") else "flax"
        assert name.startswith(f"{library}_")
        assert program.origin.startswith(("keras_hub.", "flax examples/"))
        assert program.origin.startswith(library)
        assert (program.layers is not None) == (library == "keras_hub")
        assert set(program.chips) <= set(CHIPS)


def test_no_name_and_no_origin_is_of_a_family_that_is_kept_for_checks() -> None:
    for name, program in PROGRAMS.items():
        words = set(name.removeprefix("keras_hub_").split("_"))
        assert not words & KEPT, name
        made = program.origin.rpartition(".")[2].lower()
        assert not any(made.startswith(kept.replace("_", "")) for kept in KEPT), program.origin


def test_split_lists_every_program_once_with_its_family() -> None:
    rows = read_split(FOLDER)
    assert len({row["name"] for row in rows}) == len(rows)
    assert {row["name"]: row["family"] for row in rows} == {
        name: program.family for name, program in PROGRAMS.items()
    }


def test_split_keeps_families_together_and_agrees_with_that_of_the_corpus() -> None:
    splits = collections.defaultdict(set)
    for folder in (FOLDER, FOLDER.parent / "workloads"):
        for row in read_split(folder):
            splits[row["family"]].add(row["split"])
    assert {family: s for family, s in splits.items() if len(s) > 1} == {}
    assert set.union(*splits.values()) == SPLITS


def test_no_program_has_the_name_of_one_in_the_corpus() -> None:
    assert not set(PROGRAMS) & {row["name"] for row in read_split(FOLDER.parent / "workloads")}


def test_train_and_test_have_families_on_each_chip() -> None:
    split = {row["name"]: row["split"] for row in read_split(FOLDER)}
    for chip in CHIPS:
        found = {split[path.stem] for path in programs_in_folder() if path.parent.name == chip}
        assert found >= {"train", "test"}


def test_every_program_in_the_folder_is_registered_for_its_chip() -> None:
    paths = programs_in_folder()
    assert len(paths) >= 40
    for path in paths:
        assert path.parent.name in PROGRAMS[path.stem].chips


def test_every_program_in_the_folder_has_the_texts_that_it_was_made_of() -> None:
    for path in programs_in_folder():
        capture = FOLDER / "captures" / path.parent.name / path.stem
        record = json.loads((capture / "capture.json").read_text())
        assert record["program"] == path.stem
        assert record["chip"] == path.parent.name
        variants = set(record["variants"])
        assert variants >= {"all_hbm", "default"}
        assert any(name.startswith("sample_") for name in variants)
        assert {text.name.removesuffix(".hlo.zst") for text in capture.glob("*.zst")} == variants


def test_all_texts_are_of_the_versions_that_the_readme_names() -> None:
    readme = (FOLDER / "README.md").read_text()
    records = [json.loads(path.read_text()) for path in FOLDER.glob("captures/*/*/capture.json")]
    versions = {(record["versions"]["jax"], record["versions"]["libtpu"]) for record in records}
    ((jax_version, libtpu_version),) = versions
    assert f"jax=={jax_version} libtpu=={libtpu_version}" in readme


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_program_traces_abstractly(program: Program) -> None:
    fn, args = build(program)
    assert all(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree.leaves(args))
    assert 0 < bytes_of(args) < BYTES
    outputs = jax.eval_shape(fn, *args)
    assert 0 < bytes_of(outputs) < BYTES
    back = collections.Counter((a.shape, a.dtype) for a in jax.tree.leaves(outputs))
    for index in program.donate_argnums:
        donated = collections.Counter((a.shape, a.dtype) for a in jax.tree.leaves(args[index]))
        assert donated <= back


@pytest.mark.parametrize(
    "program",
    [program for program in PROGRAMS.values() if program.layers],
    ids=lambda program: program.name,
)
def test_no_layer_is_of_a_family_that_is_kept_for_checks(program: Program) -> None:
    pytest.importorskip("keras_hub")
    assert program.layers is not None
    modules = program.layers()
    assert any(module.startswith("keras_hub.src.") for module in modules)
    families = {module.split(".")[3] for module in modules if ".src.models." in module}
    assert not families & KEPT


def test_no_weight_gets_a_value_while_a_model_of_keras_is_traced() -> None:
    for name in ("keras_hub_bert_2x1024_b32x256", "keras_hub_gpt2_decode_4x1024_b16x1024"):
        fn, args = build(PROGRAMS[name])
        jaxpr = str(jax.make_jaxpr(fn)(*args))
        assert "dot_general" in jaxpr
        assert "random" not in jaxpr
        assert "threefry" not in jaxpr
