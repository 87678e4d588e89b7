"""A file of records is of one commit, survives a stop, and joins with others of its commit."""

from __future__ import annotations

import errno
import json
import pathlib
from typing import Any

import pytest
from mallocmuzero_xla.errors import UsageError
from protocol_records import RecordFile, key_of, merge, read_records
from protocol_samples import MADE_BY, record


def write(path: pathlib.Path, *records: dict[str, Any]) -> pathlib.Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


def test_appended_records_have_what_made_them(tmp_path: pathlib.Path) -> None:
    with RecordFile(tmp_path / "folder" / "r.jsonl", MADE_BY) as file:
        bare = {name: value for name, value in record().items() if name not in MADE_BY}
        file.append(bare)
        assert len(file.keys()) == 1
    (found,) = read_records(tmp_path / "folder" / "r.jsonl")
    assert {name: found[name] for name in MADE_BY} == MADE_BY


def test_half_a_line_of_a_killed_run_is_dropped(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "r.jsonl", record())
    with path.open("a", encoding="utf-8") as stream:
        stream.write('{"chip": "tpu_v6e", "pro')
    with RecordFile(path, MADE_BY) as file:
        assert len(file.records) == 1
        file.append(record(seed=1))
    assert [each["seed"] for each in read_records(path)] == [0, 1]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("commit", "d" * 40, "is of commit dddd.*, and .*r.jsonl of cccc.*: .* new file"),
        ("versions", {"jax": "1", "libtpu": "3"}, "is of versions .*'3'.*start a new file"),
    ],
)
def test_records_of_another_commit_or_compiler_are_not_appended(
    tmp_path: pathlib.Path, name: str, value: Any, message: str
) -> None:
    path = write(tmp_path / "r.jsonl", record())
    before = path.read_bytes()
    with (
        pytest.raises(UsageError, match=message),
        RecordFile(path, {**MADE_BY, name: value}) as file,
    ):
        file.append(record(seed=1))
    assert path.read_bytes() == before


def test_records_of_another_protocol_are_not_read(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "r.jsonl", record(protocol=0))
    with pytest.raises(UsageError, match=r"r.jsonl:1: is of protocol 0, and this is protocol 1"):
        read_records(path)


def test_a_file_of_mixed_commits_is_not_read(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "r.jsonl", record(), record(seed=1, commit="d" * 40))
    with pytest.raises(UsageError, match=r"r.jsonl:2: is of commit dddd"):
        read_records(path)


def test_two_records_of_one_run_are_not_read(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "r.jsonl", record(), record(cycles=1))
    with pytest.raises(UsageError, match=r"r.jsonl:2: a second record of .*everything"):
        read_records(path)


def test_a_damaged_line_is_named(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "r.jsonl", {"chip": "tpu_v6e"})
    with pytest.raises(UsageError, match=r"r.jsonl:1: not a record \(KeyError\('program'\)\)"):
        read_records(path)


def test_a_second_process_does_not_append_to_the_file(tmp_path: pathlib.Path) -> None:
    with (
        RecordFile(tmp_path / "r.jsonl", MADE_BY),
        pytest.raises(UsageError, match="another process appends to it"),
        RecordFile(tmp_path / "r.jsonl", MADE_BY),
    ):
        pass


def test_failures_are_dropped_so_that_they_run_again(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "r.jsonl", record(), record(seed=1, status="failed"))
    with RecordFile(path, MADE_BY) as file:
        file.drop_failures({key_of(record(seed=1))})
        file.append(record(seed=2))
    assert [each["seed"] for each in read_records(path)] == [0, 2]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    # A disk may also report at the end that it had no room for what was written.
    monkeypatch.setattr("os.fsync", fail)


def test_no_record_is_lost_if_the_file_cannot_be_written_anew(
    tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> None:
    path = write(tmp_path / "r.jsonl", record(), record(seed=1, status="failed"))
    other = write(tmp_path / "2.jsonl", record(seed=2))
    request.getfixturevalue("full_disk")
    with RecordFile(path, MADE_BY) as file, pytest.raises(OSError, match="No space left"):
        file.drop_failures({key_of(record(seed=1))})
    with pytest.raises(OSError, match="No space left"):
        merge([path, other], path)
    assert [each["seed"] for each in read_records(path)] == [0, 1]


def test_files_of_one_commit_are_joined(tmp_path: pathlib.Path) -> None:
    shared = record(seed=1)
    one = write(tmp_path / "1.jsonl", record(), shared)
    other = write(tmp_path / "2.jsonl", shared, record(seed=2))
    assert len(merge([one, other], tmp_path / "all.jsonl")) == 3
    assert [each["seed"] for each in read_records(tmp_path / "all.jsonl")] == [0, 1, 2]


def test_a_file_may_be_joined_into_itself(tmp_path: pathlib.Path) -> None:
    one = write(tmp_path / "1.jsonl", record())
    other = write(tmp_path / "2.jsonl", record(seed=1))
    merge([one, other], one)
    assert len(read_records(one)) == 2


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (record(seed=1, commit="d" * 40), "2.jsonl: is of commit dddd.*, and .*1.jsonl of cccc"),
        (record(cycles=1), "2.jsonl: another record of .* is in another file"),
    ],
)
def test_files_that_do_not_belong_together_are_not_joined(
    tmp_path: pathlib.Path, other: dict[str, Any], message: str
) -> None:
    files = [write(tmp_path / "1.jsonl", record()), write(tmp_path / "2.jsonl", other)]
    with pytest.raises(UsageError, match=message):
        merge(files, tmp_path / "all.jsonl")
    assert not (tmp_path / "all.jsonl").exists()


def test_a_missing_file_is_not_joined(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match=r"absent.jsonl: no such file of records"):
        merge([tmp_path / "absent.jsonl"], tmp_path / "all.jsonl")
