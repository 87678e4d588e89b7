"""Compiles in phases by the real compiler: needs jax and libtpu, no TPU."""

from __future__ import annotations

import importlib.util
import pathlib
import threading
from typing import Any

import pytest
from asynchronous_gather import arguments, embed

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.estimates import Estimates, estimates_by_name
from mallocmuzero_xla.compiler.lowering import lower
from mallocmuzero_xla.compiler.phased_compiler import PhasedCompiler
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.errors import CompileError

if importlib.util.find_spec("jax") is not None:
    import jax
    import jax.numpy as jnp

pytestmark = pytest.mark.compiler


def products(x: Any, y: Any) -> Any:
    """Instructions of several kinds: products, sums, and a loop."""

    def body(x: Any, _: None) -> tuple[Any, None]:
        return jnp.tanh(x @ y) - jnp.mean(x, axis=1, keepdims=True), None

    return jax.lax.scan(body, jax.nn.softmax(x), length=3)[0].sum(axis=0)


@pytest.mark.parametrize("chip", ["tpu_v4i", "tpu_v5e", "tpu_v6e"])
def test_estimates_are_those_of_the_whole_compile(chip: str, tmp_path: pathlib.Path) -> None:
    shapes = [jax.ShapeDtypeStruct((length, 1024), jnp.bfloat16) for length in (4096, 1024)]
    estimates, lock = Estimates(), threading.Lock()
    with TrialCompiler(CHIPS[chip]) as whole:
        lower(products, shapes, CHIPS[chip]).write(whole.lowered)
        right = estimates_by_name(whole.compile({}, Budget()))
        phased = PhasedCompiler(whole.lowered, tmp_path / "files")
        try:
            first, second = (phased.compile({}, estimates, lock, Budget()) for _ in range(2))
            with pytest.raises(CompileError, match="xla_no_such_option"):
                phased.compile({"xla_no_such_option": "1"}, estimates, lock, Budget())
        finally:
            phased.close()
    assert len(right) >= 3
    assert estimates_by_name(first.text) == estimates_by_name(second.text) == right
    assert first.complete
    assert first.lowered >= 3
    assert second.lowered == 0


def test_estimates_of_a_module_that_jax_cannot_print_are_those_of_the_whole_compile(
    tmp_path: pathlib.Path,
) -> None:
    estimates, lock = Estimates(), threading.Lock()
    with TrialCompiler(CHIPS["tpu_v6e"]) as whole:
        lower(embed, arguments(), CHIPS["tpu_v6e"]).write(whole.lowered)
        text = whole.compile({}, Budget())
        assert "custom-call-update(" in text
        phased = PhasedCompiler(whole.lowered, tmp_path / "files")
        try:
            made = phased.compile({}, estimates, lock, Budget())
        finally:
            phased.close()
    assert made.complete
    assert estimates_by_name(made.text) == estimates_by_name(text)
    assert estimates.compare(text)[0] == len(estimates_by_name(text))
