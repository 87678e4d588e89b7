"""Files of artefacts."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

pytest.importorskip("jax", reason="calls functions on the CPU")

from cpu_artefacts import artefact_of, inputs, make_cpu_a_chip, step

from mallocmuzero_xla.artefacts.artefact import load_artefact
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.runtime.applying import apply


@pytest.fixture(autouse=True)
def cpu_is_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cpu_a_chip(monkeypatch)


def test_saved_artefact_is_read_as_it_was(tmp_path: pathlib.Path) -> None:
    artefact = artefact_of(step, *inputs())
    artefact.save(tmp_path / "a.json")
    assert load_artefact(tmp_path / "a.json") == artefact
    assert artefact.gain == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("kind", "x"), "not an artefact"),
        (("format", 9), "format 9, expected 1"),
        (("compiler_options", {"a": 1}), "damaged artefact"),
        (("compiler_options", []), "damaged artefact .compiler_options is not an object"),
        (("versions", []), "damaged artefact .versions is not an object"),
        (("own_options", [["a", "b"]]), "damaged artefact .own_options is not an object"),
        (("surplus", 1), "damaged artefact"),
        (("expected_cycles", "900"), "damaged artefact .expected_cycles is not a number above 0"),
        (("expected_cycles", None), "damaged artefact .expected_cycles is not a number above 0"),
        (("default_cycles", 0), "damaged artefact .default_cycles is not a number above 0"),
        (("devices", "1"), "damaged artefact .devices is not a whole number above 0"),
        (("default_cycles", 10**400), "damaged artefact .int too large"),
        (("found", []), "damaged artefact .found is not an object"),
        (("executable", {"file": 5, "sha256": "0"}), "executable has something other than texts"),
        (("executable", {"file": "../x", "sha256": "0"}), "executable is not the name of a file"),
        (("executable", {"file": "/tmp/x", "sha256": "0"}), "executable is not the name of a file"),
    ],
)
def test_file_of_something_else_is_refused(
    tmp_path: pathlib.Path, change: tuple[str, Any], message: str
) -> None:
    path = tmp_path / "a.json"
    artefact_of(step, *inputs()).save(path)
    fields = json.loads(path.read_text(encoding="utf-8"))
    fields[change[0]] = change[1]
    path.write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        load_artefact(path)


@pytest.mark.parametrize("content", ["[" * 100_000, "{", "\0"])
def test_file_that_is_no_json_is_refused(tmp_path: pathlib.Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match="not an artefact: not JSON"):
        load_artefact(path)


def test_function_whose_artefact_is_no_json_runs_as_jax_compiles_it(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    apply(step, path)(*inputs())
    assert "not an artefact: not JSON" in caplog.text


def test_folder_is_named_as_one(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match=r"a folder; expected an artefact, a file \.json"):
        load_artefact(tmp_path)
