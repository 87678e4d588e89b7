"""Items of a mapping: the single wishes that compiler options are put together from."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

TENSOR_OVERRIDES = "xla_tpu_msa_tensor_overrides"
SORT_OVERRIDES = "xla_tpu_msa_sort_order_overrides"

# Overrides that fail the compile where they cannot be had; the others are wishes.
_STRICT = ("pin_in_alternate_memory", "prefetch")

# Kinds of items, as the binary names them.
_INTO_FAST = ("assign_first", "prefetch_use")

_START_OF_COPY = "start_copy"

# Begins the id of what makes a wish an order.
_INSISTENCE = "insist on "

# A refusal names the instruction that uses the tensor, the one that defines it, or both.
_NAMED = re.compile(r"instruction '([^']+)'")


@dataclasses.dataclass(frozen=True)
class Item:
    """One difference from the compiler's default, whole: dropping it leaves the others intact.

    Attributes:
        id: names it in reports.
        kind: how it is asked for, such as keeping a value out of fast memory.
        instruction: the instruction, or the value's defining one, that it is about.
        gain: cycles that the latency table promises for it.
        tensor_overrides: text protos for TENSOR_OVERRIDES.
        sort_overrides: text protos for SORT_OVERRIDES.
        strict: a tensor override that insists where the others only ask; empty if there is none.
        accesses: that it is about, indices into the program's.
        setting: a compiler option's name and value, if it is one for all tensors.
    """

    id: str
    kind: str
    instruction: str
    gain: float
    tensor_overrides: tuple[str, ...]
    sort_overrides: tuple[str, ...]
    strict: str
    accesses: tuple[int, ...]
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
        """Returns what it asks of the compiler: items with equal keys are the same wish."""
        return (self.tensor_overrides, self.sort_overrides, self.setting or ())

    @property
    def place(self) -> object | None:
        """Returns what only one item of a list can have: a copy to start, an option to set."""
        if self.setting is not None:
            return self.setting[0]
        return self.accesses if self.starts_copy else None

    @property
    def into_fast(self) -> bool:
        """Whether it is to bring something into fast memory, rather than to keep it out."""
        return self.kind in _INTO_FAST

    @property
    def starts_copy(self) -> bool:
        """Whether it starts a copy earlier."""
        return self.kind == _START_OF_COPY

    @property
    def may_be_refused(self) -> bool:
        """Whether the compiler may refuse to compile because of it."""
        return any(word in text for text in self.tensor_overrides for word in _STRICT)

    def insistence(self) -> Item | None:
        """Returns what makes this wish an order when added to it, or None."""
        if not self.strict:
            return None
        return dataclasses.replace(
            self,
            id=f"{_INSISTENCE}{self.id}",
            tensor_overrides=(self.strict,),
            sort_overrides=(),
            strict="",
        )

    def mentions(self, instruction: str) -> bool:
        """Whether it is about `instruction`, or its texts name it."""
        # A regex in a text proto: each dot is behind two backslashes.
        pattern = f"^{instruction.replace('.', chr(92) * 2 + '.')}$"
        texts = (*self.tensor_overrides, *self.sort_overrides)
        return self.instruction == instruction or any(pattern in text for text in texts)


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
    """Returns `items` and those `added`, less the items whose places those take."""
    taken = {item.place for item in added} - {None}
    return (*(item for item in items if item.place not in taken), *added)


def options_of(items: Sequence[Item]) -> dict[str, str]:
    """Returns the compiler options that ask for all of `items`; none for no items.

    The compiler hands out fast memory in the order of the items that ask for it; the order of
    others does not matter, and they are put into one order.
    """
    settings = dict(sorted(item.setting for item in items if item.setting is not None))
    texts = {
        TENSOR_OVERRIDES: sorted({text for item in items for text in item.tensor_overrides}),
        SORT_OVERRIDES: [text for item in items for text in item.sort_overrides],
    }
    return {**settings, **{name: " ".join(parts) for name, parts in texts.items() if parts}}


def named_item(message: str, items: Sequence[Item]) -> Item | None:
    """Returns the item that the compiler's refusal `message` is about, if it can be told."""
    for item in items:
        if item.setting is not None and f"'{item.setting[0]}'" in message:
            return item
    for name in _NAMED.findall(message):
        about = [item for item in items if item.may_be_refused and item.mentions(name)]
        if about:
            # The least of them: the compiler names what it could not do, not what was in the way.
            return min(about, key=lambda item: item.gain)
    return None
