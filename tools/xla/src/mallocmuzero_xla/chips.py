"""The chips that programs can be captured for, with their names in libtpu."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

from mallocmuzero_xla.environment import prepare_environment
from mallocmuzero_xla.errors import UsageError, in_one_line

if TYPE_CHECKING:
    import jax


@dataclasses.dataclass(frozen=True)
class Chip:
    """A TPU generation as libtpu knows it.

    Attributes:
        name: the name in this project, which `mallocmuzero --hardware` takes.
        topology_name: the topology that libtpu compiles for; it may hold several devices.
        msa_prefix: prefix of the compiler options of memory-space assignment.
        scoped_vmem_kib: the chip's own limit of scoped memory, in KiB of VMEM.
        shared_vmem_kib: VMEM of instructions and tensors together, without the part that neither
            may use (64 KiB on v5p, v6e and TPU7x); None where tensors live in CMEM.
    """

    name: str
    topology_name: str
    msa_prefix: str
    scoped_vmem_kib: int
    shared_vmem_kib: int | None

    @property
    def msa_option(self) -> str:
        """Returns the option whose value 'false' leaves every tensor in HBM."""
        return f"{self.msa_prefix}memory_space_assignment"


_CMEM, _VF_VMEM, _GF_VMEM = "xla_tpu_cmem_", "xla_vf_vmem_", "xla_gf_vmem_"

CHIPS = {
    chip.name: chip
    for chip in (
        Chip("tpu_v6e", "v6e:1x1", _GF_VMEM, 32 * 1024, 128 * 1024 - 64),
        Chip("tpu7x", "tpu7x:1x1x1", _GF_VMEM, 32 * 1024, 64 * 1024 - 64),
        Chip("tpu_v5e", "v5e:1x1", _VF_VMEM, 16 * 1024, 128 * 1024),
        Chip("tpu_v5p", "v5p:2x2x1", _VF_VMEM, 16 * 1024, 64 * 1024 - 64),
        Chip("tpu_v4", "v4:2x2x1", _CMEM, 16 * 1024, None),
        Chip("tpu_v4i", "v4 lite:1x1", _CMEM, 16 * 1024, None),
    )
}


def chosen_chip(name: str | None, topology: str | None = None) -> Chip:
    """Returns the chip called `name`, or this machine's own if `name` is None.

    Raises UsageError if there is no such chip, or this machine has none.
    """
    return find_chip(name or chip_here(), topology)


def find_chip(name: str, topology: str | None = None) -> Chip:
    """Returns the chip called `name`, with `topology` in place of its default topology."""
    if name not in CHIPS:
        raise UsageError(f"unknown chip {name!r}: expected one of {', '.join(CHIPS)}")
    chip = CHIPS[name]
    return dataclasses.replace(chip, topology_name=topology) if topology else chip


# The names that jax gives to the devices of a TPU host, and to those of a topology.
_DEVICE_KINDS = {
    "TPU v4 lite": "tpu_v4i",
    "TPU v4": "tpu_v4",
    "TPU v5 lite": "tpu_v5e",
    "TPU v5e": "tpu_v5e",
    "TPU v5": "tpu_v5p",
    "TPU v5p": "tpu_v5p",
    "TPU v6 lite": "tpu_v6e",
    "TPU v6e": "tpu_v6e",
    "TPU7x": "tpu7x",
}


def chip_of_kind(device_kind: str) -> str | None:
    """Returns the name in CHIPS of the chip that jax calls `device_kind`, or None."""
    return _DEVICE_KINDS.get(device_kind)


def chip_here() -> str:
    """Returns the name of this machine's own chip.

    Raises UsageError, with the names to choose from, if jax does not run on a TPU of CHIPS here.
    """
    prepare_environment()
    import jax

    try:
        device = jax.devices()[0]
    except RuntimeError as error:  # another process has the TPU, or JAX_PLATFORMS names none here
        raise UsageError(
            f"no chip named, and jax finds no device here ({in_one_line(error)}): name the chip to "
            f"compile for, one of {', '.join(CHIPS)}"
        ) from error
    name = chip_of_kind(device.device_kind) if device.platform == "tpu" else None
    if name is None:
        raise UsageError(
            f"no chip named, and jax runs on {device.device_kind!r} here: name the chip to compile "
            f"for, one of {', '.join(CHIPS)}"
        )
    return name


def topology_devices(chip: str, topology: str | None = None) -> list[jax.Device]:
    """Returns the compile-only devices of a chip's topology, to build meshes and shardings from."""
    return chip_devices(find_chip(chip, topology))


# The topologies whose devices this process has asked for, by a device of each.
_topology_of_device: dict[jax.Device, Chip] = {}


def known_topology(device: jax.Device) -> Chip | None:
    """Returns the chip and the topology that `device` came from, or None.

    Only devices of `topology_devices` and `chip_devices` are known.
    """
    return _topology_of_device.get(device)


@functools.cache
def chip_devices(chip: Chip) -> list[jax.Device]:
    """Returns the compile-only devices of `chip`; loads libtpu into this process."""
    prepare_environment()
    from jax.experimental import topologies

    try:
        description = topologies.get_topology_desc(platform="tpu", topology_name=chip.topology_name)
    except Exception as error:  # libtpu raises several unrelated types here
        first_line = (str(error).splitlines() or [repr(error)])[0]
        raise UsageError(
            f"libtpu does not accept topology {chip.topology_name!r} for {chip.name}; expected one "
            f"such as {CHIPS[chip.name].topology_name!r}: {first_line}"
        ) from error
    devices = list(description.devices)
    kind = devices[0].device_kind
    if chip_of_kind(kind) not in (chip.name, None):
        raise UsageError(
            f"topology {chip.topology_name!r} is of {chip_of_kind(kind)}, not of {chip.name}: "
            f"expected one such as {CHIPS[chip.name].topology_name!r}"
        )
    _topology_of_device.update((device, chip) for device in devices)
    return devices
