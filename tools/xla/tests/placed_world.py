"""Placed executables on CPU devices, for the tests of place and load_placed."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from conftest import VERSIONS

from mallocmuzero_xla import Placed, place
from mallocmuzero_xla.artefacts.placed_file import PlacedFile
from mallocmuzero_xla.compiler.lowering import Traced, trace
from mallocmuzero_xla.compiler.placed_payload import raw_executable
from mallocmuzero_xla.placed.packing import pack

HAS_JAX = importlib.util.find_spec("jax") is not None

if HAS_JAX:
    import jax
    import jax.numpy as jnp

    # Before any device is asked for.
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", 4)

needs_jax = pytest.mark.skipif(not HAS_JAX, reason="jax not installed")

REPORT = {
    "default_cycles": 1000.0,
    "optimized_cycles": 900.0,
    "best_round": 1,
    "rounds": [
        {"number": 0, "promised_cycles": 1200.0, "error": "does not fit"},
        {"number": 1, "promised_cycles": 890.0, "compiled_cycles": 900.0},
    ],
}


def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes functions lower for this machine's CPU devices, as if it were the topology."""
    monkeypatch.setattr("mallocmuzero_xla.compiler.lowering.prepare_environment", lambda: None)
    monkeypatch.setattr("mallocmuzero_xla.chips.prepare_environment", lambda: None)
    monkeypatch.setattr(
        "mallocmuzero_xla.compiler.lowering.chip_devices", lambda _: jax.devices("cpu")
    )
    monkeypatch.setattr("mallocmuzero_xla.placed.cache.compiler_versions", lambda: VERSIONS)
    library = pathlib.Path("libtpu.so")
    monkeypatch.setattr("mallocmuzero_xla.placed.place_search.compiler_library", lambda: library)


def traced_and_compiled(fn: Any, args: Sequence[Any], **options: Any) -> tuple[Traced, Any]:
    from mallocmuzero_xla.chips import CHIPS

    traced = trace(fn, args, CHIPS["tpu_v6e"], options)
    return traced, traced.lowered.compile()


def executable_of(fn: Any, args: Sequence[Any], **options: Any) -> bytes:
    return raw_executable(traced_and_compiled(fn, args, **options)[1])


def output_of(fn: Any, args: Sequence[Any], **options: Any) -> tuple[bytes, bytes]:
    """Returns the executable and the module as the binary writes them."""
    compiled = traced_and_compiled(fn, args, **options)[1]
    module = compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()
    return raw_executable(compiled), module


def swapped(fn: Any, other: Any, args: Sequence[Any], **options: Any) -> PlacedFile:
    """Returns `fn` placed with the executable of `other`, so that tests recognise its calls."""
    traced, compiled = traced_and_compiled(fn, args, **options)
    return pack(traced, compiled, executable_of(other, args, **options), "tpu_v6e", REPORT)


def add(x: Any, y: Any) -> Any:
    return x + y


def multiply(x: Any, y: Any) -> Any:
    return x * y


def shape(*dimensions: int) -> Any:
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


def shapes() -> Any:
    """Returns the arguments of add and multiply."""
    return shape(4), shape(4)


def threes(count: int = 4) -> Any:
    return jnp.full((count,), 3.0)


def placed_add(path: pathlib.Path, **changes: Any) -> PlacedFile:
    """Writes add, placed for four numbers with the executable of multiply."""
    file = with_header(swapped(add, multiply, shapes()), **changes)
    file.write(path)
    return file


def with_header(file: PlacedFile, **changes: Any) -> PlacedFile:
    return dataclasses.replace(file, header=dataclasses.replace(file.header, **changes))


class FakeSearch:
    """A fake binary whose `optimize` follows a plan of fake_optimize.py."""

    def __init__(self, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._plan, self._log = folder / "plan.json", folder / "optimize.log"
        script = pathlib.Path(__file__).with_name("fake_optimize.py")
        binary = folder / "mallocmuzero"
        line = f'exec {sys.executable} {script} {self._plan} "$@"'
        binary.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        binary.chmod(0o755)
        monkeypatch.setenv("MALLOCMUZERO_BINARY", str(binary))
        monkeypatch.setenv("MALLOCMUZERO_CACHE", str(folder / "cache"))

    def plan(self, output: tuple[bytes, bytes] | None = None, **plan: Any) -> None:
        """Sets the plan of the next calls; `output` is the executable and the module to write."""
        plan = {"report": REPORT, "log": str(self._log), **plan}
        if output is not None:
            path = self._folder / "planned"
            for suffix, content in zip((".bin", ".pb"), output, strict=True):
                path.with_suffix(suffix).write_bytes(content)
            plan["output"] = str(path)
        self._plan.write_text(json.dumps(plan), encoding="utf-8")

    def calls(self) -> list[list[str]]:
        """Returns the arguments of each call so far."""
        if not self._log.exists():
            return []
        return [json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines()]


def fake_search(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> FakeSearch:
    """Installs a fake search on CPU devices, which places add with the executable of multiply."""
    on_cpu(monkeypatch)
    monkeypatch.setattr("mallocmuzero_xla.commands.cli.require_compiler", lambda: None)
    made = FakeSearch(folder, monkeypatch)
    made.plan(output_of(multiply, shapes()))
    return made


def run(**options: Any) -> Placed:
    """Places add by the fake search."""
    return place(add, *shapes(), **{"chip": "tpu_v6e", "progress": False, **options})
