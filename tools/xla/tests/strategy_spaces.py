"""Made-up spaces of the search for compiler options, for the tests of its strategy."""

from __future__ import annotations

import dataclasses

from mallocmuzero_xla.search.steps import Costs, Space

OWN = 16 * 1024
SETTINGS = tuple(f"setting_{number}=1" for number in range(10))
COSTS = Costs(compile=10.0, trial=1.0, prepare=25.0, overrides=60.0)


def space(**changes: object) -> Space:
    whole = Space(OWN, memory=128 * 1024, settings=SETTINGS)
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]
