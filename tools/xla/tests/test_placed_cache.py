"""The cache of place(), with a fake binary on CPU devices."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from placed_world import (
    REPORT,
    FakeSearch,
    add,
    fake_search,
    needs_jax,
    output_of,
    run,
    shapes,
    threes,
)

from mallocmuzero_xla import CaptureError, UsageError, place

pytestmark = needs_jax


@pytest.fixture
def fake(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> FakeSearch:
    return fake_search(tmp_path, monkeypatch)


def test_search_under_the_chips_own_limit_is_another_search(fake: FakeSearch) -> None:
    run(budget="60s")
    assert not run(budget="60s", scoped_limit=False).report["from_cache"]
    assert "--keep-scoped-limit" in fake.calls()[-1]
    assert run(budget="60s", scoped_limit=False).report["from_cache"]
    assert run(budget="60s").report["from_cache"]


def test_second_call_searches_no_more(fake: FakeSearch) -> None:
    run(budget="60s", rounds=4)
    fake.plan(code=1)
    for budget, rounds in (("60s", 4), ("5s", 1)):
        again = run(budget=budget, rounds=rounds)
        assert again.report["from_cache"]
        assert again.load()(threes(), threes()).tolist() == [9.0] * 4
    for budget, most in (("61s", 4), ("60s", None)):
        with pytest.raises(CaptureError, match="optimize failed"):
            run(budget=budget, rounds=most)


def test_search_with_all_rounds_answers_for_fewer(fake: FakeSearch) -> None:
    run(budget="60s")
    assert run(budget="5s", rounds=3).report["from_cache"]
    assert run(budget="60s").report["from_cache"]
    assert len(fake.calls()) == 1


def test_second_search_keeps_the_better(fake: FakeSearch) -> None:
    run(budget="60s")
    worse = {"default_cycles": 1000.0, "optimized_cycles": 950.0, "best_round": 0, "rounds": []}
    fake.plan(output_of(add, shapes()), report=worse)
    assert run(budget="70s").optimized_cycles == 900.0
    assert run(budget="70s").load()(threes(), threes()).tolist() == [9.0] * 4
    assert len(fake.calls()) == 2


def test_other_trees_do_not_share_the_calling_convention(fake: FakeSearch) -> None:
    # Both lower to the same program, which is the key in the cache.
    run()
    x, y = shapes()
    pair: Any = lambda pair: pair["x"] + pair["y"]  # noqa: E731
    pair.__name__ = "add"
    placed = place(pair, {"x": x, "y": y}, chip="tpu_v6e", progress=False)
    assert placed.load()({"x": threes(), "y": threes()}).tolist() == [9.0] * 4


@pytest.mark.parametrize("damage", ["{", '{"format": 1}', "[]"])
def test_damaged_entry_is_searched_for_again(
    fake: FakeSearch, tmp_path: pathlib.Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    (entry,) = (tmp_path / "cache" / "placed" / "tpu_v6e").iterdir()
    entry.write_text(damage, encoding="utf-8")
    assert not run().report["from_cache"]
    assert "not used" in capsys.readouterr().err
    assert len(fake.calls()) == 2


@pytest.mark.parametrize("cycles", [850.0, 950.0])
def test_interrupted_search_leaves_the_answer_of_an_earlier_one(
    fake: FakeSearch, cycles: float
) -> None:
    run(budget="60s")
    fake.plan(
        output_of(add, shapes()),
        report={**REPORT, "optimized_cycles": cycles, "interrupted": True},
    )
    assert run(budget="5m").report["interrupted"]
    again = run(budget="60s")
    assert (again.report["from_cache"], again.report["interrupted"]) == (True, False)
    assert again.optimized_cycles == min(cycles, 900.0)
    assert len(fake.calls()) == 2
    run(budget="5m")
    assert len(fake.calls()) == 3  # the larger budget has no answer yet


def test_cache_that_cannot_be_written_is_a_usage_error(
    fake: FakeSearch, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"^the cache .*/file \(MALLOC.* is a file; expected a fo"):
        run(cache_dir=tmp_path / "file")
    assert fake.calls() == []


def test_function_that_cannot_be_kept_is_not_searched_for(fake: FakeSearch) -> None:
    apply: Any = lambda x, y, fn: fn(x, y)  # noqa: E731
    with pytest.raises(CaptureError, match="cannot be pickled"):
        place(apply, *shapes(), lambda x, y: x, chip="tpu_v6e", static_argnums=2)
    assert fake.calls() == []
