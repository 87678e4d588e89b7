"""Processes that capture one program into one folder keep what the others have captured."""

from __future__ import annotations

import dataclasses
import errno
import functools
import json
import pathlib
import threading
import types
from typing import Any

import pytest
from conftest import VERSIONS

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.store import (
    RECORD,
    CaptureStore,
    read_text,
    stem_of,
    write_atomically,
    write_together,
)
from mallocmuzero_xla.compiler.variants import Variant
from mallocmuzero_xla.errors import UsageError

PROGRAM = LoweredProgram("f", "v4 lite:1x1", (0,), b"", b"", {}, "1" * 64)
DEFAULT, ALL_HBM, SAMPLE = (Variant(name) for name in ("default", "all_hbm", "sample_0"))


@pytest.fixture(autouse=True)
def versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mallocmuzero_xla.compiler.store.compiler_versions", lambda: VERSIONS)


def store(folder: pathlib.Path) -> CaptureStore:
    return CaptureStore(folder, "f", CHIPS["tpu_v4i"])


def recorded(folder: pathlib.Path) -> tuple[set[str], set[str]]:
    """Returns the captured variants and the failures in the file."""
    fields = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    return set(fields["variants"]), set(fields["failures"])


def test_texts_of_two_processes_are_both_recorded(tmp_path: pathlib.Path) -> None:
    one, other = store(tmp_path), store(tmp_path)
    one.begin(PROGRAM)
    other.begin(PROGRAM)
    one.add_text(DEFAULT, "HloModule default", 1.0)
    other.add_failure(SAMPLE, {}, "refused")
    other.add_text(ALL_HBM, "HloModule all_hbm", 1.0)
    one.add_text(SAMPLE, "HloModule sample", 1.0)
    assert recorded(tmp_path) == ({"default", "all_hbm", "sample_0"}, set())
    assert other.has(DEFAULT)
    assert one.has(ALL_HBM)


def test_texts_that_are_recorded_at_the_same_moment_are_both_recorded(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = store(tmp_path), store(tmp_path)
    one.begin(PROGRAM)
    other.begin(PROGRAM)
    threads: list[threading.Thread] = []

    def write(path: pathlib.Path, content: bytes) -> None:
        if path.name == RECORD and not threads:
            # The other one may record now, or waits until this record is written.
            add = functools.partial(other.add_failure, SAMPLE, {}, "refused")
            threads.append(threading.Thread(target=add))
            threads[0].start()
            threads[0].join(0.5)
        write_atomically(path, content)

    monkeypatch.setattr("mallocmuzero_xla.compiler.store.write_atomically", write)
    one.add_text(DEFAULT, "HloModule default", 1.0)
    threads[0].join()
    assert recorded(tmp_path) == ({"default"}, {"sample_0"})


def test_process_that_begins_later_keeps_the_texts(tmp_path: pathlib.Path) -> None:
    one, other = store(tmp_path), store(tmp_path)
    one.begin(PROGRAM)
    one.add_text(DEFAULT, "HloModule default", 1.0)
    other.begin(PROGRAM)
    assert one.read(DEFAULT) == other.read(DEFAULT) == "HloModule default"


def test_damaged_text_is_not_taken_from_the_record(tmp_path: pathlib.Path) -> None:
    first = store(tmp_path)
    first.begin(PROGRAM)
    first.add_text(DEFAULT, "HloModule default", 1.0)
    first.add_text(SAMPLE, "HloModule sample", 1.0)
    path = first.path(SAMPLE)
    path.write_bytes(path.read_bytes()[:-4])
    second = store(tmp_path)
    second.begin(PROGRAM)
    assert (second.has(DEFAULT), second.has(SAMPLE)) == (True, False)
    assert recorded(tmp_path) == ({"default"}, set())


def test_text_that_claims_to_be_huge_is_damaged(tmp_path: pathlib.Path) -> None:
    first = store(tmp_path)
    first.begin(PROGRAM)
    first.add_text(DEFAULT, "HloModule default", 1.0)
    # The head of a zstd frame of one segment, with its size in eight bytes: 2^60.
    huge = bytes.fromhex("28b52ffd e0") + (1 << 60).to_bytes(8, "little")
    first.path(DEFAULT).write_bytes(huge)
    with pytest.raises(UsageError, match=r"default\.hlo\.zst: not a captured text .more than"):
        read_text(first.path(DEFAULT))
    assert not store(tmp_path).has(DEFAULT)


def test_text_that_another_process_has_removed_is_no_error(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = store(tmp_path)
    first.begin(PROGRAM)
    first.add_text(DEFAULT, "HloModule default", 1.0)
    listed = pathlib.Path.glob

    def removed_meanwhile(folder: pathlib.Path, pattern: str) -> list[pathlib.Path]:
        found = list(listed(folder, pattern))
        for path in found:
            path.unlink()
        return found

    monkeypatch.setattr(pathlib.Path, "glob", removed_meanwhile)
    store(tmp_path).begin(dataclasses.replace(PROGRAM, sha256="2" * 64))
    assert recorded(tmp_path) == (set(), set())


def test_record_with_too_many_brackets_is_not_json(tmp_path: pathlib.Path) -> None:
    (tmp_path / RECORD).write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(UsageError, match=r"capture\.json: not JSON .* remove it to capture anew"):
        store(tmp_path)


@pytest.mark.parametrize("content", ["[]", "null", '{"variants": []}', "{}"])
def test_record_of_something_else_is_a_usage_error(tmp_path: pathlib.Path, content: str) -> None:
    (tmp_path / RECORD).write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"capture\.json: not a record of captured texts: remove"):
        store(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        {"variants": {"default": None}},
        {"variants": {"default": {"seconds": "long"}}},
        {"failures": {"default": {}}},
        {"fast_memory_bytes": "many"},
    ],
)
def test_entries_of_something_else_are_damage(
    tmp_path: pathlib.Path, damage: dict[str, object]
) -> None:
    first = store(tmp_path)
    first.begin(PROGRAM)
    whole = json.loads((tmp_path / RECORD).read_text(encoding="utf-8"))
    (tmp_path / RECORD).write_text(json.dumps(whole | damage), encoding="utf-8")
    with pytest.raises(UsageError, match=r"capture\.json: damaged: remove it to capture anew"):
        store(tmp_path)
    # A process that has the record goes on, and writes a whole one.
    first.add_text(DEFAULT, "HloModule default", 1.0)
    assert store(tmp_path).seconds(DEFAULT) == 1.0


