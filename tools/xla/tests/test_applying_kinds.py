"""apply() takes all kinds of functions: methods, and those of frameworks and exports."""

from __future__ import annotations

import copy
import functools
import inspect
import pathlib
from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="calls functions on the CPU")

import jax.numpy as jnp  # noqa: E402
from cpu_artefacts import artefact_of, inputs, make_cpu_a_chip, step, warnings_in  # noqa: E402

from mallocmuzero_xla.chips import CHIPS  # noqa: E402
from mallocmuzero_xla.compiler.lowering import lower  # noqa: E402
from mallocmuzero_xla.errors import FallbackWarning, UsageError  # noqa: E402
from mallocmuzero_xla.placed.loading import load_placed  # noqa: E402
from mallocmuzero_xla.runtime.applying import apply  # noqa: E402


@pytest.fixture(autouse=True)
def cpu_is_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cpu_a_chip(monkeypatch)


def test_bound_method_of_a_jitted_function_has_its_object() -> None:
    class Model:
        scale = 3.0

        @functools.partial(jax.jit, static_argnums=0)
        def step(self, x: Any) -> Any:
            return self.scale * x

    model, x = Model(), jnp.ones(3)
    artefact = artefact_of(model.step, x)
    fast = apply(model.step, artefact)
    assert float(fast(x)[0]) == 3.0
    assert fast.artefact == artefact


class FrameworkJit:
    """A function with a jit of a framework's own, whose `lower` returns something else."""

    def __call__(self, *args: Any) -> Any:
        return step(*args)

    def lower(self, *_: Any) -> object:
        return object()


def test_function_that_a_framework_has_jitted_runs_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fast = apply(FrameworkJit(), artefact_of(step, *inputs()))
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    (line,) = warnings_in(caplog)
    assert "lowers to a builtins.object, not as jax.jit does: give the function itself" in line


def test_search_for_a_function_that_a_framework_has_jitted_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mallocmuzero_xla.compiler.lowering.prepare_environment", lambda: None)
    monkeypatch.setattr("mallocmuzero_xla.compiler.lowering.chip_devices", lambda _: jax.devices())
    with pytest.raises(UsageError, match="give the function itself"):
        lower(FrameworkJit(), inputs(), CHIPS["tpu_v6e"])


def test_argument_of_the_function_by_name_is_bound_and_not_given_to_jit() -> None:
    with pytest.raises(UsageError, match=r"^jax\.jit with scale: .*by functools\.partial$"):
        apply(step, [], scale=3)
    bound = functools.partial(step, scale=3)
    fast = apply(step, artefact_of(bound, *inputs()), static_argnames="scale")
    assert jnp.allclose(fast(*inputs(), scale=3), step(*inputs(), scale=3))
    assert fast.artefact is not None


def test_exported_function_has_an_artefact_of_its_own() -> None:
    called = jax.export.export(jax.jit(step))(*inputs()).call
    fast = apply(called, artefact_of(called, *inputs()))
    assert jnp.allclose(fast(*inputs()), step(*inputs()))
    assert fast.artefact is not None


def test_method_gets_its_object_as_from_jit() -> None:
    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def times(self, x: Any) -> Any:
            return self.scale * x

        step: Any = None

    model, x = Model(3.0), jnp.ones(3)
    artefact = artefact_of(Model.times, model, x, static_argnums=0)
    Model.step = fast = apply(Model.times, artefact, static_argnums=0)
    assert Model.step is fast
    assert float(model.step(x)[0]) == 3.0
    assert fast.artefact == artefact
    assert float(Model(2.0).step(x)[0]) == 2.0


def test_static_arguments_have_their_names_in_another_jit() -> None:
    def rows(x: Any, count: int) -> Any:
        return x.reshape(count, -1)

    x = jnp.ones(4)
    fast = apply(rows, artefact_of(rows, x, 2, static_argnums=1), static_argnums=1)
    assert inspect.signature(fast) == inspect.signature(rows)
    assert jax.jit(fast, static_argnames="count")(x, 2).shape == (2, 2)


def test_everything_else_is_that_of_jit() -> None:
    fast = apply(step, artefact_of(step, *inputs()))
    assert fast.eval_shape(*inputs()).shape == (4, 8)
    assert fast.trace(*inputs()).jaxpr
    assert fast.__wrapped__ is step
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = fast.absent
    lowered = copy.copy(copy.copy(fast).lower(*inputs()))
    assert jnp.allclose(lowered.compile()(*inputs()), step(*inputs()))


def test_docstring_is_that_of_the_function(tmp_path: pathlib.Path) -> None:
    def total(x: Any, y: Any) -> Any:
        """Adds."""
        return x + y

    assert apply(total, []).__doc__ == "Adds."
    with pytest.warns(FallbackWarning):
        assert load_placed(tmp_path / "absent", total).__doc__ == "Adds."


def test_further_artefacts_are_applied_to_an_applied_function() -> None:
    artefacts = [artefact_of(step, *inputs(rows), 3, static_argnums=2) for rows in (4, 5)]
    first = apply(step, artefacts[0], static_argnums=2)
    fast = apply(first, artefacts[1])
    assert fast(*inputs(5), 3).shape == (5, 8)
    assert fast.artefact == artefacts[1]
    assert fast(*inputs(4), 3).shape == (4, 8)
    assert first.artefact == artefacts[0]
