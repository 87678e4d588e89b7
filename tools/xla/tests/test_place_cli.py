"""The command place: output, exit codes, messages."""

from __future__ import annotations

import json
import pathlib

import pytest
from placed_world import (
    REPORT,
    FakeSearch,
    fake_search,
    multiply,
    needs_jax,
    output_of,
    shapes,
    threes,
)

from mallocmuzero_xla import load_placed
from mallocmuzero_xla.commands import cli
from mallocmuzero_xla.commands.place_cli import describe_placed

pytestmark = needs_jax

BUILDER = """
import jax, jax.numpy as jnp
def add(x, y):
    return x + y
def build():
    return add, (jax.ShapeDtypeStruct((4,), jnp.float32),) * 2, {"donate_argnums": 1}
"""


@pytest.fixture
def fake(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> FakeSearch:
    return fake_search(tmp_path, monkeypatch)


def test_limit_of_scoped_memory_is_told() -> None:
    limit = {"best_scoped_limit_bytes": 48 << 20}
    rounds = [{"number": 1, "promised_cycles": 9e5, "compiled_cycles": 9e5}]
    rounds[0]["scoped_limit_bytes"] = 48 << 20
    report = {"default_cycles": 1e6, "optimized_cycles": 9e5, "best_round": 1, "rounds": rounds}
    table = describe_placed({**report, **limit}).splitlines()
    assert table[2] == "scoped memory  48 MiB"
    assert "48 MiB of scoped memory: promised 0.900, compiled 0.900" in table[4]
    alone = describe_placed({**report, **limit, "best_round": None}).splitlines()
    assert alone[2:4] == ["scoped memory  48 MiB alone", "gain           10.00%"]


def test_samples_are_told_apart_from_rounds() -> None:
    rounds = [{"number": 1, "promised_cycles": 9e5, "compiled_cycles": 9e5, "is_sample": True}]
    rounds.append({"number": 2, "promised_cycles": 8e5, "compiled_cycles": 8e5})
    report = {"default_cycles": 1e6, "optimized_cycles": 8e5, "best_round": 2, "rounds": rounds}
    assert describe_placed(report).splitlines()[3:] == [
        "sample 1  promised 0.900, compiled 0.900 Mcycles",
        "round 2   promised 0.800, compiled 0.800 Mcycles, the best",
    ]


@pytest.fixture
def model(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "placed_model.py"
    path.write_text(BUILDER, encoding="utf-8")
    return f"{path}:build"


def test_shell_writes_the_file_and_a_table(
    fake: FakeSearch, model: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "f.placed"
    fake.plan(output_of(multiply, shapes(), donate_argnums=1))
    assert cli.main(["place", model, "--chip", "tpu_v6e", "--output", str(output)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    table = shown.err.splitlines()
    assert table == [
        "default  0.001 Mcycles",
        "placed   0.001 Mcycles",
        "gain     10.00%",
        "round 0  promised 0.001, not compiled: does not fit",
        "round 1  promised 0.001, compiled 0.001 Mcycles, the best",
        f"mallocmuzero-xla: wrote {output}",
    ]
    y = threes()
    assert load_placed(output)(threes(), y).tolist() == [9.0] * 4
    assert y.is_deleted()


def test_shell_prints_one_object(
    fake: FakeSearch, model: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["--output", str(tmp_path / "f.placed")]
    flags = ["--chip", "tpu_v6e", "--rounds", "2", "--threads", "1", "--budget", "9s"]
    assert cli.main(["place", model, *flags, *output, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {**REPORT, "from_cache": False}


@pytest.mark.without_tpu
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--budget", "5"], "budget '5'"),
        ([], "no chip named"),
        (["--chip", "tpu_v6e", "--output", "/"], "a folder; expected a file"),
    ],
)
def test_shell_says_what_is_wrong_before_the_search(
    fake: FakeSearch,
    model: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    message: str,
) -> None:
    assert cli.main(["place", model, "--output", str(tmp_path / "f.placed"), *flags]) == 2
    assert message in capsys.readouterr().err
    assert fake.calls() == []


@pytest.mark.parametrize("name", ["notes.json", "notes"])  # the file, or that of its artefact
def test_shell_writes_over_no_file_of_another_kind(
    fake: FakeSearch,
    model: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    notes = tmp_path / "notes.json"
    notes.write_text("mine", encoding="utf-8")
    output = ["--output", str(tmp_path / name)]
    assert cli.main(["place", model, "--chip", "tpu_v6e", *output]) == 2
    assert "notes.json: a file of something else is there" in capsys.readouterr().err
    assert notes.read_text(encoding="utf-8") == "mine"
    assert fake.calls() == []
