"""verify() does what the command does, and returns typed results."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import World

from mallocmuzero_xla import VerifiedMapping, read_options, verify
from mallocmuzero_xla.commands import cli
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.errors import UsageError

MakeWorld = Callable[..., World]

# Fields that differ from run to run.
TIMES = ("seconds",)


@pytest.fixture
def world(make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    lower_to(monkeypatch, "0" * 64)
    return make_world(promised={"a": 40, "b": 10}, cycles={"a": -40, "b": 10})


def lower_to(monkeypatch: pytest.MonkeyPatch, sha256: str) -> None:
    program = LoweredProgram("step", "v4 lite:1x1", (0,), b"", b"", {}, sha256)
    monkeypatch.setattr("mallocmuzero_xla.search.verifying.lower", lambda *_: program)


def run(world: World, **options: Any) -> VerifiedMapping:
    files = {"capture": world.capture, "mapping": world.mapping, "program": world.program}
    return verify(lambda: 1, **{"progress": False, "budget": "60s", **files, **options})


def test_result_is_that_of_the_command(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    verified = run(world)
    files = ["--capture", str(world.capture), "--mapping", str(world.mapping)]
    files += ["--program", str(world.program), "--function", "m:f"]
    assert cli.main(["verify", *files, "--budget", "60s", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    for name in TIMES:
        report.pop(name)
    assert {name: value for name, value in verified.report.items() if name not in TIMES} == report


def test_options_that_help_are_kept(world: World, tmp_path: pathlib.Path) -> None:
    verified = run(world)
    # 1000 - 40; the override "b" adds 10 cycles.
    assert (verified.default_cycles, verified.optimized_cycles) == (1000, 960)
    assert verified.gain == pytest.approx(0.04)
    assert not verified.undecided
    assert verified.compiler_options == {"xla_tpu_msa_tensor_overrides": "overrides { a }"}
    assert "(4.00% less; " in verified.summary()
    verified.save(tmp_path / "step.options")
    assert read_options(tmp_path / "step.options") == verified.compiler_options


def test_search_without_an_answer_writes_nothing(world: World, tmp_path: pathlib.Path) -> None:
    verified = run(world, max_trial_compiles=0)
    assert verified.undecided
    assert world.log() == []
    assert "budget spent before any placement was tried" in str(verified)
    output = tmp_path / "keep.options"
    output.write_text("xla_good=1\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"not written, default .*: budget spent"):
        verified.save(output)
    assert read_options(output) == {"xla_good": "1"}


def test_listener_hears_the_progress(world: World) -> None:
    lines: list[str] = []
    run(world, on_progress=lines.append)
    assert any(line.startswith("1 override after ") for line in lines)


def test_another_function_than_the_captured_one_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower_to(monkeypatch, "9" * 64)
    with pytest.raises(UsageError, match=r"^step: lowers to 999999999999, .* capture it anew$"):
        run(world)
    assert world.log() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": "soon"}, "budget 'soon': expected a time"),
        ({"max_compiles": -1}, "the budget has -1 compiles: expected 0 or more"),
        ({"capture": "absent"}, "absent: no folder of captured texts"),
    ],
)
def test_wrong_arguments_are_usage_errors(
    world: World, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        run(world, **options)
    assert world.log() == []


def test_file_of_something_else_is_not_written_over(world: World, tmp_path: pathlib.Path) -> None:
    model = tmp_path / "model.py"
    model.write_text("def build(): ...\n", encoding="utf-8")
    with pytest.raises(UsageError, match="a file of something else is there"):
        run(world).save(model)
    assert model.read_text(encoding="utf-8") == "def build(): ...\n"
