"""Tests of the checks of a cluster under Slurm, without a cluster."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

import checks
import launched_cluster
import pytest
from checks import audit, check_secrets
from launched_cluster import SHARDS, Options, Run

A, B, C = (f"{i:032x}" for i in (10, 11, 12))


class FakeRun(Run):
    """A run that has seen these steps of the learner, one at each look, the last one for ever."""

    def __init__(self, folder: pathlib.Path, steps: list[float]) -> None:
        self.folder, self.shared, self.binary = folder, folder / "shared", folder / "binary"
        self.options = Options(self.binary, 1.0, True, 1, True)
        self.seen: list[dict[str, Any]] = []
        self._begin = 0.0
        self._steps = steps
        self._games = 0

    def step(self) -> float:
        return self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]

    def acknowledged(self) -> set[str]:
        self._games += 10
        return {str(i) for i in range(self._games)}

    def jobs(self) -> str:
        return ""


@pytest.fixture
def fake_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes only while the run sleeps."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(launched_cluster, "time", clock)


@pytest.mark.usefixtures("fake_clock")
@pytest.mark.parametrize("steps", [[120, 0, 0, 121], [120, 110, 0, 111], [0, 0, 110, 112]])
def test_a_learner_that_makes_updates_learns_on(tmp_path: pathlib.Path, steps: list[float]) -> None:
    run = FakeRun(tmp_path, steps)
    run.learns_on("a fault")
    assert len(run.seen) == 1


@pytest.mark.usefixtures("fake_clock")
@pytest.mark.parametrize("steps", [[120], [0], [120, 0, 120], [120, 110]])
def test_a_learner_that_only_goes_back_to_its_checkpoint_does_not_learn(
    tmp_path: pathlib.Path, steps: list[float]
) -> None:
    with pytest.raises(TimeoutError, match="updates after a fault"):
        FakeRun(tmp_path, steps).learns_on("a fault")


def audit_of(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, listed: dict[str, str]
) -> dict[str, Any]:
    """Audits three acknowledged games, of which the shards list these; all have their bytes."""
    for name in SHARDS:
        segments = folder / "shards" / name / "data.1/segments"
        segments.mkdir(parents=True)
        (folder / "shards" / name / "home").write_text("copy data.1\n")
        items = [b"\x0a\x10" + bytes.fromhex(game) for game in (A, B, C)]
        (segments / "00000001.segment").write_bytes(b"".join(items))
    monkeypatch.setattr(
        checks, "list_ids", lambda _, config: listed[config.stem.removeprefix("audit-")]
    )
    run = SimpleNamespace(
        shared=folder,
        folder=folder,
        binary=folder,
        options=SimpleNamespace(local_shards=True),
        acknowledged=lambda: {A, B, C},
    )
    return audit(cast(Run, run))


@pytest.mark.parametrize(
    ("first", "second", "lost", "twice"),
    [
        (f"stored {A}\nevicted {B}\n", f"stored {C}\n", 0, 0),
        (f"stored {A}\n", f"stored {C}\n", 1, 0),
        (f"stored {A}\nstored {B}\n", f"stored {C}\nstored {B}\n", 0, 1),
        (f"stored {A}\nevicted {B}\n", f"stored {C}\nstored {B}\n", 0, 1),
        (f"stored {A}\nevicted {B}\n", f"stored {C}\nevicted {B}\n", 0, 1),
    ],
)
def test_games_that_are_lost_or_stored_twice_are_counted(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    first: str,
    second: str,
    lost: int,
    twice: int,
) -> None:
    found = audit_of(tmp_path, monkeypatch, dict(zip(SHARDS, (first, second), strict=True)))
    assert (found["acknowledged"], found["lost"], found["stored_twice"]) == (3, lost, twice)
    assert found["without_bytes"] == 0


def test_a_token_in_the_shared_folder_is_found_and_a_file_that_vanishes_is_passed_over(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_bytes = pathlib.Path.read_bytes

    def read(path: pathlib.Path) -> bytes:
        if path.name == "gone":
            raise FileNotFoundError(path)
        return read_bytes(path)

    monkeypatch.setattr(pathlib.Path, "read_bytes", read)
    run = FakeRun(tmp_path, [0])
    (tmp_path / "token").write_text("a secret of 16 characters or more\n")
    (run.shared / "shards").mkdir(parents=True)
    (run.shared / "shards/gone").touch()
    check_secrets(run)
    (run.shared / "shards/script").write_text("token=a secret of 16 characters or more")
    with pytest.raises(RuntimeError, match=r"the token is in .*script"):
        check_secrets(run)


def test_an_unknown_fault_is_refused() -> None:
    launch = pathlib.Path(__file__).with_name("launch.py")
    ran = subprocess.run(
        [sys.executable, launch, "--only", "kill_actors_node"],
        capture_output=True,
        check=False,
        text=True,
    )
    assert ran.returncode == 2
    assert "choose from 'kill_actor_node'" in ran.stderr
