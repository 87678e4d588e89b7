"""Settings depend on the chip and never replace the user's own."""

from __future__ import annotations

import pytest

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.search.settings import assignment_settings, setting_kinds

RETRIES = "max_retries=1"
SLICES = "xla_tpu_sliced_prefetch_max_slices=8"


def by_kind(chip: str, options: dict[str, object] | None = None) -> dict[str, tuple[str, str]]:
    """Returns the option and value of each setting."""
    items = assignment_settings(CHIPS[chip], options)
    return {item.kind: item.setting for item in items if item.setting}


@pytest.mark.parametrize(
    ("chip", "option"),
    [
        ("tpu_v4i", "xla_tpu_cmem_max_retries"),
        ("tpu_v5e", "xla_vf_vmem_max_retries"),
        ("tpu_v6e", "xla_gf_vmem_max_retries"),
    ],
)
def test_each_chip_has_options_of_its_own_and_those_of_all(chip: str, option: str) -> None:
    found = by_kind(chip)
    assert found[RETRIES] == (option, "1")
    assert found[SLICES] == ("xla_tpu_sliced_prefetch_max_slices", "8")
    assert set(found) == set(setting_kinds())


def test_items_take_places_of_their_own_and_are_about_no_access() -> None:
    items = assignment_settings(CHIPS["tpu_v4i"])
    assert len({item.key for item in items}) == len(items)
    assert len({item.place for item in items}) < len(items)
    assert not any(item.accesses or item.may_be_refused or item.strict_form() for item in items)


def test_what_the_users_options_set_is_left_to_them() -> None:
    found = by_kind("tpu_v4i", {"xla_tpu_sliced_prefetch_max_slices": 2})
    assert not any("max_slices" in kind for kind in found)
    assert RETRIES in found


def test_what_the_environment_sets_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = "--xla_tpu_cmem_max_retries=3 --noxla_tpu_enforce_prefetch_fifo_order"
    monkeypatch.setenv("LIBTPU_INIT_ARGS", flags)
    found = by_kind("tpu_v4i")
    assert RETRIES not in found
    assert not any("fifo" in kind for kind in found)
    assert SLICES in found
    # Another chip's assignment has another option.
    assert RETRIES in by_kind("tpu_v5e")