@pytest.mark.parametrize(
    ("function", "stem"), [("step", "step"), ("<lambda> a/b", "_lambda__a_b"), ("", "function")]
)
def test_names_of_files_begin_with_that_of_the_function(function: str, stem: str) -> None:
    assert stem_of(dataclasses.replace(PROGRAM, function=function)) == stem
    longest = stem_of(dataclasses.replace(PROGRAM, function="f" * 300))
    # While a file is written, its name has 40 bytes more at most.
    assert len(f"{longest}-{'0' * 64}-own-limit-own-assignment-placed.json") + 40 < 256


def test_writing_follows_no_link_that_others_have_made(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "mallocmuzero_xla.compiler.store.secrets.token_hex", lambda size: "0" * size
    )
    other = tmp_path / "other"
    other.write_bytes(b"kept")
    (tmp_path / ".a.json.00000000").symlink_to(other)
    with pytest.raises(FileExistsError, match=r"a\.json"):
        write_atomically(tmp_path / "a.json", b"new")
    assert other.read_bytes() == b"kept"


def test_link_of_another_user_in_a_folder_for_all_is_not_followed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, target = tmp_path / "tmp", tmp_path / "target"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "link").symlink_to(target)
    write_atomically(shared / "link", b"own")
    assert target.read_bytes() == b"own"
    monkeypatch.setattr("os.geteuid", lambda: shared.stat().st_uid + 1)
    monkeypatch.setattr(pathlib.Path, "stat", _of_root(pathlib.Path.stat))
    with pytest.raises(PermissionError, match="a link of another user"):
        write_atomically(shared / "link", b"theirs")
    assert target.read_bytes() == b"own"


def _of_root(stat: Any) -> Any:
    """Returns `stat` for a folder that belongs to a third user; a link is as it is."""

    def changed(path: pathlib.Path, **options: Any) -> Any:
        found = stat(path, **options)
        if options:
            return found
        return types.SimpleNamespace(st_mode=found.st_mode, st_uid=found.st_uid + 2)

    return changed


def test_open_file_of_this_process_is_written_to_where_it_stands(tmp_path: pathlib.Path) -> None:
    # A shell redirects an output so: --output /dev/stdout >> file
    path, link = tmp_path / "redirected", tmp_path / "link"
    path.write_bytes(b"before\n")
    with path.open("ab") as stream:
        link.symlink_to(f"/dev/fd/{stream.fileno()}")
        write_atomically(link, b"first\n")
        write_atomically(pathlib.Path(f"/proc/self/fd/{stream.fileno()}"), b"second\n")
    assert path.read_bytes() == b"before\nfirst\nsecond\n"


def test_a_link_into_a_folder_that_is_not_there_is_written(tmp_path: pathlib.Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "missing" / "file")
    write_atomically(link, b"1")
    assert link.is_symlink()
    assert link.read_bytes() == b"1"


def test_what_is_written_is_on_the_disk_before_it_has_its_name(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    path = tmp_path / "a.json"
    monkeypatch.setattr("os.fsync", lambda descriptor: seen.append(path.exists()))
    write_atomically(path, b"new")
    assert seen == [False]
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_files_that_belong_together_stay_together(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "new" / "other"
    write_together({one: b"1", other: b"1"})

    def full(path: pathlib.Path, content: bytes) -> None:
        path.write_bytes(content[:0])
        if path.parent == other.parent:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mallocmuzero_xla.compiler.store._write_to_disk", full)
    with pytest.raises(OSError, match=r"No space left on device: .*/new/other"):
        write_together({one: b"2", other: b"2"})
    assert (one.read_bytes(), other.read_bytes()) == (b"1", b"1")
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["new", "one", "other"]
