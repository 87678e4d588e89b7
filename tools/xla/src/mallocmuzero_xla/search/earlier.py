"""What an earlier search has found, for a search that starts from it.

The function, jax or the compiler may have changed since. The limit of scoped memory and the
settings are taken as they are. An override names instructions of the earlier program. It is taken
if this program has instructions that compute the same, whatever their names are now.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mallocmuzero_xla.artefacts.artefact import Artefact, load_artefact
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.scoped_limit import OPTION
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.overrides import SORT_OVERRIDES, TENSOR_OVERRIDES, Item, quoted_name

# Keys of Artefact.found.
IDENTITIES = "identities"
LIMIT = "limit_kib"

# The start of the ids of overrides that were taken, in reports.
_KIND = "earlier"

# With fewer than this share of the overrides, the rest is no placement.
_LEAST_SHARE = 0.5

# A name in the text proto of a regex, as the binary writes it: two backslashes before a dot.
_NAME = re.compile(r'(instruction_name_regex: ")\^((?:[^"\\$]|\\\\.)*)\$"')
# A text that does not end is a token, too: to look for its end at every later quote would take
# quadratic time.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}]|[^"{}]+')


@dataclasses.dataclass(frozen=True)
class Earlier:
    """The result of an earlier search.

    Attributes:
        limit: the limit of scoped memory, in KiB; None for the chip's own.
        items: its settings and overrides.
        identities: what the instructions are that the overrides name (estimates.identities).
    """

    limit: int | None = None
    items: tuple[Item, ...] = ()
    identities: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @staticmethod
    def of(
        options: Mapping[str, str],
        identities: Mapping[str, str],
        executable_limit: int | None = None,
    ) -> Earlier:
        """Takes compiler options apart. Raises ValueError if they are none of a search.

        `executable_limit` is the limit of a placed executable, which is not among its options.
        """
        limit = int(options[OPTION]) if OPTION in options else executable_limit
        return Earlier(limit, tuple(_items(options)), identities)

    def items_for(self, identities: Mapping[str, str]) -> list[Item]:
        """Returns the items for a program whose instructions are `identities`.

        Settings are always among them. Overrides have the names of this program.
        """
        names = {identity: name for name, identity in identities.items()}
        overrides = [item for item in self.items if item.setting is None]
        fitting = [each for item in overrides if (each := self._renamed(item, names))]
        if len(fitting) < _LEAST_SHARE * len(overrides):
            fitting = []
        return [*(item for item in self.items if item.setting is not None), *fitting]

    def _renamed(self, item: Item, names: Mapping[str, str]) -> Item | None:
        (text,) = (*item.tensor_overrides, *item.sort_overrides)
        here = {name: names.get(self.identities.get(name, "")) for name in names_in(text)}
        if None in here.values():
            return None

        def rename(found: re.Match[str]) -> str:
            return f'{found[1]}^{quoted_name(here[_unquoted(found[2])] or "")}$"'

        text = _NAME.sub(rename, text)
        return dataclasses.replace(
            item,
            instruction=next(iter(here.values()), None) or "",
            tensor_overrides=(text,) if item.tensor_overrides else (),
            sort_overrides=(text,) if item.sort_overrides else (),
        )


def earlier_of(start: str | os.PathLike[str] | Artefact, chip: Chip) -> Earlier:
    """Returns what an artefact, or the file of one, holds.

    Raises UsageError if it is for another chip or damaged.
    """
    artefact = start if isinstance(start, Artefact) else load_artefact(start)
    name = "start_from" if isinstance(start, Artefact) else os.fspath(start)
    if artefact.chip != chip.name:
        raise UsageError(f"{name}: found for {artefact.chip}, the search is for {chip.name}")
    found: dict[str, Any] = artefact.found
    identities = found.get(IDENTITIES, {})
    limit = found.get(LIMIT)
    try:
        named = {str(name): str(identity) for name, identity in identities.items()}
        limit = None if limit is None else int(limit)
        return Earlier.of(artefact.compiler_options, named, limit)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"{name}: damaged artefact ({error})") from error


def names_in(text: str) -> list[str]:
    """Returns the instructions that overrides name, each once."""
    return list(dict.fromkeys(_unquoted(found[2]) for found in _NAME.finditer(text)))


def _items(options: Mapping[str, str]) -> Iterator[Item]:
    """Yields an item for each setting and each override."""
    for name, value in options.items():
        if name not in (TENSOR_OVERRIDES, SORT_OVERRIDES, OPTION):
            yield Item(id=f"{name}={value}", kind=_KIND, setting=(name, value))
    numbers = itertools.count(1)
    for text in _messages(options.get(TENSOR_OVERRIDES, "")):
        yield Item(id=f"{_KIND} #{next(numbers)}", kind=_KIND, tensor_overrides=(text,))
    for text in _messages(options.get(SORT_OVERRIDES, "")):
        yield Item(id=f"{_KIND} #{next(numbers)}", kind=_KIND, sort_overrides=(text,))


def _messages(text: str) -> Iterator[str]:
    """Yields the messages `overrides { ... }` of a list."""
    depth, parts = 0, []
    for token in _TOKEN.findall(text):
        parts.append(token)
        depth += (token == "{") - (token == "}")
        if token == "}" and depth == 0:
            yield "".join(parts).strip()
            parts = []


def _unquoted(body: str) -> str:
    return re.sub(r"\\\\(.)", r"\1", body)
