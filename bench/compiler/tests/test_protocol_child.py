"""The process of a run records what `optimize` reports."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from mallocmuzero_xla.price import Price
from mallocmuzero_xla.search.verified import Verified
from protocol_child import outcome


def report(**fields: Any) -> dict[str, Any]:
    verified = Verified(1000.0, 928.0, 930.0)
    verified.default_price = Price(1000.0, 700.0, 100.0, 200.0)
    verified.optimized_price = Price(928.0, 664.0, 90.0, 174.0)
    for name, value in fields.items():
        setattr(verified, name, value)
    return verified.to_json()


def test_the_outcome_has_the_cycles_and_where_they_come_from() -> None:
    found = outcome(report(), executable=False)
    assert (found["default_cycles"], found["cycles"]) == (1000, 928)
    assert found["price"] == {"total": 928, "estimates": 664, "copies": 90, "roofline": 174}
    assert Price(**found["default_price"]).roofline == 200


def test_long_options_are_recorded_by_their_hash() -> None:
    found = outcome(report(options={"short": "1", "long": "x" * 201}), executable=False)
    digest = hashlib.sha256(b"x" * 201).hexdigest()
    assert found["options"] == {"short": "1", "long": f"201 characters, sha256 {digest}"}


def test_steps_are_counted_and_failed_steps_have_their_sentence() -> None:
    steps = [
        {"step": "compile", "error": None},
        {"step": "compile", "error": "refused"},
        {"step": "placed", "error": None},
    ]
    found = outcome(report(tried=steps), executable=True)
    assert found["steps"] == {"compile": 2, "placed": 1}
    assert found["failed_steps"] == ["compile: refused"]
    assert found["executable"]


def test_an_interrupted_search_has_no_outcome() -> None:
    # SIGTERM ends a search with the best so far: fewer seconds than its record would say.
    with pytest.raises(KeyboardInterrupt):
        outcome(report(interrupted=True), executable=False)
