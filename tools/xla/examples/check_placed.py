"""Checks the results and the speed of a placed executable on a TPU host.

check_placed.py MODEL.PY:BUILD FILE runs it and jax.jit's executable on the same random arguments,
compares the results and times both in turn. BUILD is the builder that `mallocmuzero-xla place` was
given. It handles programs of one device.
"""

import statistics
import sys
import time
from typing import Any

import jax
import numpy as np

from mallocmuzero_xla import load_placed
from mallocmuzero_xla.builders import build_function


def drawn(leaf: Any) -> Any:
    """Returns random numbers of an array's shape; zeros for integers, which may be indices."""
    if not hasattr(leaf, "shape"):
        return leaf
    floating = jax.numpy.issubdtype(leaf.dtype, np.floating)
    values = rng.standard_normal(leaf.shape) if floating else np.zeros(leaf.shape)
    return values.astype(leaf.dtype)


def run(call: Any) -> tuple[Any, float]:
    """Runs `fn` on copies of the arguments, which may be donated; returns results and seconds."""
    own = [jax.device_put(x) if isinstance(x, np.ndarray) else x for x in leaves]
    args = jax.tree.unflatten(tree, jax.block_until_ready(own))
    start = time.perf_counter()
    results = jax.block_until_ready(call(*args))
    return results, time.perf_counter() - start


rng, built = np.random.default_rng(0), build_function(sys.argv[1])
shapes, tree = jax.tree.flatten(tuple(built.args))
leaves = [drawn(leaf) for leaf in shapes]
jitted = jax.jit(built.fn, **built.jit_options)
placed = load_placed(sys.argv[2], jitted)
pairs = zip(*(jax.tree.leaves(run(call)[0]) for call in (jitted, placed)), strict=True)
worst = [float(np.max(np.abs(np.float64(a) - np.float64(b)), initial=0)) for a, b in pairs]
times = [[run(call)[1] for call in (jitted, placed)] for _ in range(20)]
default, ours = (1e3 * statistics.median(column) for column in zip(*times, strict=True))
print(f"largest difference {max(worst, default=0)}; jax.jit {default:.3f} ms, placed {ours:.3f} ms")
sys.exit(f"not the placed executable: {placed.reason}" if placed.reason else 0)
