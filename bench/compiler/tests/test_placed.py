"""The table of placed modules compares each with the default of its own compiler."""

from __future__ import annotations

import json
import pathlib
import stat
from typing import Any

import placed
import pytest
from mallocmuzero_xla.errors import CaptureError, UsageError

PROGRAM = "gpt_4x1024_b16x512"


@pytest.fixture(autouse=True)
def results(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder for records, with what overrides gain on two programs."""
    for name in ("CAPTURED", "LOWERED", "DEFAULTS"):
        monkeypatch.setattr(placed, name, tmp_path / f"{name.lower()}.jsonl")
    monkeypatch.setattr(placed, "RESULTS", tmp_path)
    asked = [
        {"kind": "verify", "chip": "tpu_v6e", "program": name, "verified": {"gain": 0.03}}
        for name in (PROGRAM, "other")
    ]
    write(tmp_path / "tpu_v6e.jsonl", *asked)
    return tmp_path


def write(path: pathlib.Path, *records: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


def record(program: str = PROGRAM, default: float | None = 1000.0, **fields: Any) -> dict[str, Any]:
    """A program of which a placed module takes 900 cycles."""
    rounds = [{"promised_cycles": 900.0, "compiled_cycles": 900.0, "scoped_limit_bytes": 0}]
    report = {"default_cycles": default, "optimized_cycles": 900.0, "rounds": rounds}
    kept = {name: value for name, value in report.items() if value is not None}
    return {"chip": "tpu_v6e", "program": program, "contended": True, "report": kept, **fields}


def default(cycles: float, program: str = PROGRAM, **fields: Any) -> dict[str, Any]:
    return {"chip": "tpu_v6e", "program": program, "default_cycles": cycles, **fields}


def written(folder: pathlib.Path) -> list[str]:
    document = folder / "placed.md"
    document.write_text(f"above\n{placed.BEGIN}\nold\n{placed.END}\nbelow\n", encoding="utf-8")
    placed.write_table(document)
    return document.read_text("utf-8").splitlines()


def test_gains_are_shares_of_the_present_default(results: pathlib.Path) -> None:
    write(placed.CAPTURED, record())
    write(placed.DEFAULTS, default(950.0))
    text = written(results)
    assert "- tpu_v6e, 1 contended programs: 5.26 % placed, 3.00 % by overrides." in text
    assert f"| tpu_v6e | {PROGRAM} | 5.26 | 5.26 | 0 | 3.00 |  |  |" in text


def test_a_program_without_a_present_default_is_named_and_in_no_mean(
    results: pathlib.Path,
) -> None:
    # The capture's default is of another compiler: 10 % would be a gain of two compilers.
    write(placed.CAPTURED, record(), record("other"))
    write(placed.DEFAULTS, default(950.0))
    text = written(results)
    assert "- tpu_v6e, 1 contended programs: 5.26 % placed, 3.00 % by overrides." in text
    assert "- left out, because the present default is not known: tpu_v6e other." in text
    assert not [line for line in text if line.startswith("| tpu_v6e | other")]


def test_a_default_that_does_not_compile_ends_no_table(results: pathlib.Path) -> None:
    write(placed.LOWERED, record(), record("other", default=None))
    text = written(results)
    assert "- tpu_v6e, 1 contended programs: 10.00 % placed, with limits, 3.00 % by overrides." in (
        text
    )


def test_records_of_two_compilers_make_no_table(results: pathlib.Path) -> None:
    write(placed.CAPTURED, record(versions={"libtpu": "2"}))
    write(placed.DEFAULTS, default(950.0, versions={"libtpu": "3"}))
    with pytest.raises(UsageError, match="of different compilers"):
        written(results)


def test_shares_of_nothing_have_no_minus_sign(results: pathlib.Path) -> None:
    write(placed.CAPTURED, record())
    write(placed.DEFAULTS, default(899.9999))
    assert f"| tpu_v6e | {PROGRAM} | 0.00 | 0.00 | 0 | 3.00 |  |  |" in written(results)


def test_a_command_that_dies_without_a_word_is_an_error_of_its_program(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = tmp_path / "binary"
    binary.write_text("#!/bin/sh\nkill -9 $$\n")
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(placed, "find_binary", lambda: binary)
    with pytest.raises(CaptureError, match="optimize: ended with status -9"):
        placed.run_binary("optimize", "--json")


def test_a_loss_of_almost_nothing_has_no_minus_sign() -> None:
    assert placed.percent(-0.001) == "0.00"
    assert placed.percent(-0.01) == "-0.01"
