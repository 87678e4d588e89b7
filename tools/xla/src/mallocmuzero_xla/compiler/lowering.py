"""Lowers a JAX function once, into bytes that any compile process can compile.

`jax.jit(f).lower(...)` gives a StableHLO module and compile options; other compiler options change
only the latter. A compile process that gets both produces the text of
`jax.jit(f).lower(...).compile(compiler_options=...)`, byte for byte. It neither unpickles the
function nor traces it again. This module, placed_payload.py, shardings.py, stub.py and tracing.py
are the ones that use private parts of jax.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import json
import pathlib
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mallocmuzero_xla.chips import Chip, chip_devices
from mallocmuzero_xla.compiler.fingerprint import (
    fingerprint_of_module,
    text_without_empty_conversions,
)
from mallocmuzero_xla.compiler.shardings import (
    check_arguments,
    check_devices,
    compile_only_sharding,
    devices_of,
)
from mallocmuzero_xla.environment import prepare_environment, recorded_options
from mallocmuzero_xla.errors import (
    CaptureError,
    UnprintableError,
    UsageError,
    in_one_line,
)
from mallocmuzero_xla.overrides import SORT_OVERRIDES, TENSOR_OVERRIDES


@dataclasses.dataclass(frozen=True)
class LoweredProgram:
    """A traced function, ready to be compiled for `topology_name`.

    Attributes:
        function: the name jax gives the function.
        device_ids: the devices of the topology that run the program, in order of partition.
        module: StableHLO as MLIR bytecode.
        compile_options: a serialised xla.CompileOptionsProto (shardings, device assignment).
        base_options: the user's compiler options, part of every compile.
        sha256: hash of everything that reaches the compiler, without source locations.
        fingerprint: identifies the function on every machine (fingerprint.py).
        moved_options: further options of the user, which jax has moved into fields of
            compile_options, such as optimization_level.
    """

    function: str
    topology_name: str
    device_ids: tuple[int, ...]
    module: bytes
    compile_options: bytes
    base_options: dict[str, bool | int | float | str]
    sha256: str
    fingerprint: str = ""
    moved_options: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def own_options(self) -> dict[str, str]:
        """Returns all compiler options of the user as texts."""
        return {**as_texts(self.base_options), **self.moved_options}

    def write(self, path: pathlib.Path) -> None:
        """Writes the program to `path`, for `read` in another process."""
        fields = dataclasses.asdict(self)
        for name in ("module", "compile_options"):
            fields[name] = base64.b64encode(fields[name]).decode("ascii")
        path.write_text(json.dumps(fields), encoding="utf-8")

    @staticmethod
    def read(path: pathlib.Path) -> LoweredProgram:
        """Reads a file of `write`."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        for name in ("module", "compile_options"):
            fields[name] = base64.b64decode(fields[name])
        fields["device_ids"] = tuple(fields["device_ids"])
        return LoweredProgram(**fields)


@dataclasses.dataclass(frozen=True)
class Traced:
    """A function as jax has lowered it, for compiles in this process.

    Attributes:
        program: the same function for compiles in other processes.
        jitted: the result of jax.jit.
        lowered: a jax.stages.Lowered.
        args: the arguments of the lowering: shapes in place of arrays, static arguments unchanged.
        static: positions of the static arguments.
    """

    program: LoweredProgram
    jitted: Any
    lowered: Any
    args: tuple[Any, ...]
    static: frozenset[int]


