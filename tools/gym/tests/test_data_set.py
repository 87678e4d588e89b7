"""The corpus, its splits, and the record of trials."""

from __future__ import annotations

import collections
import csv
import json
import pathlib

import numpy as np
import pytest
from mallocmuzero_gym import SPLITS, load_programs, load_trials, observation_blocks
from mallocmuzero_gym.corpus import _corpus
from mallocmuzero_gym.trials import KINDS

_ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_has_the_programs_of_the_corpus_with_their_splits() -> None:
    with (_ROOT / "workloads" / "split.csv").open(encoding="utf-8") as stream:
        rows = {row["name"]: row for row in csv.DictReader(stream)}
    programs = load_programs()
    files = {str(path) for path in (_ROOT / "workloads").glob("tpu_*/*.program")}
    assert {str(program.path) for program in programs} == files
    for program in programs:
        assert program.split == rows[program.name]["split"]
        assert program.family == rows[program.name]["family"]
    parts = [load_programs(split) for split in SPLITS]
    assert sum(len(part) for part in parts) == len(programs)


def test_a_program_of_ones_own_in_the_folder_is_left_out(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("split.csv", "best_known.csv"):
        (tmp_path / name).symlink_to(_ROOT / "workloads" / name)
    known = next(iter(load_programs(chip="tpu_v6e")))
    (tmp_path / "tpu_v6e").mkdir()
    for name in (known.path.name, "mine.program"):
        (tmp_path / "tpu_v6e" / name).symlink_to(known.path)
    monkeypatch.setattr("mallocmuzero_gym.corpus.workloads_folder", lambda: tmp_path)
    assert [program.name for program in _corpus.__wrapped__()] == [known.name]


def test_a_family_is_in_one_split() -> None:
    splits = collections.defaultdict(set)
    for program in load_programs():
        splits[program.family].add(program.split)
    assert all(len(of_family) == 1 for of_family in splits.values())


def test_best_known_mappings_are_better_than_everything_in_hbm() -> None:
    programs = load_programs("validation", chip="tpu_v6e")
    assert programs
    for program in programs:
        assert program.best_known_cycles is not None
        assert program.best_known_cycles < program.load().all_hbm_cycles


def test_columns_describe_the_program() -> None:
    program = load_programs("train", chip="tpu_v6e")[0].load()
    instructions, accesses, buffers = (
        program.instructions(),
        program.accesses(),
        program.buffers(),
    )
    for columns in (instructions, accesses, buffers):
        assert len({len(column) for column in columns.values()}) == 1
    count, first = instructions["access_count"], instructions["first_access"]
    np.testing.assert_array_equal(np.repeat(np.arange(len(count)), count), accesses["instruction"])
    np.testing.assert_array_equal(first, np.cumsum(count) - count)
    assert accesses["buffer"].max() < len(buffers["bytes"])
    all_hbm = (instructions["cycles"] * instructions["execution_count"]).sum()
    assert all_hbm == pytest.approx(program.all_hbm_cycles, rel=1e-12)
    assert len(program.fingerprint) == 64


def test_blocks_cover_the_observation() -> None:
    for kind, size in (("full", 3056), ("brief", 68)):
        offset = 0
        for block in observation_blocks(kind):
            assert block.offset == offset
            offset += block.size
            if block.name != "memory":
                assert len(block.features) == block.shape[-1]
        assert offset == size


def test_refuses_unknown_splits_chips_and_kinds() -> None:
    with pytest.raises(ValueError, match="split 'dev': expected one of train, validation, test"):
        load_programs("dev")
    with pytest.raises(ValueError, match="chip 'gpu': expected one of tpu_v4i, tpu_v5e, tpu_v6e"):
        load_programs(chip="gpu")
    with pytest.raises(ValueError, match="kind 'look': expected one of setting"):
        load_trials("look")


def test_has_trials_of_every_kind() -> None:
    trials = load_trials()
    counts = collections.Counter(trial.kind for trial in trials)
    assert set(counts) == set(KINDS)
    assert all(counts[kind] >= 80 for kind in KINDS), counts
    names = {(program.chip, program.name) for program in load_programs()}
    for trial in trials:
        assert (trial.chip, trial.program) in names
        assert (trial.gain is None) == bool(trial.error)
        if trial.cycles is not None:
            assert trial.default_cycles is not None
            assert trial.gain == pytest.approx(1 - trial.cycles / trial.default_cycles)
        assert -10 < (trial.gain or 0) < 1


def test_one_compile_of_a_run_has_the_options_of_the_best() -> None:
    """Later compiles of a run may take as many cycles as the best one, with other options."""
    runs = 0
    for path in sorted((_ROOT / "docs" / "results").glob("tpu_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            verified = json.loads(line).get("verified", {})
            cycles = [compiled["compiled_cycles"] for compiled in verified.get("rounds", [])]
            runs += bool(verified.get("options")) and verified["optimized_cycles"] in cycles
    assert sum(bool(trial.options) for trial in load_trials("overrides")) == runs


def test_selects_trials() -> None:
    trials = load_trials("scoped_limit", split="train", chip="tpu_v6e")
    assert trials
    for trial in trials:
        assert (trial.kind, trial.split, trial.chip) == ("scoped_limit", "train", "tpu_v6e")
        assert trial.scoped_limit_bytes == 1024 * int(
            trial.options["xla_tpu_scoped_vmem_limit_kib"]
        )
