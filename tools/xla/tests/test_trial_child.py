"""The process of trial compiles, with a fake compiler."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler import trial_child
from mallocmuzero_xla.compiler.lowering import LoweredProgram


@pytest.fixture(autouse=True)
def open_stdin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stdin that cannot be read: else the process takes its parent for ended."""
    read, write = os.pipe()
    with os.fdopen(read) as stdin, os.fdopen(write, "w"):
        monkeypatch.setattr("sys.stdin", stdin)
        yield


def compile_and_dump(*_: Any) -> str:
    """Writes the files of libtpu's dump where the flags say, and compiles on without an end."""
    flags = os.environ["LIBTPU_INIT_ARGS"].split()
    (found,) = (each for flag in flags if (each := re.fullmatch("--xla_jf_dump_to=(.*)", flag)))
    folder = pathlib.Path(found[1])
    (folder / "1-TLP-hlo.txt").write_text("HloModule placed", encoding="utf-8")
    (folder / "2-TLP-00-deduplication-map.txt").touch()
    signal.pause()
    return ""


@pytest.mark.parametrize("name", ["dump", "a folder of Ren\u00e9"])
def test_text_of_the_dump_is_the_result_whatever_the_name_of_its_folder(
    name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoweredProgram, "read", lambda _: None)
    monkeypatch.setattr(trial_child, "readable_text", compile_and_dump)
    output = tmp_path / "trial.hlo"
    chip = dataclasses.asdict(CHIPS["tpu_v6e"])
    job = {"dump": str(tmp_path / name), "output": str(output), "program": "p", "chip": chip}
    answer = trial_child.run_trial({**job, "options": {}})
    assert (answer["error"], answer["lost"]) == (None, False)
    assert output.read_text(encoding="utf-8") == "HloModule placed"
