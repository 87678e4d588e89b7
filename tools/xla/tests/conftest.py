"""Shared fixtures: a compile process that does as told, and the skip for a missing compiler."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys
from collections.abc import Callable

import pytest

FakeCompiler = Callable[[dict[str, list[str]]], pathlib.Path]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests that compile where jax or libtpu is not installed."""
    missing = [name for name in ("jax", "libtpu") if importlib.util.find_spec(name) is None]
    if not missing:
        return
    skip = pytest.mark.skip(reason=f"{' and '.join(missing)} not installed")
    for item in items:
        if "compiler" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def fake_compiler(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    """Puts fake_child.py in place of the compile process.

    The function takes a plan, what the process does at each attempt by variant name, and returns
    the log of the attempts made.
    """

    def install(plan: dict[str, list[str]]) -> pathlib.Path:
        plan_path, log_path = tmp_path / "plan.json", tmp_path / "attempts.log"
        plan_path.write_text(json.dumps(plan), encoding="utf-8")
        child = pathlib.Path(__file__).with_name("fake_child.py")
        command = (sys.executable, str(child), str(plan_path), str(log_path))
        monkeypatch.setattr("mallocmuzero_xla.worker.COMMAND", command)
        versions = {"jax": "1", "jaxlib": "1", "libtpu": "1"}
        monkeypatch.setattr("mallocmuzero_xla.store.compiler_versions", lambda: versions)
        return log_path

    return install
