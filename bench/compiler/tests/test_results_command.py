"""results.py as a command: exit codes, messages, tables without a compiler."""

from __future__ import annotations

import json
import pathlib

import pytest
import results
from mallocmuzero_xla.errors import MissingCompilerError


def test_results_need_folders_or_only_render(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(results, "require_compiler", lambda: None)
    output, table = str(tmp_path / "r.jsonl"), tmp_path / "results.md"
    assert results.main(["--output", output]) == 2
    assert "expected --workloads" in capsys.readouterr().err
    pathlib.Path(output).touch()
    arguments = ["--output", output, "--markdown", str(table), "--render-only"]
    assert results.main(arguments) == 0
    assert table.read_text(encoding="utf-8").startswith("# Results")


def test_tables_without_a_file_are_printed(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "r.jsonl"
    head = {"chip": "tpu_v4i", "family": "x", "split": "test", "contended": True}
    found = {"solver": "greedy", "total_cycles": 95.0, "default_cycles": 100.0}
    line = {**head, **found, "kind": "solve", "program": "p", "program_sha256": ""}
    records.write_text(f"{json.dumps(line)}\n", encoding="utf-8")
    assert results.main(["--output", str(records), "--render-only"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# Results\n")
    assert "| p | x | test | yes | 0.000 | 5.00 % |" in shown


def test_records_that_are_not_there_are_not_rendered(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, table = tmp_path / "absent.jsonl", tmp_path / "results.md"
    arguments = ["--output", str(output), "--markdown", str(table), "--render-only"]
    assert results.main(arguments) == 2
    assert f"{output}: no such file of records" in capsys.readouterr().err
    assert not table.exists()


def test_results_are_rendered_without_a_compiler(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise MissingCompilerError("jax not installed")

    monkeypatch.setattr(results, "require_compiler", missing)
    records = tmp_path / "r.jsonl"
    records.write_text("", encoding="utf-8")
    table = tmp_path / "r.md"
    more = ["--render-only", "--markdown", str(table)]
    assert results.main(["--output", str(records), *more]) == 0
    assert table.read_text(encoding="utf-8").startswith("# Results")
