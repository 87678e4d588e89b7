"""Tests of the walk over ten machines: which ends of roles and which games are failures."""

from __future__ import annotations

import pathlib
import types
from typing import Any

import pytest
from ten_machines import SHARDS, Walk

A, B, C = (letter * 32 for letter in "abc")


class FakeMachine:
    """A machine whose role has ended with `code`, or runs."""

    def __init__(self, folder: pathlib.Path, code: int | None = None, listed: str = "") -> None:
        self.var = folder
        self.log = folder / "role.log"
        self._code = code
        self._listed = listed

    def exit_code(self) -> int | None:
        return self._code

    def run(self, script: str) -> str:
        assert "--list-ids" in script
        return self._listed


class FakeMachines(dict[str, FakeMachine]):
    @property
    def all(self) -> dict[str, FakeMachine]:
        return self


def walk_on(**machines: FakeMachine) -> Any:
    return types.SimpleNamespace(
        machines=FakeMachines({name.replace("_", "-"): m for name, m in machines.items()}),
        _config="c",
        status=dict,
    )


@pytest.mark.parametrize("code", [0, 1])
def test_a_role_that_ends_by_itself_is_a_failure(tmp_path: pathlib.Path, code: int) -> None:
    walk = walk_on(learner=FakeMachine(tmp_path, code), actor_0=FakeMachine(tmp_path))
    with pytest.raises(RuntimeError, match=f"learner ended with code {code}"):
        Walk.wait_until(walk, "never", lambda: False)


def test_a_role_may_end_that_is_to_be_refused(tmp_path: pathlib.Path) -> None:
    looks = iter([False, True])
    walk = walk_on(learner=FakeMachine(tmp_path, 2), actor_0=FakeMachine(tmp_path))
    assert Walk.wait_until(walk, "refused", lambda: next(looks), may_end="learner") >= 0


def test_games_that_are_lost_or_stored_twice_are_found(tmp_path: pathlib.Path) -> None:
    audit = tmp_path / "mallocmuzero/audit"
    audit.mkdir(parents=True)
    (audit / "actor-0.ids").write_text(f"{A}\n{B}\n{C}\n")
    first, second = f"stored {A}\nevicted {B}\n", f"stored {B}\n"
    walk = walk_on(
        **{
            "actor_0": FakeMachine(tmp_path),
            SHARDS[0].replace("-", "_"): FakeMachine(tmp_path, listed=first),
            SHARDS[1].replace("-", "_"): FakeMachine(tmp_path, listed=second),
        }
    )
    found = Walk.audit(walk)
    assert (found["acknowledged"], found["lost"], found["stored_twice"]) == (3, 1, 1)
    assert found["lost_ids_by_shard"][0] == [C]
    assert found["stored_twice_ids"] == [B]
