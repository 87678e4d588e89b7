"""Exit codes and messages of the shell front end."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from conftest import FakeCompiler

import mallocmuzero_xla
from mallocmuzero_xla.commands import cli
from mallocmuzero_xla.compiler.store import write_atomically
from mallocmuzero_xla.errors import UsageError

MACHINES = "The default is this machine's, if it has one."


def capture(output: pathlib.Path, *more: str) -> int:
    return cli.main(["capture", "m:f", "--output", str(output), *more])


@pytest.fixture
def compiler_present(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)


@pytest.mark.usefixtures("compiler_present")
def test_no_error_is_a_traceback(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(cli, "capture_reference", fail)
    assert capture(tmp_path / "out") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mallocmuzero-xla: unexpected RuntimeError: two lines; please report")
    monkeypatch.setenv("MALLOCMUZERO_DEBUG", "1")
    with pytest.raises(RuntimeError):
        capture(tmp_path / "out")


@pytest.mark.usefixtures("compiler_present")
def test_success_exits_0_and_reports_each_compile_on_stderr(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_compiler({})
    assert capture(tmp_path / "out", "--samples", "1") == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [line.split()[-1] for line in shown.err.splitlines()] == [
        "all_hbm",
        "default",
        "sample_0",
    ]


@pytest.mark.usefixtures("compiler_present")
def test_failed_default_exits_1(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_compiler({"default": ["error"]})
    assert capture(tmp_path / "out") == 1
    assert "mallocmuzero-xla: f: default: made up" in capsys.readouterr().err


@pytest.mark.usefixtures("compiler_present")
def test_function_that_cannot_be_lowered_is_one_line_and_leaves_no_folder(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_compiler({"lower": ["error"]})
    assert capture(tmp_path / "out") == 1
    assert capsys.readouterr().err == "mallocmuzero-xla: made up\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("compiler_present")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--chip", "tpu_v9"], "unknown chip 'tpu_v9'"),
        (["--samples", "-1"], "samples is -1"),
        (["--jobs", "0"], "jobs is 0: expected 1 or more"),
    ],
)
def test_bad_values_exit_2(
    tmp_path: pathlib.Path,
    fake_compiler: FakeCompiler,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    fake_compiler({})
    assert capture(tmp_path / "out", *arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("compiler_present")
def test_program_output_without_a_binary_exits_2_before_compiling(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_compiler({})
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(tmp_path / "absent"))
    assert capture(tmp_path / "p.program") == 2
    assert not log.exists()


def install_binary(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installs a binary that writes its last argument and reports."""
    binary = folder / "mallocmuzero"
    script = '#!/bin/sh\nfor last; do :; done\necho made > "$last"\necho "all in HBM 5 Mcycles"\n'
    binary.write_text(script, encoding="utf-8")
    binary.chmod(0o755)
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(binary))


@pytest.mark.usefixtures("compiler_present")
def test_program_output_keeps_its_texts_and_goes_on_from_them(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_binary(tmp_path, monkeypatch)
    log = fake_compiler({"default": ["error", "ok"]})
    output = tmp_path / "new" / "p.program"
    assert capture(output, "--samples", "1") == 1
    assert not output.exists()
    assert capture(output, "--samples", "1") == 0
    assert log.read_text(encoding="utf-8").split().count("all_hbm") == 1
    assert output.read_text(encoding="utf-8") == "made\n"
    kept = {path.name for path in (tmp_path / "new" / "p.captures").glob("*.zst")}
    assert kept == {"all_hbm.hlo.zst", "default.hlo.zst", "sample_0.hlo.zst"}


@pytest.mark.usefixtures("compiler_present")
def test_program_output_prints_the_report_of_its_import(
    tmp_path: pathlib.Path,
    fake_compiler: FakeCompiler,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install_binary(tmp_path, monkeypatch)
    fake_compiler({})
    assert capture(tmp_path / "p.program", "--samples", "0") == 0
    shown = capsys.readouterr()
    assert shown.out == "all in HBM 5 Mcycles\n"
    assert f"the texts are in {tmp_path / 'p.captures'}" in shown.err


@pytest.mark.usefixtures("compiler_present")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("m.py/p.program", "m.py is a file; expected a folder"),
        ("m.py/texts", "m.py is a file; expected a folder"),
        ("m.py", "m.py is a file; expected a folder"),
        ("folder.program", "a folder; expected a file"),
    ],
)
def test_output_that_cannot_be_written_exits_2_before_compiling(
    tmp_path: pathlib.Path,
    fake_compiler: FakeCompiler,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    message: str,
) -> None:
    install_binary(tmp_path, monkeypatch)
    log = fake_compiler({})
    (tmp_path / "m.py").touch()
    (tmp_path / "folder.program").mkdir()
    assert capture(tmp_path / name) == 2
    assert message in capsys.readouterr().err
    assert not log.exists()


