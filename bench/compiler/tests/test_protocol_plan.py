"""The protocol has the runs that docs/results.md promises, within the promised time."""

from __future__ import annotations

import collections
import math

import corpus
import pytest
from mallocmuzero_xla.binary import Binary
from protocol_plan import (
    BUDGETS,
    EVERYTHING,
    TEN,
    TWELVE,
    Entry,
    Form,
    Run,
    entries_of,
    longest_minutes,
    runs_of,
)
from protocol_samples import described


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    """The programs of the corpus."""
    return entries_of(Binary().corpus(corpus.ROOT / "workloads"))


def minutes(runs: list[Run]) -> float:
    return sum(longest_minutes(runs).values())


def test_the_reduced_form_takes_at_most_an_hour(entries: list[Entry]) -> None:
    assert minutes(runs_of(entries, Form(reduced=True))) <= 60


def test_the_whole_takes_at_most_two_evenings_of_eight_hours(entries: list[Entry]) -> None:
    assert minutes(runs_of(entries, Form())) <= 2 * 8 * 60


def test_the_document_says_how_long_the_runs_take(entries: list[Entry]) -> None:
    document = (corpus.ROOT / "docs/results.md").read_text(encoding="utf-8")
    whole, reduced = (runs_of(entries, form) for form in (Form(), Form(reduced=True)))
    assert f"| together | {len(whole)} | {math.ceil(minutes(whole))} |" in document
    ten = [run for run in whole if run.mode is EVERYTHING and run.seconds != 300]
    assert f"2 and 10 minutes | {len(ten)} | {math.ceil(minutes(ten))} |" in document
    assert f"Together this takes {math.ceil(minutes(reduced))} minutes at most." in document


def test_the_reduced_form_has_twelve_contended_programs_of_all_chips_and_splits(
    entries: list[Entry],
) -> None:
    runs = runs_of(entries, Form(reduced=True))
    programs = {run.entry for run in runs}
    assert len(programs) == 12
    assert all(entry.contended for entry in programs)
    assert {entry.chip for entry in programs} == {"tpu_v6e", "tpu_v5e", "tpu_v4i"}
    assert {entry.split for entry in programs} == {"train", "validation", "test"}
    assert runs[0].entry.chip == "tpu_v6e"


def test_programs_of_the_test_split_have_three_seeds_and_others_one(entries: list[Entry]) -> None:
    seeds = collections.defaultdict(set)
    for run in runs_of(entries, Form()):
        if run.mode is EVERYTHING and run.seconds == 300:
            seeds[run.entry].add(run.seed)
    assert set(seeds) == {entry for entry in entries if entry.contended}
    for entry, found in seeds.items():
        assert found == ({0, 1, 2} if entry.split == "test" else {0})


def test_ten_programs_have_all_budgets(entries: list[Entry]) -> None:
    runs = runs_of(entries, Form())
    assert len(TEN) == 10
    for key in TEN:
        found = {run.seconds for run in runs if run.entry.key == key and run.mode is EVERYTHING}
        assert found == set(BUDGETS) == {60, 120, 300, 600}


def test_the_twelve_are_compared_in_all_modes_of_their_chip(entries: list[Entry]) -> None:
    runs = runs_of(entries, Form())
    shared = {"limit", "flags_98304", "flags_81920", "options", "placed", "everything"}
    expected = {
        "tpu_v6e": shared | {"flags_131072_fusion"},
        "tpu_v5e": shared | {"flags_50000", "flags_65536_fusion"},
        "tpu_v4i": {"options", "placed", "everything"},
    }
    for chip, program in TWELVE:
        found = {run.mode.name for run in runs if run.entry.key == (chip, program)}
        assert found == expected[chip]


def test_tpu7x_has_the_six_programs_for_v6e_with_and_without_placement(
    entries: list[Entry],
) -> None:
    runs = runs_of(entries, Form(tpu7x=True))
    assert minutes(runs) <= 30
    six = {program for chip, program in TWELVE if chip == "tpu_v6e"}
    for mode in ("everything", "limit"):
        assert {run.entry.program for run in runs if run.mode.name == mode} == six
    assert {(run.entry.chip, run.mode.name) for run in runs} == {
        ("tpu7x", "everything"),
        ("tpu7x", "limit"),
    }


def test_programs_of_other_projects_are_those_of_the_test_split_with_three_seeds() -> None:
    workloads = corpus.ROOT / "workloads_third_party"
    entries = entries_of(Binary().corpus(workloads))
    runs = runs_of(entries, Form(third_party=True))
    assert minutes(runs) <= 200
    test = {entry for entry in entries if entry.contended and entry.split == "test"}
    everything = [run for run in runs if run.mode is EVERYTHING]
    assert {(run.entry, run.seed, run.seconds) for run in everything} == {
        (entry, seed, 300.0) for entry in test for seed in (0, 1, 2)
    }
    for mode in ("flags_98304", "limit"):
        assert {run.entry for run in runs if run.mode.name == mode} == test


@pytest.mark.parametrize(
    "form",
    [Form(), *(Form(**{name: True}) for name in ("reduced", "every_mode", "tpu7x", "third_party"))],
)
def test_no_run_is_in_the_list_twice(entries: list[Entry], form: Form) -> None:
    keys = [run.key for run in runs_of(entries, form)]
    assert len(keys) == len(set(keys))


def test_programs_that_are_not_short_of_memory_come_only_when_asked_for() -> None:
    few = entries_of([described("tpu_v4i", "small", contended=False)])
    assert runs_of(few, Form()) == []
    (run,) = runs_of(few, Form(uncontended=True))
    assert (run.mode.name, run.seconds) == ("everything", 300)


def test_all_programs_are_compared_in_every_mode_when_asked_for() -> None:
    few = entries_of([described("tpu_v4i", "another")])
    assert {run.mode.name for run in runs_of(few, Form())} == {"everything"}
    modes = {run.mode.name for run in runs_of(few, Form(every_mode=True))}
    assert modes == {"everything", "options", "placed"}
