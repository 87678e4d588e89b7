"""The command goes on after a stop, shares its runs, and keeps to one commit."""

from __future__ import annotations

import functools
import json
import pathlib
import subprocess
from collections.abc import Sequence
from typing import Any

import protocol
import pytest
from mallocmuzero_xla.errors import UsageError
from protocol_records import read_records
from protocol_runner import Runner
from protocol_samples import MADE_BY, child, described, record
from protocol_table import BEGIN, END

CORPUS = [
    described("tpu_v6e", "dit_4x1024_b48x256"),
    described("tpu_v6e", "wavenet_10_b16x8192", "test"),
    described("tpu_v4i", "wavenet_10_b16x8192", "test"),
]


class FakeBinary:
    """Describes a corpus of three programs."""

    def corpus(self, workloads: pathlib.Path) -> list[Any]:
        return CORPUS


@pytest.fixture(autouse=True)
def machine(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up runs, on a machine with four cores."""
    monkeypatch.setattr(protocol, "Binary", FakeBinary)
    monkeypatch.setattr(protocol, "made_by", lambda packages: MADE_BY)
    monkeypatch.setattr(protocol, "Runner", functools.partial(Runner, child=child(tmp_path)))
    monkeypatch.setattr(protocol, "core_pairs", lambda workers: [[0, 1]] * workers)


@pytest.fixture
def output(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "r.jsonl"


def run(output: pathlib.Path, *words: str) -> int:
    return protocol.main(["--reduced", "--output", str(output), *words])


def count_jobs(folder: pathlib.Path) -> int:
    log = folder / "log"
    return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def test_runs_that_have_a_record_are_not_done_again(
    tmp_path: pathlib.Path, output: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(output, "--mode", "everything", "--chip", "tpu_v6e") == 0
    assert (len(read_records(output)), count_jobs(tmp_path)) == (2, 2)
    # Everything on three programs; limits and flags on two.
    assert run(output) == 0
    assert (len(read_records(output)), count_jobs(tmp_path)) == (7, 7)
    assert "[7/7] tpu_v6e dit_4x1024_b48x256, limit, 1 min, seed 0: 10.00% less" in (
        capsys.readouterr().err
    )
    run(output)
    assert count_jobs(tmp_path) == 7


def test_a_failed_run_is_recorded_and_runs_again_only_when_asked(
    tmp_path: pathlib.Path, output: pathlib.Path
) -> None:
    plans = tmp_path / "plans.json"
    plans.write_text('{"dit_4x1024_b48x256": "fails"}', encoding="utf-8")
    words = ("--mode", "everything", "--chip", "tpu_v6e")
    assert run(output, *words) == 1
    failed = [each for each in read_records(output) if each["status"] == "failed"]
    assert [each["error"] for each in failed] == ["protocol_child.py: it does not compile"]
    plans.unlink()
    assert run(output, *words) == 1
    assert count_jobs(tmp_path) == 2
    assert run(output, *words, "--retry-failures") == 0
    assert count_jobs(tmp_path) == 3


def test_failures_of_runs_that_are_not_chosen_stay_recorded(
    tmp_path: pathlib.Path, output: pathlib.Path
) -> None:
    plans = tmp_path / "plans.json"
    programs = ("dit_4x1024_b48x256", "wavenet_10_b16x8192")
    plans.write_text(json.dumps(dict.fromkeys(programs, "fails")), encoding="utf-8")
    words = ("--mode", "everything", "--chip", "tpu_v6e")
    assert run(output, *words) == 1
    plans.unlink()
    assert run(output, *words, "--only", "dit*", "--retry-failures") == 1
    status = {each["program"]: each["status"] for each in read_records(output)}
    assert status == {"dit_4x1024_b48x256": "ok", "wavenet_10_b16x8192": "failed"}


def test_the_machines_of_a_share_do_each_run_once(
    tmp_path: pathlib.Path, output: pathlib.Path
) -> None:
    files = [tmp_path / f"{index}.jsonl" for index in (1, 2)]
    for index, file in enumerate(files, 1):
        assert run(file, "--share", f"{index}/2") == 0
    assert sorted(len(read_records(file)) for file in files) == [3, 4]
    assert protocol.main(["--merge", *map(str, files), "--output", str(output)]) == 0
    assert len(read_records(output)) == 7


def test_a_file_of_another_commit_is_refused(
    output: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output.write_text(json.dumps(record(commit="d" * 40)) + "\n", encoding="utf-8")
    assert run(output) == 2
    assert "this run: is of commit cccc" in capsys.readouterr().err


@pytest.mark.parametrize("share", ["0/2", "3/2", "1", "a/b"])
def test_a_share_that_is_none_is_refused(
    output: pathlib.Path, capsys: pytest.CaptureFixture[str], share: str
) -> None:
    assert run(output, "--share", share) == 2
    assert f"--share {share}: expected I/N" in capsys.readouterr().err


def test_a_choice_without_runs_is_refused(
    output: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(output, "--only", "absent") == 2
    assert "no run matches" in capsys.readouterr().err


def test_programs_of_other_projects_have_a_folder_and_packages_of_their_own(
    output: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sequence[str]] = []

    def made_by(packages: Sequence[str]) -> dict[str, Any]:
        asked.append(packages)
        return MADE_BY

    monkeypatch.setattr(protocol, "made_by", made_by)
    assert protocol.main(["--third-party", "--output", str(output), "--mode", "limit"]) == 0
    assert asked == [("flax", "keras", "keras-hub")]
    (job,) = (json.loads(line) for line in (tmp_path / "log").read_text().splitlines())
    assert job["registry"].endswith("/workloads_third_party/zoo")
    assert job["program"] == "wavenet_10_b16x8192"


def test_another_budget_is_recorded_as_such(output: pathlib.Path) -> None:
    words = ("--mode", "everything", "--only", "dit*", "--budget", "1m")
    assert run(output, *words) == 0
    (found,) = read_records(output)
    assert (found["mode"], found["budget_seconds"]) == ("everything", 60)


def test_the_list_says_how_long_it_takes(
    tmp_path: pathlib.Path, output: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(output, "--list") == 0
    shown = capsys.readouterr().out
    assert "tpu_v6e dit_4x1024_b48x256, flags_98304\n" in shown
    # 3 x (1.1 x 180 + 9) s, 2 x (1.1 x 60 + 9) s, 2 x 39 s.
    assert "everything: 3 runs, 10 min of two cores at most" in shown
    assert "all: 7 runs, 0.2 h of two cores at most" in shown
    assert count_jobs(tmp_path) == 0


def test_the_document_and_the_picture_are_written(
    tmp_path: pathlib.Path, output: pathlib.Path
) -> None:
    (tmp_path / "results").mkdir()
    document = tmp_path / "results.md"
    document.write_text(f"# Results\n\n{BEGIN}\nold\n{END}\n\nbelow\n", encoding="utf-8")
    assert run(output, "--write", "--document", str(document)) == 0
    text = document.read_text(encoding="utf-8")
    assert text.startswith("# Results\n")
    assert text.endswith("below\n")
    assert "old" not in text
    assert "**10.00 %**" in text
    assert (tmp_path / "results/gains.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_missing_file_of_records_does_not_empty_the_document(
    tmp_path: pathlib.Path, output: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "results.md"
    document.write_text(f"{BEGIN}\nold\n{END}\n", encoding="utf-8")
    assert run(output, "--table", "--write", "--document", str(document)) == 2
    assert f"{output}: no such file of records" in capsys.readouterr().err
    assert "old" in document.read_text(encoding="utf-8")


def git(folder: pathlib.Path, *words: str) -> str:
    line = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e", *words]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A repository with a source, a script and a document; its binary is of the first commit."""
    monkeypatch.undo()
    root = tmp_path / "repository"
    for name in ("env/game.cc", "bench/run.py", "docs/results.md"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("1", encoding="utf-8")
    git(tmp_path, "init", "-q", str(root))
    commit(root)
    monkeypatch.setattr("corpus.ROOT", root)
    monkeypatch.setattr(protocol, "find_binary", lambda: pathlib.Path("mallocmuzero"))
    built_from = git(root, "rev-parse", "HEAD")
    monkeypatch.setattr(protocol, "binary_version", lambda _: ("0.1.0", built_from))
    monkeypatch.setattr(protocol, "compiler_versions", lambda: {"libtpu": "2"})
    return root


def commit(root: pathlib.Path, names: Sequence[str] = ()) -> None:
    for name in names:
        (root / name).write_text("2", encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "m")


def test_records_say_which_commit_and_versions_made_them(repository: pathlib.Path) -> None:
    made_by = protocol.made_by()
    assert made_by["commit"] == git(repository, "rev-parse", "HEAD")
    assert made_by["versions"] == {"libtpu": "2", "mallocmuzero": "0.1.0"}


def test_records_say_which_versions_the_programs_are_made_of(repository: pathlib.Path) -> None:
    versions = protocol.made_by(["pytest"])["versions"]
    assert versions["pytest"] == pytest.__version__
    with pytest.raises(UsageError, match="no-such-package is not installed: workloads_third_party"):
        protocol.made_by(["no-such-package"])


def test_changes_without_a_commit_are_refused_except_in_documents(
    repository: pathlib.Path,
) -> None:
    (repository / "docs/results.md").write_text("2", encoding="utf-8")
    protocol.made_by()
    (repository / "bench/run.py").write_text("2", encoding="utf-8")
    with pytest.raises(UsageError, match="there are changes that no commit has"):
        protocol.made_by()


def test_a_binary_of_older_sources_is_refused(repository: pathlib.Path) -> None:
    commit(repository, ["bench/run.py"])
    protocol.made_by()
    commit(repository, ["env/game.cc"])
    with pytest.raises(UsageError, match=r"since then env/game.cc has changed: build it again"):
        protocol.made_by()


def test_a_binary_of_an_unknown_commit_is_refused(
    repository: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "binary_version", lambda _: ("0.1.0", None))
    with pytest.raises(UsageError, match="is from commit None: build it again"):
        protocol.made_by()
