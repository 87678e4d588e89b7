"""Calls of optimize with a fake compiler and a cache of the test's own."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from conftest import lower_to

from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.search.optimize import Optimized, load_options, optimize

# The search finds these where the override `a` helps.
OPTIONS = {"xla_tpu_msa_tensor_overrides": "overrides { a }"}


def own_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Makes a cache of the test's own, and functions that lower to what `lowered_as` says."""
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache"))
    lowered_as(monkeypatch, "1" * 64)
    return tmp_path / "cache"


def lowered_as(monkeypatch: pytest.MonkeyPatch, sha256: str) -> None:
    lower_to(monkeypatch, LoweredProgram("step", "v4 lite:1x1", (0,), b"", b"", {}, sha256))


def run(**options: Any) -> Optimized:
    return optimize(lambda: None, budget=options.pop("budget", "60s"), progress=False, **options)


def load() -> dict[str, str]:
    return load_options(lambda: None)


def entry(cache: pathlib.Path) -> pathlib.Path:
    """Returns the only entry of the cache."""
    (found,) = (cache / "options" / "tpu_v4i").glob("step-*.json")
    return found
