"""The replay spends the budget on recorded compiles."""

from __future__ import annotations

import pytest
from replay_strategy import ROOT, Program, joint, limits_first, one_setting, programs

OWN, MEBIBYTE = 16, 1024
LIMITS = {OWN: 100.0, 24: 90.0, 32: 95.0, 12: 101.0}
SETTING = "xla_tpu_async_copy_bandwidth_scaling_factor=2"


@pytest.fixture
def program() -> Program:
    cycles = {str(limit * MEBIBYTE): cycles for limit, cycles in LIMITS.items()}
    return Program({"chip": "tpu_v5e", "cycles": cycles}, {SETTING: 0.05})


def test_a_short_budget_compiles_the_default_and_little_else(program: Program) -> None:
    assert joint(program, 5.0, 20.0) == 0.0
    # 20 s for the default, then one limit or more.
    assert joint(program, 60.0, 20.0) == pytest.approx(0.1)


def test_a_long_budget_finds_the_best_limit_with_the_best_setting(program: Program) -> None:
    # 90 of 100 cycles under 24 MiB, and 0.95 of them with the setting.
    assert joint(program, 600.0, 20.0) == pytest.approx(1 - 0.9 * 0.95)


def test_a_stage_of_its_own_finds_only_its_part(program: Program) -> None:
    # 35 % of 120 s are two compiles, but half of 120 - 3 * 20 s is one: 24 MiB.
    assert limits_first(program, 120.0, 20.0) == pytest.approx(0.1)
    assert limits_first(program, 60.0, 20.0) == 0.0
    assert one_setting(program, 120.0, 20.0) == pytest.approx(0.05)


def test_together_is_never_behind_a_stage_on_average_on_the_train_split() -> None:
    chosen = programs(ROOT / "docs" / "results", ROOT / "workloads" / "split.csv", "train")
    assert len(chosen) > 10
    for budget in (60.0, 240.0):
        gains = {
            name: sum(strategy(each, budget, 20.0) for each in chosen)
            for name, strategy in (("joint", joint), ("limits", limits_first), ("one", one_setting))
        }
        assert gains["joint"] == max(gains.values())
