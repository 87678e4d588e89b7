"""Draws the picture of docs/architecture.md: python3 docs/architecture/make_figure.py.

Each C++ folder of the document's table is a box. It stands one floor above the highest folder that
it includes; within a floor the boxes have the order of the table. A floor has several lines if its
boxes do not fit beside each other. An arrow is left out if a path of other arrows leads to the same
folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "mallocgame"), str(HERE.parents[1] / "tests" / "architecture")]

from figure import BLUE, FREE, GREEN, INK, KEEP, MUTED, OCHRE, PLAIN, Paint, Point, Svg  # noqa: E402
from rooms import DOCUMENT, Rooms, is_test_support, read_table  # noqa: E402

_WIDTH, _MARGIN, _FLOOR, _LINE, _HEIGHT = 1180, 16, 78, 46, 30
_LEAST_GAP = 24  # between two boxes

_SIMULATOR: Paint = ("#e3eefb", BLUE)
_LEARNING: Paint = ("#fdf0d5", OCHRE)
_PAINTS = {
    "proto": PLAIN,
    "hardware": PLAIN,
    "base": PLAIN,
    "third_party": PLAIN,
    "simulator": _SIMULATOR,
    "view": _SIMULATOR,
    "compiler": _SIMULATOR,
    "optimize": _SIMULATOR,
    "env": KEEP,
    "cli": FREE,
    "bench": FREE,
    "tools": FREE,
}
_LEGEND = (
    (PLAIN, "shared", 100.0),
    (_SIMULATOR, "programs, placements and the compiler", 300.0),
    (KEEP, "the game and its solvers", 205.0),
    (_LEARNING, "networks, learning, the cluster", 245.0),
    (FREE, "commands", 0.0),
)


# Arrows that are no includes: the package runs the binary, and text protos are built into the code.
_OTHER_ARROWS = {("tools/xla", "cli"), ("simulator/core", "hardware")}


def read_rooms() -> Rooms:
    """Returns the table without helpers of tests, and with the folders of _OTHER_ARROWS."""
    table = read_table(DOCUMENT.read_text("utf-8"))
    rooms = {
        room: {name for name in names if not is_test_support(name)} for room, names in table.items()
    }
    rooms["hardware"] = set()
    for room, name in _OTHER_ARROWS:
        rooms.setdefault(room, set()).add(name)
    return rooms


def reachable(rooms: Rooms, room: str) -> set[str]:
    """Returns all rooms below a room."""
    return rooms[room].union(*(reachable(rooms, name) for name in rooms[room]))


def direct(rooms: Rooms, room: str) -> set[str]:
    """Returns the included rooms that no other included room reaches."""
    names = rooms[room]
    return {name for name in names if not any(name in reachable(rooms, other) for other in names)}


def floor_of(rooms: Rooms, room: str) -> int:
    """Returns the floor of a room; 0 includes nothing."""
    return 1 + max((floor_of(rooms, name) for name in rooms[room]), default=-1)


def width_of(room: str) -> float:
    """Returns the width of a room's box."""
    return 8.0 * len(room) + 22


def gap_of(line: list[str]) -> float:
    """Returns the space between two boxes of a line."""
    return (_WIDTH - 2 * _MARGIN - sum(map(width_of, line))) / (len(line) + 1)


def lines_of(rooms: list[str]) -> list[list[str]]:
    """Divides the rooms of a floor into as few lines as have room for their boxes."""
    count = 1
    while True:
        lines = [rooms[first::count] for first in range(count)]
        if min(map(gap_of, lines)) >= _LEAST_GAP:
            return lines
        count += 1


def places_of(line: list[str], y: float) -> dict[str, tuple[Point, float]]:
    """Returns the corner and the width of each box of a line, which begins at the height `y`."""
    places: dict[str, tuple[Point, float]] = {}
    gap = gap_of(line)
    x = _MARGIN + gap
    for room in line:
        places[room] = ((x, y), width_of(room))
        x += width_of(room) + gap
    return places


def draw() -> Svg:
    """Draws all rooms and arrows."""
    rooms = read_rooms()
    floors: dict[int, list[str]] = {}
    for room in rooms:
        floors.setdefault(floor_of(rooms, room), []).append(room)
    places: dict[str, tuple[Point, float]] = {}
    y = float(_MARGIN)
    for floor in sorted(floors, reverse=True):
        lines = lines_of(floors[floor])
        for line in lines:
            places.update(places_of(line, y))
            y += _LINE
        y += _FLOOR - _LINE
    height = y + _MARGIN + 20
    svg = Svg(_WIDTH, height, "The folders of the project and what they include")
    for room in rooms:
        for name in sorted(direct(rooms, room)):
            (x0, y0), w0 = places[room]
            (x1, y1), w1 = places[name]
            dash = "5,4" if (room, name) in _OTHER_ARROWS else ""
            ends = [(x0 + w0 / 2, y0 + _HEIGHT), (x1 + w1 / 2, y1 - 1)]
            colour = _PAINTS.get(room.split("/")[0], _LEARNING)[1]
            arrow = colour if colour in (BLUE, GREEN, OCHRE) else INK
            svg.line(ends, arrow, width=1.0, dash=dash, arrow=True)
    for room, ((x, y), width) in places.items():
        svg.rect((x, y, width, _HEIGHT), _PAINTS.get(room.split("/")[0], _LEARNING), radius=4)
        svg.text((x + width / 2, y + 20), room, anchor="middle", size=13)
    svg.legend((_MARGIN, height - 12), _LEGEND)
    svg.text((_WIDTH - _MARGIN, height - 12), "dashed: no include", anchor="end", fill=MUTED)
    return svg


if __name__ == "__main__":
    draw().save(HERE / "rooms.svg")
