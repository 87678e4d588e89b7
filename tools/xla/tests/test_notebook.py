"""The notebook runs from top to bottom.

The short form uses the real binary and recorded texts of the compiler. The long form compiles with
libtpu.
"""

from __future__ import annotations

import importlib.util
import pathlib
import sys
import types
from typing import Any

import pytest
from conftest import replace_compiler
from notebooks import cells_of, python_blocks, run_cells
from placed_world import needs_jax, on_cpu

from mallocmuzero_xla import load_artefact
from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.errors import UsageError

pytestmark = [needs_jax, pytest.mark.checks_version]

ROOT = pathlib.Path(__file__).parents[3]
NOTEBOOK = ROOT / "tools/xla/examples/optimize.ipynb"
# So many trial compiles suffice for all settings and a round of overrides; a busy machine has a
# minute for them.
SHORT = {'budget="5m"': "budget=Budget(60.0, trial_compiles=16), progress=False"}
RECORDED = pathlib.Path(__file__).with_name("recorded") / "rank"


class Picture:
    """Stands in for IPython.display.SVG."""

    def __init__(self, filename: str) -> None:
        self.text = pathlib.Path(filename).read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def kernel(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and the modules that a notebook finds."""
    try:
        binary = find_binary()
    except UsageError as error:
        pytest.skip(str(error))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(binary))
    monkeypatch.setenv("PATH", f"{binary.parent}:/usr/bin:/bin")
    display = types.ModuleType("IPython.display")
    monkeypatch.setattr(display, "SVG", Picture, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)


@pytest.fixture
def recorded_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts recorded texts in place of the compile processes."""
    on_cpu(monkeypatch)
    child = str(pathlib.Path(__file__).with_name("recorded_child.py"))
    replace_compiler(monkeypatch, child, RECORDED)


def names() -> dict[str, Any]:
    """Returns the variables before the first cell."""
    return {"__name__": "__main__", "Budget": Budget}


def check(variables: dict[str, Any], shown: list[Any], output: str) -> None:
    found = variables["found"]
    assert f"gain       {found.gain:12.2%}" in output
    artefact = load_artefact("rank.json")
    assert artefact.compiler_options == found.compiler_options
    assert artefact.chip == "tpu_v6e"
    if found.mapping:
        (picture,) = shown
        assert picture.text.startswith("<svg")
        assert "default (the compiler" in picture.text
    # This machine has no TPU, so the function runs by default and tells why.
    assert variables["scores"].shape == (16,)
    assert "found for tpu_v6e, here is" in variables["fast"].reason


@pytest.mark.usefixtures("recorded_compiler")
def test_notebook_runs_with_recorded_texts(capsys: pytest.CaptureFixture[str]) -> None:
    variables, shown = run_cells(cells_of(NOTEBOOK), SHORT, names())
    found = variables["found"]
    # The recorded text of a compile under overrides takes 1,041,747 cycles, the default 1,068,673.
    assert found.gain == pytest.approx(1 - 1_041_747 / 1_068_673)
    assert found.mapping is not None
    check(variables, shown, capsys.readouterr().out)


@pytest.mark.usefixtures("recorded_compiler")
def test_python_of_the_readme_and_the_tutorial_runs() -> None:
    """Runs the blocks in order, with the function of the notebook and without donation."""
    variables = run_cells(cells_of(NOTEBOOK)[:1], {}, names())[0]
    variables |= {"step": variables["rank"], "x": variables["features"]}
    short = {**SHORT, ", donate_argnums=0": ""}
    for document in ("README.md", "docs/first-result.md"):
        for cell in python_blocks(ROOT / document):
            if "apply(" not in cell and "optimize(" not in cell:
                continue
            # The last line of the tutorial calls the function, which has other results here.
            cell = cell.replace("weights, y = fast(weights, x)", "")
            run_cells([cell], short, variables)
    assert variables["found"].from_cache  # the README's call found the result
    assert variables["fast"].artefact is None
    assert load_artefact("step.json").gain == pytest.approx(variables["found"].gain)


@pytest.mark.compiler
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="libtpu not installed")
def test_notebook_runs_with_the_real_compiler(capsys: pytest.CaptureFixture[str]) -> None:
    variables, shown = run_cells(cells_of(NOTEBOOK), {})
    check(variables, shown, capsys.readouterr().out)
