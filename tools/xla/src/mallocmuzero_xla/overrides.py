"""Items: the single requests of a mapping that compiler options are made of."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

TENSOR_OVERRIDES = "xla_tpu_msa_tensor_overrides"
SORT_OVERRIDES = "xla_tpu_msa_sort_order_overrides"

# The compile fails if it cannot follow an override of these kinds; the others are only requests.
_STRICT = ("pin_in_alternate_memory", "prefetch")

# Kinds of items, as the binary names them.
_INTO_FAST = ("assign_first", "prefetch_use")

_START_OF_COPY = "start_copy"

# Begins the id of the strict form of an item.
_STRICT_PREFIX = "strict "

# An error of the compiler names the instruction that uses the tensor, its defining one, or both.
_NAMED = re.compile(r"instruction '([^']+)'")


@dataclasses.dataclass(frozen=True)
class Item:
    """One difference from the compiler's default; dropping it leaves the other items intact.

    Attributes:
        id: the name in reports.
        kind: the form of the request, such as keeping a value out of fast memory.
        instruction: the instruction of the access, or the one that defines the value.
        gain: cycles that it saves by the latency table.
        tensor_overrides: text protos for TENSOR_OVERRIDES.
        sort_overrides: text protos for SORT_OVERRIDES.
        strict: the tensor override that fails the compile if it is not followed; empty if none.
        accesses: indices of the program's accesses that it is about.
        setting: name and value of a compiler option for all tensors, if the item is a setting.
    """

    id: str
    kind: str
    instruction: str = ""
    gain: float = 0.0
    tensor_overrides: tuple[str, ...] = ()
    sort_overrides: tuple[str, ...] = ()
    strict: str = ""
    accesses: tuple[int, ...] = ()
    setting: tuple[str, str] | None = None

    @staticmethod
    def from_json(fields: dict[str, Any]) -> Item:
        """Reads one item of `mallocmuzero overrides --json`."""
        return Item(
            id=f"{fields['kind']} {fields['instruction']} #{fields['id']}",
            kind=str(fields["kind"]),
            instruction=str(fields["instruction"]),
            gain=float(fields["gain_cycles"]),
            tensor_overrides=tuple(fields["tensor_overrides"]),
            sort_overrides=tuple(fields["sort_overrides"]),
            strict=str(fields.get("strict", "")),
            accesses=tuple(fields["accesses"]),
        )

    @property
    def key(self) -> tuple[tuple[str, ...], ...]:
        """Returns the texts for the compiler; items with equal keys make the same request."""
        return (self.tensor_overrides, self.sort_overrides, self.setting or ())

    @property
    def place(self) -> object | None:
        """Returns the copy or the option that only one item of a list may be about, or None."""
        if self.setting is not None:
            return self.setting[0]
        return self.accesses if self.starts_copy else None

    @property
    def into_fast(self) -> bool:
        """Whether it asks for fast memory; False if it asks for HBM."""
        return self.kind in _INTO_FAST

    @property
    def starts_copy(self) -> bool:
        """Whether it starts a copy earlier."""
        return self.kind == _START_OF_COPY

    @property
    def may_be_refused(self) -> bool:
        """Whether the compiler may refuse to compile because of it."""
        return any(word in text for text in self.tensor_overrides for word in _STRICT)

    def strict_form(self) -> Item | None:
        """Returns the item that makes the compile fail unless this one is followed, or None."""
        if not self.strict:
            return None
        return dataclasses.replace(
            self,
            id=f"{_STRICT_PREFIX}{self.id}",
            tensor_overrides=(self.strict,),
            sort_overrides=(),
            strict="",
        )

    def mentions(self, instruction: str) -> bool:
        """Whether it is about `instruction`, or its texts name it."""
        pattern = f"^{quoted_name(instruction)}$"
        texts = (*self.tensor_overrides, *self.sort_overrides)
        return self.instruction == instruction or any(pattern in text for text in texts)


def quoted_name(instruction: str) -> str:
    """Returns a regex of this name alone, as it stands in the text proto of an override.

    Two backslashes stand before each dot.
    """
    return "".join(c if c.isalnum() or c in "_-" else f"\\\\{c}" for c in instruction)


def start_of_copy(late_copy: dict[str, Any], text: str) -> Item:
    """Returns the item of an entry of `mallocmuzero readback --json`'s late copies."""
    access, instruction = int(late_copy["access"]), str(late_copy["instruction"])
    return Item(
        id=f"{_START_OF_COPY} {instruction} #{access}",
        kind=_START_OF_COPY,
        instruction=instruction,
        gain=float(late_copy["wait_cycles"]),
        tensor_overrides=(text,),
        sort_overrides=(),
        strict="",
        accesses=(access,),
    )


def with_added(items: Sequence[Item], added: Sequence[Item]) -> tuple[Item, ...]:
    """Returns `items` and `added`, without the items whose place an added one takes."""
    taken = {item.place for item in added} - {None}
    return (*(item for item in items if item.place not in taken), *added)


def options_of(items: Sequence[Item]) -> dict[str, str]:
    """Returns the compiler options for all of `items`; empty for no items.

    The compiler gives out fast memory in the order of the sort overrides, so they keep their order.
    Tensor overrides and settings are sorted, since their order does not matter.
    """
    settings = dict(sorted(item.setting for item in items if item.setting is not None))
    texts = {
        TENSOR_OVERRIDES: sorted({text for item in items for text in item.tensor_overrides}),
        SORT_OVERRIDES: [text for item in items for text in item.sort_overrides],
    }
    return {**settings, **{name: " ".join(parts) for name, parts in texts.items() if parts}}


def named_item(message: str, items: Sequence[Item]) -> Item | None:
    """Returns the item that the compiler's error `message` names, or None."""
    for item in items:
        if item.setting is not None and f"'{item.setting[0]}'" in message:
            return item
    for name in _NAMED.findall(message):
        about = [item for item in items if item.may_be_refused and item.mentions(name)]
        if about:
            # The compiler names the failed request, not its obstacle: give up the least gain.
            return min(about, key=lambda item: item.gain)
    return None
