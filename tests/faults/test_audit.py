"""Tests of audit.py: which games count as lost, stored twice or without bytes."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from audit import (
    Content,
    acknowledged_ids,
    compare,
    failures_in,
    listed_ids,
    written_ids,
)

A, B, C = (f"{i:032x}" for i in (10, 11, 12))
NAMES = {A, B, C}


def compared(*shards: Content) -> dict[str, Any]:
    return compare(NAMES, shards, lambda name: 0 if name == A else 1)


def shard(stored: list[str], evicted: list[str]) -> Content:
    return Content(stored, evicted, set(stored))


def test_a_game_that_is_stored_or_evicted_is_not_lost() -> None:
    found = compared(shard([A], [B]), shard([C], []))
    assert (found["acknowledged"], found["stored"], found["evicted"]) == (3, 2, 1)
    assert (found["lost"], found["stored_twice"]) == (0, 0)
    assert failures_in(found) == []


def test_a_lost_game_counts_for_the_shard_that_has_had_it() -> None:
    found = compared(shard([], [A]), shard([], []))
    assert (found["lost"], found["lost_by_shard"], found["lost_ids_by_shard"]) == (
        2,
        [0, 2],
        [[], [B, C]],
    )
    assert failures_in(found) == ["2 acknowledged trajectories are lost"]


@pytest.mark.parametrize(
    ("first", "second"),
    [(shard([A, B, C], []), shard([A], [])), (shard([A, B, C], []), shard([], [A]))],
)
def test_a_game_of_two_shards_is_stored_twice(first: Content, second: Content) -> None:
    found = compared(first, second)
    assert (found["stored_twice"], found["stored_twice_ids"]) == (1, [A])
    assert failures_in(found) == ["1 trajectories are stored twice"]


def test_a_game_that_two_shards_have_evicted_was_stored_twice() -> None:
    found = compared(shard([B], [A]), shard([C], [A]))
    assert found["stored_twice"] == 1


def test_a_stored_game_needs_its_bytes() -> None:
    found = compared(Content([A, B], [], {A, B}), Content([C], [], {A}))
    assert found["without_bytes_by_shard"] == [0, 1]
    assert failures_in(found) == ["1 stored trajectories have no bytes"]


def test_what_fails_after_the_power_cuts_says_so() -> None:
    found = {
        "acknowledged": 1,
        "lost_after_power_cuts": 2,
        "stored_twice_after_power_cuts": 3,
        "without_bytes_after_power_cuts": 4,
        "unreadable_after_power_cuts": 5,
    }
    assert failures_in(found) == [
        "2 acknowledged trajectories are lost after power cuts",
        "3 trajectories are stored twice after power cuts",
        "4 stored trajectories have no bytes after power cuts",
        "5 draws have found trajectories without their bytes after power cuts",
    ]


def test_an_audit_without_games_fails() -> None:
    assert failures_in({}) == ["nothing was acknowledged"]


@pytest.mark.parametrize("line", ["stored", f"lost {A}", f"evicted {A[1:]}", "a warning"])
def test_a_list_of_ids_has_nothing_else(line: str) -> None:
    assert listed_ids(f"stored {A}\nevicted {B}\n") == ([A], [B])
    with pytest.raises(ValueError, match="--list-ids printed"):
        listed_ids(f"stored {A}\n{line}\n")


def test_only_the_last_acknowledgement_may_be_cut_short(tmp_path: pathlib.Path) -> None:
    assert acknowledged_ids(tmp_path / "none") == set()
    (tmp_path / "actor-0.ids").write_text(f"{A}\n{B}\n{C[:7]}")
    (tmp_path / "actor-1.ids").write_text(f"{C}")
    assert acknowledged_ids(tmp_path) == NAMES
    (tmp_path / "actor-0.ids").write_text(f"{A}\n{B[:7]}{C}\n")
    with pytest.raises(ValueError, match="is no id"):
        acknowledged_ids(tmp_path)


def test_ids_are_found_where_the_bytes_of_items_begin(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    items = [b"\x0a\x10" + bytes.fromhex(name) + b"payload" for name in (A, B)]
    # The first two bytes seem to begin an item, too.
    (folder / "00000001.segment").write_bytes(b"\x0a\x10" + items[0] + items[1])
    (folder / "00000002.segment.spare").write_bytes(b"\x0a\x10" + bytes.fromhex(C))
    found = written_ids(tmp_path)
    assert {A, B} <= found
    assert C not in found
