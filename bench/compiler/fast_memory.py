"""Measures the bytes of fast memory that the compiler gives to tensors, for hardware/*.textproto.

Compiles two matrix products in a row with a value between them. A bisection finds the largest value
that the compiler puts into fast memory. It takes a minute for each chip.
"""

from __future__ import annotations

import argparse
import re

import jax
import jax.numpy as jnp
from mallocmuzero_xla.chips import CHIPS, Chip, chip_devices, find_chip

COLUMNS = 256
ROW_BYTES = 2 * COLUMNS  # bfloat16

# Rows of a tile in memory: a value takes whole ones.
STEP = 8


def fits(chip: Chip, rows: int) -> bool:
    """Whether the value between the products has a memory space in its layout."""
    sharding = jax.sharding.SingleDeviceSharding(chip_devices(chip)[0])
    lowered = jax.jit(lambda x, w: (x @ w) @ w).lower(
        *(
            jax.ShapeDtypeStruct((n, COLUMNS), jnp.bfloat16, sharding=sharding)  # type: ignore[no-untyped-call]
            for n in (rows, COLUMNS)
        )
    )
    text = lowered.compile().as_text() or ""
    return re.search(rf"bf16\[{rows},{COLUMNS}\]\{{[^}}]*S\(\d\)\}}", text) is not None


def capacity(chip: Chip, low: int, high: int) -> int:
    """Returns the bytes of the largest value that fits; `low` rows fit and `high` rows do not."""
    while high - low > STEP:
        middle = (low + high) // 2 // STEP * STEP
        if fits(chip, middle):
            low = middle
        else:
            high = middle
    return low * ROW_BYTES


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--chip", default="all", choices=("all", *CHIPS), help="default: all")
    asked = parser.parse_args().chip
    for name in CHIPS if asked == "all" else (asked,):
        megabyte = (1 << 20) // ROW_BYTES
        print(f"{name}: {capacity(find_chip(name), megabyte, 256 * megabyte)} bytes", flush=True)


if __name__ == "__main__":
    main()
