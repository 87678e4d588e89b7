"""Identifies a lowered function, whichever machine lowers it."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable
from typing import Any

# Attributes that say where an argument or a result is, meshes, and constraints of values. A
# function has them if an argument is committed to a device, as in a search, or is on a mesh. On one
# device they say nothing: with and without them, libtpu makes the same schedule and placement.
_SHARDING = re.compile(
    r'(?:sdy\.sharding = #sdy\.sharding<@\w+, [^>]*>|mhlo\.sharding = "\{[^"]*\}")(?:, )?'
)
_MESH = re.compile(r"^ *sdy\.mesh @\w+ = .*\n", re.MULTILINE)
_CONSTRAINT = "sdy.sharding_constraint"
_CONVERSION = "stablehlo.convert"
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
    if devices == 1 and _operations(module, _is_constraint):
        text = _text_without(module, _is_constraint)
    return fingerprint(text, devices)


def text_without_empty_conversions(module: Any) -> str:
    """Returns the text of a StableHLO module without conversions of a type to itself.

    jax writes them where it makes a strong type of a weak one, and the compiler drops them.
    """
    return _text_without(module, _is_empty_conversion)


def _is_constraint(operation: Any) -> bool:
    return bool(operation.name == _CONSTRAINT)


def _is_empty_conversion(operation: Any) -> bool:
    if operation.name != _CONVERSION:
        return False
    return bool(operation.operands[0].type == operation.results[0].type)


def _text_without(module: Any, unwanted: Callable[[Any], bool]) -> str:
    """Returns the text of a module whose unwanted operations are replaced by their operands."""
    copy = module.operation.clone()
    for operation in _operations(copy, unwanted):
        operation.results[0].replace_all_uses_with(operation.operands[0])
        operation.erase()
    output = io.StringIO()
    copy.print(file=output, enable_debug_info=False)
    return output.getvalue()


def _operations(module: Any, wanted: Callable[[Any], bool]) -> list[Any]:
    """Returns the operations in a module that are wanted."""
    from jaxlib.mlir import ir

    found: list[Any] = []

    def look(each: Any) -> Any:
        if wanted(each):
            found.append(each)
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    return found
