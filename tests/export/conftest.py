"""The binary, the interpreters and the exports that the tests share.

MALLOCMUZERO_BINARY names the binary.
MALLOCMUZERO_EXPORT_SAMPLES is the number of recorded decisions.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "model" / "export" / "examples"
CHECKPOINT = ROOT / "model" / "generalist.checkpoint"
PROGRAM = ROOT / "workloads" / "tpu_v4i" / "axial_2x256_b6x128.program"
SAMPLES = int(os.environ.get("MALLOCMUZERO_EXPORT_SAMPLES", "64"))

# The programs that are played; with as many samples as scripts/test-all asks for, those of a chip.
LONG = sorted((ROOT / "workloads" / "tpu_v6e").glob("*.program"))
PROGRAMS = [PROGRAM, *LONG] if SAMPLES >= 1000 else [PROGRAM]


@dataclass
class Export:
    """An export of the generalist, and the interpreter that has its runtime."""

    format: str
    folder: Path
    python: str


def binary() -> str:
    """Returns the path of mallocmuzero."""
    return os.environ.get("MALLOCMUZERO_BINARY", str(ROOT / "build" / "bin" / "mallocmuzero"))


def run(*arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs mallocmuzero with `text` as its stdin."""
    command = [binary(), *map(str, arguments)]
    return subprocess.run(command, input=text or "", capture_output=True, text=True, check=False)


def run_example(export: Export, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of the examples on an export."""
    command = [export.python, str(EXAMPLES / script), str(export.folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def python_with(module: str) -> str:
    """Returns this interpreter or Debian's, whichever has the module."""
    # An import of torch takes seconds.
    has = f"import importlib.util, sys; sys.exit(not importlib.util.find_spec({module!r}))"
    for python in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run([python, "-c", f"import numpy; {has}"], capture_output=True)
        if done.returncode == 0:
            return python
    pytest.fail(f"neither {sys.executable} nor /usr/bin/python3 has {module} and numpy")


@pytest.fixture(scope="session", params=["onnx", "torchscript"])
def export(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Export:
    """An export in each format, with samples of two chips."""
    folder = tmp_path_factory.mktemp("export") / request.param
    programs = [
        ROOT / "workloads" / "tpu_v4i" / "axial_2x256_b6x128.program",
        ROOT / "workloads" / "tpu_v6e" / "gpt_4x1024_b16x512.program",
    ]
    arguments: list[str | Path] = ["export", "--checkpoint", CHECKPOINT]
    arguments += ["--format", request.param, "--output", folder]
    arguments += ["--sample-programs", *programs, "--samples", str(SAMPLES)]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    module = "onnxruntime" if request.param == "onnx" else "torch"
    return Export(request.param, folder, python_with(module))
