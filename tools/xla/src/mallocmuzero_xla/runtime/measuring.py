"""measure(): compares a function with and without an artefact on this machine's devices."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import pathlib
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from mallocmuzero_xla.compiler.store import write_atomically
from mallocmuzero_xla.environment import recorded_settings, versions_of
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.placed.call import PlacedCall
from mallocmuzero_xla.runtime.applying import AppliedFunction, Artefacts, apply

# Resamples of the bootstrap, its seed, and the share of them outside the interval on each side.
_RESAMPLES = 2000
_SEED = 1
_TAIL = 0.025


@dataclasses.dataclass(frozen=True)
class Measured:
    """Times of calls, in seconds, and their comparison.

    Attributes:
        default_seconds, artefact_seconds: one time for each round, in order.
        default_median, artefact_median: their medians.
        gain: 1 - artefact_median / default_median.
        gain_low, gain_high: the 95 % confidence interval of the gain, by a bootstrap over rounds.
        expected_gain: the gain by the compiler's estimates; None if unknown.
        used: whether the artefact fitted. If not, both times are of the default.
        reason: why it did not fit; empty if it did.
        largest_difference: the largest absolute difference between the results of both for the
            same arguments; NaN if only one of them has a NaN somewhere.
        device: jax's name of the device.
        versions, environment: versions and variables that reach the compiler.
    """

    default_seconds: tuple[float, ...]
    artefact_seconds: tuple[float, ...]
    default_median: float
    artefact_median: float
    gain: float
    gain_low: float
    gain_high: float
    expected_gain: float | None
    used: bool
    reason: str
    largest_difference: float
    device: str
    versions: dict[str, str]
    environment: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Returns all fields for JSON, which has no NaN and no infinity: these are None."""
        finite = math.isfinite(self.largest_difference)
        difference = self.largest_difference if finite else None
        return {**dataclasses.asdict(self), "largest_difference": difference}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything as JSON."""
        content = json.dumps(self.to_json(), indent=1) + "\n"
        write_atomically(pathlib.Path(path), content.encode("utf-8"))

    def summary(self) -> str:
        """Returns the result in a sentence."""
        if not self.used:
            return f"the artefact was not used, so nothing was compared: {self.reason}"
        expected = "" if self.expected_gain is None else f", expected {self.expected_gain:z.2%}"
        return (
            f"{self.device}: default {self.default_median * 1e3:.3f} ms, artefact "
            f"{self.artefact_median * 1e3:.3f} ms: {self.gain:z.2%} less, 95 % interval "
            f"{self.gain_low:z.2%} to {self.gain_high:z.2%}{expected}; results differ by at most "
            f"{self.largest_difference:.3g}"
        )


def measure(
    fn: Callable[..., Any],
    args: Sequence[Any] | Callable[[], Sequence[Any]],
    artefact: Artefacts,
    *,
    rounds: int = 30,
    warm_up: int = 3,
    calls: int = 1,
    **jit_options: Any,
) -> Measured:
    """Times the default and the artefact in turns, the first of a round by turns, too.

    The times leave out what the result of `apply` does in each call to find the artefact.

    Args:
        fn: a function, or a result of jax.jit.
        args: a tuple of arrays, or a function that makes one. If `fn` donates arguments, it must be
            a function: each call gets fresh ones, which are made outside the time.
        artefact: as for `apply`.
        rounds: pairs of times; 5 or more.
        warm_up: pairs of calls before, at least one, which also compile.
        calls: calls for one time, for functions of microseconds. Their arguments are made before.
        jit_options: keyword arguments of jax.jit.

    Raises UsageError for other numbers, if the arguments are no tuple, and if `fn` has deleted
    arrays that were given.
    """
    for name, value, least in (("rounds", rounds, 5), ("warm_up", warm_up, 1), ("calls", calls, 1)):
        if value < least:
            raise UsageError(f"{name} is {value}: expected {least} or more")
    from mallocmuzero_xla.compiler.lowering import jit_of

    def make() -> Sequence[Any]:
        return _checked(args() if callable(args) else args)

    tuned = apply(fn, artefact, **jit_options)
    # A placed executable may bring options, such as donated arguments, which both must have.
    plain = tuned.__wrapped__ if isinstance(tuned, PlacedCall) else jit_of(fn, jit_options)
    difference = _warmed_up(plain, tuned, make, warm_up)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        pair = [(plain, times[0]), (tuned, times[1])]
        for function, found in pair if number % 2 else reversed(pair):
            found.append(_seconds(function, make, calls))
    return _compared(times, tuned, difference)


def _checked(args: Any) -> Sequence[Any]:
    """Returns the arguments of a call; raises UsageError if there can be no call with them."""
    import jax

    if not isinstance(args, tuple | list):
        # An array would become one argument for each of its rows.
        raise UsageError(f"the arguments must be a tuple, not {type(args).__name__}")
    arrays = [leaf for leaf in jax.tree.leaves(args) if isinstance(leaf, jax.Array)]
    if any(array.is_deleted() for array in arrays):
        raise UsageError(
            "the function donates its arguments: give a function that makes new ones for each call"
        )
    return args


def _warmed_up(plain: Any, tuned: Any, make: Callable[[], Sequence[Any]], calls: int) -> float:
    """Calls both functions; returns the largest difference between results for equal arguments."""
    differences = []
    donates: bool | None = None
    for _ in range(calls):
        made = make()
        donates = _donates(plain, made) if donates is None else donates
        differences.append(_difference_of_calls(plain, tuned, made, donates))
        del made  # there may be no room for these and the next ones
    return _largest(differences)


def _donates(jitted: Any, args: Sequence[Any]) -> bool:
    """Whether a call may delete arrays among its arguments."""
    import jax

    try:
        return any(each.donated for each in jax.tree.leaves(jitted.lower(*args).args_info))
    except Exception:  # a framework's jit, or an error that the call raises again
        return True


def _compared(times: tuple[list[float], list[float]], tuned: Any, difference: float) -> Measured:
    import jax

    medians = [statistics.median(found) for found in times]
    low, high = _interval(*times)
    device = jax.devices()[0]
    reason = str(tuned.reason or "")
    artefact = tuned.artefact
    return Measured(
        default_seconds=tuple(times[0]),
        artefact_seconds=tuple(times[1]),
        default_median=medians[0],
        artefact_median=medians[1],
        gain=_gain(*times),
        gain_low=low,
        gain_high=high,
        expected_gain=artefact.gain if artefact is not None else None,
        used=not reason,
        reason=reason,
        largest_difference=difference,
        device=str(device.device_kind),
        versions=versions_of(device.platform),
        environment=recorded_settings(),
    )


def _seconds(function: Any, make: Callable[[], Sequence[Any]], calls: int) -> float:
    ready = [_prepared(function, _finished(make())) for _ in range(calls)]
    started = time.perf_counter()
    for call in ready:
        result = call()
    _finished(result)
    return (time.perf_counter() - started) / calls


def _prepared(function: Any, args: Sequence[Any]) -> Callable[[], Any]:
    """Returns a call that costs the host as much as one of jax.jit, also with an artefact."""
    applied = isinstance(function, AppliedFunction | PlacedCall)
    return function.prepared(args) if applied else functools.partial(function, *args)


def _finished(values: Any) -> Any:
    import jax

    return jax.block_until_ready(values)


def _gain(default: Sequence[float], artefact: Sequence[float]) -> float:
    return 1.0 - statistics.median(artefact) / statistics.median(default)


def _interval(default: Sequence[float], artefact: Sequence[float]) -> tuple[float, float]:
    """Resamples rounds, so that what disturbs both calls of a round counts once."""
    numbers = random.Random(_SEED)
    pairs = list(zip(default, artefact, strict=True))
    gains = sorted(
        _gain(*zip(*numbers.choices(pairs, k=len(pairs)), strict=True)) for _ in range(_RESAMPLES)
    )
    outside = int(_TAIL * _RESAMPLES)
    return gains[outside], gains[-1 - outside]


def _difference_of_calls(plain: Any, tuned: Any, args: Sequence[Any], donates: bool) -> float:
    """Returns the largest difference between the results of both for the same arguments."""
    copies = _copied(args) if donates else args
    first = _finished(plain(*args))
    return _largest_difference(first, _finished(tuned(*copies)))


def _copied(values: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return jax.tree.map(
        lambda leaf: jnp.copy(leaf) if isinstance(leaf, jax.Array) else leaf, values
    )


def _largest_difference(first: Any, second: Any) -> float:
    """Returns the largest absolute difference of two trees; NaN where only one has a NaN."""
    import jax

    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    differences = [_difference(a, b) for a, b in pairs if getattr(a, "size", 1)]
    return _largest(differences)


def _largest(differences: Sequence[float]) -> float:
    """Returns the largest number, 0 if there is none, or NaN if one is NaN."""
    return math.nan if any(map(math.isnan, differences)) else max(differences, default=0.0)


def _difference(first: Any, second: Any) -> float:
    import jax
    import jax.numpy as jnp

    def numbers(leaf: Any) -> Any:
        found = jnp.asarray(leaf)
        if jnp.issubdtype(found.dtype, jax.dtypes.prng_key):
            found = jax.random.key_data(leaf)
        if jnp.issubdtype(found.dtype, jnp.floating) and found.dtype.itemsize < 4:
            return found.astype(jnp.float32)
        few_bits = jnp.issubdtype(found.dtype, jnp.integer) and found.dtype.itemsize < 4
        return found.astype(jnp.int32) if few_bits or found.dtype == bool else found

    a, b = numbers(first), numbers(second)
    if jnp.issubdtype(a.dtype, jnp.integer) and a.dtype == b.dtype:
        # An unsigned difference is exact, where a signed one or a float might not be.
        unsigned = jnp.uint32 if a.dtype.itemsize == 4 else jnp.uint64
        larger, smaller = (each.astype(unsigned) for each in (jnp.maximum(a, b), jnp.minimum(a, b)))
        return float(jnp.max(larger - smaller))
    same = (a == b) | (jnp.isnan(a) & jnp.isnan(b))
    return float(jnp.max(jnp.where(same, 0.0, jnp.abs(a - b))))
