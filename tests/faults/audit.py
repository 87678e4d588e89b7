"""Compares the games that shards have acknowledged with those that the shards have."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

# The beginning of an item in a segment file: field 1 of ReplayItem, an id of 16 bytes. One may
# begin within the bytes that look like another one.
ITEM = re.compile(rb"(?=\x0a\x10(.{16}))", re.DOTALL)

# An id as 32 hexadecimal digits.
ID = re.compile(r"[0-9a-f]{32}")


@dataclasses.dataclass
class Content:
    """What one shard has."""

    stored: list[str]  # ids by --list-ids
    evicted: list[str]
    written: Set[str]  # ids whose bytes are in its segment files


def listed_ids(text: str) -> tuple[list[str], list[str]]:
    """Returns the stored and the evicted ids of the output of --list-ids."""
    ids: dict[str, list[str]] = {"stored": [], "evicted": []}
    for line in text.splitlines():
        kind, _, name = line.partition(" ")
        if kind not in ids or not ID.fullmatch(name):
            raise ValueError(f"--list-ids printed {line!r}")
        ids[kind].append(name)
    return ids["stored"], ids["evicted"]


def acknowledged_ids(folder: pathlib.Path) -> set[str]:
    """Returns the ids that actors have written down in the files of a folder, each on a line."""
    ids: set[str] = set()
    for file in folder.glob("*") if folder.is_dir() else []:
        # A kill may have cut the last line short, which then does not count as an acknowledgement.
        *lines, last = file.read_text().split("\n")
        if wrong := [line for line in lines if not ID.fullmatch(line)]:
            raise ValueError(f"{file}: {wrong[0]!r} is no id")
        ids.update(lines)
        if ID.fullmatch(last):
            ids.add(last)
    return ids


def written_ids(data_dir: pathlib.Path) -> set[str]:
    """Returns the ids of items whose bytes are in the segment files of a shard, and maybe others.

    A shard checks the bytes of an item only when it is drawn. An item whose bytes are missing or
    overwritten is stored by --list-ids before that, and evicted afterwards.
    """
    ids: set[str] = set()
    for file in (data_dir / "segments").glob("*.segment"):
        # The shard may remove a file meanwhile, once it has moved its items.
        with contextlib.suppress(FileNotFoundError):
            ids.update(found[1].hex() for found in ITEM.finditer(file.read_bytes()))
    return ids


def compare(
    acknowledged: Set[str], shards: Sequence[Content], holder: Callable[[str], int]
) -> dict[str, Any]:
    """Compares the ids that were acknowledged with those of all shards.

    `holder` returns the index of the shard that has had a lost id.
    """
    known = collections.Counter(name for c in shards for name in [*c.stored, *c.evicted])
    lost = sorted(acknowledged - known.keys())
    by_shard = [[name for name in lost if holder(name) == i] for i in range(len(shards))]
    # A game that two shards had counts as stored twice after one of them or both have evicted it.
    twice = sorted(name for name, times in known.items() if times > 1)
    without_bytes = [len(set(c.stored) - c.written) for c in shards]
    return {
        "acknowledged": len(acknowledged),
        "stored": sum(len(c.stored) for c in shards),
        "evicted": sum(len(c.evicted) for c in shards),
        "lost": len(lost),
        "lost_by_shard": [len(names) for names in by_shard],
        "lost_ids_by_shard": [names[:10] for names in by_shard],
        "stored_twice": len(twice),
        "stored_twice_ids": twice[:10],
        "without_bytes": sum(without_bytes),
        "without_bytes_by_shard": without_bytes,
    }


def failures_in(found: Mapping[str, Any]) -> list[str]:
    """Returns what is wrong by the results of both audits, one sentence each."""
    failures = []
    if not found.get("acknowledged"):
        failures.append("nothing was acknowledged")
    for suffix in ("", "_after_power_cuts"):
        when = suffix.replace("_", " ")
        for key, what in (
            ("lost", "acknowledged trajectories are lost"),
            ("stored_twice", "trajectories are stored twice"),
            ("without_bytes", "stored trajectories have no bytes"),
            ("unreadable", "draws have found trajectories without their bytes"),
        ):
            if count := found.get(key + suffix):
                failures.append(f"{count} {what}{when}")
    return failures
