"""The measurement of sharded programs says what is wrong with its request."""

from __future__ import annotations

import pathlib
import types
from typing import Any

import pytest
import sharded
from mallocmuzero_xla.errors import UsageError


@pytest.mark.parametrize("words", [["--chip", "tpu_v9"], ["--only", "absent*"]])
def test_request_without_a_program_is_bad_usage(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sharded.main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("sharded.py: no program is for ")


def test_the_result_of_an_earlier_search_is_not_a_new_measurement(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chip = types.SimpleNamespace(name="tpu_v6e", topology_name="v6e:2x4")
    built = types.SimpleNamespace(fn=None, args=(), jit_options={})
    monkeypatch.setattr(sharded, "load_registry", lambda _: {"p": None})
    monkeypatch.setattr(sharded, "find_chip", lambda _: chip)
    monkeypatch.setattr(sharded, "chip_of", lambda *_: chip)
    monkeypatch.setattr(sharded, "build_registered", lambda *_: built)
    for name in ("captures", "options", "placed"):
        (tmp_path / "p" / name).mkdir(parents=True)

    def search(*_: Any, cache_dir: pathlib.Path, **__: Any) -> None:
        raise UsageError(f"has {[entry.name for entry in cache_dir.iterdir()]}")

    monkeypatch.setattr(sharded, "optimize", search)
    with pytest.raises(UsageError, match=r"has \['captures'\]"):
        sharded.measure("p", "tpu_v6e", "1m", True, tmp_path)
