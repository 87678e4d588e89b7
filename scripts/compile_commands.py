"""Prints a compile_commands.json with an entry for each source that the build compiles in a batch.

    scripts/compile_commands.py build/compile_commands.json

A batch is a file of #include lines (mmz_batches in cmake/Targets.cmake). Entries have no
precompiled headers.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_PRECOMPILED = re.compile(r" -include \S*cmake_pch\.hxx")


def _entries(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the entry, or one for each source of its batch."""
    path = pathlib.Path(entry["file"])
    command = _PRECOMPILED.sub("", entry["command"])
    if path.parent.name != "batches":
        yield {**entry, "command": command}
        return
    for name in re.findall(r'#include "(.*)"', path.read_text(encoding="utf-8")):
        source = str(_ROOT / name)
        yield {**entry, "command": command.replace(str(path), source), "file": source}


def main() -> None:
    """Reads the file that the argument names."""
    entries = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps([found for entry in entries for found in _entries(entry)], indent=0))


if __name__ == "__main__":
    main()
