"""The record of trials: compiles of the corpus by the TPU compiler, and their estimated cycles."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mallocmuzero_gym.corpus import load_programs
from mallocmuzero_gym.locations import results_folder

KINDS = ("setting", "scoped_limit", "overrides", "placed")

_KIB = 1024


@dataclasses.dataclass(frozen=True)
class Trial:
    """One compile of one program.

    Attributes:
        kind: what was asked of the compiler. "setting": one option of its own assignment.
            "scoped_limit": a limit of scoped memory. "overrides": a list of overrides and settings
            for a mapping. "placed": a module with the placement written in.
        chip, program: of the corpus.
        split: "train", "validation" or "test".
        options: the compiler options that were tried. It is empty for "placed", and for "overrides"
            unless the compile was the best of its run.
        gain: share of the default's cycles that the compiled module saves, by the compiler's
            estimates and the model of copies; None if the compile failed.
        cycles: of the compiled module; None if the record has only the gain, or if it failed.
        default_cycles: of the default that the gain is against; None if only the gain is recorded.
        predicted_cycles: of the mapping, before the compile; None for "setting" and "scoped_limit".
        scoped_limit_bytes: the limit of scoped memory that was asked for; None for the chip's own.
        error: the compiler's message; empty if the compile went well.
    """

    kind: str
    chip: str
    program: str
    split: str
    options: Mapping[str, str]
    gain: float | None
    cycles: float | None = None
    default_cycles: float | None = None
    predicted_cycles: float | None = None
    scoped_limit_bytes: int | None = None
    error: str = ""


def load_trials(
    kind: str | None = None, split: str | None = None, chip: str | None = None
) -> list[Trial]:
    """Returns the recorded trials, in the order of the files; None stands for all.

    Raises ValueError if there is no such kind, split or chip.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind {kind!r}: expected one of {', '.join(KINDS)}")
    wanted = {(program.chip, program.name): program.split for program in load_programs(split, chip)}
    return [
        trial
        for reader, pattern in _READERS
        for path in sorted(results_folder().glob(pattern))
        for record in _records(path)
        if (record["chip"], record["program"]) in wanted
        for trial in reader(record, wanted[record["chip"], record["program"]])
        if kind in (None, trial.kind)
    ]


def _records(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def _trial(
    kind: str, record: dict[str, Any], split: str, cycles: float | None, **fields: Any
) -> Trial:
    default = float(record["default_cycles"])
    return Trial(
        kind,
        record["chip"],
        record["program"],
        split,
        fields.pop("options", {}),
        gain=None if cycles is None else 1 - cycles / default,
        cycles=cycles,
        default_cycles=default,
        **fields,
    )


def _settings(record: dict[str, Any], split: str) -> Iterator[Trial]:
    for setting, saved in record["saved"].items():
        name, _, value = setting.partition("=")
        yield Trial("setting", record["chip"], record["program"], split, {name: value}, gain=saved)


def _scoped_limits(record: dict[str, Any], split: str) -> Iterator[Trial]:
    for limit, cycles in record["cycles"].items():
        options = {"xla_tpu_scoped_vmem_limit_kib": limit}
        limit_bytes = int(limit) * _KIB
        yield _trial(
            "scoped_limit", record, split, cycles, options=options, scoped_limit_bytes=limit_bytes
        )


def _overrides(record: dict[str, Any], split: str) -> Iterator[Trial]:
    if "verified" not in record:
        return
    verified = record["verified"]
    all_cycles = [compiled["compiled_cycles"] for compiled in verified["rounds"]]
    for number, (compiled, cycles) in enumerate(zip(verified["rounds"], all_cycles, strict=True)):
        # A later compile with as many cycles had other options.
        is_best = cycles == verified["optimized_cycles"] and cycles not in all_cycles[:number]
        yield _trial(
            "overrides",
            record | {"default_cycles": verified["default_cycles"]},
            split,
            cycles,
            options=verified["options"] if is_best else {},
            predicted_cycles=compiled["predicted_cycles"],
        )


def _placed(record: dict[str, Any], split: str) -> Iterator[Trial]:
    report = record["report"]
    for compiled in report["rounds"]:
        yield _trial(
            "placed",
            record | {"default_cycles": report["default_cycles"]},
            split,
            compiled.get("compiled_cycles"),
            predicted_cycles=compiled["promised_cycles"],
            scoped_limit_bytes=compiled["scoped_limit_bytes"] or None,
            error=compiled["error"],
        )


_Reader = Callable[[dict[str, Any], str], Iterator[Trial]]

_READERS: tuple[tuple[_Reader, str], ...] = (
    (_settings, "assignment_settings.jsonl"),
    (_scoped_limits, "scoped_limits.jsonl"),
    (_overrides, "tpu_*.jsonl"),
    (_placed, "placed.jsonl"),
    (_placed, "placed_limits.jsonl"),
)
