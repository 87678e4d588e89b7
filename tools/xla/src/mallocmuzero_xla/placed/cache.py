"""Caches placed executables by function, for one compiler.

Each entry is a file, `<cache>/placed/<chip>/<function>-<sha256 of the lowered function>.json`, with
`-own-limit` before the suffix if the search kept the chip's own limit of scoped memory.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import pathlib
from typing import Any

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.store import read_json, say_not_used, stem_of, write_atomically
from mallocmuzero_xla.environment import compiler_versions, recorded_settings
from mallocmuzero_xla.placed.place_search import DEFAULT_ROUNDS, Found, SearchLimits

_FORMAT = 2


class PlacedCache:
    """The entry of one function on one chip; problems with it are reported on stderr."""

    def __init__(
        self, program: LoweredProgram, chip: Chip, folder: pathlib.Path, scoped_limit: bool
    ) -> None:
        """`scoped_limit` is that of the SearchLimits."""
        name = f"{stem_of(program)}-{program.sha256}{'' if scoped_limit else '-own-limit'}"
        self._path = folder / "placed" / chip.name / f"{name}.json"
        self._key = {
            "format": _FORMAT,
            "versions": compiler_versions(),
            "environment": recorded_settings(),
            "scoped_limit": scoped_limit,
        }

    def load(self, limits: SearchLimits) -> Found | None:
        """Returns the entry, marked `from_cache`, if its search had these `limits` or wider."""
        entry = self._read()
        if entry is None or entry["report"].get("interrupted"):
            return None
        rounds = entry["rounds"] or DEFAULT_ROUNDS
        if rounds < (limits.rounds or DEFAULT_ROUNDS) or entry["seconds"] < limits.seconds:
            return None
        return _found(entry)

    def keep(self, found: Found, limits: SearchLimits) -> Found:
        """Stores and returns the better of `found` and the entry.

        A search that was interrupted takes nothing from an entry: what is kept still answers for
        the limits of the earlier search.
        """
        entry = self._read()
        interrupted = found.report.get("interrupted", False)
        kept = {"seconds": limits.seconds, "rounds": limits.rounds}
        unfinished = interrupted
        if entry is not None:
            earlier = _found(entry)
            if earlier.report["optimized_cycles"] < found.report["optimized_cycles"]:
                # The limits of this search, so that a further call does not repeat it.
                ended = {"interrupted": interrupted}
                found = dataclasses.replace(earlier, report={**earlier.report, **ended})
            if interrupted and not entry["report"].get("interrupted"):
                kept = {name: entry[name] for name in kept}
                unfinished = False
        fresh = {
            **self._key,
            **kept,
            "report": {**found.report, "from_cache": False, "interrupted": unfinished},
            "executable": base64.b64encode(found.executable).decode("ascii"),
            "module": base64.b64encode(found.module).decode("ascii"),
        }
        try:
            write_atomically(self._path, json.dumps(fresh).encode("utf-8"))
        except OSError as error:
            say_not_used(f"{self._path}: not written ({error})")
        return dataclasses.replace(found, report={"from_cache": False, **found.report})

    def _read(self) -> dict[str, Any] | None:
        if not self._path.is_file():
            return None
        try:
            entry = dict(read_json(self._path))
            stale = [name for name, value in self._key.items() if entry[name] != value]
            if stale:
                name = stale[0]
                say_not_used(
                    f"{self._path}: made with {name} {entry[name]}, here are {self._key[name]}"
                )
                return None
            _found(entry)
            float(entry["seconds"]), entry["rounds"]
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            say_not_used(f"{self._path}: damaged ({error!r})")
            return None
        return entry


def _found(entry: dict[str, Any]) -> Found:
    report = {**entry["report"], "from_cache": True}
    float(report["optimized_cycles"])
    parts = (base64.b64decode(entry[name], validate=True) for name in ("executable", "module"))
    return Found(report, *parts)
