"""Shared fixtures: fake compile processes, and the skip for a missing compiler."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
import zstandard

from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.version import VERSION

VERSIONS = {"jax": "1", "jaxlib": "1", "libtpu": "1"}

FakeCompiler = Callable[[dict[str, list[str]]], pathlib.Path]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests that compile where jax or libtpu is not installed."""
    missing = [name for name in ("jax", "libtpu") if importlib.util.find_spec(name) is None]
    if not missing:
        return
    skip = pytest.mark.skip(reason=f"{' and '.join(missing)} not installed")
    for item in items:
        # Not item.keywords: they have the names of folders, too, such as bench/compiler.
        if item.get_closest_marker("compiler") is not None:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def binaries_of_this_version(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spares fake binaries the answer to --version, except in the tests of that check."""
    if "checks_version" not in request.keywords:
        version = (VERSION, None)
        monkeypatch.setattr("mallocmuzero_xla.binary_path.binary_version", lambda _: version)


@pytest.fixture(autouse=True)
def machine_with_a_tpu_v4i(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that name no chip run as on a machine that has one."""
    if "without_tpu" not in request.keywords:
        monkeypatch.setattr("mallocmuzero_xla.chips.chip_here", lambda: "tpu_v4i")


@pytest.fixture
def fake_compiler(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    """Puts fake_child.py in place of the compile process.

    The function takes a plan, which says for each variant what each attempt does, and returns the
    log of the attempts.
    """

    def install(plan: dict[str, list[str]]) -> pathlib.Path:
        plan_path, log_path = tmp_path / "plan.json", tmp_path / "attempts.log"
        plan_path.write_text(json.dumps(plan), encoding="utf-8")
        child = pathlib.Path(__file__).with_name("fake_child.py")
        command = (sys.executable, str(child), str(plan_path), str(log_path))
        monkeypatch.setattr("mallocmuzero_xla.compiler.worker.COMMAND", command)
        monkeypatch.setattr("mallocmuzero_xla.compiler.store.compiler_versions", lambda: VERSIONS)
        return log_path

    return install


@pytest.fixture
def hangs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An hour passes whenever a fake compiler hangs; it adds a byte to this file.

    So limits of time end what hangs, however slow the machine is, and nothing else.
    """
    file, clock = tmp_path / "hangs", time.monotonic

    def now() -> float:
        return clock() + 3600.0 * (file.stat().st_size if file.exists() else 0)

    monkeypatch.setattr("time.monotonic", now)
    monkeypatch.setattr("mallocmuzero_xla.compiler.worker._LONGEST_WAIT", 0.01)
    return file


def replace_compiler(
    monkeypatch: pytest.MonkeyPatch, script: str, argument: str | os.PathLike[str]
) -> None:
    """Puts a script in place of the compile processes: it gets the argument and its role."""
    commands = {"compile": "COMMAND", "trial": "TRIAL_COMMAND", "phase": "PHASE_COMMAND"}
    for role, constant in commands.items():
        command = (sys.executable, script, str(argument), role)
        monkeypatch.setattr(f"mallocmuzero_xla.compiler.worker.{constant}", command)
    for module in (
        "compiler.store",
        "captures.saved_capture",
        "search.options_cache",
        "search.optimize",
    ):
        monkeypatch.setattr(f"mallocmuzero_xla.{module}.compiler_versions", lambda: VERSIONS)


class World:
    """A fake compiler, binary and capture; tests/fake_world.py describes its fields."""

    def __init__(self, folder: pathlib.Path, **world: Any) -> None:
        self.capture = folder / "capture"
        self.mapping = folder / "m.mapping"
        self.program = folder / "p.program"
        self._log = folder / "compiler.log"
        self._file = folder / "world.json"
        world = {"default": 1000, "sha256": "0" * 64, "log": str(self._log), **world}
        self._file.write_text(json.dumps(world), encoding="utf-8")
        self.mapping.write_text("first", encoding="utf-8")
        self.program.write_text("[]", encoding="utf-8")
        self.script = str(pathlib.Path(__file__).with_name("fake_world.py"))

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Puts the world in place of the compile processes and the binary; makes the capture."""
        replace_compiler(monkeypatch, self.script, self._file)
        binary = self._file.with_name("mallocmuzero")
        line = f'exec {sys.executable} {self.script} {self._file} "$@"'
        binary.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        binary.chmod(0o755)
        monkeypatch.setenv("MALLOCMUZERO_BINARY", str(binary))
        self._write_capture()

    def _write_capture(self) -> None:
        self.capture.mkdir()
        text = json.dumps({"asked": [], "compiled": True}).encode()
        for variant in ("all_hbm", "default"):
            (self.capture / f"{variant}.hlo.zst").write_bytes(zstandard.compress(text))
        record = {
            "program": "f",
            "chip": "tpu_v4i",
            "topology": "v4 lite:1x1",
            "lowered_sha256": "0" * 64,
            "versions": VERSIONS,
            "environment": {},
            "variants": {name: {"seconds": 0.1} for name in ("all_hbm", "default")},
        }
        (self.capture / "capture.json").write_text(json.dumps(record), encoding="utf-8")

    def log(self) -> list[str]:
        """Returns the log: "trial" or "compile" and the overrides, a line for each compile."""
        return self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []


@pytest.fixture
def make_world(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    """Returns a function that makes a world from its keyword arguments and installs it."""

    def make(**world: Any) -> World:
        made = World(tmp_path, **world)
        made.install(monkeypatch)
        return made

    return make


def lower_to(monkeypatch: pytest.MonkeyPatch, program: LoweredProgram) -> None:
    """Makes all functions lower to `program`."""
    monkeypatch.setattr("mallocmuzero_xla.search.optimize.lower", lambda *_: program)
