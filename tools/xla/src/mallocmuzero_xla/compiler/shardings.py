"""Which devices arguments and lowered functions are on. Uses private parts of jax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mallocmuzero_xla.chips import Chip, known_topology
from mallocmuzero_xla.errors import UsageError


def compile_only_sharding(leaf: Any) -> Any:
    """Returns the sharding of `leaf`, or None if it is over real devices, which do not matter."""
    from jax._src.lib import _jax

    sharding = getattr(leaf, "sharding", None)
    devices = getattr(sharding, "device_set", ())
    only = devices and all(isinstance(item.client, _jax.CompileOnlyPyClient) for item in devices)
    return sharding if only else None


def devices_of(lowered: Any) -> list[Any]:
    """Returns the devices that a jax.stages.Lowered is for; one at least."""
    return list(lowered._lowering._device_list)


def check_devices(lowered: Any, chip: Chip, devices: Sequence[Any]) -> None:
    """Raises UsageError unless `lowered` runs on `devices`, and not on another topology's."""
    known = {(device.id, device.device_kind) for device in devices}
    wanted = [(device.id, device.device_kind) for device in devices_of(lowered)]
    if not known.issuperset(wanted):
        remedy = f"build its mesh from topology_devices({chip.name!r})"
        theirs = known_topology(devices_of(lowered)[0])
        if theirs is not None and theirs.name == chip.name:
            remedy = f"give topology={theirs.topology_name!r}"
        raise UsageError(
            f"the function is sharded over devices that {chip.topology_name!r} does not have: "
            f"{remedy}"
        )


def check_arguments(lowered: Any, args: Sequence[Any], chip: Chip) -> None:
    """Raises UsageError if `lowered` is of one device, and an argument on several of this machine.

    Shardings over this machine's devices do not reach the program.
    """
    import jax

    if len(devices_of(lowered)) > 1:
        return
    shardings = (getattr(leaf, "sharding", None) for leaf in jax.tree.leaves(args))
    counts = [len(getattr(sharding, "device_set", ())) for sharding in shardings]
    if max(counts, default=0) > 1:
        raise UsageError(
            f"an argument is sharded over {max(counts)} devices of this machine, and the result "
            f"would be for one device: build its mesh from topology_devices({chip.name!r}, "
            f"TOPOLOGY), and give topology=TOPOLOGY"
        )
