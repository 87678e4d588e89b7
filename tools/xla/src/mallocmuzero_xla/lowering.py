"""Lowers a JAX function once, into bytes any compile process can take up.

`jax.jit(f).lower(...)` gives a StableHLO module and compile options; a compile with other compiler
options differs in those options alone. Shipping the two to a compile process gives the text that
`jax.jit(f).lower(...).compile(compiler_options=...)` gives, byte for byte, without pickling the
function and without tracing it again. This is the one module that uses private parts of jax.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mallocmuzero_xla.chips import Chip, chip_devices
from mallocmuzero_xla.errors import CaptureError


@dataclasses.dataclass(frozen=True)
class LoweredProgram:
    """A traced function, ready to be compiled for `topology_name`.

    Attributes:
        function: the name jax gives the function.
        device_ids: devices of the topology that the program runs on, in order of partition.
        module: StableHLO as MLIR bytecode.
        compile_options: a serialised xla.CompileOptionsProto (shardings, device assignment).
        base_options: compiler options of the user's own, part of every compile.
        sha256: of everything that decides what the compiler sees; source locations are left out.
    """

    function: str
    topology_name: str
    device_ids: tuple[int, ...]
    module: bytes
    compile_options: bytes
    base_options: dict[str, str]
    sha256: str

    def write(self, path: pathlib.Path) -> None:
        """Writes the program to `path`, for `read` in another process."""
        fields = dataclasses.asdict(self)
        for name in ("module", "compile_options"):
            fields[name] = base64.b64encode(fields[name]).decode("ascii")
        path.write_text(json.dumps(fields), encoding="utf-8")

    @staticmethod
    def read(path: pathlib.Path) -> LoweredProgram:
        """Reads what `write` wrote."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        for name in ("module", "compile_options"):
            fields[name] = base64.b64decode(fields[name])
        fields["device_ids"] = tuple(fields["device_ids"])
        return LoweredProgram(**fields)


def lower(
    fn: Callable[..., Any],
    args: Sequence[Any],
    chip: Chip,
    jit_options: Mapping[str, Any] | None = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> LoweredProgram:
    """Lowers `fn(*args)` for `chip`; loads libtpu into this process, but compiles nothing.

    Args:
        fn: a function, or the result of jax.jit; in the latter case without `jit_options`.
        args: pytrees of arrays or jax.ShapeDtypeStruct. Those without a sharding on the chip's
            devices go to its first device, or are left to the compiler if anything is sharded.
        jit_options: keyword arguments of jax.jit: donate_argnums, static_argnums, in_shardings...
        compiler_options: options that every compile of this program is to have.
    """
    import jax

    devices = chip_devices(chip)
    options = dict(jit_options or {})
    jitted = fn if hasattr(fn, "lower") and not options else jax.jit(fn, **options)
    lowered = jitted.lower(*_abstract_args(args, devices, options))
    return _serialise(lowered, chip, compiler_options or {})


def _abstract_args(
    args: Sequence[Any], devices: Sequence[Any], options: Mapping[str, Any]
) -> list[Any]:
    """Replaces every array by its shape, placed on the devices compiled for."""
    import jax

    static = options.get("static_argnums", ())
    static = {static} if isinstance(static, int) else {*(static or ())}
    static = {index % len(args) for index in static}
    dynamic = [arg for index, arg in enumerate(args) if index not in static]
    on_chip = any(_chip_sharding(leaf, devices) for leaf in jax.tree.leaves(dynamic))
    sharded = on_chip or options.get("in_shardings") is not None
    fallback = None if sharded else jax.sharding.SingleDeviceSharding(devices[0])

    def abstract(leaf: Any) -> Any:
        kind = jax.typeof(leaf)
        return jax.ShapeDtypeStruct(
            kind.shape,
            kind.dtype,
            sharding=_chip_sharding(leaf, devices) or fallback,
            weak_type=getattr(kind, "weak_type", False),
        )

    return [
        arg if index in static else jax.tree.map(abstract, arg) for index, arg in enumerate(args)
    ]


def _chip_sharding(leaf: Any, devices: Sequence[Any]) -> Any:
    """Returns the sharding of `leaf` if it is one over `devices`, else None."""
    sharding = getattr(leaf, "sharding", None)
    device_set = getattr(sharding, "device_set", None)
    return sharding if device_set and device_set <= set(devices) else None


def _serialise(lowered: Any, chip: Chip, compiler_options: Mapping[str, Any]) -> LoweredProgram:
    import numpy as np
    from jax._src.interpreters import mlir, pxla

    computation = lowered._lowering
    module, arguments = computation._hlo, computation.compile_args
    if arguments["host_callbacks"]:
        raise CaptureError("the function calls back to the host: remove the callbacks to capture")
    from_inputs, from_outputs = pxla.get_prop_to_input_output(
        arguments["in_shardings"], arguments["out_shardings"], len(arguments["ordered_effects"])
    )
    devices = list(computation._device_list)
    compile_options = pxla.create_compile_options(
        module,
        arguments["tuple_args"],
        from_inputs,
        from_outputs,
        arguments["backend"],
        np.array(devices, dtype=object),
        {},
    ).SerializeAsString()
    base_options = {**dict(computation._compiler_options_kvs), **compiler_options}
    device_ids = tuple(device.id for device in devices)
    text = mlir.module_to_string(module, enable_debug_info=False)
    identity = (text, compile_options.hex(), base_options, device_ids, chip.topology_name)
    return LoweredProgram(
        function=computation._name,
        topology_name=chip.topology_name,
        device_ids=device_ids,
        module=mlir.module_to_bytecode(module),
        compile_options=compile_options,
        base_options={name: str(value) for name, value in base_options.items()},
        sha256=hashlib.sha256(repr(identity).encode()).hexdigest(),
    )


def compile_to_text(
    program: LoweredProgram, devices: Sequence[Any], options: Mapping[str, str]
) -> str:
    """Compiles with `options` on top of the program's own and returns the scheduled HLO text.

    May abort the whole process: call it only where that is harmless.
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
    return "\n\n".join(module.to_string() for module in executable.hlo_modules())
