"""Compiles a stub in the place of a function, for jax's notes on arguments and results.

A call of a placed executable needs objects that jax makes when it compiles the function: trees,
shapes, layouts, donation (placed_payload.py). They depend on the function's signature, not on what
it computes. A stub has the same signature and returns zeros. It compiles in a second, where the
function may take most of a minute, and it does not make the compiler abort.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from mallocmuzero_xla.compiler.placed_payload import check_entry
from mallocmuzero_xla.compiler.shardings import devices_of
from mallocmuzero_xla.errors import CaptureError


class CallNotes:
    """A jax.stages.Compiled with the signature of a function: of a stub, if that is possible.

    Attributes:
        compiled: the stub, or the function itself.
    """

    def __init__(self, lowered: Any, options: Mapping[str, Any], whole: Callable[[], Any]) -> None:
        """Compiles a stub of `lowered`, a jax.stages.Lowered, under `options`.

        `whole` compiles the function itself. It is called where a stub cannot stand in for the
        function, and its errors are passed on.
        """
        self._whole: Callable[[], Any] | None = None
        if has_stub(lowered):
            try:
                self.compiled = _compile_stub(lowered, options)
                self._whole = whole
                return
            except Exception:  # the compiler raises several unrelated types
                pass  # for example for a complex result, which has no zero here
        self.compiled = whole()

    def require(self, module: bytes) -> None:
        """Raises CaptureError unless the HloModuleProto `module` has the function's signature.

        If the stub does not have it, compiles the function itself, whose signature counts.
        """
        try:
            check_entry(self.compiled, module)
        except CaptureError:
            if self._whole is None:
                raise
            self.compiled, self._whole = self._whole(), None
            check_entry(self.compiled, module)


def has_stub(lowered: Any) -> bool:
    """Whether a stub can stand in for `lowered`, a jax.stages.Lowered.

    It cannot where the compiler chooses by what the function computes: shardings over several
    devices, or layouts, if the user asks for that. Nor have the tokens of effects a zero.
    """
    from jax.experimental.layout import Layout

    arguments = lowered._lowering.compile_args
    effects = arguments["ordered_effects"] or arguments["unordered_effects"]
    chosen = Layout.AUTO in (*arguments["in_layouts"], *arguments["out_layouts"])
    return len(devices_of(lowered)) == 1 and not effects and not chosen


def _compile_stub(lowered: Any, options: Mapping[str, Any]) -> Any:
    computation = copy.copy(lowered._lowering)
    computation._hlo = _stub_of(computation._hlo)
    computation._executable = None
    stub = copy.copy(lowered)
    stub._lowering = computation
    return stub.compile(compiler_options=dict(options))


def _stub_of(module: Any) -> Any:
    """Returns a copy of a StableHLO module whose main function returns zeros at once."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func

    with module.context, ir.Location.unknown():
        stub = module.operation.clone()
        functions = [each for each in stub.body.operations if isinstance(each, func.FuncOp)]
        (main,) = [each for each in functions if each.sym_name.value == "main"]
        for each in functions:
            if each is not main:
                each.operation.erase()
        for operation in reversed(list(main.entry_block.operations)):
            operation.operation.erase()
        with ir.InsertionPoint(main.entry_block):
            func.ReturnOp([_zeros(result) for result in main.type.results])
        return ir.Module.parse(str(stub))  # the clone is an operation, which jax does not compile


def _zeros(kind: Any) -> Any:
    """Returns an array of zeros: a scalar that is broadcast, because the array may be large."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    array = ir.RankedTensorType(kind)
    element = array.element_type
    is_integer = isinstance(element, ir.IntegerType)
    zero = ir.IntegerAttr.get(element, 0) if is_integer else ir.FloatAttr.get(element, 0.0)
    scalar = ir.RankedTensorType.get((), element)
    value = stablehlo.constant(ir.DenseElementsAttr.get_splat(scalar, zero))
    return stablehlo.broadcast_in_dim(array, value, [])
