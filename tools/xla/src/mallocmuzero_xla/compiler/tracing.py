"""What jax traces in this thread, and under which settings. Uses private parts of jax."""

from __future__ import annotations

from typing import Any

# Settings of jax that change a compile, but no trace: the devices of a mesh, and levels of effort.
_COMPILE_SETTINGS = ("device_context", "optimization_level", "memory_fitting_level")

# The type of a trace whose operations become a program, as those of jax.jit and jax.eval_shape.
_STAGED = "DynamicJaxprTrace"


def trace_context() -> Any:
    """Returns what jax's settings and contexts in this thread add to a compile, hashable.

    jax.jit tells calls apart by them: precision of products, 64-bit types, default device, mesh...
    """
    from jax._src import config

    further = (getattr(config, name, None) for name in _COMPILE_SETTINGS)  # None in another jax
    return config.trace_context(), tuple(getattr(each, "value", None) for each in further)


def mesh_devices() -> frozenset[Any] | None:
    """Returns the devices of the mesh that jax.set_mesh has set in this thread; None without one.

    jax.jit runs the function on them, with arguments that are committed to no device.
    """
    from jax._src import config

    mesh = getattr(getattr(config, "device_context", None), "value", None)  # None in another jax
    devices = getattr(mesh, "devices", None)
    return None if devices is None else frozenset(devices.flat)


def is_traced() -> bool:
    """Whether what this thread calls becomes part of a program, as inside another jax.jit.

    There, even a call without a traced argument must not run.
    """
    from jax._src import core

    trace = getattr(getattr(core, "trace_ctx", None), "trace", None)  # None in another jax
    while trace is not None and type(trace).__name__ != _STAGED:
        trace = getattr(trace, "parent_trace", None)
    return trace is not None
