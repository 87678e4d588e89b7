"""The environment of many games."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from games import BINARY, ROOT, SMALL, random_action
from gymnasium.vector import SyncVectorEnv
from mallocmuzero_gym import MallocEnv, MallocVectorEnv


def _random_actions(info: dict[str, Any], random: np.random.Generator) -> list[int]:
    return [random_action(mask, random) if mask.any() else 0 for mask in info["action_mask"]]


def _equal(ours: Any, theirs: Any) -> None:
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key in ours:
            np.testing.assert_array_equal(ours[key], theirs[key])
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_plays_as_single_environments_do(flat: bool, threads: int) -> None:
    games = 5
    ours = MallocVectorEnv(games, program=SMALL, flat=flat, observation="brief", threads=threads)
    theirs = SyncVectorEnv(
        [lambda: MallocEnv(program=SMALL, flat=flat, observation="brief")] * games
    )
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    random = np.random.default_rng(2)
    observation, info = ours.reset(seed=11)
    expected, expected_info = theirs.reset(seed=11)
    ends = 0
    for _ in range(400):
        _equal(observation, expected)
        for key in ("action_mask", "cycles", "gain", "illegal"):
            np.testing.assert_array_equal(info[key], expected_info[key])
        actions = np.array(_random_actions(info, random))
        observation, *outcome, info = ours.step(actions)
        expected, *expected_outcome, expected_info = theirs.step(actions)
        for part, expected_part in zip(outcome, expected_outcome, strict=True):
            np.testing.assert_array_equal(part, expected_part)
        ends += int(outcome[1].sum())
    assert ends > games, "no game ended twice, so nothing started anew"


def test_starts_the_games_of_a_mask_as_gymnasium_does() -> None:
    games = 4
    ours = MallocVectorEnv(games, program=SMALL, flat=True, observation="brief")
    theirs = SyncVectorEnv([lambda: MallocEnv(program=SMALL, flat=True, observation="brief")] * 4)
    random = np.random.default_rng(4)
    _, info = ours.reset(seed=1)
    theirs.reset(seed=1)
    waited = 0
    for step in range(300):
        actions = np.array(_random_actions(info, random))
        observation, *outcome, info = ours.step(actions)
        expected, *expected_outcome, _ = theirs.step(actions)
        np.testing.assert_array_equal(observation, expected)
        np.testing.assert_array_equal(outcome[1], expected_outcome[1])
        if step % 5 != 4:
            continue
        mask = np.zeros(games, np.bool_)
        mask[random.integers(games, size=2)] = True
        waited += int(outcome[1][~mask].sum())
        options = {"program": 1} if step % 3 == 0 else {}
        seed = step if step % 2 == 0 else None
        observation, info = ours.reset(seed=seed, options={**options, "reset_mask": mask})
        expected, _ = theirs.reset(seed=seed, options={**options, "reset_mask": mask})
        np.testing.assert_array_equal(observation, expected)
    assert waited > 0, "no game had ended that the mask left alone"


@pytest.mark.parametrize(
    "options",
    [
        {"programs": 0},
        {"reset_mask": [True, False]},
        {"reset_mask": np.array([1, 0])},
        {"reset_mask": np.array([True])},
        {"reset_mask": np.array([False, False])},
        {"reset_mask": np.array([True, False]), "program": 7},
    ],
)
def test_refused_options_change_nothing(options: dict[str, Any]) -> None:
    envs = MallocVectorEnv(2, program=SMALL)
    _, info = envs.reset(seed=0)
    envs.step(_random_actions(info, np.random.default_rng(0)))
    before = [envs.snapshot(game) for game in range(2)]
    with pytest.raises(ValueError, match="options") as refused:
        envs.reset(seed=9, options=options)
    assert "\n" not in str(refused.value)
    assert [envs.snapshot(game) for game in range(2)] == before


def test_takes_seeds_of_numpy() -> None:
    envs = MallocVectorEnv(8, program="dcn_v2")
    envs.reset(seed=3)
    names = envs.program_names()
    seeds: list[Any] = [np.int64(3), np.arange(3, 11), tuple(range(3, 11))]
    for seed in seeds:
        envs.reset(seed=0)
        envs.reset(seed=seed)
        assert envs.program_names() == names


def test_says_the_seed_of_each_game_as_gymnasium_does() -> None:
    ours = MallocVectorEnv(3, program="dcn_v2")
    theirs = SyncVectorEnv([lambda: MallocEnv(program="dcn_v2")] * 3)
    seeds: list[Any] = [5, [7, None, 9], None]
    for seed in seeds:
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        assert ours.np_random_seed == theirs.np_random_seed
        drawn = [int(generator.integers(2**31)) for generator in ours.np_random]
        assert drawn == [int(generator.integers(2**31)) for generator in theirs.np_random]
    assert ours.np_random_seed == (7, 6, 9)


@pytest.mark.parametrize("seed", [0.5, [0, 1, 2], "ab", [0, -1], [0, 0.5], -1])
def test_a_refused_seed_changes_nothing(seed: Any) -> None:
    envs = MallocVectorEnv(2, program="dcn_v2")
    _, info = envs.reset(seed=0)
    envs.step(_random_actions(info, np.random.default_rng(0)))
    before = [envs.snapshot(game) for game in range(2)]
    with pytest.raises((ValueError, TypeError, gymnasium.error.Error)):
        envs.reset(seed=seed)
    assert [envs.snapshot(game) for game in range(2)] == before


def test_draws_the_same_programs_after_a_refused_step() -> None:
    """Games that have ended draw their next program once, however often the step is refused."""
    names = []
    for refused in (0, 3):
        envs = MallocVectorEnv(4, program="dcn_v2", illegal_actions="raise")
        _, info = envs.reset(seed=1)
        random = np.random.default_rng(0)
        starts: list[list[str]] = []
        for _ in range(300):
            actions = _random_actions(info, random)
            if not info["action_mask"].any(axis=1).all():
                for _ in range(refused):
                    with pytest.raises(ValueError, match="does not exist"):
                        envs.step([*actions[:3], 7])
                starts.append([])
            *_, info = envs.step(actions)
            if starts and not starts[-1]:
                starts[-1] = envs.program_names()
        names.append(starts)
    assert names[0] == names[1]
    assert len(names[0]) > 10


def test_says_which_games_have_a_gain(tmp_path: pathlib.Path) -> None:
    """A program without a default has no gain, as in single environments."""
    bare = tmp_path / "bare.program"
    captures = ROOT / "workloads" / "captures" / "tpu_v6e" / "dcn_v2_4_b8192"
    files = ["--all-hbm", str(captures / "all_hbm.hlo.zst"), "--output", str(bare)]
    command = [str(BINARY), "import", "--hardware", "tpu_v6e", *files]
    subprocess.run(command, check=True, capture_output=True)
    programs: list[Any] = [bare, SMALL[0]]
    ours = MallocVectorEnv(8, program=programs)
    theirs = SyncVectorEnv([lambda: MallocEnv(program=programs)] * 8)
    info, expected = ours.reset(seed=0)[1], theirs.reset(seed=0)[1]
    assert 0 < expected["_gain"].sum() < 8
    np.testing.assert_array_equal(info["_gain"], expected["_gain"])
    np.testing.assert_array_equal(np.isnan(info["gain"]), ~expected["_gain"])


def test_is_what_make_vec_makes() -> None:
    envs = gymnasium.make_vec("mallocmuzero/Malloc-v0", num_envs=3, program=SMALL[0])
    assert isinstance(envs, MallocVectorEnv)
    observation, _ = envs.reset(seed=0)
    assert observation in envs.observation_space
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    wrapped.reset(seed=0)
    returns: list[float] = []
    info: dict[str, Any] = {"action_mask": envs.action_masks()}
    random = np.random.default_rng(0)
    while not returns:
        *_, info = wrapped.step(np.array(_random_actions(info, random)))
        if "episode" in info:
            returns = info["episode"]["r"][info["_episode"]].tolist()
    assert all(np.isfinite(returns))


def test_copies_unless_asked_not_to() -> None:
    for copy in (True, False):
        envs = MallocVectorEnv(2, program=SMALL[0], flat=True, copy=copy)
        before, info = envs.reset(seed=0)
        assert isinstance(before, np.ndarray)
        kept = before.copy()
        after, *_ = envs.step(_random_actions(info, np.random.default_rng(0)))
        assert isinstance(after, np.ndarray)
        assert np.shares_memory(before, after) == (not copy)
        assert np.array_equal(before, kept) == copy
        assert before.flags.writeable == copy


def test_an_observation_outlives_its_environment() -> None:
    envs = MallocVectorEnv(2, program=SMALL[0], flat=True, copy=False)
    observation, _ = envs.reset(seed=0)
    assert isinstance(observation, np.ndarray)
    kept = observation.copy()
    del envs
    np.testing.assert_array_equal(observation, kept)


def test_restores_a_snapshot_of_a_single_environment() -> None:
    env = MallocEnv(program=SMALL)
    _, info = env.reset(seed=1)
    for _ in range(5):
        *_, info = env.step(random_action(info["action_mask"], np.random.default_rng(0)))
    envs = MallocVectorEnv(3, program=SMALL)
    envs.reset(seed=5)
    envs.restore(1, env.snapshot())
    assert envs.snapshot(1) == env.snapshot()
    np.testing.assert_array_equal(envs.observations()[1]["action_mask"][1], info["action_mask"])
    assert envs.playing(1) is env.program


@pytest.mark.parametrize(
    "actions",
    [[0], [0, 0, 0], [0, 3], [-1, 0], [0.0, 1.0], ["0", "1"], [[0, 1]], [0, 2**40], None, []],
)
def test_refuses_wrong_actions_and_changes_nothing(actions: Any) -> None:
    envs = MallocVectorEnv(2, program=SMALL[0])
    envs.reset(seed=0)
    before = [envs.snapshot(game) for game in range(2)]
    with pytest.raises(ValueError) as refused:
        envs.step(actions)
    assert "\n" not in str(refused.value)
    assert [envs.snapshot(game) for game in range(2)] == before


@pytest.mark.parametrize("games", [0, -1, 2**40])
def test_refuses_a_wrong_number_of_games(games: int) -> None:
    with pytest.raises(ValueError, match="num_envs: expected 1 to"):
        MallocVectorEnv(games, program=SMALL[0])


def test_refuses_games_that_do_not_exist() -> None:
    envs = MallocVectorEnv(2, program=SMALL[0])
    for game in (-1, 2):
        with pytest.raises(IndexError, match="does not exist: expected 0 to 1"):
            envs.snapshot(game)


def test_refuses_calls_while_another_thread_steps() -> None:
    envs = MallocVectorEnv(8192, program=SMALL[0], observation="brief", threads=1)
    envs.reset(seed=0)
    calls = (envs.playing, envs.snapshot)
    refused: list[str] = []
    ended = threading.Event()

    def step() -> None:
        for _ in range(1000):
            if not ended.is_set():
                envs.step(np.zeros(8192, int))

    thread = threading.Thread(target=step)
    thread.start()
    for call in calls:
        before = len(refused)
        while thread.is_alive() and len(refused) == before:
            try:
                call(0)
            except RuntimeError as error:
                refused.append(str(error))
    ended.set()
    thread.join()
    assert refused == ["another thread is stepping these games"] * 2


def test_plays_the_actions_of_the_call_if_the_array_changes_meanwhile() -> None:
    envs = MallocVectorEnv(8192, program=SMALL[0], observation="brief", threads=1)
    changed = False
    for _ in range(1000):  # this thread may sleep during a step
        envs.reset(seed=0)
        actions = np.zeros(8192, np.int64)
        outcomes: list[Any] = []

        def step(actions: Any = actions, outcomes: list[Any] = outcomes) -> None:
            outcomes.append(envs.step(actions))

        thread = threading.Thread(target=step)
        thread.start()
        while thread.is_alive():
            try:
                envs.snapshot(0)
            except RuntimeError:  # the step has begun
                actions[:] = 7
                changed = True
        thread.join()
        assert outcomes, "the step was refused"
        assert not outcomes[0][-1]["illegal"].any()
        if changed:
            break
    assert changed


def test_plays_on_the_cores_that_the_process_may_use() -> None:
    """It runs in another process, which may use one core only."""
    program = f"""