def lower(
    fn: Callable[..., Any],
    args: Sequence[Any],
    chip: Chip,
    jit_options: Mapping[str, Any] | None = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> LoweredProgram:
    """Returns the program of `trace`, for compile processes; the arguments are the same."""
    return trace(fn, args, chip, jit_options, compiler_options).program


def trace(
    fn: Callable[..., Any],
    args: Sequence[Any],
    chip: Chip,
    jit_options: Mapping[str, Any] | None = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> Traced:
    """Lowers `fn(*args)` for `chip`; loads libtpu into this process, but compiles nothing.

    Args:
        fn: a function, or the result of jax.jit; in the latter case without `jit_options`.
        args: pytrees of arrays or jax.ShapeDtypeStruct. Unless the function or an argument is
            sharded over the chip's devices (topology_devices), everything runs on the first device.
        jit_options: keyword arguments of jax.jit: donate_argnums, static_argnums, in_shardings...
        compiler_options: options of every compile of this program.

    Raises:
        UsageError: jax.jit refuses the options, or the function is jitted by a framework, it or an
            argument is sharded over other devices, or it has overrides of its own.
        CaptureError: the function cannot be traced, or calls back to the host.
    """
    prepare_environment()
    jitted = jit_of(fn, jit_options or {})
    devices = chip_devices(chip)
    try:
        lowered, abstract = _traced(jitted, args, devices)
    except Exception as error:
        name = getattr(fn, "__name__", "the function")
        raise CaptureError(f"{name} cannot be traced: {in_one_line(error)}") from error
    check_lowered(lowered)
    check_devices(lowered, chip, devices)
    static = static_positions(jitted, len(args))
    check_arguments(lowered, [arg for index, arg in enumerate(args) if index not in static], chip)
    program = _serialise(lowered, chip, compiler_options or {})
    _check_overrides(program)
    return Traced(program, jitted, lowered, tuple(abstract), frozenset(static))


def jit_of(fn: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Returns jax.jit(fn, **options), or `fn` itself if it is a result of jax.jit.

    Raises UsageError if jax.jit refuses the options, or if they would change another program: a
    function of jax.jit that compiles under options of its own is not the same one.
    """
    import jax

    if is_jitted(fn) and options.keys() == {"compiler_options"}:
        raise UsageError("compiler_options: give them to the jax.jit that made the function")
    try:
        return fn if is_jitted(fn) and not options else jax.jit(fn, **options)
    except (TypeError, ValueError) as error:
        given = f" with {', '.join(options)}" if options else ""
        unknown = "unexpected keyword argument" in str(error)
        hint = "; bind an argument of the function by functools.partial" if unknown else ""
        raise UsageError(f"jax.jit{given}: {in_one_line(error)}{hint}") from error


def is_jitted(fn: Callable[..., Any]) -> bool:
    """Whether `fn` is a result of jax.jit.

    A bound method of such a result is not: its `lower` does not get the object.
    """
    return hasattr(fn, "lower") and not isinstance(fn, types.MethodType)


def check_lowered(lowered: Any) -> None:
    """Raises UsageError unless `lowered` is jax's: some frameworks have a jit of their own."""
    if not hasattr(lowered, "_lowering"):
        kind = type(lowered)
        raise UsageError(
            f"the function lowers to a {kind.__module__}.{kind.__qualname__}, not as jax.jit does: "
            f"give the function itself, not the result of a framework's jit"
        )


def text_sha256(lowered: Any) -> str:
    """Returns the SHA-256 of a jax.stages.Lowered, without source locations."""
    return hashlib.sha256(text_of(lowered).encode()).hexdigest()


def text_of(lowered: Any) -> str:
    """Returns the StableHLO of a jax.stages.Lowered, without source locations."""
    from jax._src.interpreters import mlir

    return str(mlir.module_to_string(lowered._lowering._hlo, enable_debug_info=False))


def plain_text_of(lowered: Any) -> str:
    """Returns the StableHLO of a jax.stages.Lowered, without what the compiler drops at once."""
    return text_without_empty_conversions(lowered._lowering._hlo)


def fingerprint_of(lowered: Any) -> str:
    """Returns the fingerprint of a jax.stages.Lowered, as in LoweredProgram."""
    devices = len(devices_of(lowered))
    return fingerprint_of_module(lowered._lowering._hlo, text_of(lowered), devices)


def jit_compiler_options(lowered: Any) -> dict[str, str]:
    """Returns the compiler options that jax.jit was given for a jax.stages.Lowered, as texts."""
    return as_texts(dict(lowered._lowering._compiler_options_kvs))


def result_types(lowered: Any) -> tuple[bool, tuple[bool, ...]]:
    """Returns whether jax commits results to devices, and of each whether its type is weak."""
    arguments = lowered._lowering.compile_args
    weak = tuple(bool(aval.weak_type) for aval in arguments["global_out_avals"])
    return bool(arguments["committed"]), weak


def as_texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Returns compiler options as the compiler reads them."""
    return {name: option_text(value) for name, value in options.items()}


def option_text(value: object) -> str:
    """Returns the value of a compiler option as the compiler reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _traced(jitted: Any, args: Sequence[Any], devices: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Returns the lowered function and the arguments of the lowering."""
    import jax

    static = static_positions(jitted, len(args))
    dynamic = [arg for index, arg in enumerate(args) if index not in static]
    if not jax.tree.leaves(dynamic):
        # Without a sharded argument jax would lower for a device of this machine.
        with jax.default_device(devices[0]):
            return jitted.lower(*args), args
    one_device = jax.sharding.SingleDeviceSharding(devices[0])
    try:
        abstract = _abstract_args(args, static, one_device)
        return jitted.lower(*abstract), abstract
    except ValueError:
        # A function with its own sharding (jit options, shard_map) accepts no argument on a single
        # device. An error with another reason is raised again here.
        abstract = _abstract_args(args, static, None)
        return jitted.lower(*abstract), abstract


def static_positions(jitted: Any, count: int) -> set[int]:
    """Returns which of `count` arguments are static; jax.jit may be told by number or by name."""
    info = getattr(jitted, "_jit_info", None)  # absent in look-alikes of jax.jit
    positions = info.static_argnums if info is not None else ()
    return {position % count for position in positions if -count <= position < count}


def static_names(jitted: Any) -> set[str]:
    """Returns the names of the static arguments."""
    info = getattr(jitted, "_jit_info", None)  # absent in look-alikes of jax.jit
    return set(info.static_argnames) if info is not None else set()


def _check_overrides(program: LoweredProgram) -> None:
    """Raises UsageError if the user sets overrides, which this package would replace."""
    for name in (TENSOR_OVERRIDES, SORT_OVERRIDES):
        if name in {**recorded_options(), **program.base_options}:
            raise UsageError(
                f"{name} is set: this package sets it itself, so leave it out of the compiler "
                f"options, LIBTPU_INIT_ARGS and XLA_FLAGS"
            )


def _abstract_args(args: Sequence[Any], static: set[int], fallback: Any) -> list[Any]:
    """Replaces arrays by their shapes, with the sharding `fallback` unless they are sharded.

    Arguments with an array that is sharded over compile-only devices keep their shardings.
    """
    import jax

    dynamic = [arg for index, arg in enumerate(args) if index not in static]
    if any(compile_only_sharding(leaf) for leaf in jax.tree.leaves(dynamic)):
        fallback = None

    def abstract(leaf: Any) -> Any:
        kind = jax.typeof(leaf)
        return jax.ShapeDtypeStruct(
            kind.shape,
            kind.dtype,
            sharding=compile_only_sharding(leaf) or fallback,
            weak_type=getattr(kind, "weak_type", False),
        )

    return [
        arg if index in static else jax.tree.map(abstract, arg) for index, arg in enumerate(args)
    ]


def _serialise(lowered: Any, chip: Chip, compiler_options: Mapping[str, Any]) -> LoweredProgram:
    import numpy as np
    from jax._src.interpreters import mlir, pxla

    computation = lowered._lowering
    module, arguments = computation._hlo, computation.compile_args
    if arguments["host_callbacks"]:
        raise CaptureError(
            "the function calls back to the host, as jax.debug.print does: leave the callbacks out"
        )
    from_inputs, from_outputs = pxla.get_prop_to_input_output(
        arguments["in_shardings"], arguments["out_shardings"], len(arguments["ordered_effects"])
    )
    devices = list(computation._device_list)
    given = {**dict(computation._compiler_options_kvs), **compiler_options}
    # jax turns some options into fields of compile_options instead of passing them to the compiler.
    compile_options = pxla.create_compile_options(
        module,
        arguments["tuple_args"],
        from_inputs,
        from_outputs,
        arguments["backend"],
        np.array(devices, dtype=object),
        given,
    )
    base_options = dict(compile_options.env_option_overrides)
    moved = {name: value for name, value in given.items() if name not in base_options}
    serialised_options = compile_options.SerializeAsString()
    device_ids = tuple(device.id for device in devices)
    text = mlir.module_to_string(module, enable_debug_info=False)
    identity = (text, serialised_options.hex(), base_options, device_ids, chip.topology_name)
    return LoweredProgram(
        function=computation._name.removeprefix("jit(").removesuffix(")"),
        topology_name=chip.topology_name,
        device_ids=device_ids,
        module=_bytecode(module),
        compile_options=serialised_options,
        base_options=base_options,
        sha256=hashlib.sha256(repr(identity).encode()).hexdigest(),
        fingerprint=fingerprint_of_module(module, text, len(device_ids)),
        moved_options=as_texts(moved),
    )


def _bytecode(module: Any) -> bytes:
    """Returns an MLIR module as bytecode in a version of the format that libtpu reads.

    libtpu 0.0.52 does not read a module with a Pallas kernel in the newest version.
    """
    output = io.BytesIO()
    module.operation.write_bytecode(file=output, desired_version=1)
    return output.getvalue()


def compile_to_text(
    program: LoweredProgram, devices: Sequence[Any], options: Mapping[str, str]
) -> str:
    """Compiles with `options` on top of the program's own and returns the scheduled HLO text.

    May abort the whole process: call it only in a child process. Raises UnprintableError if jax
    cannot print the compiled module.
    """
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax

    compile_options = _jax.CompileOptions.ParseFromString(program.compile_options)
    compile_options.env_option_overrides = list({**program.base_options, **options}.items())
    by_id = {device.id: device for device in devices}
    executable_devices = _jax.DeviceList(tuple(by_id[index] for index in program.device_ids))
    with mlir.make_ir_context():
        executable = by_id[program.device_ids[0]].client.compile(
            mlir.ir.Module.parse(program.module),
            executable_devices=executable_devices,
            compile_options=compile_options,
        )
    try:
        return "\n\n".join(module.to_string() for module in executable.hlo_modules())
    except Exception as error:
        raise UnprintableError(in_one_line(error)) from error
