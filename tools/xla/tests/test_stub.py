"""Stubs that stand in for a function when jax's notes on its calls are wanted."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from placed_world import HAS_JAX, add, needs_jax, on_cpu, output_of, shape, shapes

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.lowering import Traced, trace
from mallocmuzero_xla.compiler.placed_payload import pack_call, raw_executable
from mallocmuzero_xla.compiler.stub import CallNotes
from mallocmuzero_xla.errors import CaptureError

if HAS_JAX:
    import jax
    import jax.numpy as jnp
    from jax.experimental.layout import Format, Layout

pytestmark = needs_jax


def traced(fn: Any, args: tuple[Any, ...], **options: Any) -> Traced:
    return trace(fn, args, CHIPS["tpu_v6e"], options)


def notes_of(made: Traced) -> tuple[CallNotes, list[str]]:
    """Returns notes, and a list that grows when the function itself is compiled."""
    compiles: list[str] = []

    def whole() -> Any:
        compiles.append("whole")
        return made.lowered.compile()

    return CallNotes(made.lowered, {}, whole), compiles


def call_of(compiled: Any, executable: bytes) -> bytes:
    return pack_call(compiled, executable, {})


def many_types(x: Any) -> tuple[Any, ...]:
    kinds = (jnp.int8, jnp.uint32, jnp.int4, jnp.bfloat16, jnp.float8_e4m3fn)
    return x > 0, *(x.astype(kind) for kind in kinds), x[:, :3], x[:7].T


def named(x: Any) -> dict[str, Any]:
    return {"double": x * 2, "sum": x.sum()}


def square(x: Any, y: Any) -> Any:
    return x @ y.T


MATRIX = (256, 512)
# Functions, the number of their arguments, and options of jax.jit.
CALLS: list[tuple[Callable[..., Any], int, dict[str, Any]]] = [
    (square, 2, {}),
    (named, 1, {}),
    (many_types, 1, {}),
    (lambda x, y: (x + y, x * y), 2, {"donate_argnums": (0, 1)}),
    (lambda x, y: (x + y,), 2, {"donate_argnums": (0, 1)}),  # one buffer is left over
    (square, 2, {"donate_argnums": 0}),  # no result has its shape
    (lambda x, y: (y, x), 2, {"donate_argnums": (0, 1)}),
    (lambda x, y: x, 2, {}),
    (lambda x, y: x, 2, {"keep_unused": True}),
]


@pytest.mark.compiler
@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("call", CALLS)
def test_a_call_by_the_notes_of_a_stub_is_that_of_the_function(
    call: tuple[Callable[..., Any], int, dict[str, Any]],
) -> None:
    fn, count, options = call
    made = traced(fn, (shape(*MATRIX),) * count, **options)
    notes, compiles = notes_of(made)
    compiled = made.lowered.compile()
    (module,) = compiled.runtime_executable().hlo_modules()
    notes.require(module.as_serialized_hlo_module_proto())
    assert compiles == []
    own = raw_executable(compiled)
    assert raw_executable(notes.compiled) != own
    assert call_of(notes.compiled, own) == call_of(compiled, own)


@pytest.mark.compiler
def test_layouts_that_the_compiler_chooses_are_those_of_the_function() -> None:
    chosen = Format(Layout.AUTO)
    args = (shape(*MATRIX),)
    made = traced(lambda x: x.T + 1, args, in_shardings=chosen, out_shardings=chosen)
    notes, compiles = notes_of(made)
    assert compiles == ["whole"]
    transposed = "{0,1:T(8,128)}"
    module = made.lowered.compile().runtime_executable().hlo_modules()[0]
    assert transposed in module.to_string().splitlines()[0]
    notes.require(module.as_serialized_hlo_module_proto())
    own = raw_executable(notes.compiled)
    assert call_of(notes.compiled, own) == call_of(made.lowered.compile(), own)


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu(monkeypatch)


def test_a_function_that_does_not_compile_has_notes(cpu: None) -> None:
    made = traced(add, shapes())

    def whole() -> Any:
        raise CaptureError("no room")

    notes = CallNotes(made.lowered, {}, whole)
    notes.require(output_of(add, shapes())[1])
    assert jax.tree.leaves(notes.compiled.args_info)[0].shape == (4,)


def test_a_module_with_another_signature_is_refused_by_the_function_itself(cpu: None) -> None:
    notes, compiles = notes_of(traced(add, shapes()))
    for _ in range(2):
        with pytest.raises(CaptureError, match="the placed module is called otherwise"):
            notes.require(output_of(add, (shape(8), shape(8)))[1])
    assert compiles == ["whole"]


def test_a_function_on_several_devices_is_compiled_itself(cpu: None) -> None:
    mesh = jax.make_mesh((4,), ("x",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    _, compiles = notes_of(traced(add, shapes(), in_shardings=(rows, rows)))
    assert compiles == ["whole"]


def test_a_result_without_a_zero_makes_the_function_itself_be_compiled(cpu: None) -> None:
    notes, compiles = notes_of(traced(jax.lax.complex, shapes()))
    assert compiles == ["whole"]
    assert jax.tree.leaves(notes.compiled.out_info)[0].dtype == jnp.complex64


def test_large_results_take_no_memory_of_the_compile(cpu: None) -> None:
    """A literal of this size would not fit into memory."""
    made = traced(functools.partial(jnp.broadcast_to, shape=(1 << 20, 1 << 20)), (shape(1 << 20),))
    _, compiles = notes_of(made)
    assert compiles == []


def test_results_of_a_stub_are_zeros(cpu: None) -> None:
    made = traced(add, shapes())
    notes, _ = notes_of(made)
    assert notes.compiled(jnp.ones(4), jnp.ones(4)).tolist() == [0.0] * 4
