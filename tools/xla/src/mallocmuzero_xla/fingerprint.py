"""Identifies a lowered function, whichever machine lowers it."""

from __future__ import annotations

import hashlib
import io
import re
from typing import Any

# Attributes that say where an argument or a result is, meshes, and constraints of values. A
# function has them if an argument is committed to a device, as in a search, or is on a mesh. On one
# device they say nothing: with and without them, libtpu makes the same schedule and placement.
_SHARDING = re.compile(
    r'(?:sdy\.sharding = #sdy\.sharding<@\w+, [^>]*>|mhlo\.sharding = "\{[^"]*\}")(?:, )?'
)
_MESH = re.compile(r"^ *sdy\.mesh @\w+ = .*\n", re.MULTILINE)
_CONSTRAINT = "sdy.sharding_constraint"
_NO_ATTRIBUTES = re.compile(r",? ?\{\}")


def fingerprint(text: str, devices: int) -> str:
    """Returns the SHA-256 of StableHLO text that has no source locations.

    For a function of one device, texts that differ only in the shardings of arguments and results
    have the same fingerprint.
    """
    if devices == 1:
        text = _NO_ATTRIBUTES.sub("", _SHARDING.sub("", _MESH.sub("", text)))
        text = text.replace(", }", "}")
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint_of_module(module: Any, text: str, devices: int) -> str:
    """Returns the fingerprint of a StableHLO module, an ir.Module with this `text`.

    For a function of one device, constraints on shardings do not count either. jax puts one on
    every random key that is not committed to the device.
    """
    if devices == 1 and _constraints(module.operation):
        copy = module.operation.clone()
        for constraint in _constraints(copy):
            constraint.results[0].replace_all_uses_with(constraint.operands[0])
            constraint.erase()
        output = io.StringIO()
        copy.print(file=output, enable_debug_info=False)
        text = output.getvalue()
    return fingerprint(text, devices)


def _constraints(operation: Any) -> list[Any]:
    """Returns the constraints on shardings in a module."""
    from jaxlib.mlir import ir

    found: list[Any] = []

    def look(each: Any) -> Any:
        if each.name == _CONSTRAINT:
            found.append(each)
        return ir.WalkResult.ADVANCE

    operation.walk(look)
    return found
