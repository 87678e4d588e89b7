"""The options of a variant are a function of its name, the chip and the attempt."""

from __future__ import annotations

import pytest

from mallocmuzero_xla.chips import CHIPS, find_chip
from mallocmuzero_xla.compiler.variants import (
    KEPT_FRACTIONS,
    Variant,
    parse_variants,
    standard_variants,
)
from mallocmuzero_xla.errors import UsageError

V4I = CHIPS["tpu_v4i"]


def test_standard_variants_start_with_the_required_ones() -> None:
    variants = standard_variants(2)
    assert [item.name for item in variants] == ["all_hbm", "default", "sample_0", "sample_1"]
    assert [item.required for item in variants] == [True, True, False, False]


@pytest.mark.parametrize(
    ("chip", "option"),
    [
        ("tpu_v4i", "xla_tpu_cmem_memory_space_assignment"),
        ("tpu_v5e", "xla_vf_vmem_memory_space_assignment"),
        ("tpu_v6e", "xla_gf_vmem_memory_space_assignment"),
    ],
)
def test_all_hbm_turns_off_the_assignment_of_the_chip(chip: str, option: str) -> None:
    assert Variant("all_hbm").options(CHIPS[chip]) == {option: "false"}


def test_default_has_no_options() -> None:
    assert Variant("default").options(V4I) == {}


def test_sample_options_are_fixed_by_index_and_attempt() -> None:
    assert Variant("sample_6").options(V4I) == {
        "xla_tpu_msa_tensor_overrides": "overrides { hlo_position_matcher { hlo_random_filter { "
        "seed: 7 selection_range_begin: 0 selection_range_end: 0.9 } } keep_in_default_memory {} }"
    }
    drawn = {
        str(Variant(f"sample_{index}").options(V4I, attempt))
        for index in range(50)
        for attempt in range(3)
    }
    assert len(drawn) == 150


def test_samples_cycle_through_the_kept_fractions() -> None:
    count = len(KEPT_FRACTIONS)
    for index in range(2 * count):
        [text] = Variant(f"sample_{index}").options(V4I).values()
        assert f"selection_range_end: {KEPT_FRACTIONS[index % count]} " in text


def test_variant_lists_are_parsed_in_order() -> None:
    assert [item.name for item in parse_variants("default, sample_12")] == ["default", "sample_12"]


@pytest.mark.parametrize("text", ["", "sample_", "sample_-1", "sample_x", "all_hbm,,default"])
def test_unknown_variants_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError, match="expected all_hbm, default or sample_<number>"):
        parse_variants(text)


def test_negative_samples_are_a_usage_error() -> None:
    with pytest.raises(UsageError, match="samples is -1"):
        standard_variants(-1)


def test_unknown_chip_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown chip 'tpu_v9': expected one of tpu_v6e, tpu7x,"):
        find_chip("tpu_v9")


def test_topology_replaces_the_chips_own() -> None:
    assert find_chip("tpu_v5e", "v5e:2x2").topology_name == "v5e:2x2"
