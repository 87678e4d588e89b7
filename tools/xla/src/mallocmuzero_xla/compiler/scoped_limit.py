"""The limit of scoped memory, and the memory that it leaves for tensors.

The compiler lets each instruction use VMEM for the tiles it works on, up to a limit. Where tensors
live in VMEM as well, the compiler sets the whole limit aside, and tensors get the rest.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.environment import recorded_options
from mallocmuzero_xla.errors import UsageError

OPTION = "xla_tpu_scoped_vmem_limit_kib"


def limit_in_force(options: Mapping[str, object]) -> int | None:
    """Returns the limit that compiler options or the environment set, in KiB; None if none does."""
    limit = {**recorded_options(), **options}.get(OPTION)
    if limit is None:
        return None
    try:
        return int(str(limit))
    except ValueError:
        raise UsageError(f"{OPTION}={limit}: expected a number of KiB") from None


def fast_memory_bytes(chip: Chip, options: Mapping[str, object]) -> int | None:
    """Returns the bytes left for tensors; None if the chip's hardware file says it."""
    limit = limit_in_force(options)
    if limit is None or chip.shared_vmem_kib is None:
        return None
    return max(0, chip.shared_vmem_kib - limit) * 1024


def with_options(program: LoweredProgram, options: Mapping[str, str]) -> LoweredProgram:
    """Returns the program with further compiler options of its own."""
    if not options:
        return program
    identity = (program.sha256, sorted(options.items()))
    return dataclasses.replace(
        program,
        base_options={**program.base_options, **options},
        sha256=hashlib.sha256(repr(identity).encode()).hexdigest(),
    )
