"""Saving a program calls the mallocmuzero binary with the texts it was given."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

from mallocmuzero_xla.captures.capture import Captured
from mallocmuzero_xla.errors import CaptureError, UsageError

TEXTS = {"all_hbm": "HloModule a", "default": "HloModule d", "sample_0": "s0", "sample_1": "s1"}
CAPTURED = Captured("f", "tpu_v5e", TEXTS, {})

# Writes its arguments, files as their base names, to the path after --output.
RECORDER = """#!/usr/bin/env python3
import pathlib, sys
arguments = sys.argv[1:]
shown = [pathlib.Path(a).name if pathlib.Path(a).is_file() else a for a in arguments]
pathlib.Path(arguments[-1]).write_text(" ".join(shown))
"""


def install(tmp_path: pathlib.Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "mallocmuzero"
    binary.write_text(source, encoding="utf-8")
    binary.chmod(0o755)
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(binary))


def test_save_passes_every_variant_and_the_hardware(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, RECORDER, monkeypatch)
    output = tmp_path / "p.program"
    CAPTURED.save(output)
    assert output.read_text(encoding="utf-8") == (
        "import --all-hbm all_hbm.hlo.zst --default default.hlo.zst --sample sample_0.hlo.zst "
        f"--sample sample_1.hlo.zst --hardware tpu_v5e --output {output}"
    )


def test_save_passes_what_the_compiler_had_for_tensors(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, RECORDER, monkeypatch)
    output = tmp_path / "p.program"
    dataclasses.replace(CAPTURED, fast_memory_bytes=1024).save(output)
    assert output.read_text(encoding="utf-8").endswith(
        f"--hardware tpu_v5e --fast-memory-bytes 1024 --output {output}"
    )


def test_refusal_of_the_binary_is_passed_on(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "#!/bin/sh\necho d.hlo:3: no entry >&2\nexit 2\n", monkeypatch)
    with pytest.raises(CaptureError, match=r"import failed \(2\): d\.hlo:3: no entry"):
        CAPTURED.save(tmp_path / "p.program")


def test_named_binary_that_is_missing_is_a_usage_error(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(tmp_path / "absent"))
    with pytest.raises(UsageError, match="no such executable"):
        CAPTURED.save(tmp_path / "p.program")


def test_binary_on_the_path_is_found(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, RECORDER, monkeypatch)
    monkeypatch.delenv("MALLOCMUZERO_BINARY")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    CAPTURED.save(tmp_path / "p.program")
    assert (tmp_path / "p.program").is_file()
