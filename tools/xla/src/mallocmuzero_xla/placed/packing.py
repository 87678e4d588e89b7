"""Makes the file of a placed executable from a traced function and the executable's bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mallocmuzero_xla.artefacts.placed_file import PlacedFile, PlacedHeader
from mallocmuzero_xla.compiler.lowering import Traced, text_sha256
from mallocmuzero_xla.compiler.placed_payload import call_parts, pack_call, same_tree
from mallocmuzero_xla.environment import versions_of
from mallocmuzero_xla.errors import PlacedError

# Keyword arguments of jax.jit that affect calls and that JSON can hold.
_JIT_OPTIONS = (
    "donate_argnums",
    "donate_argnames",
    "static_argnums",
    "static_argnames",
    "keep_unused",
)

_BUILD = re.compile(r"\bcl/\d+")


def pack(
    traced: Traced, compiled: Any, executable: bytes, chip: str, report: Mapping[str, Any]
) -> PlacedFile:
    """Returns a file in which `executable` replaces the executable of `compiled`.

    `compiled` is jax's own compile of `traced`. Raises CaptureError if jax cannot serialise the
    objects that a call needs.
    """
    devices = list(traced.lowered._lowering._device_list)
    platform = devices[0].platform
    header = PlacedHeader(
        function=traced.program.function,
        platform=platform,
        chip=chip,
        topology=traced.program.topology_name,
        device_kind=devices[0].device_kind,
        devices=[describe_device(device) for device in devices],
        build=build_of(devices[0].client),
        versions=versions_of(platform),
        lowered_sha256=traced.program.sha256,
        text_sha256=text_sha256(traced.lowered),
        inputs=_inputs(traced, compiled),
        outputs=_outputs(compiled),
        parameters=_parameters(traced.jitted),
        arguments=len(traced.args),
        jit_options=_jit_options(traced.jitted),
        report=dict(report),
        own_options=traced.program.own_options,
    )
    return PlacedFile(header, pack_call(compiled, executable, _static(traced)))


def calls_as(file: PlacedFile, traced: Traced) -> bool:
    """Whether an executable of the same program is called as `traced` is.

    The trees of arguments and results, the names of parameters and the static arguments must agree;
    the text of a program says nothing of them. Unpickles the file.
    """
    import jax

    try:
        in_tree, out_tree, static = call_parts(file.call)
    except PlacedError:
        return False
    own, lowered = _static(traced), traced.lowered
    infos, own_tree = jax.tree.flatten(lowered.args_info)
    names = (_parameters(traced.jitted), len(traced.args))
    # The text does not have the arguments that the function does not use.
    arrays = [(list(info.shape), str(info.dtype)) for info in infos]
    return (
        same_tree(in_tree, own_tree)
        and same_tree(out_tree, lowered.out_tree)
        and [(each["shape"], each["dtype"]) for each in file.header.inputs] == arrays
        and (file.header.parameters, file.header.arguments) == names
        and static == own
        and all(type(static[index]) is type(own[index]) for index in own)
    )


def _static(traced: Traced) -> dict[int, Any]:
    return {index: traced.args[index] for index in sorted(traced.static)}


def describe_device(device: Any) -> dict[str, Any]:
    """Returns the id of a device and its coordinates, if the platform has them."""
    place = {name: getattr(device, name, None) for name in ("coords", "core_on_chip")}
    coords = place["coords"]
    return {"id": device.id, **place, "coords": None if coords is None else list(coords)}


def build_of(client: Any) -> str:
    """Returns the build string of a client's compiler; empty if it gives none."""
    found = _BUILD.search(client.platform_version)
    return found.group() if found else ""


def _inputs(traced: Traced, compiled: Any) -> list[dict[str, Any]]:
    import jax

    dynamic = [arg for index, arg in enumerate(traced.args) if index not in traced.static]
    given = [getattr(leaf, "sharding", None) is not None for leaf in jax.tree.leaves(dynamic)]
    infos = jax.tree.leaves(compiled.args_info)
    shardings = jax.tree.leaves(compiled.input_shardings, is_leaf=lambda leaf: leaf is None)
    return [
        {
            "shape": list(info.shape),
            "dtype": str(info.dtype),
            "weak_type": bool(info._aval.weak_type),
            "donated": info.donated,
            "sharding": str(sharding),
            "given": has_sharding,
        }
        for info, sharding, has_sharding in zip(infos, shardings, given, strict=True)
    ]


def _outputs(compiled: Any) -> list[dict[str, Any]]:
    import jax

    leaves = jax.tree.leaves(compiled.out_info)
    shardings = jax.tree.leaves(compiled.output_shardings)
    return [
        {"shape": list(leaf.shape), "dtype": str(leaf.dtype), "sharding": str(sharding)}
        for leaf, sharding in zip(leaves, shardings, strict=True)
    ]


def _parameters(jitted: Any) -> list[str]:
    """Returns the names of the positional parameters, which calls may use as keywords.

    A parameter that is positional only has an empty name.
    """
    signature = getattr(getattr(jitted, "_jit_info", None), "fun_signature", None)
    if signature is None:
        return []
    names = []
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            break
        names.append("" if parameter.kind is parameter.POSITIONAL_ONLY else parameter.name)
    return names


def _jit_options(jitted: Any) -> dict[str, Any]:
    info = getattr(jitted, "_jit_info", None)
    found = {name: getattr(info, name, None) for name in _JIT_OPTIONS}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in found.items()
        if value
    }
