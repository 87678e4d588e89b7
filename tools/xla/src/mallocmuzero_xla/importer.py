"""Calls `mallocmuzero import` on captured texts."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping

import zstandard

from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.variants import ALL_HBM, DEFAULT

_BINARY_VARIABLE = "MALLOCMUZERO_BINARY"
_BUILD_TREE_BINARY = pathlib.Path("build/bin/mallocmuzero")


def find_binary() -> pathlib.Path:
    """Returns the mallocmuzero binary: MALLOCMUZERO_BINARY, PATH, or build/bin of a folder above.

    "Above" means above the working folder, or above this file in an editable install.
    """
    named = os.environ.get(_BINARY_VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise UsageError(f"{_BINARY_VARIABLE}={named}: no such executable")
        return pathlib.Path(named).resolve()
    on_path = shutil.which("mallocmuzero")
    if on_path:
        return pathlib.Path(on_path)
    for folder in (pathlib.Path.cwd(), *pathlib.Path(__file__).resolve().parents):
        candidate = folder / _BUILD_TREE_BINARY
        if os.access(candidate, os.X_OK):
            return candidate
    raise UsageError(
        f"mallocmuzero not found: build it, then put it on PATH or set {_BINARY_VARIABLE}"
    )


def import_program(
    hlo: Mapping[str, str],
    hardware: str,
    output: pathlib.Path,
    fast_memory_bytes: int | None = None,
) -> str:
    """Writes the program file `output` from texts by variant name; returns the binary's report.

    `fast_memory_bytes` is the fast memory for tensors; None for the size in the hardware file.

    Raises:
        UsageError: there is no binary.
        CaptureError: the binary refused the texts, with its message.
    """
    binary = find_binary()
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as scratch:
        command = [str(binary), "import"]
        for variant, text in hlo.items():
            path = pathlib.Path(scratch) / f"{variant}.hlo.zst"
            path.write_bytes(zstandard.compress(text.encode("utf-8")))
            command += [_flag(variant), str(path)]
        command += ["--hardware", hardware]
        if fast_memory_bytes is not None:
            command += ["--fast-memory-bytes", str(fast_memory_bytes)]
        command += ["--output", str(output)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or ["no message"]
        raise CaptureError(f"mallocmuzero import failed ({result.returncode}): {lines[-1]}")
    return result.stdout


def _flag(variant: str) -> str:
    return {ALL_HBM: "--all-hbm", DEFAULT: "--default"}.get(variant, "--sample")
