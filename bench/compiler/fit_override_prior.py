"""Fits what is expected of overrides before the first look, to the trials of many programs.

Reads what override_trials.py and assignment_settings.py wrote, and writes the prior that maximises
the likelihood of the first looks at every program; of a setting, mean and deviation of what it
saved. With --held-out it says what that is worth on programs it was not fitted to.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import zstandard
from mallocmuzero_xla.overrides import Item
from mallocmuzero_xla.settings import setting_kinds
from mallocmuzero_xla.surrogate import (
    KINDS,
    Effects,
    Prior,
    Scene,
    Surrogate,
    Vector,
    kinds_of,
    log_density,
)
from scipy.optimize import minimize  # type: ignore[import-untyped]

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "tools/xla/src/mallocmuzero_xla/override_prior.json"

# Looks of each program that count: what is learnt is for the first of them.
_LOOKS = 32
_FEWEST_LOOKS = 8

# Kinds that trials have.
_LISTED = tuple(kind for kind in KINDS if kind not in setting_kinds())

# What a setting saves or costs counts up to all that the mapping promises, and is never certain.
_LARGEST_EFFECT = 1.0
_LEAST_SPREAD = 0.05

# Programs on which no list does more than this share of the default's cycles have nothing to say.
_LEAST_EFFECT = 1e-4

# Where the fit begins: means, and logarithms of spreads; and how far it may go for nothing.
_START = Effects(0.3, 0.0, 0.7, 0.05, 0.01)
_START_WHOLE, _START_NOISE = 0.1, 0.05
_FREEDOM = Effects(0.5, 0.3, 1.0, 1.5, 1.5)
_FREEDOM_REST = 1.5
_MEANS, _SPREADS = (-2.0, 2.0), (np.log(1e-3), np.log(3.0))


@dataclasses.dataclass(frozen=True)
class Trials:
    """The lists of one program and what they saved, in cycles."""

    name: str
    items: list[Item]
    wanted: list[Item]
    scene: Scene
    lists: Vector
    savings: Vector

    def surrogate(self, prior: Prior, looks: int) -> Surrogate:
        """Returns what the prior makes of the first looks."""
        surrogate = Surrogate(self.items, self.wanted, self.scene, prior)
        surrogate.observe(self.lists[:looks], self.savings[:looks] / surrogate.unit)
        return surrogate


def read_trials(path: pathlib.Path) -> Trials:
    text = zstandard.ZstdDecompressor().decompress(path.read_bytes()).decode("utf-8")
    head, default, *others = (json.loads(line) for line in text.splitlines())
    # The same items in another order may make a difference, but mostly do not.
    looks = list({tuple(sorted(look["items"])): look for look in reversed(others)}.values())[::-1]
    items = [item_of(fields) for fields in head["items"]]
    lists = np.zeros((len(looks), len(items)))
    for row, look in zip(lists, looks, strict=True):
        row[look["items"]] = 1.0
    cycles = float(default["default_cycles"])
    return Trials(
        f"{path.parent.name}/{path.name.split('.')[0]}",
        items,
        [items[number] for number in head["wanted"]],
        Scene(cycles, default["fast_memory_bytes"], frozenset(default["fast_accesses"])),
        lists,
        cycles - np.array([look["cycles"] for look in looks]),
    )


def item_of(fields: dict[str, Any]) -> Item:
    pairs = ("tensor_overrides", "sort_overrides", "accesses")
    tuples = {name: tuple(fields[name]) for name in pairs}
    return Item(**{**fields, **tuples})


class Moments:
    """A program's first looks as sums over kinds, so that a likelihood takes no time."""

    def __init__(self, trials: Trials) -> None:
        lists = trials.lists[:_LOOKS]
        blank = Surrogate(trials.items, trials.wanted, trials.scene, to_prior(start()))
        promises = np.array([item.gain for item in trials.items]) / blank.unit
        kinds = kinds_of(trials.items, trials.wanted, trials.scene)
        own = np.array([[kind == each for each in kinds] for kind in _LISTED], dtype=float)
        drivers = [promises, trials.scene.sizes(trials.items), np.ones(len(promises))]
        # By driver and kind: the mean, and the covariance, that a coefficient of one brings.
        self._means = np.stack([lists @ (own * driver).T for driver in drivers[:2]])
        spreads = [[(lists * (mask * driver) ** 2) @ lists.T for mask in own] for driver in drivers]
        self._spreads = np.array(spreads)
        parts = lists @ blank.parts
        self._whole = np.outer(parts, parts)
        self._savings = trials.savings[:_LOOKS] / blank.unit

    def log_likelihood(self, vector: Vector) -> float:
        rows = vector[:-2].reshape(len(_LISTED), 5)
        means = np.einsum("dlk,kd->l", self._means, rows[:, :2])
        spreads = np.exp(2 * rows[:, 2:])
        covariance = np.einsum("dkij,kd->ij", self._spreads, spreads)
        whole, noise = np.exp(2 * vector[-2:])
        covariance += whole * self._whole + noise * np.eye(len(covariance))
        factor = np.linalg.cholesky(covariance)
        white = np.linalg.solve(factor, self._savings - means)
        return log_density(factor, white)


def start() -> Vector:
    row = [*dataclasses.astuple(_START)[:2], *np.log(dataclasses.astuple(_START)[2:])]
    return np.array([*row * len(_LISTED), np.log(_START_WHOLE), np.log(_START_NOISE)])


