"""Exports of the generalist in onnxruntime and in Python's torch, against LibTorch."""

from __future__ import annotations

import functools
import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import onnx
import pytest
from conftest import CHECKPOINT, PROGRAM, PROGRAMS, ROOT, SAMPLES, Export, binary, run, run_example

OUTPUTS = {
    "latent",
    "policy_logits",
    "value_logits",
    "value",
    "next_latent",
    "reward_logits",
    "reward",
}


@functools.cache
def agents_game(program: Path) -> dict[str, Any]:
    """Returns the game that the agent plays without search, by LibTorch."""
    done = run(
        *("bench", "play", "--checkpoint", str(CHECKPOINT), "--program", str(program)),
        *("--simulations", "0", "--json"),
    )
    assert done.returncode == 0, done.stderr
    game: dict[str, Any] = json.loads(done.stdout)["programs"][0]
    return game


def test_outputs_equal_those_of_libtorch_for_every_batch(export: Export) -> None:
    done = run_example(export, "check_samples.py", "--batch", "1,7,64")
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert report["samples"] == SAMPLES
    assert set(report["differences"]) == {"1", "7", "64"}
    for outputs in report["differences"].values():
        assert set(outputs) == OUTPUTS
        assert max(outputs.values()) <= 1e-4


def test_check_samples_notices_wrong_numbers(export: Export, tmp_path: Path) -> None:
    for file in export.folder.iterdir():
        if file.name != "manifest.json":
            (tmp_path / file.name).symlink_to(file)
    manifest = json.loads((export.folder / "manifest.json").read_text("utf-8"))
    by_tensor = {sample["tensor"]: sample for sample in manifest["samples"]}
    by_tensor["value"]["file"] = by_tensor["reward"]["file"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    other = Export(export.format, tmp_path, export.python)
    done = run_example(other, "check_samples.py", "--batch", "64")
    assert done.returncode == 1, done.stderr
    outputs = json.loads(done.stdout)["differences"]["64"]
    assert {name for name, difference in outputs.items() if difference > 1e-4} == {"value"}


def test_check_samples_notices_what_is_no_number(export: Export, tmp_path: Path) -> None:
    other = Export(export.format, tmp_path / "export", export.python)
    shutil.copytree(export.folder, other.folder)
    file = other.folder / "samples" / "reward.npy"
    # The last float of the array, little-endian.
    file.write_bytes(file.read_bytes()[:-4] + struct.pack("<f", float("nan")))
    done = run_example(other, "check_samples.py", "--batch", "7")
    assert done.returncode == 1, done.stdout


def test_check_samples_names_a_folder_that_is_no_export(export: Export, tmp_path: Path) -> None:
    done = run_example(Export(export.format, tmp_path, export.python), "check_samples.py")
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path}: a folder that `mallocmuzero export` wrote expected\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_python_example_plays_the_game_of_the_agent(export: Export, program: Path) -> None:
    expected = agents_game(program)
    flags = ("--program", str(program), "--mallocmuzero", binary())
    done = run_example(export, "play_game.py", *flags)
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout)
    assert len(end["actions"]) == expected["decisions"]
    assert end["actions"] == expected["actions"]
    assert end["total_cycles"] == pytest.approx(expected["total_cycles"])


@pytest.mark.parametrize("export", ["torchscript"], indirect=True)
def test_the_cpp_example_plays_the_game_of_the_agent(export: Export) -> None:
    example = ROOT / "build" / "bin" / "play_game"
    done = subprocess.run(
        [example, export.folder, binary(), PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["actions"] == agents_game(PROGRAM)["actions"]


@pytest.mark.parametrize("export", ["onnx"], indirect=True)
def test_onnx_files_pass_the_checker(export: Export) -> None:
    for name in ("representation", "dynamics", "prediction"):
        onnx.checker.check_model(str(export.folder / f"{name}.onnx"), full_check=True)


@pytest.mark.parametrize("export", ["onnx"], indirect=True)
def test_the_manifest_says_what_the_files_say(export: Export) -> None:
    manifest = json.loads((export.folder / "manifest.json").read_text("utf-8"))
    assert manifest["onnx_opset"] == 17
    assert len(manifest["networks"]) == 3
    for network in manifest["networks"]:
        graph = onnx.load(export.folder / network["file"]).graph
        for described, values in (
            (network["inputs"], graph.input),
            (network["outputs"], graph.output),
        ):
            assert [tensor["name"] for tensor in described] == [value.name for value in values]
            for tensor, value in zip(described, values, strict=True):
                sizes = [dim.dim_value or -1 for dim in value.type.tensor_type.shape.dim]
                assert tensor["shape"] == sizes


def test_baselines_of_a_run_are_found_by_the_fingerprint_of_the_game(tmp_path: Path) -> None:
    flags = ("--iterations", "1", "--threads", "1")
    done = run("train", "--program", PROGRAM, "--output", tmp_path / "run", *flags)
    assert done.returncode == 0, done.stderr
    checkpoint = tmp_path / "run" / "checkpoints" / "latest"
    folder = tmp_path / "export"
    done = run("export", "--checkpoint", checkpoint, "--format", "onnx", "--output", folder)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert manifest["units"]["kind"] == "RELATIVE"
    game = json.loads(run("play", "--program", PROGRAM).stdout)["game"]  # its first line
    (program,) = json.loads((folder / manifest["units"]["baselines"]).read_text("utf-8"))[
        "programs"
    ]
    assert program["sha256"] == game["sha256"]
    assert len(program["mean"]) == game["accesses"] + 1
    assert program["mean"][0] > 0
    assert program["scale"] > 0
