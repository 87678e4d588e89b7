"""Benchmarks over the corpus go on where they stopped, and lose no record."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
from typing import Any

import assignment_settings
import corpus
import estimates
import phases
import placed
import pytest
import round_trips
import scoped_limits
from mallocmuzero_xla.errors import CaptureError, UsageError

VERSIONS = {"jax": "1", "libtpu": "2"}


@pytest.fixture(autouse=True)
def versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "compiler_versions", lambda: VERSIONS, raising=False)


def entry(name: str) -> corpus.Entry:
    return corpus.Entry(pathlib.Path("workloads"), "tpu_v6e", name, "train", True)


def measure(found: corpus.Entry) -> dict[str, Any]:
    if found.name == "broken":
        raise CaptureError("does not compile")
    return {"cycles": 1}


def names(path: pathlib.Path) -> list[str]:
    return [json.loads(line)["program"] for line in path.read_text("utf-8").splitlines()]


def test_programs_with_a_record_are_not_measured_again(tmp_path: pathlib.Path) -> None:
    output = tmp_path / "r.jsonl"
    corpus.record_each(iter([entry("a"), entry("broken")]), output, measure)
    asked: list[str] = []

    def measure_and_tell(found: corpus.Entry) -> dict[str, Any]:
        asked.append(found.name)
        return measure(found)

    entries = [entry("a"), entry("broken"), entry("b")]
    records = corpus.record_each(iter(entries), output, measure_and_tell)
    assert asked == ["broken", "b"]
    assert [record["program"] for record in records] == names(output) == ["a", "b"]


def test_the_folder_of_records_is_made_before_a_program_is_measured(
    tmp_path: pathlib.Path,
) -> None:
    output = tmp_path / "new" / "r.jsonl"

    def measure_and_look(found: corpus.Entry) -> dict[str, Any]:
        assert output.parent.is_dir()
        return measure(found)

    corpus.record_each(iter([entry("a")]), output, measure_and_look)
    assert names(output) == ["a"]


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The binary, for the description of a corpus."""

    programs: list[dict[str, Any]]

    def corpus(self, _: pathlib.Path) -> list[dict[str, Any]]:
        return self.programs


COMMANDS = {
    "assignment_settings": assignment_settings.main,
    "estimates": estimates.main,
    "phases": phases.main,
    "placed": placed.main,
    "round_trips": round_trips.main,
    "scoped_limits": scoped_limits.main,
}


def words_of(name: str, tmp_path: pathlib.Path) -> list[str]:
    """The arguments that a command needs."""
    return [] if name in ("placed", "round_trips") else [str(tmp_path / "r.jsonl")]


@pytest.mark.parametrize("name", COMMANDS)
def test_missing_binary_is_one_line(
    name: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(tmp_path / "absent"))
    assert COMMANDS[name](words_of(name, tmp_path)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name}.py: MALLOCMUZERO_BINARY=")


@pytest.mark.parametrize("name", COMMANDS)
def test_programs_that_do_not_exist_are_one_line(
    name: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = {"hardware": "tpu_v6e", "program": "bert"}
    found = [{"report": report, "split": "train", "contended": False}]
    monkeypatch.setattr(corpus, "Binary", lambda: Corpus(found))
    monkeypatch.setattr(placed, "CAPTURED", tmp_path / "placed.jsonl")
    monkeypatch.setattr(placed, "settings_of", lambda _: {})
    for wrong in (["--only", "brt*"], ["--chip", "v6e"], ["--contended"]):
        assert COMMANDS[name]([*words_of(name, tmp_path), *wrong]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.endswith("workloads: no program matches --chip, --only and --contended")


def test_a_split_that_does_not_exist_is_refused(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        phases.main([str(tmp_path / "r.jsonl"), "--split", "dev"])
    assert "argument --split: invalid choice: 'dev'" in capsys.readouterr().err


def test_half_a_line_of_a_killed_run_is_dropped(tmp_path: pathlib.Path) -> None:
    output = tmp_path / "r.jsonl"
    corpus.record_each(iter([entry("a")]), output, measure)
    with output.open("a", encoding="utf-8") as stream:
        stream.write('{"chip": "tpu_v6e", "pro')
    corpus.record_each(iter([entry("a"), entry("b")]), output, measure)
    assert names(output) == ["a", "b"]


def test_no_record_is_lost_if_half_a_line_cannot_be_dropped(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "r.jsonl"
    corpus.record_each(iter([entry("a")]), output, measure)
    with output.open("a", encoding="utf-8") as stream:
        stream.write('{"chip"')

    def interrupted(self: pathlib.Path, *_: Any, **__: Any) -> int:
        self.open("w").close()  # as Path.write_text begins
        raise KeyboardInterrupt

    monkeypatch.setattr(pathlib.Path, "write_text", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        corpus.record_each(iter([entry("a")]), output, measure)
    assert names(output) == ["a"]


def test_records_of_another_compiler_are_not_continued(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "r.jsonl"
    corpus.record_each(iter([entry("a")]), output, measure)
    monkeypatch.setattr(corpus, "compiler_versions", lambda: {**VERSIONS, "libtpu": "3"})
    # A table can be printed again; what is missing is not measured.
    assert len(corpus.record_each(iter([entry("a")]), output, measure)) == 1
    with pytest.raises(UsageError, match=r"r.jsonl: is of .*'2'.*, and here is .*'3'.* new file"):
        corpus.record_each(iter([entry("a"), entry("b")]), output, measure)
    assert names(output) == ["a"]


def test_records_of_other_settings_are_not_continued(tmp_path: pathlib.Path) -> None:
    output = tmp_path / "r.jsonl"
    corpus.record_each(iter([entry("a")]), output, measure, {"budget_seconds": 300.0})
    with pytest.raises(UsageError, match=r"r.jsonl: a is of .*300.*, and here is .*600.* new file"):
        corpus.record_each(iter([entry("a")]), output, measure, {"budget_seconds": 600.0})
    records = corpus.record_each(
        iter([entry("a"), entry("b")]), output, measure, {"budget_seconds": 300.0}
    )
    assert [record["settings"] for record in records] == [{"budget_seconds": 300.0}] * 2


def test_older_records_name_no_compiler_and_are_continued(tmp_path: pathlib.Path) -> None:
    output = tmp_path / "r.jsonl"
    output.write_text('{"chip": "tpu_v6e", "program": "a"}\n', encoding="utf-8")
    records = corpus.record_each(iter([entry("a"), entry("b")]), output, measure)
    assert [record.get("versions") for record in records] == [None, VERSIONS]