def to_prior(vector: Vector) -> Prior:
    rows = vector[:-2].reshape(len(_LISTED), 5)
    effects = {
        kind: Effects(*(round(float(v), 4) for v in (*row[:2], *np.exp(row[2:]))))
        for kind, row in zip(_LISTED, rows, strict=True)
    }
    whole, noise = (round(float(value), 5) for value in np.exp(vector[-2:]))
    return Prior(effects, whole, noise)


def fit(programs: Sequence[Moments], iterations: int = 200) -> Prior:
    bounds = [*[_MEANS, _MEANS, _SPREADS, _SPREADS, _SPREADS] * len(_LISTED), _SPREADS, _SPREADS]
    options = {"maxiter": iterations}
    freedom = np.array([*dataclasses.astuple(_FREEDOM) * len(_LISTED), *(_FREEDOM_REST,) * 2])

    def loss(vector: Vector) -> float:
        strayed = float(0.5 * (((vector - start()) / freedom) ** 2).sum())
        return strayed - sum(each.log_likelihood(vector) for each in programs)

    found = minimize(loss, start(), method="L-BFGS-B", bounds=bounds, options=options)
    return to_prior(found.x)


def shares_of_settings(programs: Sequence[Trials], records: Sequence[dict[str, Any]]) -> Vector:
    """Returns what settings saved on `programs`: a row a program, a column a setting.

    In the unit of the program's savings; not a number where a setting was not tried.
    """
    blank = to_prior(start())
    shares = {
        each.name: Surrogate(each.items, each.wanted, each.scene, blank).unit / each.scene.cycles
        for each in programs
    }
    rows = []
    for record in records:
        unit = shares.get(f"{record['chip']}/{record['program']}")
        if unit is not None:
            saved = (record["saved"].get(kind) for kind in setting_kinds())
            rows.append([np.nan if share is None else share / unit for share in saved])
    return np.clip(np.array(rows, dtype=float), -_LARGEST_EFFECT, _LARGEST_EFFECT)


def effects_of_settings(saved: Vector) -> dict[str, Effects]:
    """Returns what is to be expected of each setting."""
    means, spreads = np.nanmean(saved, 0), np.maximum(_LEAST_SPREAD, np.nanstd(saved, 0))
    return {
        kind: Effects(0.0, round(float(mean), 4), 0.0, round(float(spread), 4), 0.0)
        for kind, mean, spread in zip(setting_kinds(), means, spreads, strict=True)
    }


def covering_order(saved: Vector) -> tuple[str, ...]:
    """Returns all settings, by what each adds to the best of those before it."""
    gains = np.maximum(np.nan_to_num(saved), 0.0)
    order: list[int] = []
    best = np.zeros(len(gains))
    while len(order) < gains.shape[1]:
        covered = np.maximum(gains, best[:, None]).sum(0)
        covered[order] = -1.0
        order.append(int(covered.argmax()))
        best = np.maximum(best, gains[:, order[-1]])
    return tuple(setting_kinds()[number] for number in order)


def rank_correlation(trials: Trials, prior: Prior) -> float:
    """Of predictions of the looks, each from those before it, with what they were."""
    looks = min(_LOOKS, len(trials.lists))
    predicted = []
    for look in range(2, looks):
        surrogate = trials.surrogate(prior, look)
        predicted.append(surrogate.predict(trials.lists[look : look + 1])[0][0])
    ranks = [np.argsort(np.argsort(v)) for v in (predicted, trials.savings[2:looks])]
    return float(np.asarray(np.corrcoef(ranks))[0, 1])


def compare(programs: Sequence[Trials], prior: Prior) -> str:
    """Log-likelihood and rank correlation, under the prior and under what the fit begins with."""
    rows = ["| program | begun with | fitted |", "| --- | ---: | ---: |"]
    for each in programs:
        cells = [
            f"{each.surrogate(p, _LOOKS).log_likelihood():.1f}, {rank_correlation(each, p):.2f}"
            for p in (to_prior(start()), prior)
        ]
        rows.append(f"| {each.name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def telling(folder: pathlib.Path) -> list[Trials]:
    """Reads the trials of all programs that have something to say."""
    found = (read_trials(path) for path in sorted(folder.glob("*/*.jsonl.zst")))
    return [
        each
        for each in found
        if len(each.lists) >= _FEWEST_LOOKS
        and np.abs(each.savings).max() > _LEAST_EFFECT * each.scene.cycles
    ]


def main() -> None:
    """Fits and writes, then compares on programs that were held out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trials", type=pathlib.Path, help="folder that override_trials.py wrote")
    parser.add_argument("settings", type=pathlib.Path, help="file of assignment_settings.py")
    parser.add_argument("--held-out", type=pathlib.Path, help="such a folder of other programs")
    parser.add_argument("--output", type=pathlib.Path, default=OUTPUT)
    arguments = parser.parse_args()
    programs = telling(arguments.trials)
    print(f"{len(programs)} programs")
    prior = fit([Moments(each) for each in programs])
    records = [json.loads(line) for line in arguments.settings.read_text("utf-8").splitlines()]
    saved = shares_of_settings(programs, records)
    effects = {**prior.effects, **effects_of_settings(saved)}
    prior = dataclasses.replace(prior, effects=effects, settings=covering_order(saved))
    arguments.output.write_text(json.dumps(prior.to_json(), indent=1) + "\n", encoding="utf-8")
    if arguments.held_out:
        print(compare(telling(arguments.held_out), prior))


if __name__ == "__main__":
    main()
