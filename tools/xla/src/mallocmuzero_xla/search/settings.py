"""Settings of the compiler's memory-space assignment (MSA), tried beside the overrides.

A setting says how much of a copy from HBM other work must hide, how early the copy may start, what
bandwidth it gets, or how many slices it has. The compiler uses them to choose its prefetches; its
own values are the same for all programs. bench/compiler/assignment_settings.py measures each
setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.environment import recorded_options
from mallocmuzero_xla.overrides import Item

# Options whose names begin with the chip's prefix. XLA's
# memory_space_assignment/prefetch_interval_picker.cc defines the ratios.
_OWN = {
    # The time of the instructions that run beside a copy, divided by the time of the copy: the
    # least allowed and the preferred ratio. A larger ratio starts the copy earlier.
    "min_overlap_to_async_copy_ratio": ("0", "2"),
    "preferred_overlap_to_async_copy_ratio": ("1", "1.5", "3", "10"),
    # The longest time that a tensor waits in fast memory between uses, or is copied there, divided
    # by the time of a copy as large as fast memory.
    "max_overlap_to_mem_size_async_copy_ratio": ("0.1", "1", "100"),
    # How often the compiler tries to assign a tensor.
    "max_retries": ("1",),
}

# Options that are the same on all chips.
_SHARED = {
    # The share of HBM's bandwidth that the compiler assumes for copies.
    "xla_tpu_async_copy_bandwidth_scaling_factor": ("0.5", "0.7", "0.8", "0.9", "1.5", "2"),
    # The largest number of slices of a copy.
    "xla_tpu_sliced_prefetch_max_slices": ("1", "8"),
    "xla_tpu_enforce_prefetch_fifo_order": ("true",),
    # Which of two cost models of an instruction the assignment uses.
    "xla_msa_use_bundle_aware_cost_model": ("true", "false"),
    # The size that the compiler assumes for every tensor when it times a copy; 0 means no time.
    "xla_tpu_prefetch_interval_picker_size_override": ("0",),
    # How often the compiler assumes that the body of a loop runs.
    "xla_tpu_memory_space_assignment_while_execution_count": ("1",),
}

# The settings that help most on the contended programs of the train split. Each adds the largest
# gain to those before it. bench/compiler/assignment_settings.py prints the order.
_MOST_HELPFUL = (
    "xla_tpu_async_copy_bandwidth_scaling_factor=2",
    "max_overlap_to_mem_size_async_copy_ratio=0.1",
    "xla_msa_use_bundle_aware_cost_model=true",
    "xla_tpu_async_copy_bandwidth_scaling_factor=0.8",
    "xla_tpu_enforce_prefetch_fifo_order=true",
    "preferred_overlap_to_async_copy_ratio=10",
    "xla_tpu_prefetch_interval_picker_size_override=0",
    "xla_msa_use_bundle_aware_cost_model=false",
)


def setting_kinds() -> tuple[str, ...]:
    """Returns the kinds of all settings of all chips, the most helpful first."""
    all_kinds = (f"{name}={value}" for name, value in (*_pairs(_OWN), *_pairs(_SHARED)))
    return tuple(dict.fromkeys((*_MOST_HELPFUL, *all_kinds)))


def assignment_settings(chip: Chip, options: Mapping[str, object] | None = None) -> list[Item]:
    """Returns an item for each setting that the user has not made, the most helpful first.

    The user makes settings by compiler `options` and by the compiler's environment variables.
    """
    taken = {*(options or {}), *recorded_options()}
    items = []
    for kind in setting_kinds():
        name, _, value = kind.partition("=")
        option = f"{chip.msa_prefix if name in _OWN else ''}{name}"
        if option not in taken:
            items.append(_item(kind, option, value))
    return items


def _pairs(values: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, those in values.items() for value in those)


def _item(kind: str, name: str, value: str) -> Item:
    return Item(id=f"{name}={value}", kind=kind, setting=(name, value))