@pytest.mark.usefixtures("compiler_present")
@pytest.mark.parametrize("more", [["m:other"], ["m:f", "--chip", "tpu_v5e"]])
def test_texts_of_another_program_or_chip_are_not_replaced(
    tmp_path: pathlib.Path,
    fake_compiler: FakeCompiler,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
) -> None:
    fake_compiler({})
    output = tmp_path / "out"
    assert capture(output, "--samples", "0") == 0
    before = {path: path.read_bytes() for path in output.iterdir()}
    assert cli.main(["capture", *more, "--samples", "0", "--output", str(output)]) == 2
    assert "holds the texts of f for tpu_v4i (v4 lite:1x1)" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in output.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["Exit status: 0", "2 wrong usage"]),
        (["--version"], ["mallocmuzero-xla "]),
        (["capture", "--help"], [MACHINES]),
        (["optimize", "--help"], [MACHINES, "placements to compile. The default is 8."]),
    ],
)
def test_help_says_what_is_taken_for_granted(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(word in shown for word in words)


@pytest.mark.parametrize("command", ["optimize", "place", "check", "measure", "verify", "capture"])
def test_help_describes_each_command_and_flag(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    shown = capsys.readouterr().out
    flags = re.findall(r"^  (--\S+)(?: [A-Z:]+)?\s+(\S.*)$", shown, re.MULTILINE)
    assert len(flags) == len(set(re.findall(r"^  (--\S+)", shown, re.MULTILINE)))
    assert all(text[0].isupper() for _, text in flags)
    assert not shown.split("\n\n")[1].startswith("positional")  # a description comes first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "mallocmuzero-xla: the following arguments are required: COMMAND"),
        (
            ["capture"],
            "mallocmuzero-xla capture: the following arguments are required: MODULE:FUNCTION",
        ),
        (["paint"], "mallocmuzero-xla: argument COMMAND: invalid choice: 'paint'"),
        (["optimize", "m:f", "--seed", "x"], "--seed: expected a whole number, found 'x'"),
        (["capture", "m:f", "--timeout", "1m"], "expected a number of seconds, found '1m'"),
    ],
)
def test_bad_command_lines_exit_2_with_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert line.endswith("--help shows the usage)")


def test_package_is_a_command(tmp_path: pathlib.Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "mallocmuzero_xla", "optimize", "--help"],
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(mallocmuzero_xla.__file__).parents[1])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0
    assert found.stdout.startswith("usage: mallocmuzero-xla optimize")


@pytest.mark.usefixtures("compiler_present")
def test_error_of_writing_names_the_output_in_one_line(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "step.json"
    output.mkdir()
    monkeypatch.setattr(cli, "capture_reference", lambda *_: write_atomically(output, b"1"))
    assert capture(tmp_path / "out") == 2
    assert capsys.readouterr().err == f"mallocmuzero-xla: {output}: Is a directory\n"
    assert list(tmp_path.iterdir()) == [output]


def test_interrupt_while_the_package_is_imported_is_one_line(tmp_path: pathlib.Path) -> None:
    package = tmp_path / "mallocmuzero_xla"
    package.mkdir()
    (package / "__init__.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    shell = pathlib.Path(mallocmuzero_xla.__file__).parents[1] / "mallocmuzero_xla_shell.py"
    found = subprocess.run(
        [sys.executable, "-P", str(shell)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (1, "mallocmuzero-xla: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.usefixtures("compiler_present")
def test_termination_ends_a_command_as_an_interrupt_does(
    number: signal.Signals,
    tmp_path: pathlib.Path,
    fake_compiler: FakeCompiler,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake_compiler({})

    def of_the_caller(*_: object) -> None:
        pytest.fail("the signal came to the caller")

    before = signal.signal(number, of_the_caller)
    try:
        monkeypatch.setattr(cli, "chosen_chip", lambda *_: signal.raise_signal(number))
        assert capture(tmp_path / "out") == 1
        assert "interrupted" in capsys.readouterr().err
        assert signal.getsignal(number) is of_the_caller
        # As under nohup.
        signal.signal(number, signal.SIG_IGN)
        monkeypatch.setattr(cli, "chosen_chip", ignored_signal(number))
        assert capture(tmp_path / "out") == 2
        assert "not interrupted" in capsys.readouterr().err
    finally:
        signal.signal(number, before)


def ignored_signal(number: signal.Signals) -> Callable[..., Any]:
    def choose(*_: Any) -> Any:
        signal.raise_signal(number)
        raise UsageError("not interrupted")

    return choose


def test_missing_compiler_is_one_line_that_says_what_to_install(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert capture(tmp_path) == 2
    expected = "mallocmuzero-xla: jax and libtpu not installed: run `pip install jax libtpu`\n"
    assert capsys.readouterr().err == expected
    with pytest.raises(mallocmuzero_xla.MissingCompilerError, match="pip install jax libtpu"):
        mallocmuzero_xla.capture(lambda x: x, 1.0)
