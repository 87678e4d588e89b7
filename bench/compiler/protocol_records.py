"""The records of the protocol: a JSON Lines file of one commit, one compiler and one protocol."""

from __future__ import annotations

import fcntl
import json
import pathlib
from collections.abc import Collection, Sequence
from typing import Any

from mallocmuzero_xla.compiler.store import write_atomically
from mallocmuzero_xla.errors import UsageError
from protocol_plan import PROTOCOL

Record = dict[str, Any]
Key = tuple[str, str, str, int, float]

# All records of a file have these fields in common.
MADE_BY = ("protocol", "commit", "versions")


def key_of(record: Record) -> Key:
    """Returns what makes a record one of a run: chip, program, mode, seed and budget."""
    return (
        str(record["chip"]),
        str(record["program"]),
        str(record["mode"]),
        int(record["seed"]),
        float(record["budget_seconds"]),
    )


def read_records(path: pathlib.Path) -> list[Record]:
    """Returns the records of a file, all of one commit; none if there is no file.

    A last line that a killed run has left half written is left out. Raises UsageError for any
    other damage, two records of one run, or records that do not belong together.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    whole = text[: text.rfind("\n") + 1]
    records: dict[Key, Record] = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            record = dict(json.loads(line))
            key = key_of(record)
            made_by = {name: record[name] for name in MADE_BY}
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path}:{number}: not a record ({error!r})") from error
        _check_protocol(record, f"{path}:{number}")
        first = next(iter(records.values()), record)
        _check_alike(first, made_by, f"{path}:{number}", str(path))
        if key in records:
            raise UsageError(f"{path}:{number}: a second record of {key}: remove one of them")
        records[key] = record
    return list(records.values())


def _check_protocol(record: Record, where: str) -> None:
    if record["protocol"] != PROTOCOL:
        raise UsageError(
            f"{where}: is of protocol {record['protocol']}, and this is protocol {PROTOCOL}: "
            f"start a new file"
        )


def _check_alike(first: Record, made_by: Record, where: str, others: str) -> None:
    for name in MADE_BY:
        if first[name] != made_by[name]:
            raise UsageError(
                f"{where}: is of {name} {made_by[name]}, and {others} of {first[name]}: results of "
                f"one protocol come from one commit and one compiler, so start a new file"
            )


class RecordFile:
    """A file that one process appends to; use it in a `with` statement.

    `records` are those so far. Entering raises UsageError as `read_records` does, if the records so
    far were made by something else, and if another process has the file.
    """

    def __init__(self, path: pathlib.Path, made_by: Record) -> None:
        """`made_by` has the fields of MADE_BY for new records."""
        self._path = path
        self._made_by = made_by
        self.records: list[Record] = []

    def __enter__(self) -> RecordFile:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._open()
        try:
            self.records = read_records(self._path)
            if self.records:
                _check_alike(self.records[0], self._made_by, "this run", str(self._path))
            # A killed run may leave half a line; its work is done again.
            self._stream.truncate(self._path.read_bytes().rfind(b"\n") + 1)
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _open(self) -> None:
        self._stream = self._path.open("a", encoding="utf-8")
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._stream.close()
            raise UsageError(f"{self._path}: another process appends to it") from error

    def append(self, record: Record) -> None:
        """Adds a record, with the fields of MADE_BY, to the file at once."""
        record = {**self._made_by, **record}
        self._stream.write(_line(record))
        self._stream.flush()
        self.records.append(record)

    def keys(self) -> set[Key]:
        """Returns the keys of all records."""
        return {key_of(record) for record in self.records}

    def drop_failures(self, keys: Collection[Key]) -> None:
        """Removes the records of those of these runs that failed, so that they run again."""
        self.records = [
            record
            for record in self.records
            if record["status"] == "ok" or key_of(record) not in keys
        ]
        _write(self._path, self.records)
        self._stream.close()
        self._open()


def _line(record: Record) -> str:
    return json.dumps(record, sort_keys=True) + "\n"


def _write(path: pathlib.Path, records: Sequence[Record]) -> None:
    """Replaces a file by one of these records; an interruption loses none of the old ones."""
    write_atomically(path, "".join(_line(record) for record in records).encode("utf-8"))


def merge(paths: Sequence[pathlib.Path], output: pathlib.Path) -> list[Record]:
    """Joins files of one commit; returns all records. `output` may be one of them.

    Raises UsageError if a file is missing, the files do not belong together, or two of them have
    different records of one run.
    """
    merged: dict[Key, Record] = {}
    for path in paths:
        if not path.is_file():
            raise UsageError(f"{path}: no such file of records")
        for record in read_records(path):
            first = next(iter(merged.values()), record)
            _check_alike(first, record, str(path), str(paths[0]))
            known = merged.setdefault(key_of(record), record)
            if known != record:
                raise UsageError(f"{path}: another record of {key_of(record)} is in another file")
    _write(output, [merged[key] for key in sorted(merged)])
    return list(merged.values())
