"""Packs a foreign executable with the objects that jax needs to call it, and loads it again.

jax.experimental.serialize_executable pickles a compiled function with the executable's bytes. This
module puts other bytes in their place: an executable with the same arguments and results. Before
the executable, jaxlib writes the length of a message as a varint, and the message
(xla.ifrt.SerializedXlaExecutableMetadata: shapes, layouts and donation). That message stays. This
module, lowering.py, shardings.py, stub.py and tracing.py are the ones that use private parts of
jax.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from mallocmuzero_xla.compiler.native_traces import without_native_traces
from mallocmuzero_xla.errors import CaptureError, PlacedError, in_one_line

# The name of the runtime in jaxlib's message, and the last position where it may begin.
_IFRT = b"pjrt_ifrt"
_FRAME_BYTES = 64

_VARINT_BYTES = 5

# Stands in a text for the values of an array. jaxlib reads it, and makes up other values.
_LEFT_OUT = "constant({...})"


@dataclasses.dataclass(frozen=True)
class LoadedCall:
    """A packed executable after loading.

    Attributes:
        compiled: a jax.stages.Compiled that takes the arguments that are not static.
        static: the static arguments of its compile, by position.
        devices: those that it runs on.
    """

    compiled: Any
    static: dict[int, Any]
    devices: tuple[Any, ...]

    @property
    def infos(self) -> list[Any]:
        """Returns what jax knows of each array argument: shape, dtype, weak type, donation."""
        import jax

        return list(jax.tree.leaves(self.compiled.args_info))

    @property
    def weak(self) -> tuple[bool, ...]:
        """Returns of each array argument whether its type is weak, as that of a Python number."""
        return tuple(bool(info._aval.weak_type) for info in self.infos)

    def with_results(self, committed: bool, weak: Sequence[bool] | None) -> Any:
        """Returns the executable as a jax.stages.Compiled with other types of results.

        Args:
            committed: whether results are committed to their device, so that jax does not move
                them to another one. On several devices they always are.
            weak: of each result whether its type is weak; None for those of the compile.
        """
        import jax

        unloaded = self.compiled._executable._unloaded_executable
        avals = unloaded.output_avals
        if weak is not None:
            avals = [aval.update(weak_type=each) for aval, each in zip(avals, weak, strict=True)]
        committed = committed or len(self.devices) > 1
        other = dataclasses.replace(unloaded, output_avals=avals, committed=committed).load()
        compiled = self.compiled
        return jax.stages.Compiled(
            other, [], compiled.args_info, compiled.out_tree, no_kwargs=compiled._no_kwargs
        )

    def arguments(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Returns arguments of the function by position and by name: `leaves` and static ones."""
        import jax

        dynamic, named = jax.tree.structure(self.compiled.args_info).unflatten(leaves)
        rest = iter(dynamic)
        count = len(dynamic) + len(self.static)
        every = [self.static[at] if at in self.static else next(rest) for at in range(count)]
        return every, named


def pack_call(compiled: Any, executable: bytes, static: Mapping[int, Any]) -> bytes:
    """Returns `compiled`, a jax.stages.Compiled, with `executable` as its executable.

    `executable` has the form that the compiler's library serialises. Raises CaptureError if jax
    cannot serialise the rest.
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
    frame, own = _split(compiled)
    if own[:1] != executable[:1] or _IFRT in executable[:_FRAME_BYTES]:
        raise CaptureError("the executable is not one of the compiler that jax has here")
    try:
        content = io.BytesIO()
        _pickler(content, frame + executable).dump((unloaded, info, compiled._no_kwargs))
        return pickle.dumps(
            {
                "payload": content.getvalue(),
                "in_tree": in_tree,
                "out_tree": compiled.out_tree,
                "static": dict(static),
            }
        )
    except Exception as error:  # user classes may raise any type
        raise CaptureError(
            f"the objects that a call needs cannot be pickled: {in_one_line(error)}"
        ) from error


def _pickler(content: io.BytesIO, executable: bytes) -> pickle.Pickler:
    from jax.experimental import serialize_executable

    class Swapping(serialize_executable._JaxPjrtPickler):  # type: ignore[misc]
        """A pickler that writes `executable` in the place of jax's own executable."""

        def persistent_id(self, obj: Any) -> Any:
            found = super().persistent_id(obj)
            return ("exec", executable) if found and found[0] == "exec" else found

    pickler: pickle.Pickler = Swapping(content)
    return pickler


