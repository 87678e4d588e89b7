"""Says whether an artefact fits a lowered function on this machine."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mallocmuzero_xla.artefacts.artefact import Artefact
from mallocmuzero_xla.artefacts.placed_file import PlacedFile
from mallocmuzero_xla.chips import chip_of_kind
from mallocmuzero_xla.compiler.lowering import (
    check_lowered,
    fingerprint_of,
    jit_compiler_options,
)
from mallocmuzero_xla.compiler.shardings import devices_of
from mallocmuzero_xla.environment import versions_of
from mallocmuzero_xla.errors import PlacedError, UsageError, in_one_line


@dataclasses.dataclass(frozen=True)
class Target:
    """A lowered function and the compiler that it is for.

    Attributes:
        fingerprint: SHA-256 of the lowered function, as in Artefact.
        chip: name of the chip; None if it is none of mallocmuzero_xla.CHIPS.
        device_kind: jax's name of the device.
        devices: the number of devices.
        versions: the installed versions of jax, jaxlib and, for a TPU, libtpu.
    """

    fingerprint: str
    chip: str | None
    device_kind: str
    devices: int
    versions: dict[str, str]


def target_of(lowered: Any) -> Target:
    """Describes a jax.stages.Lowered; raises UsageError for something else."""
    check_lowered(lowered)
    devices = devices_of(lowered)
    kind = str(devices[0].device_kind)
    platform = str(devices[0].platform)
    return Target(
        fingerprint_of(lowered),
        chip_of_kind(kind),
        kind,
        len(devices),
        versions_of(platform),
    )


def misfits(artefact: Artefact, target: Target) -> Iterator[str]:
    """Yields each reason why an artefact does not fit, the most important first."""
    if artefact.fingerprint != target.fingerprint:
        yield (
            f"the function, its shapes or its jit options are not those of the search "
            f"({target.fingerprint[:12]}, expected {artefact.fingerprint[:12]})"
        )
    if artefact.chip != target.chip:
        yield f"found for {artefact.chip}, here is {target.chip or target.device_kind}"
    if artefact.devices != target.devices:
        yield f"found for {artefact.devices} devices, here are {target.devices}"
    yield from _other_versions(artefact, target.versions)


def clash_of(artefact: Artefact, own: Mapping[str, str]) -> str:
    """Returns which of the `own` options that jax.jit sets clashes with the artefact, or ""."""
    for name, value in sorted(artefact.compiler_options.items()):
        if own.get(name, value) != value:
            return f"jax.jit sets {name}, to which the artefact has another value"
    return ""


def _other_versions(artefact: Artefact, installed: Mapping[str, str]) -> Iterator[str]:
    for name, version in sorted(artefact.versions.items()):
        here = installed.get(name)
        if here != version:
            yield f"found with {name} {version}, here is {here or 'none'}"


def _key(artefact: Artefact) -> tuple[Any, ...]:
    """Tells apart the results of one function for several chips, or under several own options."""
    own = tuple(sorted(artefact.own_options.items()))
    return artefact.fingerprint, artefact.chip, artefact.topology, own


def _whole(folder: str | os.PathLike[str]) -> pathlib.Path:
    """Returns the whole path of a folder: its files are read later, from any working folder."""
    try:
        return pathlib.Path(folder).absolute()
    except OSError:  # the working folder has been removed
        return pathlib.Path(folder)


class Registry:
    """Artefacts of many functions, chips or compilers, for code that compiles many functions."""

    def __init__(
        self,
        artefacts: Iterable[Artefact] = (),
        folder: str | os.PathLike[str] = ".",
        unsaved: Iterable[tuple[Artefact, PlacedFile]] = (),
    ) -> None:
        """Holds `artefacts`; of several that fit, the one with the fewest cycles counts.

        Args:
            artefacts: the artefacts.
            folder: the folder of the placed executables that artefacts name.
            unsaved: placed executables that are in no file, with their artefacts.
        """
        self._artefacts = sorted(artefacts, key=lambda artefact: artefact.expected_cycles)
        self._folder = _whole(folder)
        self._unsaved = {_key(artefact): file for artefact, file in unsaved}

    def __len__(self) -> int:
        return len(self._artefacts)

    def __iter__(self) -> Iterator[Artefact]:
        return iter(self._artefacts)

    def find(self, lowered: Any) -> tuple[Artefact | None, str]:
        """Returns the best artefact that fits a jax.stages.Lowered, or None and the reason."""
        found, reason = self.fitting(lowered)
        return (found[0] if found else None), reason

    def fitting(self, lowered: Any) -> tuple[list[Artefact], str]:
        """Returns the artefacts that fit a jax.stages.Lowered, the best first.

        With none, the second part is the reason. Raises UsageError if `lowered` is something else.
        """
        try:
            target = target_of(lowered)
        except UsageError:
            raise
        except Exception as error:  # private names of jax have moved
            return [], self._unreadable(error)
        found: list[Artefact] = []
        reasons: dict[int, str] = {}
        for artefact in self._artefacts:
            problems = list(misfits(artefact, target))
            if problems:
                reasons.setdefault(len(problems), "; ".join(problems))
            else:
                found.append(artefact)
        if found:
            return found, ""
        # The artefact that is closest says most about what has changed.
        return [], reasons[min(reasons)] if reasons else "there is no artefact"

    def _unreadable(self, error: Exception) -> str:
        """Says why a lowered function cannot be described: most likely jax is another version."""
        here = versions_of("tpu")
        others = ("; ".join(_other_versions(artefact, here)) for artefact in self._artefacts)
        return next(filter(None, others), f"the lowered function: {in_one_line(error)}")

    def executable(self, artefact: Artefact) -> PlacedFile | None:
        """Returns the placed executable of one of the artefacts; None if it is of options.

        Raises PlacedError if the file cannot be read, or is not the one of the search.
        """
        if artefact.executable is None:
            return None if artefact.compiler_options else self._not_in_a_file(artefact)
        path = self._folder / artefact.executable.file
        try:
            # Read once, because the file may be replaced meanwhile.
            content = path.read_bytes()
        except OSError as error:
            raise PlacedError(
                f"{path}: {error.strerror}: an executable is beside its artefact; give the path "
                f"of the artefact, or its folder"
            ) from error
        if hashlib.sha256(content).hexdigest() != artefact.executable.sha256:
            raise PlacedError(f"{path} is not the executable of {artefact.function}'s artefact")
        return PlacedFile.parse(content, str(path))

    def _not_in_a_file(self, artefact: Artefact) -> PlacedFile | None:
        """Returns the executable of an artefact without options; None if the default is best."""
        found = self._unsaved.get(_key(artefact))
        if found is None and (artefact.gain is None or artefact.gain > 0):
            raise PlacedError(
                f"{artefact.function}'s artefact has neither options nor the executable that was "
                f"found: give the result of the search itself, or save it and give its path"
            )
        return found

    def compiler_options(self, lowered: Any) -> dict[str, str]:
        """Returns the options for `lowered.compile(compiler_options=...)`; empty if none fit.

        They are those of the best artefact that has options: an executable has none. An artefact
        with another value of an option that jax.jit sets is passed over.
        """
        found, _ = self.fitting(lowered)
        for each in found:
            if each.compiler_options and not clash_of(each, jit_compiler_options(lowered)):
                return dict(each.compiler_options)
        return {}
