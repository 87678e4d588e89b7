"""The placements of a capture: everything in HBM, the compiler's default, and random ones."""

from __future__ import annotations

import dataclasses

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.overrides import TENSOR_OVERRIDES

ALL_HBM = "all_hbm"
DEFAULT = "default"
_SAMPLE_PREFIX = "sample_"

# Share of the values that a sample keeps out of fast memory, by sample index, cycled. The mix shows
# an instruction's latency with few and with many of its tensors in fast memory.
KEPT_FRACTIONS = (0.5, 0.25, 0.75, 0.4, 0.1, 0.6, 0.9, 0.3)

# Distance between the seeds of two attempts at one sample; larger than any number of samples.
_ATTEMPT_STRIDE = 100_000


@dataclasses.dataclass(frozen=True)
class Variant:
    """One compile of a program. `name` is also the stem of the file of its text."""

    name: str

    @property
    def required(self) -> bool:
        """Whether a capture needs this variant."""
        return self.name in (ALL_HBM, DEFAULT)

    def options(self, chip: Chip, attempt: int = 0) -> dict[str, str]:
        """Returns the compiler options of this variant, which depend only on the arguments.

        The compiler aborts on some random placements, so each attempt at a sample draws another.
        """
        if self.name == ALL_HBM:
            return {chip.msa_option: "false"}
        if self.name == DEFAULT:
            return {}
        index = int(self.name.removeprefix(_SAMPLE_PREFIX))
        return {TENSOR_OVERRIDES: _random_override(index, attempt)}


def _random_override(index: int, attempt: int) -> str:
    seed = index + 1 + attempt * _ATTEMPT_STRIDE
    fraction = KEPT_FRACTIONS[index % len(KEPT_FRACTIONS)]
    return (
        f"overrides {{ hlo_position_matcher {{ hlo_random_filter {{ seed: {seed} "
        f"selection_range_begin: 0 selection_range_end: {fraction} }} }} "
        f"keep_in_default_memory {{}} }}"
    )


def standard_variants(samples: int) -> list[Variant]:
    """Returns all_hbm, default and `samples` random placements, in that order."""
    if samples < 0:
        raise UsageError(f"samples is {samples}: expected 0 or more")
    names = [ALL_HBM, DEFAULT, *(f"{_SAMPLE_PREFIX}{index}" for index in range(samples))]
    return [Variant(name) for name in names]


def parse_variants(text: str) -> list[Variant]:
    """Parses a comma-separated list such as 'all_hbm,default,sample_3'."""
    return [Variant(_checked_name(name.strip())) for name in text.split(",")]


def _checked_name(name: str) -> str:
    if name in (ALL_HBM, DEFAULT):
        return name
    if name.startswith(_SAMPLE_PREFIX) and name.removeprefix(_SAMPLE_PREFIX).isdecimal():
        return name
    raise UsageError(f"unknown variant {name!r}: expected all_hbm, default or sample_<number>")
