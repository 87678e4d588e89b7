"""The binary that is found belongs to the package."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from mallocmuzero_xla import binary_path
from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.version import VERSION

pytestmark = pytest.mark.checks_version

ROOT = pathlib.Path(__file__).parents[3]


def write_binary(path: pathlib.Path, says: str) -> pathlib.Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def packaged(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The folder of a wheel's binary, from commit c0ffee, and no other binary anywhere."""
    folder = tmp_path / "bin"
    write_binary(folder / "mallocmuzero", f"mallocmuzero {VERSION} (commit c0ffee)")
    record = json.dumps({"version": VERSION, "commit": "c0ffee"})
    (folder / "build_info.json").write_text(record, encoding="utf-8")
    monkeypatch.setattr(binary_path, "_PACKAGED", folder)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("MALLOCMUZERO_BINARY", raising=False)
    return folder


def test_wheel_brings_its_own_binary(packaged: pathlib.Path) -> None:
    assert find_binary() == packaged / "mallocmuzero"


def test_wheel_comes_before_the_path(
    packaged: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_binary(tmp_path / "other" / "mallocmuzero", "mallocmuzero 9")
    monkeypatch.setenv("PATH", f"{other.parent}:/usr/bin:/bin")
    assert find_binary() == packaged / "mallocmuzero"


def test_binary_of_another_version_is_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write_binary(tmp_path / "old" / "mallocmuzero", "mallocmuzero 0.0.1 (commit c0ffee)")
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(old))
    with pytest.raises(UsageError, match=rf"is version 0\.0\.1, and .* is {re.escape(VERSION)}"):
        find_binary()


def test_binary_that_says_no_version_is_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_binary(tmp_path / "other" / "mallocmuzero", "hello")
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(other))
    with pytest.raises(UsageError, match=r"is version unknown"):
        find_binary()


def test_binary_of_another_commit_than_its_wheel_is_refused(packaged: pathlib.Path) -> None:
    write_binary(packaged / "mallocmuzero", f"mallocmuzero {VERSION} (commit badbad)")
    with pytest.raises(UsageError, match=r"is from commit badbad, and the package .* from c0ffee"):
        find_binary()


def test_binary_for_another_machine_is_a_sentence(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "mallocmuzero"
    other.write_bytes(b"\x7fELF of another processor")
    other.chmod(0o755)
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(other))
    with pytest.raises(UsageError, match="does not start on this machine"):
        find_binary()


def test_command_of_the_package_is_not_taken_for_the_binary(
    packaged: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (packaged / "mallocmuzero").unlink()
    command = write_binary(tmp_path / "venv" / "mallocmuzero", "")
    command.write_text("#!/usr/bin/python3\nfrom mallocmuzero_xla_shell import binary\n")
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(binary_path, "__file__", str(tmp_path / "package" / "binary_path.py"))
    with pytest.raises(UsageError, match="mallocmuzero not found: install the wheel"):
        find_binary()
    # Later folders of PATH count, too.
    real = write_binary(tmp_path / "local" / "mallocmuzero", f"mallocmuzero {VERSION}")
    monkeypatch.setenv("PATH", f"{command.parent}:{real.parent}:/usr/bin:/bin")
    assert find_binary() == real


def test_variable_does_not_name_the_command_of_the_package(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It would start itself for ever.
    command = write_binary(tmp_path / "mallocmuzero", "")
    command.write_text("#!/usr/bin/python3\nfrom mallocmuzero_xla_shell import binary\n")
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(command))
    with pytest.raises(UsageError, match=r"MALLOCMUZERO_BINARY=.*: the package's own command"):
        find_binary()


def test_folder_is_no_binary(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mallocmuzero").mkdir()
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(tmp_path / "mallocmuzero"))
    with pytest.raises(UsageError, match="no such executable"):
        find_binary()


def test_package_and_sources_of_the_binary_have_one_version() -> None:
    project = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert f"project(mallocmuzero VERSION {VERSION} " in project
