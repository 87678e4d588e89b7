"""Lowered programs for fake compile processes, which start often.

An import of the package would take several times as long as all else that such a process does.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any


def write_lowered(path: pathlib.Path, sha256: str) -> None:
    """Writes an empty program, as LoweredProgram.write does."""
    fields: dict[str, Any] = {
        "function": "f",
        "topology_name": "v4 lite:1x1",
        "device_ids": [0],
        "module": "",
        "compile_options": "",
        "base_options": {},
        "sha256": sha256,
    }
    path.write_text(json.dumps(fields), encoding="utf-8")


def base_options_of(path: pathlib.Path) -> dict[str, Any]:
    """Returns the user's compiler options of a program."""
    return dict(json.loads(path.read_text(encoding="utf-8"))["base_options"])