import os
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
from mallocmuzero_gym import MallocVectorEnv
before = len(os.listdir("/proc/self/task"))
envs = MallocVectorEnv(128, program={SMALL[0]!r}, observation="brief")
assert len(os.listdir("/proc/self/task")) == before
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_refuses_more_threads_than_the_system_has_room_for() -> None:
    """It runs in another process, since that process may use little memory only."""
    program = f"""
import pathlib, resource
from mallocmuzero_gym import MallocVectorEnv
MallocVectorEnv(2, program={SMALL[0]!r})
pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    MallocVectorEnv(2, program={SMALL[0]!r}, threads=1024)
except RuntimeError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "1024 threads" in run.stdout


def test_refuses_steps_in_a_fork_that_has_none_of_its_threads() -> None:
    """It runs in another process, since forks of this one would have threads of other tests."""
    program = f"""
import os, signal
from mallocmuzero_gym import MallocVectorEnv
envs = MallocVectorEnv(4, program={SMALL[0]!r}, threads=2)
envs.reset(seed=0)
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends a child that hangs
    try:
        envs.step([0] * 4)
    except RuntimeError as error:
        print(error, flush=True)
    del envs
    alone = MallocVectorEnv(4, program={SMALL[0]!r}, threads=2)
    alone.reset(seed=0)
    alone.step([0] * 4)
    del alone
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
envs.step([0] * 4)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("this process is a fork")
    assert run.stdout.count("\n") == 1


def test_lets_other_threads_of_python_run() -> None:
    """Threads that step environments of their own play the same games as one thread does."""

    def play(seed: int, cycles: dict[int, Any]) -> None:
        envs = MallocVectorEnv(4, program=SMALL, observation="brief", threads=2)
        _, info = envs.reset(seed=seed)
        random = np.random.default_rng(seed)
        for _ in range(200):
            *_, info = envs.step(_random_actions(info, random))
        cycles[seed] = info["cycles"].tolist()

    alone: dict[int, Any] = {}
    together: dict[int, Any] = {}
    for seed in range(3):
        play(seed, alone)
    threads = [threading.Thread(target=play, args=(seed, together)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
