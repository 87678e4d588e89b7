"""A result says where its cycles come from: estimates, the model of copies, the roofline."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import World, lower_to

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.price import Price
from mallocmuzero_xla.search.optimize import Optimized, optimize
from mallocmuzero_xla.search.verified import Verified

MakeWorld = Callable[..., World]


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    lower_to(monkeypatch, LoweredProgram("f", "v4 lite:1x1", (0,), b"", b"", {}, "1" * 64))


def run(**options: Any) -> Optimized:
    return optimize(lambda: None, budget="20m", progress=False, **options)


def prices(found: Optimized) -> tuple[Price, Price]:
    verified = Verified.from_json(found.report)
    assert verified.default_price is not None
    assert verified.optimized_price is not None
    return verified.default_price, verified.optimized_price


def test_the_parts_of_a_gain_add_up_to_the_gain() -> None:
    default = Price(total=1000, estimates=700, copies=100, roofline=200)
    better = Price(total=928, estimates=710, copies=44, roofline=174)
    split = better.saves(default)
    # (700 - 710) / 1000, (100 - 44) / 1000, (200 - 174) / 1000; together 7.2 %.
    assert split == {"estimates": -0.010, "copies": 0.056, "roofline": 0.026}
    assert sum(split.values()) == pytest.approx(1 - 928 / 1000)


def test_overrides_report_the_roofline_and_the_waits_that_they_save(make_world: MakeWorld) -> None:
    # Of the 40 cycles that a saves, 26 are of an instruction without an estimate.
    make_world(promised={"a": 40}, cycles={"a": -40}, modelled=200, modelled_by={"a": -26})
    default, best = prices(run())
    assert default == Price(1000, 800, 0, 200)
    assert best == Price(960, 786, 0, 174)


def test_a_limit_reports_its_price(make_world: MakeWorld) -> None:
    make_world(promised={}, cycles={"limit_24576": -100}, modelled_by={"limit_24576": 5})
    default, best = prices(run(chip="tpu_v5e"))
    assert default == Price(1000, 1000, 0, 0)
    assert best == Price(900, 895, 0, 5)


def test_a_result_that_is_the_default_saves_nothing(make_world: MakeWorld) -> None:
    make_world(promised={"a": 40}, cycles={"a": 1}, modelled=100)
    default, best = prices(run())
    assert default == best == Price(1000, 900, 0, 100)


def test_a_price_without_its_parts_is_an_error(
    make_world: MakeWorld, tmp_path: pathlib.Path
) -> None:
    make_world(promised={}, cycles={})
    binary = tmp_path / "older"
    binary.write_text("#!/bin/sh\necho '{\"total_cycles\": 7}'\n", encoding="utf-8")
    binary.chmod(0o755)
    with pytest.raises(CaptureError, match="printed no estimated_cycles"):
        Binary(binary).module_price("text", "tpu_v4i")


def test_a_record_without_prices_is_read() -> None:
    fields = Verified(1000, 900, 900).to_json()
    del fields["default_price"], fields["optimized_price"]
    assert Verified.from_json(fields).optimized_price is None
