"""How many bytes of fast memory the compiler gives to tensors, as hardware/*.textproto say.

Compiles two matrix products in a row for ever larger values between them, and halves the interval
between the largest that was put into fast memory and the smallest that was not. A minute a chip.
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
    """Whether the value between the products is in a memory space of its own."""
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
    """Bytes of the largest value that fits; `low` rows do and `high` do not."""
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
