"""Artefacts for functions on this machine's CPU, for the tests of apply and of the examples."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mallocmuzero_xla.artefacts.artefact import Artefact
from mallocmuzero_xla.artefacts.fitting import target_of
from mallocmuzero_xla.environment import versions_of

# An option of the CPU's compiler, in the place of those of a TPU's.
OPTIONS = {"xla_cpu_max_isa": "AVX2"}


def make_cpu_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets artefacts fit functions that run on the CPU."""
    monkeypatch.setattr(
        "mallocmuzero_xla.artefacts.fitting.chip_of_kind", lambda kind: f"chip of {kind}"
    )


def step(weights: Any, x: Any, scale: int = 2) -> Any:
    import jax

    return jax.numpy.tanh(x @ weights) * scale


def inputs(rows: int = 4) -> tuple[Any, Any]:
    import jax

    return jax.numpy.ones((8, 8)), jax.numpy.ones((rows, 8))


def artefact_of(fn: Any, *args: Any, options: Any = OPTIONS, **jit_options: Any) -> Artefact:
    """Returns an artefact that fits fn(*args) on the CPU."""
    import jax

    target = target_of(jax.jit(fn, **jit_options).lower(*args))
    assert target.chip is not None
    return Artefact(
        function="step",
        chip=target.chip,
        topology="cpu",
        devices=target.devices,
        versions=versions_of("cpu"),
        fingerprint=target.fingerprint,
        default_cycles=1000.0,
        expected_cycles=900.0,
        compiler_options=options,
    )


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Returns the lines of the log at level WARNING."""
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
