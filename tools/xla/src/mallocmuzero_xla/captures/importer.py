"""Calls `mallocmuzero import` on captured texts."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Mapping

import zstandard

from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.compiler.variants import ALL_HBM, DEFAULT
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.processes import run_with_this_process


def import_program(
    hlo: Mapping[str, str],
    hardware: str,
    output: pathlib.Path,
    fast_memory_bytes: int | None = None,
) -> str:
    """Writes the program file `output` from texts by variant name; returns the binary's report.

    `fast_memory_bytes` is the fast memory for tensors; None for the size in the hardware file.

    Raises:
        UsageError: there is no binary, or one of another version.
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
        result = run_with_this_process(command)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or ["no message"]
        raise CaptureError(f"mallocmuzero import failed ({result.returncode}): {lines[-1]}")
    return result.stdout


def _flag(variant: str) -> str:
    return {ALL_HBM: "--all-hbm", DEFAULT: "--default"}.get(variant, "--sample")
