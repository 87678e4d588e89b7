"""Reads the table of rooms in docs/architecture.md, and the includes of the C++ sources.

A room is a folder with C++ sources. Generated headers belong to the room of their source:
"mallocmuzero/..." to proto, "onnx/..." to third_party/onnx, "pjrt/..." to third_party/pjrt.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- rooms: begin -->"
END = "<!-- rooms: end -->"

# Rooms by the first part of an include, where it is not the folder itself.
_PREFIXES = {"mallocmuzero": "proto", "onnx": "third_party/onnx", "pjrt": "third_party/pjrt"}

# Rooms without C++ sources of the project.
_WITHOUT_SOURCES = frozenset(_PREFIXES.values())

_INCLUDE = re.compile(r'^#include "([^"]+)/[^"/]+"', re.MULTILINE)
_ROW = re.compile(r"\| `([^`]+)` \|(.*)\|")

Rooms = dict[str, set[str]]  # a room, and the rooms whose headers it includes


def read_table(text: str) -> Rooms:
    """Returns the rows between the two marks; raises ValueError if the marks are missing."""
    rows = text[text.index(BEGIN) : text.index(END)].splitlines()
    matches = [match for match in (_ROW.fullmatch(row) for row in rows) if match]
    return {match[1]: set(re.findall(r"`([^`]+)`", match[2])) for match in matches}


def write_table(text: str, rooms: Rooms) -> str:
    """Returns the document with `rooms` as its table, in their order."""
    rows = [
        f"| `{room}` | {', '.join(f'`{name}`' for name in sorted(rooms[room]))} |" for room in rooms
    ]
    table = "\n".join(["| room | includes |", "| --- | --- |", *rows]).replace("|  |", "| |")
    head, tail = text[: text.index(BEGIN)], text[text.index(END) :]
    return f"{head}{BEGIN}\n{table}\n{tail}"


def read_includes(root: Path = ROOT) -> Rooms:
    """Returns the rooms of all tracked sources that are no tests, with their includes."""
    command = ["git", "ls-files", "*.cc", "*.h"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    rooms: Rooms = {room: set() for room in _WITHOUT_SOURCES}
    for name in listed.stdout.splitlines():
        path = root / name
        room = str(Path(name).parent)
        if _is_test(Path(name)) or not path.is_file():
            continue
        found = (_room_of(folder, root) for folder in _INCLUDE.findall(path.read_text("utf-8")))
        rooms.setdefault(room, set()).update(name for name in found if name not in (None, room))
    return rooms


def find_cycle(rooms: Rooms) -> list[str]:
    """Returns the rooms of one cycle, the first one twice; empty if there is none."""
    done: set[str] = set()

    def visit(room: str, path: list[str]) -> list[str]:
        if room in path:
            return [*path[path.index(room) :], room]
        if room in done:
            return []
        for name in sorted(rooms.get(room, ())):
            if cycle := visit(name, [*path, room]):
                return cycle
        done.add(room)
        return []

    return next((cycle for room in rooms if (cycle := visit(room, []))), [])


def is_test_support(room: str) -> bool:
    """Whether a folder holds helpers of tests, which need no row."""
    return room.endswith("/testing")


def _is_test(path: Path) -> bool:
    """Whether a source is a test, a benchmark or a helper of tests, or foreign."""
    return (
        path.parts[0] in ("tests", "third_party")
        or "testing" in path.parts
        or path.stem.endswith(("_test", "_benchmark"))
        or path.name.startswith("test_")
    )


def _room_of(folder: str, root: Path) -> str | None:
    """Returns the room of an included header by its folder; None for a header of a package."""
    room = _PREFIXES.get(folder.split("/")[0], folder)
    return room if (root / room).is_dir() else None
