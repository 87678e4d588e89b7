"""Identifies a lowered function, whichever machine lowers it."""

from __future__ import annotations

import hashlib
import io
import re
from typing import Any

# Attributes that say that an argument or a result is on the only device. A function has them if an
# argument is committed to a device, as in a search, where all arguments are on a topology's device.
_ON_ONE_DEVICE = re.compile(
    r"(?:sdy\.sharding = #sdy\.sharding<@empty_mesh, \[[{}?, ]*\]>"
    r'|mhlo\.sharding = "\{(?:replicated|maximal device=0)\}")(?:, )?'
)
_MESH = re.compile(r"^ *sdy\.mesh @empty_mesh = .*\n", re.MULTILINE)
_CONSTRAINT, _NO_AXIS = "sdy.sharding_constraint", "<@empty_mesh, "
_NO_ATTRIBUTES = re.compile(r",? ?\{\}")


def fingerprint(text: str, devices: int) -> str:
    """Returns the SHA-256 of StableHLO text that has no source locations.

    For a function of one device, texts that differ only in whether arguments and results are
    committed to the device have the same fingerprint.
    """
    if devices == 1:
        text = _NO_ATTRIBUTES.sub("", _ON_ONE_DEVICE.sub("", _MESH.sub("", text)))
        text = text.replace(", }", "}")
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint_of_module(module: Any, text: str, devices: int) -> str:
    """Returns the fingerprint of a StableHLO module, an ir.Module with this `text`.

    For a function of one device, constraints on shardings do not count. jax puts one on every
    random key that is not committed to the device.
    """
    if devices == 1 and _idle_constraints(module.operation):
        copy = module.operation.clone()
        for constraint in _idle_constraints(copy):
            constraint.results[0].replace_all_uses_with(constraint.operands[0])
            constraint.erase()
        output = io.StringIO()
        copy.print(file=output, enable_debug_info=False)
        text = output.getvalue()
    return fingerprint(text, devices)


def _idle_constraints(operation: Any) -> list[Any]:
    """Returns the constraints of values to the mesh that has no axis."""
    from jaxlib.mlir import ir

    found: list[Any] = []

    def look(each: Any) -> Any:
        if each.name == _CONSTRAINT and _NO_AXIS in str(each.attributes["sharding"]):
            found.append(each)
        return ir.WalkResult.ADVANCE

    operation.walk(look)
    return found
