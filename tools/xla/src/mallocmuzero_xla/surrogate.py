"""What a list of overrides will save, learnt from lists that the compiler has been shown.

The saving of a list is modelled as the sum of its items' effects, and of what goes beyond a sum.
An effect is a normal variable; what is to be expected of it before the first look, by kind, promise
and size of the item, and how far it may be off, has been learnt across programs (Prior). Every look
then says more about the items in it. This is Bayesian linear regression, in its dual form: there
are more items than looks.

Savings and promises are in units of all that the mapping promises, so that programs compare.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import pathlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from mallocmuzero_xla.overrides import Item
from mallocmuzero_xla.settings import setting_kinds

# An array of floats with one dimension or two. numpy is for type checkers to leave alone.
Vector: TypeAlias = Any

# Kinds in the prior. Insistences are a kind of their own. What is asked for is one of three things:
# a difference of the mapping from the default; something else that the mapping has; or neither.
_INSISTENCE, _WANTED, _AGREEING = "insistence", "wanted ", "agreeing "
_ORIGINS = (_WANTED, _AGREEING, "")
_PLACING = ("assign_first", "prefetch_use", "keep_value", "keep_use", _INSISTENCE)
KINDS = (
    *(origin + kind for origin in _ORIGINS for kind in _PLACING),
    "start_copy",
    *setting_kinds(),
)

# Kinds of items that only a mapping has.
_MAPPING_ONLY = ("keep_use", "prefetch_use")

# The unit of savings is never less than this share of the default's cycles.
_LEAST_UNIT = 5e-4

# Degrees of freedom of what is known in advance of the scale of all effects.
_PRIOR_LOOKS = 2.0

_PRIOR_FILE = pathlib.Path(__file__).with_name("override_prior.json")


@dataclasses.dataclass(frozen=True)
class Effects:
    """The prior of one kind of items: a mean, and a standard deviation.

    Attributes:
        promise_mean: share of the promised gain that is kept on average.
        size_mean: by size, as a share of fast memory.
        promise_spread: standard deviation, of the promised gain.
        size_spread: standard deviation, by size.
        spread: standard deviation whatever promise and size: small tensors move large ones.
    """

    promise_mean: float
    size_mean: float
    promise_spread: float
    size_spread: float
    spread: float


@dataclasses.dataclass(frozen=True)
class Prior:
    """What is expected of overrides before the first look.

    Attributes:
        effects: by kind.
        whole_spread: standard deviation of the effect of asking for all of a mapping, and by the
            share of its items for a part.
        noise: standard deviation of what is no sum of effects.
        settings: their kinds; each adds most to what the best of those before it saves by itself.
    """

    effects: dict[str, Effects]
    whole_spread: float
    noise: float
    settings: tuple[str, ...] = ()

    @staticmethod
    def from_json(fields: dict[str, Any]) -> Prior:
        """Reads what `to_json` returned."""
        effects = {kind: Effects(**fields["effects"][kind]) for kind in KINDS}
        settings = tuple(fields["settings"])
        return Prior(effects, float(fields["whole_spread"]), float(fields["noise"]), settings)

    def to_json(self) -> dict[str, Any]:
        """Returns all fields, for JSON."""
        return dataclasses.asdict(self)


@functools.cache
def learnt_prior() -> Prior:
    """Returns the prior that comes with the package."""
    return Prior.from_json(json.loads(_PRIOR_FILE.read_text(encoding="utf-8")))


@dataclasses.dataclass(frozen=True)
class Scene:
    """What lists are about.

    Attributes:
        cycles: of the compiler's default.
        fast_memory_bytes: that there are.
        fast_accesses: those that the default has in fast memory.
    """

    cycles: float
    fast_memory_bytes: float
    fast_accesses: frozenset[int]

    def sizes(self, items: Sequence[Item]) -> Vector:
        """Returns the items' sizes as shares of fast memory, 1 at most; settings are about all."""
        whole = max(self.fast_memory_bytes, 1.0)
        shares = (1.0 if item.setting else item.bytes / whole for item in items)
        return np.array([min(1.0, share) for share in shares])


def kinds_of(items: Sequence[Item], wanted: Sequence[Item], scene: Scene) -> list[str]:
    """Returns the items' kinds in a prior; `wanted` are the mapping's differences."""
    orders = (item.insistence() for item in wanted)
    keys = {item.key for item in (*wanted, *orders) if item is not None}
    parts = (item for item in items if item.kind in _MAPPING_ONLY)
    changed = {access for item in (*wanted, *parts) for access in item.accesses}
    mapped = scene.fast_accesses ^ changed

    def origin(item: Item) -> str:
        if item.key in keys:
            return _WANTED
        if item.place is not None:
            return ""
        as_mapped = all((access in mapped) == item.into_fast for access in item.accesses)
        return _AGREEING if as_mapped else ""

    return [origin(item) + (_INSISTENCE if item.insists else item.kind) for item in items]


