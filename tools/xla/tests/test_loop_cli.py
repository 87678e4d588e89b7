"""Shell commands of the closed loop: output, exit codes, messages."""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Callable

import pytest
from conftest import VERSIONS, World, lower_to

from mallocmuzero_xla.artefacts.artefact import Artefact, load_artefact
from mallocmuzero_xla.commands import cli
from mallocmuzero_xla.compiler.lowering import LoweredProgram

MakeWorld = Callable[..., World]

ARTEFACT = Artefact("f", "tpu_v4i", "v4 lite:1x1", 1, {}, "f" * 64, 1000.0, 960.0, {"xla_a": "1"})


@pytest.fixture
def world(make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    return make_world(promised={"a": 40}, cycles={"a": -40})


def verify(world: World, *more: str) -> int:
    paths = ["--capture", str(world.capture), "--mapping", str(world.mapping)]
    paths += ["--program", str(world.program)]
    return cli.main(["verify", *paths, *more])


def test_verify_prints_one_object_and_writes_an_option_a_line(
    world: World, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "o.options"
    assert verify(world, "--function", "m:f", "--json", "--output", str(output)) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["optimized_cycles"] == 960
    assert report["options"] == {"xla_tpu_msa_tensor_overrides": "overrides { a }"}
    expected = "xla_tpu_msa_tensor_overrides=overrides { a }\n"
    assert output.read_text(encoding="utf-8") == expected


def test_options_are_written_also_if_nobody_reads_the_report(
    world: World, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = os.pipe()
    os.close(read)
    output = tmp_path / "o.options"
    pipe = os.fdopen(write, "w", encoding="utf-8")
    # At its end Python closes stdout, and exits with another code if that fails.
    with monkeypatch.context() as patch, pipe:
        patch.setattr("sys.stdout", pipe)
        assert verify(world, "--function", "m:f", "--json", "--output", str(output)) == 2
    expected = "xla_tpu_msa_tensor_overrides=overrides { a }\n"
    assert output.read_text(encoding="utf-8") == expected


def test_default_is_an_empty_file(
    make_world: MakeWorld, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    world = make_world(promised={"a": 40}, cycles={"a": 40})
    output = tmp_path / "o.options"
    assert verify(world, "--function", "m:f", "--output", str(output)) == 0
    assert output.read_text(encoding="utf-8") == ""


def test_verify_says_in_words_what_came_of_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(world, "--function", "m:f") == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "1 override after" in shown.err
    assert "(4.00% less; predicted 0.001)" in shown.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--function", "m:f", "--budget", "0s"], "budget '0s': expected a time above 0"),
        (["--function", "m:f", "--budget-compiles", "-1"], "has -1 compiles: expected 0 or more"),
        ([], "expected --function or --registry"),
        (["--function", "m:f", "--registry", "zoo"], "expected --function or --registry"),
    ],
)
def test_bad_values_exit_2_before_anything_is_compiled(
    world: World, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert verify(world, *more) == 2
    assert message in capsys.readouterr().err
    assert world.log() == []


def test_mapping_without_its_program_exits_2(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = ["--capture", str(world.capture), "--mapping", str(world.mapping)]
    with pytest.raises(SystemExit) as stop:
        cli.main(["verify", *paths, "--function", "m:f"])
    assert stop.value.code == 2
    assert "the following arguments are required: --program" in capsys.readouterr().err
    assert world.log() == []


def test_folder_without_a_capture_exits_2(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    (world.capture / "capture.json").unlink()
    assert verify(world, "--function", "m:f") == 2
    assert "capture.json is missing" in capsys.readouterr().err


def test_capture_of_another_compiler_exits_2(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    path = world.capture / "capture.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["versions"] = {**VERSIONS, "libtpu": "0.0.1"}
    path.write_text(json.dumps(record), encoding="utf-8")
    assert verify(world, "--function", "m:f") == 2
    assert "captured with versions" in capsys.readouterr().err


def test_capture_without_its_default_exits_2(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    (world.capture / "default.hlo.zst").unlink()
    assert verify(world, "--function", "m:f") == 2
    assert "the capture lacks default" in capsys.readouterr().err


def test_capture_whose_text_is_cut_short_exits_2(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    path = world.capture / "default.hlo.zst"
    path.write_bytes(path.read_bytes()[:-8])
    assert verify(world, "--function", "m:f") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"mallocmuzero-xla: {path}: not a captured text (")


def test_function_that_was_not_captured_exits_2(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    world = make_world(promised={}, cycles={}, sha256="9" * 64)
    assert verify(world, "--function", "m:f") == 2
    assert "m:f: lowers to 999999999999" in capsys.readouterr().err


def test_what_the_binary_refuses_exits_2(
    world: World, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "mallocmuzero"
    script = "#!/bin/sh\necho 'm.mapping: for another program' >&2\nexit 2\n"
    binary.write_text(script, encoding="utf-8")
    assert verify(world, "--function", "m:f") == 2
    assert "m.mapping: for another program" in capsys.readouterr().err


def test_optimize_writes_an_artefact_into_a_json_file(
    world: World,
    capsys: pytest.CaptureFixture[str],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lower_to(
        monkeypatch, LoweredProgram("f", "v4 lite:1x1", (0,), b"", b"", {}, "0" * 64, "1" * 64)
    )
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache"))
    model, output = tmp_path / "model_of_json.py", tmp_path / "step.json"
    model.write_text("def build():\n    return (lambda: 1), ()\n", encoding="utf-8")
    line = ["optimize", f"{model}:build", "--samples", "0", "--budget", "60s"]
    assert cli.main(line) == 0
    assert "the same command with --output FILE takes the result from" in capsys.readouterr().err
    asked = world.log()
    assert cli.main([*line, "--output", str(output)]) == 0
    assert world.log() == asked
    artefact = load_artefact(output)
    assert artefact.compiler_options == {"xla_tpu_msa_tensor_overrides": "overrides { a }"}
    assert (artefact.chip, artefact.devices, artefact.fingerprint) == ("tpu_v4i", 1, "1" * 64)
    assert artefact.gain == pytest.approx(0.04)
    output.write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert cli.main([*line, "--output", str(output)]) == 2
    assert output.read_text(encoding="utf-8") == "{}"
    assert "expected a new name, or an artefact" in capsys.readouterr().err


def test_optimize_refuses_a_bad_budget_before_building_the_function(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["optimize", "absent:build", "--budget", "soon"]) == 2
    assert "budget 'soon'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "name"),
    [("optimize", "chip"), ("optimize", "progress"), ("place", "rounds"), ("measure", "warm_up")],
)
def test_option_of_a_builder_that_is_none_of_jit_exits_2(
    world: World,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    name: str,
) -> None:
    model, artefact = tmp_path / f"model_with_{name}.py", tmp_path / "a.json"
    model.write_text(f"def build():\n    return abs, (), {{{name!r}: 5}}\n", encoding="utf-8")
    ARTEFACT.save(artefact)
    words = {"place": ["--output", str(tmp_path / "p.placed")], "measure": [str(artefact)]}
    line = [command, *words.get(command, []), f"{model}:build"]
    assert cli.main(line) == 2
    expected = f"options have '{name}', which is no keyword argument of jax.jit"
    assert expected in capsys.readouterr().err


def test_security_without_a_server_exits_2(
    world: World, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model_without_server.py"
    model.write_text("def build():\n    return (lambda: 1), ()\n", encoding="utf-8")
    assert cli.main(["optimize", f"{model}:build", "--server-security", "s.textproto"]) == 2
    assert "server_security goes with server" in capsys.readouterr().err


def test_output_that_cannot_be_written_exits_2_before_anything_is_compiled(
    world: World, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(world, "--function", "m:f", "--output", str(tmp_path)) == 2
    assert "a folder; expected a file" in capsys.readouterr().err
    assert world.log() == []


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_interrupted_search_leaves_the_options_that_are_there_and_exits_1(
    world: World,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "keep.options"
    output.write_text("xla_good=1\n", encoding="utf-8")
    monkeypatch.setattr("mallocmuzero_xla.search.closed_loop.Loop._compile_best", interrupt)
    assert verify(world, "--function", "m:f", "--output", str(output)) == 1
    assert output.read_text(encoding="utf-8") == "xla_good=1\n"
    shown = capsys.readouterr().err
    # 40 of 1000 cycles less, by the trial compile of the only override.
    assert re.search(
        r"interrupted after \d+ trial compiles?, best predicted 4\.00%, nothing compiled", shown
    )
    assert f"{output} not written" in shown


def test_search_without_a_trial_compile_keeps_existing_options_and_exits_1(
    world: World, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "keep.options"
    output.write_text("xla_good=1\n", encoding="utf-8")
    more = ["--max-trial-compiles", "0", "--output", str(output)]
    assert verify(world, "--function", "m:f", *more) == 1
    assert output.read_text(encoding="utf-8") == "xla_good=1\n"
    assert "budget spent before any placement was tried" in capsys.readouterr().err


def test_trial_compiles_without_a_whole_compile_are_undecided(
    world: World, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "new.options"
    more = ["--budget-compiles", "0", "--output", str(output)]
    assert verify(world, "--function", "m:f", *more) == 1
    assert not output.exists()
    assert "best predicted 4.00%, nothing compiled" in capsys.readouterr().err


def test_options_that_an_empty_answer_replaces_are_kept_beside_it(
    make_world: MakeWorld,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    world = make_world(promised={"a": 40}, cycles={"a": 40})
    output, kept = tmp_path / "o.options", tmp_path / "o.options.before"
    output.write_text("xla_good=1\n", encoding="utf-8")
    assert verify(world, "--function", "m:f", "--output", str(output)) == 0
    assert output.read_text(encoding="utf-8") == ""
    assert kept.read_text(encoding="utf-8") == "xla_good=1\n"
    assert str(kept) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [("model.py", "a file of something else"), ("model.py/o.options", "model.py is a file")],
)
def test_output_over_a_file_of_something_else_exits_2_before_anything_is_compiled(
    world: World,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    message: str,
) -> None:
    (tmp_path / "model.py").write_text("def build():\n    return 1\n", encoding="utf-8")
    assert verify(world, "--function", "m:f", "--output", str(tmp_path / name)) == 2
    assert message in capsys.readouterr().err
    assert (tmp_path / "model.py").read_text(encoding="utf-8").startswith("def build")
    assert world.log() == []
