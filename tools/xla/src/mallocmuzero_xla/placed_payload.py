"""Packs an executable of others' making with what jax needs to call it, and loads it again.

jax.experimental.serialize_executable pickles a compiled function with the executable's bytes beside
it. Here other bytes take their place: those of an executable with the same arguments and results.
This and lowering.py are the modules that use private parts of jax.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from mallocmuzero_xla.errors import CaptureError, PlacedError, in_one_line


@dataclasses.dataclass(frozen=True)
class LoadedCall:
    """A packed executable, loaded.

    Attributes:
        compiled: a jax.stages.Compiled; it takes the arguments that are not static.
        static: the static arguments that it was compiled with, by position.
    """

    compiled: Any
    static: dict[int, Any]


def pack_call(compiled: Any, executable: bytes, static: Mapping[int, Any]) -> bytes:
    """Returns `compiled`, a jax.stages.Compiled, with `executable` as its executable.

    Raises CaptureError if it cannot be serialised.
    """
    import jax

    unloaded = getattr(compiled._executable, "_unloaded_executable", None)
    if unloaded is None:
        raise CaptureError("jax does not serialise this function's executable")
    if compiled._params.const_args or unloaded.mut is not None:
        raise CaptureError(
            "the function closes over arrays that jax passes as hidden arguments: make them "
            "arguments of the function"
        )
    info, in_tree = jax.tree.flatten(compiled.args_info)
    try:
        content = io.BytesIO()
        _pickler(content, executable).dump((unloaded, info, compiled._no_kwargs))
        return pickle.dumps(
            {
                "payload": content.getvalue(),
                "in_tree": in_tree,
                "out_tree": compiled.out_tree,
                "static": dict(static),
            }
        )
    except Exception as error:  # whatever the user's own classes raise
        raise CaptureError(
            f"what is needed to call the function cannot be pickled: {in_one_line(error)}"
        ) from error


def _pickler(content: io.BytesIO, executable: bytes) -> pickle.Pickler:
    from jax.experimental import serialize_executable

    class Swapping(serialize_executable._JaxPjrtPickler):  # type: ignore[misc]
        """Writes `executable` wherever jax would write the one that it has."""

        def persistent_id(self, obj: Any) -> Any:
            found = super().persistent_id(obj)
            return ("exec", executable) if found and found[0] == "exec" else found

    pickler: pickle.Pickler = Swapping(content)
    return pickler


def load_call(call: bytes, devices: Sequence[Any]) -> LoadedCall:
    """Loads what `pack_call` packed onto `devices`, those it was compiled for, in their order.

    Raises PlacedError if it cannot be loaded.
    """
    from jax.experimental import serialize_executable

    try:
        parts = pickle.loads(call)
        compiled = serialize_executable.deserialize_and_load(
            parts["payload"],
            parts["in_tree"],
            parts["out_tree"],
            backend=devices[0].client,
            execution_devices=list(devices),
        )
    except Exception as error:  # pickle and the runtime raise several unrelated types
        raise PlacedError(f"cannot be loaded: {in_one_line(error)}") from error
    _check_layouts(compiled._executable)
    return LoadedCall(compiled, parts["static"])


def _check_layouts(executable: Any) -> None:
    """Raises PlacedError unless arguments and results lie in memory as jax will hand them over."""
    from jax._src.layout import Layout

    loaded = executable.xla_executable
    for what, found, wanted in (
        ("arguments", loaded.get_parameter_layouts(), executable._xla_in_layouts),
        ("results", loaded.get_output_layouts(), executable._xla_out_layouts),
    ):
        if [Layout.from_pjrt_layout(layout) for layout in found] != list(wanted):
            raise PlacedError(f"the executable has its {what} in other layouts than the function")


def executable_bytes(compiled: Any) -> bytes:
    """Returns the serialised executable of a jax.stages.Compiled."""
    executable = compiled.runtime_executable()
    client = getattr(executable, "client", None)
    found = executable.serialize() if client is None else client.serialize_executable(executable)
    return bytes(found)
