"""check says with its exit code whether an artefact still fits."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Callable

import pytest
from conftest import VERSIONS, World

from mallocmuzero_xla.artefacts.artefact import Artefact, Executable
from mallocmuzero_xla.commands import checking, cli
from mallocmuzero_xla.compiler.lowering import LoweredProgram

PROGRAM = LoweredProgram("f", "v4 lite:1x1", (0,), b"", b"", {}, "0" * 64, "f" * 64)
ARTEFACT = Artefact(
    function="f",
    chip="tpu_v4i",
    topology="v4 lite:1x1",
    devices=1,
    versions=VERSIONS,
    fingerprint="f" * 64,
    default_cycles=1000.0,
    expected_cycles=960.0,
    compiler_options={"xla_tpu_msa_tensor_overrides": "overrides { a }"},
)


@pytest.fixture
def check(
    tmp_path: pathlib.Path, make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., int]:
    """Returns a function that checks a changed ARTEFACT against PROGRAM."""
    make_world(promised={"a": 40}, cycles={"a": -40}, refused=["b"])
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    monkeypatch.setattr(checking, "compiler_versions", lambda: VERSIONS)
    monkeypatch.setattr(checking, "lower", lambda *_: PROGRAM)
    model = tmp_path / "checked_model.py"
    model.write_text("def build():\n    return (lambda: 1), ()\n", encoding="utf-8")

    def run(*flags: str, **change: object) -> int:
        path = tmp_path / "a.json"
        dataclasses.replace(ARTEFACT, **change).save(path)  # type: ignore[arg-type]
        return cli.main(["check", str(path), f"{model}:build", *flags])

    return run


def test_artefact_that_fits_exits_0(
    check: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert check() == 0
    assert "a.json: fits" in capsys.readouterr().err
    assert check("--compile") == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fingerprint": "0" * 64}, "the function, its shapes or its jit options"),
        ({"versions": {**VERSIONS, "libtpu": "0.1"}}, "found with libtpu 0.1, here is 1"),
        ({"devices": 4}, "found for 4 devices, here are 1"),
    ],
)
def test_artefact_that_does_not_fit_exits_1_with_the_reason(
    check: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    change: dict[str, object],
    message: str,
) -> None:
    assert check(**change) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"expected_cycles": 900.0}, "takes 0.001 Mcycles with the options"),
        (
            {"compiler_options": {"xla_tpu_msa_tensor_overrides": "overrides { b }"}},
            "does not compile with the options: MSA strict override failed",
        ),
    ],
)
def test_compile_finds_what_has_changed_in_the_compiler(
    check: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    change: dict[str, object],
    message: str,
) -> None:
    assert check(**change) == 0
    assert check("--compile", "--json", **change) == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["fits"]
    assert message in report["problems"][0]


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), (b"other", "is not the executable of f's artefact")],
)
def test_executable_that_is_not_beside_its_artefact_exits_1(
    check: Callable[..., int],
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    message: str,
) -> None:
    if content is not None:
        (tmp_path / "a.placed").write_bytes(content)
    executable = Executable("a.placed", hashlib.sha256(b"placed").hexdigest())
    assert check(executable=executable, compiler_options={}) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"compiler_options": {"xla_a": "false"}}, "jax.jit sets xla_a, to which the artefact has"),
        ({}, "its executable was compiled without the option xla_a=true"),
        ({"own_options": {"xla_a": "false"}}, "compiled without the option xla_a=true"),
        ({"own_options": {"xla_a": "true"}}, None),
    ],
)
def test_option_of_jit_that_apply_does_not_overrule_is_said(
    check: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, object],
    message: str | None,
) -> None:
    program = dataclasses.replace(PROGRAM, base_options={"xla_a": True})
    monkeypatch.setattr(checking, "lower", lambda *_: program)
    monkeypatch.setattr(checking, "executable_problems", lambda *_: [])
    executable = None if "compiler_options" in change else Executable("a.placed", "0")
    without: dict[str, object] = {"compiler_options": {}, "executable": executable}
    assert check(**{**without, **change}) == (0 if message is None else 1)
    assert (message or "a.json: fits") in capsys.readouterr().err


def test_options_of_a_builder_are_those_that_optimize_compiles_with(
    check: Callable[..., int], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []

    def lower(*args: object) -> object:
        given.extend(args[3:])
        return PROGRAM

    monkeypatch.setattr(checking, "lower", lower)
    options = '{"donate_argnums": 0, "compiler_options": {"xla_a": True}}'
    (tmp_path / "checked_model.py").write_text(
        f"def build():\n    return (lambda x: 1), (1.0,), {options}\n", encoding="utf-8"
    )
    assert check() == 0
    assert given == [{"donate_argnums": 0}, {"xla_a": True}]


def test_binary_is_looked_for_before_a_compile(
    check: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compiles(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr("mallocmuzero_xla.compiler.trial_compiler.TrialCompiler.compile", compiles)
    monkeypatch.setenv("MALLOCMUZERO_BINARY", "/absent")
    assert check("--compile") == 2
    assert "no such executable" in capsys.readouterr().err


def test_missing_artefact_exits_2(
    check: Callable[..., int], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", str(tmp_path / "absent.json"), "m:f"]) == 2
    assert "absent.json: cannot be read" in capsys.readouterr().err
