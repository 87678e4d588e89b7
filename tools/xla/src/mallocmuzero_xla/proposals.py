"""Proposes the next list of overrides to look at: the one that promises the largest improvement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from mallocmuzero_xla.overrides import Item, with_added
from mallocmuzero_xla.surrogate import (
    Prior,
    Scene,
    Surrogate,
    Vector,
    expected_improvement,
)
from mallocmuzero_xla.trial import Overrides, Trial

# Draws from what the effects may be, besides their means, that lists are made by.
_DRAWS = 8

# Lists, the best of those looked at, that others are made from, besides the best without settings.
_BASES = 3

# Single changes that are considered, the most promising ones.
_SINGLES = 256

# The largest group of neighbours is this part of the mapping's items.
_LARGEST_GROUP = 8


class Proposer:
    """Learns from looks and proposes lists. A function of its arguments and the seed."""

    def __init__(self, wanted: Sequence[Item], scene: Scene, prior: Prior, seed: int) -> None:
        """`wanted`: the items of the mapping, the largest promise first."""
        self._wanted = wanted
        self._scene = scene
        self._prior = prior
        self._chance = np.random.default_rng(seed)

    def propose(
        self, items: Sequence[Item], trials: Sequence[Trial], refusals: Collection[object] = ()
    ) -> Iterator[Overrides]:
        """Yields lists that are not among `trials`, the most promising first.

        Args:
            items: what may be added to a list.
            trials: one or more.
            refusals: keys of items that the compiler has refused.
        """
        columns = _Columns([*items, *(item for trial in trials for item in trial.items)])
        surrogate = Surrogate(columns.items, self._wanted, self._scene, self._prior)
        rows = np.stack([columns.row(trial.items) for trial in trials])
        savings = self._scene.cycles - np.array([trial.cycles for trial in trials])
        savings /= surrogate.unit
        surrogate.observe(rows, savings)
        candidates = [
            (row, base)
            for base in _bases(trials)
            for row in self._variants(rows[base], trials[base], items, columns, surrogate)
        ]
        known = {row.tobytes() for row in rows}
        unique = {row.tobytes(): (row, base) for row, base in reversed(candidates)}
        candidates = [entry for key, entry in unique.items() if key not in known]
        if not candidates:
            return
        means, deviations = surrogate.predict(np.stack([row for row, _ in candidates]))
        worth = expected_improvement(means, deviations, float(savings.max()))
        worth *= _chances_of_acceptance(columns, candidates, rows, refusals)
        for best in np.argsort(-worth, kind="stable"):
            row, base = candidates[best]
            yield columns.listed(row, trials[base].items, self._chance.random() < 0.5)

    def _variants(
        self,
        row: Vector,
        trial: Trial,
        items: Sequence[Item],
        columns: _Columns,
        surrogate: Surrogate,
    ) -> Iterator[Vector]:
        """Yields lists near that of `trial`, whose row is `row`."""
        listed = row > 0
        # What is so already is not asked for.
        missing = columns.row([item for item in items if not trial.has(item)]) > 0
        changeable = listed | missing
        signs = np.where(listed, -1.0, 1.0)
        hopes = signs * surrogate.expected_effects() + surrogate.spreads()
        for column in np.argsort(np.where(changeable, -hopes, np.inf), kind="stable")[:_SINGLES]:
            if changeable[column]:
                yield columns.flipped(row, np.array([column]))
        draws = (surrogate.sample_effects(self._chance) for _ in range(_DRAWS))
        for effects in (surrogate.expected_effects(), *draws):
            gains = np.where(changeable, signs * effects, 0.0)
            good = np.argsort(-gains, kind="stable")[: int((gains > 0).sum())]
            for size in _sizes(len(good)):
                yield columns.flipped(row, good[:size])
        wanted = np.array([columns.of(item) for item in self._wanted if item in columns], dtype=int)
        for size in _sizes(len(wanted) // _LARGEST_GROUP):
            for start in range(0, len(wanted), size):
                group = wanted[start : start + size]
                yield columns.flipped(row, group[listed[group]])
                yield columns.flipped(row, group[~listed[group]])


def _bases(trials: Sequence[Trial]) -> list[int]:
    """Returns the best trials by number, and the best one without settings."""
    ranked = sorted(range(len(trials)), key=lambda number: trials[number].cycles)
    plain = [number for number in ranked if not trials[number].has_settings]
    return list(dict.fromkeys((*ranked[:_BASES], *plain[:1])))


class _Columns:
    """Lists of items as rows of zeros and ones."""

    def __init__(self, items: Sequence[Item]) -> None:
        by_key = {item.key: item for item in reversed(items)}
        self.items = list(by_key.values())
        self._columns = {key: column for column, key in enumerate(by_key)}
        by_place: dict[object, list[int]] = {}
        for column, item in enumerate(self.items):
            if item.place is not None:
                by_place.setdefault(item.place, []).append(column)
        self._rivals = {column: rivals for rivals in by_place.values() for column in rivals}
        self._has_place = np.array([item.place is not None for item in self.items], dtype=bool)

    def __contains__(self, item: Item) -> bool:
        return item.key in self._columns

    def of(self, item: Item) -> int:
        return self._columns[item.key]

    def row(self, items: Sequence[Item]) -> Vector:
        row = np.zeros(len(self.items))
        row[[self.of(item) for item in items]] = 1.0
        return row

    def flipped(self, row: Vector, columns: Vector) -> Vector:
        """Returns `row` with changes; the first of those added to a place has it to itself."""
        changed = row.copy()
        changed[columns] = 1.0 - changed[columns]
        for column in columns[self._has_place[columns] & (row[columns] == 0)][::-1]:
            changed[self._rivals[column]] = 0.0
            changed[column] = 1.0
        return changed

    def listed(self, row: Vector, base: Overrides, in_front: bool) -> Overrides:
        """Returns the items of `row`: those of `base` in its order, new ones before or behind."""
        kept = tuple(item for item in base if row[self.of(item)])
        known = {item.key for item in kept}
        new = [self.items[k] for k in np.flatnonzero(row) if self.items[k].key not in known]
        wishes = tuple(item for item in new if item.place is None)
        rest = [item for item in new if item.place is not None]
        return with_added((*wishes, *kept) if in_front else (*kept, *wishes), rest)


def _chances_of_acceptance(
    columns: _Columns,
    candidates: Sequence[tuple[Vector, int]],
    rows: Vector,
    refusals: Collection[object],
) -> Vector:
    """Returns how likely the compiler takes each list: one refused order fails it all."""
    strict = np.array([item.may_be_refused for item in columns.items], dtype=float)
    accepted = float((rows.max(0) * strict).sum())
    chance = (1.0 + accepted) / (2.0 + accepted + len(refusals))
    added = np.array([(row * (1.0 - rows[base])) @ strict for row, base in candidates])
    return chance**added


def _sizes(most: int) -> Iterator[int]:
    """Yields 1, 2, 4, ... and `most`."""
    size = 1
    while size < most:
        yield size
        size *= 2
    if most:
        yield most