class Surrogate:
    """The savings of all lists of some items, given the looks so far.

    Lists are rows of zeros and ones, a column an item. Savings are in units of `unit` cycles.
    """

    def __init__(
        self, items: Sequence[Item], wanted: Sequence[Item], scene: Scene, prior: Prior
    ) -> None:
        """`items`: all that lists are made of; `wanted`: those of the mapping."""
        self.unit = sum(max(item.gain, 0.0) for item in wanted) + _LEAST_UNIT * scene.cycles
        keys = {item.key for item in wanted}
        parts = np.array([item.key in keys for item in items], dtype=float)
        self.parts = parts / max(1.0, parts.sum())
        self._whole_variance = prior.whole_spread**2
        self._noise_variance = prior.noise**2
        effects = [prior.effects[kind] for kind in kinds_of(items, wanted, scene)]
        promises = np.array([item.gain for item in items]) / self.unit
        sizes = scene.sizes(items)
        self._means = (
            _column(effects, "promise_mean") * promises + _column(effects, "size_mean") * sizes
        )
        self._variances = (_column(effects, "promise_spread") * promises) ** 2
        self._variances += (_column(effects, "size_spread") * sizes) ** 2
        self._variances += _column(effects, "spread") ** 2
        self.observe(np.zeros((0, len(items))), np.zeros(0))

    def observe(self, lists: Vector, savings: Vector) -> None:
        """Forgets earlier looks and learns from these."""
        self._lists = lists
        residuals = savings - lists @ self._means
        noise = self._noise_variance * np.eye(len(lists))
        self._factor = np.linalg.cholesky(self._covariance(lists, lists) + noise)
        self._white = np.linalg.solve(self._factor, residuals)
        self._weights = np.linalg.solve(self._factor.T, self._white)
        # How much larger all effects are than the prior has them, with an inverse-gamma prior.
        self._scale = (_PRIOR_LOOKS + float(self._white @ self._white)) / (
            _PRIOR_LOOKS + len(lists)
        )

    def log_likelihood(self) -> float:
        """Returns the logarithm of the density of what was observed."""
        return log_density(self._factor, self._white)

    def predict(self, lists: Vector) -> tuple[Vector, Vector]:
        """Returns mean and standard deviation of the savings of lists not looked at yet."""
        covariance = self._covariance(lists, self._lists)
        means = lists @ self._means + covariance @ self._weights
        known = np.linalg.solve(self._factor, covariance.T)
        own = (lists * self._variances * lists).sum(1)
        own += self._whole_variance * (lists @ self.parts) ** 2
        variances = own - (known * known).sum(0) + self._noise_variance
        return means, np.sqrt(self._scale * np.maximum(variances, self._noise_variance))

    def expected_effects(self) -> Vector:
        """Returns the mean effect of each item."""
        return self._means + self._variances * (self._lists.T @ self._weights)

    def spreads(self) -> Vector:
        """Returns the standard deviation of each item's effect before any look at it."""
        return np.sqrt(self._scale * self._variances)

    def sample_effects(self, chance: np.random.Generator) -> Vector:
        """Returns an effect for each item, drawn from what is possible after the looks so far."""
        # Matheron's rule: a draw from the prior, moved by what the looks say about it.
        spread = np.sqrt(self._scale)
        drawn = np.sqrt(self._variances) * chance.standard_normal(len(self._means)) * spread
        whole = math.sqrt(self._whole_variance) * chance.standard_normal() * spread
        noise = math.sqrt(self._noise_variance) * chance.standard_normal(len(self._lists)) * spread
        looks = self._lists @ drawn + (self._lists @ self.parts) * whole + noise
        moved = np.linalg.solve(self._factor.T, np.linalg.solve(self._factor, looks))
        return self.expected_effects() + drawn - self._variances * (self._lists.T @ moved)

    def _covariance(self, lists: Vector, others: Vector) -> Vector:
        parts = np.outer(lists @ self.parts, others @ self.parts)
        return (lists * self._variances) @ others.T + self._whole_variance * parts


def log_density(factor: Vector, white: Vector) -> float:
    """Returns the logarithm of the density of residuals, if the scale of effects is not known.

    `factor` is the Cholesky factor of their covariance, `white` the residuals divided by it.
    """
    looks = len(white)
    freedom = (_PRIOR_LOOKS + looks) / 2
    surprise = 1.0 + float(white @ white) / _PRIOR_LOOKS
    constant = math.lgamma(freedom) - math.lgamma(_PRIOR_LOOKS / 2)
    constant -= looks / 2 * math.log(_PRIOR_LOOKS * math.pi)
    return constant - float(np.log(np.diag(factor)).sum()) - freedom * math.log(surprise)


def _column(effects: Sequence[Effects], name: str) -> Vector:
    return np.array([getattr(effect, name) for effect in effects])


def expected_improvement(means: Vector, deviations: Vector, best: float) -> Vector:
    """Returns how much above `best` normal variables are on average, nothing where below."""
    above = (means - best) / deviations
    density = np.exp(-0.5 * above**2) / math.sqrt(2 * math.pi)
    chances = np.array([0.5 * math.erfc(-z / math.sqrt(2)) for z in above])
    return (means - best) * chances + deviations * density
