"""Settings of the compiler's memory-space assignment (MSA), tried beside the overrides.

They say how much of a copy from HBM has to be hidden behind other work, how early it may start,
what bandwidth it will have, and into how many slices it is cut. The compiler decides by them what
it prefetches at all. Its own values are the same for all programs. What each is worth has been
measured (bench/compiler/assignment_settings.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.environment import recorded_options
from mallocmuzero_xla.overrides import Item

# Of each chip's own assignment: their names follow the chip's prefix. What the ratios mean is in
# XLA's memory_space_assignment/prefetch_interval_picker.cc.
_OWN = {
    # The time that other instructions leave for a copy, by what it takes: the least there must be,
    # and what is liked best. A larger one is an earlier start.
    "min_overlap_to_async_copy_ratio": ("0", "2"),
    "preferred_overlap_to_async_copy_ratio": ("1", "1.5", "3", "10"),
    # How long a tensor may stay in fast memory between uses, or be on its way there, by the time
    # that a copy of as much as all of fast memory takes.
    "max_overlap_to_mem_size_async_copy_ratio": ("0.1", "1", "100"),
    # How often the assignment of a tensor is tried.
    "max_retries": ("1",),
}

# Of all chips.
_SHARED = {
    # The share of HBM's bandwidth that copies are believed to have.
    "xla_tpu_async_copy_bandwidth_scaling_factor": ("0.5", "0.7", "0.8", "0.9", "1.5", "2"),
    # Slices that a copy is cut into at most.
    "xla_tpu_sliced_prefetch_max_slices": ("1", "8"),
    "xla_tpu_enforce_prefetch_fifo_order": ("true",),
    # Which of its two models of an instruction's cost the assignment asks.
    "xla_msa_use_bundle_aware_cost_model": ("true", "false"),
    # The size that all tensors are taken to have where the time of a copy matters: no time at all.
    "xla_tpu_prefetch_interval_picker_size_override": ("0",),
    # How often the body of a loop is believed to run.
    "xla_tpu_memory_space_assignment_while_execution_count": ("1",),
}

# Those that help most on the contended programs of the train split: each adds most to the best of
# those before it. bench/compiler/assignment_settings.py prints the order.
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
    """Returns the kinds of all settings, of whatever chip, the most helpful first."""
    all_kinds = (f"{name}={value}" for name, value in (*_pairs(_OWN), *_pairs(_SHARED)))
    return tuple(dict.fromkeys((*_MOST_HELPFUL, *all_kinds)))


def assignment_settings(chip: Chip, options: Mapping[str, object] | None = None) -> list[Item]:
    """Returns an item for each setting of `chip`, less those that the user has made.

    The most helpful come first. The user makes settings by compiler `options` and by what the
    environment hands the compiler.
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
    return Item(
        id=f"{name}={value}",
        kind=kind,
        instruction="",
        gain=0.0,
        tensor_overrides=(),
        sort_overrides=(),
        strict="",
        accesses=(),
        setting=(name, value),
    )
