"""Caches compiler options by function, for one compiler.

Each entry is a file, `<cache>/options/<chip>/<function>-<sha256 of the lowered function>.json`,
with `-own-limit` before the suffix if the search kept the chip's own limit of scoped memory,
`-own-assignment` if it kept the compiler's assignment, and `-placed` if its result might be a
placed executable. The cache is the folder that
MALLOCMUZERO_CACHE names, or mallocmuzero in XDG_CACHE_HOME or ~/.cache.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.options_file import require_folder
from mallocmuzero_xla.compiler.store import read_json, say_not_used, stem_of, write_atomically
from mallocmuzero_xla.environment import compiler_versions, recorded_settings
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.search.verified import Verified

_FORMAT = 1

# What reading a damaged entry may raise.
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError)


def cache_folder() -> pathlib.Path:
    """Returns the cache folder; raises UsageError if the user has no home folder."""
    named = os.environ.get("MALLOCMUZERO_CACHE")
    if named:
        return pathlib.Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "mallocmuzero"
    except RuntimeError as error:
        raise UsageError(
            "this user has no home folder for the cache: name a folder in MALLOCMUZERO_CACHE"
        ) from error


def writable_cache(cache_dir: str | os.PathLike[str] | None) -> pathlib.Path:
    """Returns the whole path of `cache_dir`, or of the cache folder if it is None.

    Raises UsageError if it cannot be written: a search would find that out in its middle.
    """
    folder = (pathlib.Path(cache_dir) if cache_dir else cache_folder()).resolve()
    require_folder(folder, f"the cache {folder} (MALLOCMUZERO_CACHE, or cache_dir)")
    return folder


@dataclasses.dataclass(frozen=True)
class Allowed:
    """What a search may use. Each choice has entries of its own.

    Attributes:
        limits: other limits of scoped memory.
        assignment: settings of the compiler's assignment, and overrides of single tensors.
        placed: placed executables.
    """

    limits: bool = True
    assignment: bool = True
    placed: bool = False


@dataclasses.dataclass(frozen=True)
class CachedOptions:
    """Options that made a function faster, or none where the default is best.

    Attributes:
        verified: the options and their effect.
        budget_seconds: the budget of the search.
    """

    verified: Verified
    budget_seconds: float


class OptionsCache:
    """The entries of one function on one chip; problems with them are reported on stderr."""

    def __init__(
        self,
        program: LoweredProgram,
        chip: Chip,
        folder: pathlib.Path,
        allowed: Allowed,
    ) -> None:
        """Reads and writes below `folder`. Only chips with shared VMEM have limits to choose."""
        self._name = name = stem_of(program)
        self._version = program.sha256
        self._folder = folder / "options" / chip.name
        kept = "-own-limit" if not allowed.limits and chip.shared_vmem_kib is not None else ""
        kept += "" if allowed.assignment else "-own-assignment"
        form = "-placed" if allowed.placed else ""
        self._path = self._folder / f"{name}-{program.sha256}{kept}{form}.json"
        self._key = {
            "format": _FORMAT,
            "chip": chip.name,
            "lowered_sha256": program.sha256,
            "versions": compiler_versions(),
            "environment": recorded_settings(),
        }

    def load(self, warn_of_stale: bool = True) -> CachedOptions | None:
        """Returns the entry, or None; warns about a damaged entry and, if asked to, a stale one."""
        if not self._path.is_file():
            others = self._folder.glob(f"{self._name}-*.json")
            if warn_of_stale and any(self._version not in path.name for path in others):
                say_not_used(
                    f"{self._name}: the cached options are for a function of this name with other "
                    f"code, shapes or jit options"
                )
            return None
        try:
            entry = read_json(self._path)
            stale = [name for name, value in self._key.items() if entry[name] != value]
            if stale:
                if warn_of_stale:
                    say_not_used(
                        f"{self._name}: the cached options were found with {stale[0]} "
                        f"{entry[stale[0]]}, here are {self._key[stale[0]]}"
                    )
                return None
            verified = Verified.from_json(entry["verified"])
            return CachedOptions(verified, float(entry["budget_seconds"]))
        except _DAMAGE as error:
            say_not_used(f"{self._path}: damaged ({error!r})")
            return None

    def earlier(self) -> Verified | None:
        """Returns the latest gain of a function of this name on this chip, or None.

        It may be of other code, shapes, jit options or compilers.
        """
        pattern = re.compile(rf"{re.escape(self._name)}-[0-9a-f]{{64}}(?:-[a-z-]+)?\.json")
        paths = [each for each in self._folder.glob("*.json") if pattern.fullmatch(each.name)]
        dated = {path: _changed(path) for path in paths}
        for path in sorted(paths, key=lambda each: dated[each], reverse=True):
            try:
                entry = read_json(path)
                verified = Verified.from_json(entry["verified"])
                if entry["format"] == _FORMAT and verified.improves:
                    return verified
            except _DAMAGE:
                continue  # `load` warns of a damaged entry, if it is the one that is asked for
        return None

    def store(self, cached: CachedOptions) -> None:
        """Writes the entry over an earlier one; a failure to write is only a warning."""
        verified, seconds = cached.verified.to_json(), cached.budget_seconds
        entry = {**self._key, "verified": verified, "budget_seconds": seconds}
        try:
            write_atomically(self._path, json.dumps(entry, indent=1).encode("utf-8"))
        except OSError as error:
            say_not_used(f"{self._path}: not written ({error})")


def _changed(path: pathlib.Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