def call_parts(call: bytes) -> tuple[Any, Any, dict[int, Any]]:
    """Returns the trees of arguments and results and the static arguments in `pack_call`'s bytes.

    The tree of arguments is that of jax.stages.Stage.args_info. Raises PlacedError if the bytes
    cannot be read.
    """
    try:
        parts = pickle.loads(call)
        return parts["in_tree"], parts["out_tree"], dict(parts["static"])
    except Exception as error:  # pickle and user classes raise several unrelated types
        raise PlacedError(f"cannot be loaded: {in_one_line(error)}") from error


def same_tree(one: Any, other: Any) -> bool:
    """Whether two trees are equal; False if the data of a user's nodes cannot be compared."""
    try:
        return bool(one == other)
    except Exception:  # user classes may raise any type
        return False


def load_call(call: bytes, devices: Sequence[Any]) -> LoadedCall:
    """Loads the bytes of `pack_call` onto `devices`, in the order of the compile.

    Raises PlacedError if that fails.
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
    return LoadedCall(compiled, parts["static"], tuple(devices))


def _check_layouts(executable: Any) -> None:
    """Raises PlacedError unless arguments and results have the layouts that jax passes."""
    from jax._src.layout import Layout

    loaded = executable.xla_executable
    for what, get, wanted in (
        ("arguments", loaded.get_parameter_layouts, executable._xla_in_layouts),
        ("results", loaded.get_output_layouts, executable._xla_out_layouts),
    ):
        try:
            found = [Layout.from_pjrt_layout(layout) for layout in get()]
        except Exception:  # the runtime does not say, and jax does not check either
            continue
        if found != list(wanted):
            raise PlacedError(f"the executable has its {what} in {found}, expected {list(wanted)}")


def raw_executable(compiled: Any) -> bytes:
    """Returns the executable of a jax.stages.Compiled, serialised by the compiler's library."""
    return _split(compiled)[1]


def _split(compiled: Any) -> tuple[bytes, bytes]:
    """Splits jaxlib's bytes into its own message and the executable."""
    executable = compiled.runtime_executable()
    client = getattr(executable, "client", None)
    found = executable.serialize() if client is None else client.serialize_executable(executable)
    content = bytes(found)
    length, start = 0, 0
    for start, byte in enumerate(content[:_VARINT_BYTES], 1):
        length |= (byte & 0x7F) << 7 * (start - 1)
        if byte < 0x80:
            break
    end = start + length
    if _IFRT not in content[start : min(end, start + _FRAME_BYTES)] or end >= len(content):
        raise CaptureError(
            "this jaxlib serialises executables otherwise than 0.10.2 does: install that one"
        )
    return content[:end], content[end:]


def module_of_text(text: str) -> bytes:
    """Returns the HloModuleProto of a text.

    Raises CaptureError if the text has not all of the module, or jaxlib cannot read it.
    """
    if _LEFT_OUT in text:
        raise CaptureError("the text of the compiled module leaves out the values of constants")
    from jaxlib import _hlo

    try:
        return bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    except Exception as error:
        raise CaptureError(f"jax cannot read the compiled module: {in_one_line(error)}") from error


def check_entry(compiled: Any, module: bytes) -> None:
    """Raises CaptureError unless a compiled module has the signature of `compiled`.

    `module` is an HloModuleProto. The signature is the shapes, layouts and memory spaces of
    arguments and results: jax knows only those of `compiled`. A module that jaxlib cannot read is
    not compared.
    """
    from jaxlib import _hlo

    try:
        with without_native_traces():
            own = compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()
        wanted = _hlo.XlaComputation(own).program_shape()
    except Exception:  # jaxlib has bugs in modules with asynchronous slices
        return
    try:
        found = _hlo.XlaComputation(module).program_shape()
    except Exception as error:
        raise CaptureError(f"the placed module cannot be read: {in_one_line(error)}") from error
    shapes = [_arrays(found), _arrays(wanted)]
    if shapes[0] != shapes[1]:
        raise CaptureError(
            f"the placed module is called otherwise: {shapes[0]}, expected {shapes[1]}"
        )


def _arrays(shape: Any) -> str:
    """Returns the arguments and the result in XLA's notation, with layouts and memory spaces."""
    arguments = ", ".join(str(argument) for argument in shape.parameter_shapes())
    return f"({arguments})->{shape.result_shape()}"
