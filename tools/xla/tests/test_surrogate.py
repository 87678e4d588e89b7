"""The model of lists of overrides says what looks have shown, and how sure it is of the rest."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mallocmuzero_xla.overrides import Item
from mallocmuzero_xla.surrogate import (
    KINDS,
    Effects,
    Prior,
    Scene,
    Surrogate,
    expected_improvement,
    kinds_of,
    learnt_prior,
)

SCENE = Scene(cycles=1000.0, fast_memory_bytes=100.0, fast_accesses=frozenset({7, 8}))

# Half of what is promised, give or take all of it; nothing beyond the sum but little noise.
PRIOR = Prior(dict.fromkeys(KINDS, Effects(0.5, 0.0, 1.0, 0.0, 0.0)), 0.0, 0.01)


def item(name: str, gain: float, kind: str = "assign_first", access: int = 0) -> Item:
    return Item(name, kind, name, gain, (name,), (), "", (access,), 1.0, 10.0)


A, B, C = item("a", 30.0), item("b", 20.0), item("c", 10.0)


def model(*looks: tuple[list[int], float]) -> Surrogate:
    """Of three items that promise 60 cycles, after looks at lists and the cycles they saved."""
    surrogate = Surrogate([A, B, C], [A, B, C], SCENE, PRIOR)
    if looks:
        lists, savings = zip(*looks, strict=True)
        surrogate.observe(np.array(lists, float), np.array(savings) / surrogate.unit)
    return surrogate


def test_effects_are_the_priors_before_the_first_look() -> None:
    surrogate = model()
    # All that is promised, and a two-thousandth of the default's cycles.
    assert surrogate.unit == pytest.approx(60.5)
    assert surrogate.expected_effects() * surrogate.unit == pytest.approx([15, 10, 5])


def test_items_size_and_promise_set_how_far_an_effect_may_be_off() -> None:
    effects = Effects(0.0, -1.0, 2.0, 3.0, 0.5)
    prior = dataclasses.replace(PRIOR, effects=dict.fromkeys(KINDS, effects), noise=1e-6)
    surrogate = Surrogate([A], [A], SCENE, prior)
    promise, size = 30 / 30.5, 10 / 100
    mean, deviation = surrogate.predict(np.array([[1.0]]))
    assert mean == pytest.approx([-size])
    variance = (2 * promise) ** 2 + (3 * size) ** 2 + 0.5**2
    assert deviation == pytest.approx([variance**0.5])


def test_setting_is_as_large_as_fast_memory() -> None:
    kind = "xla_tpu_sliced_prefetch_max_slices=8"
    setting = dataclasses.replace(item("s", 0.0, kind), setting=("max_slices", "8"), bytes=0.0)
    assert SCENE.sizes([A, setting]) == pytest.approx([10 / 100, 1.0])
    assert kinds_of([setting], [A], SCENE) == [kind]


def test_look_is_remembered_and_shared_out_among_its_items_by_what_they_promise() -> None:
    surrogate = model(([1, 1, 0], 0.0))
    mean, deviation = surrogate.predict(np.array([[1.0, 1, 0], [1, 0, 0], [0, 0, 1]]))
    unit = surrogate.unit
    # 25 were expected of both. The variances are as 9 to 4, so 17.3 of the 25 are a's fault.
    assert mean * unit == pytest.approx([0, 15 - 25 * 9 / 13, 5], abs=0.1)
    assert deviation[0] < 0.1 * deviation[1]


def test_two_looks_tell_items_apart() -> None:
    surrogate = model(([1, 1, 0], 10.0), ([1, 0, 0], 30.0))
    assert surrogate.expected_effects() * surrogate.unit == pytest.approx([30, -20, 5], abs=0.2)


def test_effects_larger_than_expected_leave_more_in_doubt() -> None:
    _, calm = model(([1, 0, 0], 15.0)).predict(np.array([[0.0, 1, 0]]))
    _, shaken = model(([1, 0, 0], -300.0)).predict(np.array([[0.0, 1, 0]]))
    assert shaken[0] > 2 * calm[0]


def test_draws_scatter_around_what_is_expected_as_widely_as_predictions() -> None:
    surrogate = model(([1, 1, 0], 10.0))
    chance = np.random.default_rng(1)
    draws = np.stack([surrogate.sample_effects(chance) for _ in range(4000)])
    assert draws.mean(0) == pytest.approx(surrogate.expected_effects(), abs=0.03)
    _, deviation = surrogate.predict(np.eye(3))
    assert draws.std(0) == pytest.approx(deviation, rel=0.05)


def test_likelihood_is_larger_of_what_was_expected() -> None:
    expected, odd = model(([1, 1, 0], 25.0)), model(([1, 1, 0], -200.0))
    assert expected.log_likelihood() > odd.log_likelihood() + 1


def test_mapping_without_promises_and_equal_lists_leave_numbers_finite() -> None:
    items = [item(f"i{k}", -900.0, "keep_value", access=k) for k in range(300)]
    surrogate = Surrogate(items, [], SCENE, learnt_prior())
    chance = np.random.default_rng(1)
    lists = (chance.random((60, 300)) < 0.5).astype(float)
    lists = np.concatenate([lists, lists])
    surrogate.observe(lists, chance.normal(size=120) * 1000)
    means, deviations = surrogate.predict(lists)
    assert np.isfinite(means).all()
    assert (deviations > 0).all()
    assert np.isfinite(surrogate.sample_effects(chance)).all()


def test_expected_improvement_is_that_of_normal_variables() -> None:
    means, deviations = np.array([0.0, 5.0, -9.0]), np.array([1.0, 1e-3, 1.0])
    # The mean of a standard normal's positive part is 1 / sqrt(2 pi).
    expected = [0.398942, 5.0, 0.0]
    assert expected_improvement(means, deviations, 0.0) == pytest.approx(expected, abs=1e-6)


def test_kind_says_what_an_item_has_to_do_with_the_mapping() -> None:
    # Accesses 7 and 8 are in fast memory by default; the mapping wants 1 there and 8 not.
    wanted = [item("w", 1.0, access=1), item("x", 1.0, "keep_value", access=8)]
    order = dataclasses.replace(wanted[0], strict="pin").insistence()
    assert order is not None
    items = [
        *wanted,
        order,
        item("so anyway", 1.0, access=7),
        item("out anyway", 1.0, "keep_value", access=2),
        item("not wanted in", 1.0, access=3),
        item("not wanted out", 1.0, "keep_value", access=7),
        item("copy", 1.0, "start_copy", access=7),
    ]
    assert kinds_of(items, [dataclasses.replace(wanted[0], strict="pin"), wanted[1]], SCENE) == [
        "wanted assign_first",
        "wanted keep_value",
        "wanted insistence",
        "agreeing assign_first",
        "agreeing keep_value",
        "assign_first",
        "keep_value",
        "start_copy",
    ]


def test_learnt_prior_knows_all_kinds_and_survives_json() -> None:
    prior = learnt_prior()
    assert set(prior.effects) == set(KINDS)
    assert Prior.from_json(prior.to_json()) == prior
    assert prior.noise > 0
