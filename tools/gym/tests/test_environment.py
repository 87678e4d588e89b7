"""The environment of one game."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from games import BINARY, ROOT, SMALL, play_randomly, random_action
from gymnasium.utils.env_checker import check_env
from mallocmuzero_gym import COPY, DROP, NO_COPY, MallocEnv, find_programs


@pytest.mark.parametrize("observation", ["full", "brief"])
@pytest.mark.parametrize("flat", [False, True])
def test_passes_the_checker_of_gymnasium(observation: str, flat: bool) -> None:
    env = gymnasium.make(
        "mallocmuzero/Malloc-v0", program=SMALL, observation=observation, flat=flat
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=False)


@pytest.mark.parametrize("seed", range(6))
def test_pays_what_the_simulator_says(seed: int, tmp_path: pathlib.Path) -> None:
    env = MallocEnv(program=SMALL)
    _, first = env.reset(seed=seed)
    rewards, info = play_randomly(env, seed)
    cycles = info["cycles"]
    assert rewards + first["initial_return"] == pytest.approx(env.total_return, abs=1e-9)
    assert env.total_return == pytest.approx(1 - cycles / env.program.all_hbm_cycles, abs=1e-9)
    default = env.program.default_cycles
    assert default is not None
    assert info["gain"] == pytest.approx(1 - cycles / default, abs=1e-12)

    mapping = tmp_path / "game.mapping"
    env.save_mapping(mapping)
    program = next((ROOT / "workloads" / env.program.chip).glob(f"{env.program.name}.program"))
    files = ("--program", str(program), "--mapping", str(mapping))
    command = [str(BINARY), "simulate", *files, "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert report["total_cycles"] == pytest.approx(cycles, rel=1e-9)
    subprocess.run([str(BINARY), "validate", *files], check=True, capture_output=True)


def test_plays_the_same_game_after_the_same_seed() -> None:
    games = []
    for _ in range(2):
        env = MallocEnv(program="dcn_v2", flat=True)
        random = np.random.default_rng(1)
        observation, info = env.reset(seed=7)
        rows, names = [observation], [info["program"]]
        for _ in range(40):
            observation, _, terminated, _, info = env.step(
                random_action(info["action_mask"], random)
            )
            rows.append(observation)
            if terminated:
                observation, info = env.reset()
                names.append(info["program"])
        games.append((np.stack(rows), names))
    assert games[0][1] == games[1][1]
    np.testing.assert_array_equal(games[0][0], games[1][0])


def test_takes_a_seed_of_numpy() -> None:
    env = MallocEnv(program="dcn_v2")
    names = [env.reset(seed=seed)[1]["program"] for seed in range(5)]
    assert [env.reset(seed=seed)[1]["program"] for seed in np.arange(5)] == names


@pytest.mark.parametrize("options", [{"program": 99}, {"programs": 0}, {"reset_mask": None}])
def test_refused_options_change_no_draw(options: dict[str, Any]) -> None:
    names = []
    for refuses in (False, True):
        env = MallocEnv(program="dcn_v2")
        env.reset(seed=0)
        if refuses:
            with pytest.raises(ValueError, match="options"):
                env.reset(seed=1, options=options)
        names.append([env.reset()[1]["program"] for _ in range(20)])
    assert names[0] == names[1]


def test_draws_all_of_several_programs() -> None:
    env = MallocEnv(program="dcn_v2")
    env.reset(seed=0)
    names = {env.reset()[1]["program"] for _ in range(40)}
    assert names == {f"{chip}/dcn_v2_4_b8192" for chip in ("tpu_v4i", "tpu_v5e", "tpu_v6e")}
    for index, program in enumerate(env.programs):
        assert env.reset(options={"program": index})[1]["program"].startswith(program.chip)


def test_observations_are_in_the_space_and_zero_at_the_end() -> None:
    env = MallocEnv(program=SMALL, observation="full")
    _, info = env.reset(seed=3)
    random = np.random.default_rng(3)
    terminated = False
    while not terminated:
        action = random_action(info["action_mask"], random)
        observation, _, terminated, _, info = env.step(action)
        assert observation in env.observation_space
        assert env.action_masks().tolist() == (info["action_mask"] == 1).tolist()
    assert isinstance(observation, dict)
    assert all(not block.any() for block in observation.values())
    assert not info["action_mask"].any()


def test_mask_and_observation_agree_on_what_is_legal() -> None:
    env = MallocEnv(program=SMALL[0], observation="brief")
    observation, info = env.reset(seed=0)
    assert isinstance(observation, dict)
    np.testing.assert_array_equal(observation["decision"][:3], info["action_mask"])


def test_goes_back_to_a_snapshot() -> None:
    env, other = MallocEnv(program=SMALL), MallocEnv(program=SMALL)
    random = np.random.default_rng(0)
    _, info = env.reset(seed=4)
    for _ in range(10):
        *_, info = env.step(random_action(info["action_mask"], random))
    snapshot = env.snapshot()
    actions: list[int] = []
    ends: list[tuple[Any, ...]] = []
    for game in (env, env, other):
        _, info = game.restore(snapshot)
        assert game.snapshot() == snapshot
        rest = iter(actions)
        rewards, terminated = [], False
        while not terminated:
            action = next(rest, None)
            if action is None:
                action = random_action(info["action_mask"], random)
                actions.append(action)
            _, reward, terminated, _, info = game.step(action)
            rewards.append(reward)
        ends.append((rewards, info["cycles"], game.actions.tolist()))
    assert ends[0] == ends[1] == ends[2]
    assert snapshot.actions.tolist() == ends[0][2][:10]
    with pytest.raises(ValueError, match="which this environment does not play"):
        MallocEnv(program="c3d").restore(snapshot)


def test_a_snapshot_outlives_its_environment() -> None:
    env = MallocEnv(program=SMALL[0])
    env.reset(seed=0)
    snapshot = env.snapshot()
    del env
    assert snapshot.program_name == "dcn_v2_4_b8192"
    assert not snapshot.finished


def test_a_set_has_equal_snapshots_once() -> None:
    env = MallocEnv(program=SMALL[0])
    env.reset(seed=0)
    first = env.snapshot()
    env.step(DROP)
    second = env.snapshot()
    env.restore(first)
    assert first != second
    assert {first, second, env.snapshot()} == {first, second}
    others: list[Any] = [None, "dcn_v2", env.actions.tolist()]
    assert all(first != other for other in others)


def test_restores_a_snapshot_of_an_equal_program() -> None:
    program = find_programs(SMALL[0])[0]
    env = MallocEnv(program=[program])
    other = MallocEnv(program=[pickle.loads(pickle.dumps(program))])
    assert other.programs[0] is not program
    _, info = env.reset(seed=0)
    for _ in range(5):
        *_, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    snapshot = env.snapshot()
    _, restored = other.restore(snapshot)
    assert restored["cycles"] == info["cycles"]
    assert other.actions.tolist() == env.actions.tolist()
    assert {snapshot, other.snapshot()} == {snapshot}


def _illegal_action(env: MallocEnv) -> int:
    """Plays on until there is an illegal action; returns it."""
    while True:
        illegal = np.flatnonzero(~env.action_masks())
        if len(illegal):
            return int(illegal[0])
        env.step(DROP)


def test_replaces_an_illegal_action_by_the_closest_legal_one() -> None:
    env = MallocEnv(program=SMALL[0])
    env.reset(seed=0)
    action = _illegal_action(env)
    legal = np.flatnonzero(env.action_masks())
    *_, info = env.step(action)
    assert info["illegal"]
    assert env.actions[-1] in legal
    closest = {COPY: (NO_COPY, DROP), NO_COPY: (COPY, DROP), DROP: (COPY, NO_COPY)}[action]
    assert env.actions[-1] == next(other for other in closest if other in legal)


def test_raises_for_an_illegal_action_if_asked_to() -> None:
    env = MallocEnv(program=SMALL[0], illegal_actions="raise")
    env.reset(seed=0)
    action = _illegal_action(env)
    before = env.snapshot()
    with pytest.raises(ValueError, match=f"the action {action} is not legal now: expected"):
        env.step(action)
    assert env.snapshot() == before


@pytest.mark.parametrize(
    "action", [-1, 3, 2**40, 2**70, 0.5, "0", None, np.float32(1), [0], [0, 1]]
)
def test_refuses_what_is_no_action(action: Any) -> None:
    env = MallocEnv(program=SMALL[0])
    env.reset(seed=0)
    before = env.snapshot()
    with pytest.raises((ValueError, TypeError, OverflowError)) as refused:
        env.step(action)
    assert "\n" not in str(refused.value).strip()
    assert env.snapshot() == before


def test_refuses_a_step_after_the_end() -> None:
    env = MallocEnv(program=SMALL[0])
    play_randomly(env, 0)
    with pytest.raises(RuntimeError, match=r"the game is finished: call reset\(\)"):
        env.step(0)


def test_only_a_finished_game_has_a_mapping(tmp_path: pathlib.Path) -> None:
    env = MallocEnv(program=SMALL[0])
    env.reset(seed=0)
    with pytest.raises(RuntimeError, match="only a finished game has a mapping"):
        env.save_mapping(tmp_path / "game.mapping")


def test_says_why_a_mapping_cannot_be_saved(tmp_path: pathlib.Path) -> None:
    env = MallocEnv(program=SMALL[0])
    play_randomly(env, 0)
    for path in (tmp_path, tmp_path / "no folder" / "game.mapping", pathlib.Path("/dev/full")):
        with pytest.raises(OSError, match=str(path)) as refused:
            env.save_mapping(path)
        assert "\n" not in str(refused.value)
    with pytest.raises(FileNotFoundError):
        env.save_mapping(tmp_path / "no folder" / "game.mapping")
    with pytest.raises(ValueError, match="null"):
        env.save_mapping(f"{tmp_path}/game\0.mapping")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"program": "no_such_model"}, "no such program"),
        ({"program": ""}, "no such program"),
        ({"program": []}, "expected at least one program"),
        ({"program": "split.csv.program"}, "split.csv.program"),
        ({"observation": "half"}, "expected one of full, brief"),
        ({"illegal_actions": "ignore"}, "expected one of nearest, raise"),
        ({"render_mode": "human"}, "expected None, 'ansi' or 'svg'"),
    ],
)
def test_names_the_wrong_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message) as refused:
        MallocEnv(**arguments)
    assert "\n" not in str(refused.value)


def test_refuses_a_file_that_is_no_program(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "broken.program"
    path.write_bytes(b"\x00\x01\x02")
    with pytest.raises(ValueError, match=r"broken\.program"):
        MallocEnv(program=path)


def test_plays_a_program_file() -> None:
    path = ROOT / "workloads" / "tpu_v6e" / "dcn_v2_4_b8192.program"
    env = MallocEnv(program=path)
    assert env.reset(seed=0)[1]["program"] == "tpu_v6e/dcn_v2_4_b8192"
    assert env.programs[0] is find_programs(path)[0]


def test_reads_a_program_file_again_once_it_has_changed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "step.program"
    names = ["dcn_v2_4_b8192", "gpt_4x1024_b16x512"]
    for name in names:
        path.write_bytes((ROOT / "workloads" / "tpu_v6e" / f"{name}.program").read_bytes())
        assert MallocEnv(program=path).programs[0].name == name


def test_takes_loaded_programs_and_sends_them_to_other_processes() -> None:
    program = find_programs(SMALL[0])[0]
    env = gymnasium.make("mallocmuzero/Malloc-v0", program=[program])
    assert env.unwrapped.programs == [program]  # type: ignore[attr-defined]
    sent = pickle.loads(pickle.dumps(program))
    assert (sent.fingerprint, sent.path) == (program.fingerprint, program.path)


def test_renders_text_and_a_picture() -> None:
    env = MallocEnv(program=SMALL[0], render_mode="ansi")
    env.reset(seed=0)
    text = env.render()
    assert text is not None
    assert text.startswith("dcn_v2_4_b8192 on tpu_v6e, 0 decisions taken\n")
    assert "legal: " in text
    play_randomly(env, 0)
    assert str(env.render()).endswith("finished\n")
    picture = MallocEnv(program=SMALL[0], render_mode="svg")
    picture.reset(seed=0)
    assert str(picture.render()).startswith("<svg")
    assert MallocEnv(program=SMALL[0]).render() is None
