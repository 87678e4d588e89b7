"""load_placed(): returns a function that runs the placed executable of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from mallocmuzero_xla.artefacts.artefact import Artefact
from mallocmuzero_xla.artefacts.placed_file import PlacedFile, PlacedHeader
from mallocmuzero_xla.chips import chip_of_kind
from mallocmuzero_xla.compiler.lowering import is_jitted, jit_compiler_options, jit_of, text_sha256
from mallocmuzero_xla.compiler.placed_payload import LoadedCall, load_call, same_tree
from mallocmuzero_xla.environment import versions_of
from mallocmuzero_xla.errors import PlacedError, in_one_line
from mallocmuzero_xla.placed.call import PlacedCall
from mallocmuzero_xla.placed.packing import build_of, describe_device

# Each machine numbers its devices anew. With several devices their positions must agree.
_PLACE = ("coords", "core_on_chip")


def load_placed(
    path: str | os.PathLike[str],
    fn: Callable[..., Any] | None = None,
    *,
    check: bool = True,
    **jit_options: Any,
) -> PlacedCall:
    """Returns a function that runs the placed executable of a file.

    If the file cannot be loaded (no TPU or another one, another version of jax or libtpu, a damaged
    or missing file, another version of `fn`), the result is jax.jit(fn, **jit_options), and a
    FallbackWarning gives the reason. Single calls with other arguments fall back in the same way.
    Compiles nothing by itself. Unpickles the file: load only files from a trusted source.

    Args:
        path: a file of Placed.save.
        fn: the function that was placed, or the result of jax.jit.
        check: whether to compare `fn` with the placed function, for which it is traced.
        jit_options: keyword arguments of jax.jit. Without any, those about donated and static
            arguments come from the file; shardings do not.

    Raises:
        PlacedError: the file cannot be loaded, and there is no `fn`.
        UsageError: jax.jit refuses `jit_options`.
    """
    name = getattr(fn, "__name__", os.fspath(path))
    try:
        file = PlacedFile.read(path)
    except PlacedError as error:
        call = PlacedCall(name, None, (), 0, None if fn is None else jit_of(fn, jit_options))
        call.fall_back(str(error).removeprefix(f"{name}: "))
        return call
    return call_of(file, fn, jit_options, check)


def call_of(
    file: PlacedFile,
    fn: Callable[..., Any] | None,
    jit_options: Mapping[str, Any],
    check: bool,
    artefact: Artefact | None = None,
) -> PlacedCall:
    """Does the work of load_placed for a file that has been read.

    `artefact` is given by `apply`. It is the call's, if the executable can be loaded, and reasons
    not to run the executable go to the log.
    """
    header = file.header
    jitted = None
    if fn is not None:
        recorded = {} if is_jitted(fn) else header.jit_options
        jitted = jit_of(fn, jit_options or recorded)
    loaded, reason = None, None
    try:
        loaded = load_here(file)
        if check and jitted is not None:
            _check_function(header, loaded, jitted)
    except PlacedError as error:
        loaded, reason = None, str(error)
    call = PlacedCall(
        header.function,
        loaded,
        header.parameters,
        header.arguments,
        jitted,
        logs=artefact is not None,
    )
    call.artefact = artefact if loaded is not None else None
    if reason is not None:
        call.fall_back(reason, depth=3)
    return call


def load_here(file: PlacedFile) -> LoadedCall:
    """Loads a placed executable on this machine; raises PlacedError if that is impossible."""
    header = file.header
    _check_versions(header)
    devices = _devices(header)
    return load_call(file.call, devices)


def require_options(header: PlacedHeader, own: Mapping[str, str]) -> None:
    """Raises PlacedError unless the executable was compiled with the user's `own` options."""
    for name, value in sorted(own.items()):
        if header.own_options.get(name) != value:
            raise PlacedError(f"it was compiled without the option {name}={value}")


def _check_versions(header: PlacedHeader) -> None:
    here = versions_of(header.platform)
    for name, version in header.versions.items():
        if here.get(name) != version:
            raise PlacedError(
                f"made with {name} {version}, here is {here.get(name) or 'none'}: install that, or "
                f"place it anew"
            )


def _devices(header: PlacedHeader) -> list[Any]:
    """Returns the devices of this machine that correspond to those of the file."""
    import jax

    try:
        here = {device.id: device for device in jax.devices(header.platform)}
    except RuntimeError as error:
        raise PlacedError(f"no {header.platform} here ({in_one_line(error)})") from error
    first = next(iter(here.values()))
    kinds = (header.device_kind, first.device_kind)
    if kinds[0] != kinds[1] and (chip_of_kind(kinds[0]) or 0) != chip_of_kind(kinds[1]):
        raise PlacedError(f"placed for {kinds[0]}, here is {kinds[1]}")
    build = build_of(first.client)
    if header.build and build and header.build != build:
        raise PlacedError(f"made by a compiler built from {header.build}, here is {build}")
    devices = []
    for wanted in header.devices:
        device = here.get(wanted["id"])
        if device is None or device.process_index != jax.process_index():
            raise PlacedError(f"placed for device {wanted['id']}, which this process does not have")
        found = describe_device(device)
        if len(header.devices) > 1 and any(found[name] != wanted[name] for name in _PLACE):
            raise PlacedError(f"placed for device {wanted}, here it is {found}")
        devices.append(device)
    return devices


def _check_function(header: PlacedHeader, loaded: LoadedCall, jitted: Any) -> None:
    """Raises PlacedError unless `jitted` lowers to the same module as the placed function."""
    import jax

    shardings = jax.tree.leaves(loaded.compiled.input_shardings, is_leaf=lambda leaf: leaf is None)
    leaves = [
        jax.ShapeDtypeStruct(
            info.shape,
            info.dtype,
            weak_type=weak,
            sharding=sharding if recorded["given"] else None,
        )
        for info, weak, sharding, recorded in zip(
            loaded.infos, loaded.weak, shardings, header.inputs, strict=True
        )
    ]
    args, kwargs = loaded.arguments(leaves)
    try:
        lowered = jitted.lower(*args, **kwargs)
        found = text_sha256(lowered)
    except Exception as error:
        raise PlacedError(
            f"the function cannot be traced with the arguments that it was placed with "
            f"({in_one_line(error)})"
        ) from error
    if found != header.text_sha256:
        raise PlacedError(
            "the function, or its jit options, are not those that were placed (check=False loads "
            "it all the same)"
        )
    # The text names results by their paths, and says nothing of None and of the classes of nodes.
    if not same_tree(lowered.out_tree, loaded.compiled.out_tree):
        raise PlacedError(
            "the function returns its results in another tree than when it was placed "
            "(check=False loads it all the same)"
        )
    require_options(header, jit_compiler_options(lowered))
