"""Draws the pictures of docs/mallocgame.md: python3 docs/mallocgame/make_figures.py.

The numbers are those of the worked example there and of its section on places. The same script
gives the same files, byte for byte.
"""

from __future__ import annotations

from pathlib import Path

from figure import (
    BLUE,
    COPY,
    FREE,
    GREEN,
    GREY,
    GRID,
    INK,
    KEEP,
    MUTED,
    OCHRE,
    OUT,
    PALE,
    PLAIN,
    RESERVED,
    Paint,
    Point,
    Svg,
)


def draw_points() -> Svg:
    """What happens around an instruction, and from where to where bytes are taken."""
    svg = Svg(920, 500, "Points in time around instruction i")
    left, point, body, top, bottom = 196, 150, 148, 20, 484
    at = [left + k * (point + body) for k in range(3)]
    run = [x + point for x in at]
    edge = 912
    steps = [
        "1. wait for write-backs",
        "2. queue copies",
        "3. wait for those that",
        "     are needed at once",
    ]
    for k, name in enumerate(("i", "i + 1", "i + 2")):
        svg.rect((at[k], top, min(point, edge - at[k]), 106), PLAIN)
        svg.text((at[k] + 9, top + 21), f"point {name}", bold=True, size=13)
        for x in (at[k], run[k]):
            if x < edge:
                svg.line([(x, top + 106), (x, bottom)], GRID, dash="3,3")
        if k == 2:
            continue
        for row, words in enumerate(steps):
            indent = 15 if words.startswith(" ") else 0
            svg.text((at[k] + 9 + indent, top + 44 + 16 * row), words.strip(), size=11)
        svg.rect((run[k], top, body, 106), (PALE, GREY))
        svg.text((run[k] + 9, top + 21), f"instruction {name}", bold=True, size=13)
        words = "reads, then writes;\ncopies move by the\nbandwidth it leaves"
        svg.text((run[k] + 9, top + 44), words, size=11)
    svg.text((16, top + 21), "time", bold=True, size=13)
    svg.line([(58, top + 17), (left - 14, top + 17)], INK, arrow=True)
    svg.text((16, top + 50), "The accesses of i are\ndecided at point i.", fill=MUTED)

    def lane(k: int, words: str) -> float:
        y = top + 124.0 + 68 * k
        svg.text((16, y + 13), words)
        return y

    y = lane(0, "NoCopy of a value\nwritten by i")
    svg.rect((run[0], y, edge - run[0], 34), KEEP)
    svg.text((run[0] + 9, y + 21.5), "taken from the instruction to the end of the value's duty")
    y = lane(1, "Copy of a value\nwritten by i")
    svg.rect((run[0], y, body, 34), KEEP)
    svg.text((run[0] + 9, y + 21.5), "used")
    svg.rect((at[1], y, at[2] - at[1], 34), OUT)
    svg.label((at[1] + 149, y + 17), "write-back, here done at i + 2")
    y = lane(2, "Copy of a value\nread by i + 1")
    svg.rect((at[0], y, at[1] - at[0], 34), COPY)
    svg.label((at[0] + 149, y + 17), "copy in, here queued at i")
    svg.rect((at[1], y, at[2] - at[1], 34), KEEP)
    svg.text((at[1] + 9, y + 21.5), "done at i + 1, used by the instruction")
    y = lane(3, "One after the other:\na use, then a copy")
    svg.rect((at[0], y, at[1] - at[0], 34), KEEP)
    svg.text((at[0] + 9, y + 21.5), "last use at i, or written back at i + 1")
    svg.rect((at[1], y, edge - at[1], 34), COPY)
    svg.label((at[1] + 149, y + 17), "copy queued at i + 1")
    y = lane(4, "One after the other:\na use, then a write")
    svg.rect((at[0], y, at[1] - at[0], 34), KEEP)
    svg.text((at[0] + 9, y + 21.5), "last use at i, or written back at i + 1")
    svg.rect((run[1], y, edge - run[1], 34), KEEP)
    svg.text((run[1] + 9, y + 21.5), "written by i + 1")
    return svg


def draw_actions() -> Svg:
    """The worked example, played to its end."""
    left, top, point, body, scale = 66, 44, 14, 116, 0.48
    bottom = top + 600 * scale
    at = [left + k * (point + body) for k in range(7)]  # where points begin
    run = [x + point for x in at]  # where instructions begin
    svg = Svg(920, 524, "The worked example on the plane of time and addresses")
    for k in range(6):
        svg.rect((run[k], top, body, 600 * scale), (PALE, "none"))
        svg.text((run[k] + body / 2, top - 12), f"instruction {k}", anchor="middle", bold=True)
    svg.text((run[6] + 2, top - 12), "end", bold=True)
    for address in range(0, 601, 100):
        y = bottom - address * scale
        svg.line([(left - 5, y), (run[6], y)], GRID, width=0.8)
        svg.text((left - 9, y + 4), str(address), anchor="end", size=11, fill=MUTED)
    svg.text((14, top - 12), "address", size=11, fill=MUTED)
    stays: list[tuple[float, float, int, int, Paint]] = [
        (run[0], at[3], 0, 200, KEEP),
        (run[1], at[3], 200, 300, KEEP),
        (run[2], at[4], 300, 400, KEEP),
        (at[1], at[3], 400, 600, COPY),
        (at[3], at[5], 400, 600, KEEP),
        (run[3], at[6], 0, 300, KEEP),
        (at[4], at[5], 300, 400, COPY),
        (at[5], at[6], 300, 400, KEEP),
    ]
    for x0, x1, low, high, paint in stays:
        svg.rect((x0, bottom - high * scale, x1 - x0, (high - low) * scale), paint)
    for k in range(7):
        x = at[k] + point / 2
        svg.line([(x, top), (x, bottom + 6)], GREY, dash="1,4")
        svg.text((x, bottom + 20), str(k), anchor="middle", size=11, fill=MUTED)
    svg.text((left - 9, bottom + 20), "point", anchor="end", size=11, fill=MUTED)
    names: list[tuple[float, float, int, str]] = [
        (run[0], at[3], 100, "a: written, then kept,\nin fast memory only"),
        (run[1], at[3], 250, "b: written, goes to HBM,\nread meanwhile"),
        (run[2], at[4], 350, "c: written, kept"),
        (at[1], at[3], 500, "w: copied in early"),
        (at[3], at[5], 500, "w: read, kept, read"),
        (run[3], at[6], 150, "e: takes the bytes of a, now unused,\nand of b, now in HBM"),
        (at[4], at[5], 350, "b: back"),
        (at[5], at[6], 350, "b: read"),
    ]
    for x0, x1, middle, words in names:
        plain = (x0, middle) not in ((at[1], 500), (at[4], 350))
        lines = words.count("\n")
        y = bottom - middle * scale
        if plain:
            svg.text(((x0 + x1) / 2, y + 4.5 - 8 * lines), words, anchor="middle")
        else:
            svg.label(((x0 + x1) / 2, y), words)
    _draw_choices(svg, run[:6], body, bottom + 32)
    svg.legend(
        (left, 506),
        [
            (COPY, "copy from HBM", 136),
            (KEEP, "value can be used", 156),
            (OUT, "write-back to HBM", 160),
            (PLAIN, "in HBM", 92),
        ],
    )
    svg.line([(left + 548, 502), (left + 572, 502)], INK, dash="3,2")
    svg.text((left + 579, 506), "dashed outline: taken by rule")
    return svg


def _draw_choices(svg: Svg, columns: list[int], width: float, top: float) -> None:
    """What was decided, access by access, and the cycles before and after."""
    choices = [
        ["-read x: Drop", "write a: NoCopy"],
        ["-read a: NoCopy", "write b: Copy"],
        ["-read a: NoCopy", "-read b: NoCopy", "write c: NoCopy"],
        ["read w: Copy", "-read c: NoCopy", "write e: NoCopy"],
        ["read w: NoCopy", "-read e: NoCopy", "-write z: Drop"],
        ["read b: Copy", "-read e: NoCopy", "-write y: Drop"],
    ]
    cycles = ["55 → 45", "35 → 15", "40 → 20", "60 → 25", "60 → 30", "50 → 35"]
    paints = {"Copy": ("#c6def1", BLUE), "NoCopy": KEEP, "Drop": PLAIN}
    for x, rows, words in zip(columns, choices, cycles, strict=True):
        for k, row in enumerate(rows):
            dash = "3,2" if row.startswith("-") else ""
            y = top + 28 * k
            svg.rect((x, y, width, 22), paints[row.split(": ")[1]], dash=dash, radius=6)
            svg.text((x + width / 2, y + 15.5), row.lstrip("-"), anchor="middle")
        svg.text((x + width / 2, top + 102), words, anchor="middle")
    svg.text((columns[0] - 23, top + 102), "cycles", anchor="end", size=11, fill=MUTED)


def draw_late_copy() -> Svg:
    """Where the worked example's copy of w goes."""
    svg = Svg(920, 392, "A copy in is put where the decided past has bandwidth left")
    idle = [250, 150, 200]
    # Name, comment, bytes (in, out) by instruction, point at which the copy is queued.
    panels: list[tuple[str, str, list[tuple[int, int]], int]] = [
        ("before", "w, 200 bytes, is needed at point 3", [(0, 0), (0, 0), (0, 100)], 0),
        ("tried: point 2", "100 bytes are missing at point 3", [(0, 0), (0, 0), (100, 100)], 2),
        ("taken: point 1", "the latest that does", [(0, 0), (150, 0), (50, 100)], 1),
    ]
    bottom, scale = 296, 0.8
    for k, (head, words, used, start) in enumerate(panels):
        left = 62 + 294 * k
        svg.text((left, 26), head, bold=True, size=14)
        svg.text((left, 45), words, fill=MUTED)
        for tick in range(0, 251, 50):
            y = bottom - tick * scale
            svg.line([(left, y), (left + 252, y)], GRID, width=0.8)
            if k == 0:
                svg.text((left - 8, y + 4), str(tick), anchor="end", size=11, fill=MUTED)
        for i, (into, out) in enumerate(used):
            x = left + 10 + 80 * i
            y = float(bottom)
            svg.rect((x, bottom - idle[i] * scale, 68, idle[i] * scale), (PALE, GREY))
            for size, paint in ((into, COPY), (out, OUT)):
                if size > 0:
                    y -= size * scale
                    svg.rect((x, y, 68, size * scale), paint)
                    svg.label((x + 34, y + size * scale / 2), str(size))
            spare = idle[i] - into - out
            if spare:
                y = bottom - (idle[i] - spare / 2) * scale + 4.5
                svg.text((x + 34, y), str(spare), anchor="middle", fill=MUTED)
            svg.text((x + 34, bottom + 38), f"instr. {i}", anchor="middle")
        for point in range(4):
            x = left + 4 + 80 * point
            svg.line([(x, bottom), (x, bottom + 8)], INK)
            svg.text((x, bottom + 21), str(point), anchor="middle", size=11, fill=MUTED)
        if start:
            x = left + 4 + 80 * start
            svg.line([(x, 66), (x, bottom)], BLUE, width=1.6, dash="5,3")
            svg.text((x - 5, 76), "queued", anchor="end", size=11, fill=BLUE)
        svg.line([(left + 244, 66), (left + 244, bottom)], INK, width=1.6)
        svg.text((left + 239, 76), "needed", anchor="end", size=11)
    svg.text((20, 86), "bytes", size=11, fill=MUTED)
    svg.legend(
        (62, 372),
        [
            (COPY, "copy of w into fast memory", 222),
            (OUT, "write-back of b", 150),
            ((PALE, GREY), "bandwidth that an instruction leaves and no copy takes", 100),
        ],
    )
    return svg


def draw_skyline() -> Svg:
    """The candidates for a place, what each costs, and the memory afterwards."""
    svg = Svg(920, 440, "Where a value of 250 bytes goes, and who loses its bytes")
    top, scale, per, origin = 66, 0.32, 13.5, 6
    bottom = top + 1000 * scale
    # Offset, end, last, name, what is said beside it.
    upper = [
        (500, 700, 22, "C", "in use to 22"),
        (700, 900, 13, "D", "next use 29"),
    ]
    before = [
        (0, 200, 14, "A", "next use 24"),
        (200, 300, 9, "", ""),
        (300, 400, 15, "B", "next use 60"),
        (400, 500, 17, "", ""),
        *upper,
    ]
    after = [(0, 200, 14, "A", "next use 24"), (450, 500, 17, "", ""), *upper]
    for left, regions, head in ((56, before, "before"), (640, after, "after")):

        def x_of(instruction: int, left: int = left) -> float:
            return left + (instruction - origin) * per

        svg.text((left, 24), head, bold=True, size=14)
        for address in range(0, 1001, 100):
            y = bottom - address * scale
            svg.line([(left - 4, y), (left, y)], INK)
            svg.text((left - 8, y + 4), str(address), anchor="end", size=11, fill=MUTED)
        svg.rect((left, top, 18 * per, 1000 * scale), ("#ffffff", GRID))
        for low, high, last, name, words in regions:
            box = (left, bottom - high * scale, (last + 1 - origin) * per, (high - low) * scale)
            svg.rect(box, KEEP if name else FREE)
            middle = bottom - (low + high) / 2 * scale + 4.5
            svg.text((left + 10, middle), name, bold=True)
            svg.text((left + 29, middle), words, size=11)
        for instruction in range(origin, 25, 4):
            svg.line([(x_of(instruction), bottom), (x_of(instruction), bottom + 5)], INK)
            text_at = (x_of(instruction), bottom + 18)
            svg.text(text_at, str(instruction), anchor="middle", size=11, fill=MUTED)
        svg.line([(x_of(18), top - 8), (x_of(18), bottom)], BLUE, width=1.6, dash="5,3")
        svg.text((x_of(18), top - 14), "from 18 on", anchor="middle", size=11, fill=BLUE)
    svg.text((56, bottom + 36), "instruction", size=11, fill=MUTED)
    candidates = [
        (0, 250, "A is lost: 200 / (24 - 20 + 1) = 40", "rest 50"),
        (200, 450, "B is lost: 100 / (60 - 20 + 1) = 2", "rest 50: taken"),
        (700, 950, "D is lost: 200 / (29 - 20 + 1) = 20", "rest 50"),
    ]
    for low, high, words, rest in candidates:
        y0, y1 = bottom - low * scale, bottom - high * scale
        taken = low == 200
        colour = BLUE if taken else GREY
        x = 324 if taken else 312
        svg.line([(x - 7, y0 - 1), (x, y0 - 1), (x, y1), (x - 7, y1)], colour, width=2)
        svg.text((332, (y0 + y1) / 2 - 3), f"{words}\n{rest}", bold=taken)
    new = (640 + 12 * per, bottom - 450 * scale, 3 * per, 250 * scale)
    svg.rect(new, COPY)
    svg.text((new[0] + new[2] + 7, new[1] + new[3] / 2 + 4.5), "new", bold=True)
    svg.text((648, bottom - 375 * scale), "B's value is lost", size=11, fill=MUTED)
    return svg


def draw_carried_group() -> Svg:
    """A carried group in fast memory: with a root of its own, and changed in place."""
    svg = Svg(920, 474, "A carried group in fast memory around a loop")
    begin, end, x0, x1 = 270, 680, 90, 890
    for top, kind in ((44, "IPRQ"), (266, "IPPQ")):
        low, high = top + 120, top + 74
        words = (
            "the root has a buffer of its own" if kind == "IPRQ" else "the body changes it in place"
        )
        svg.text((16, top - 20), f"{kind}: {words}", bold=True, size=13)
        svg.rect((begin, top + 8, end - begin, 142), (PALE, "none"))
        svg.text(((begin + end) / 2, top + 24), "loop body", anchor="middle", fill=MUTED)
        svg.rect((x0 + 60, high, x1 - x0 - 60, low - high), RESERVED, dash="3,3")
        parts = [
            (x0 + 60, begin, "I: initial value", "written, NoCopy"),
            (begin, begin + 190, "P: parameter", "read"),
            (end - 130, end, "R: root", "written"),
            (end, x1, "Q: result", "used"),
        ]
        if kind == "IPPQ":
            parts[1:3] = [(begin, end, "P: parameter and root", "read, then updated")]
        for left, right, name, what in parts:
            svg.rect((left, high, right - left, low - high), KEEP)
            middle = (left + right) / 2
            svg.text((middle, high + 20), f"{name}\n{what}", anchor="middle")
        if kind == "IPRQ":
            svg.text((begin + 235, high + 28), "reserved", anchor="middle", size=11, fill=GREEN)
        _draw_back_edge(svg, (end, low), (begin, low))
        for x, name in ((begin, "begin"), (end, "end")):
            svg.line([(x, top + 8), (x, top + 150)], INK, width=1.6)
            svg.text((x, top + 3), f"loop {name}", anchor="middle", size=11)
        svg.text(
            (x0 - 12, (low + high) / 2 + 4), "one offset", anchor="middle", size=11, fill=MUTED
        )
        for x, y in ((begin + 60, 36), (end - 190, 36)):
            svg.rect((x, top + y, 110, 26), FREE)
            svg.text((x + 55, top + y + 17), "others", anchor="middle", fill=MUTED)
    svg.text(
        (16, 444),
        "At the loop's begin, its back edge and its end the value changes its name and keeps its "
        "bytes. Both markers wait\nfor all write-backs. A result that has to reach HBM is "
        "written back from the point behind the loop's end on.",
        fill=MUTED,
    )
    return svg


def _draw_back_edge(svg: Svg, start: Point, end: Point) -> None:
    y = start[1] + 18
    svg.line(
        [(start[0] - 8, start[1]), (start[0] - 8, y), (end[0] + 8, y), (end[0] + 8, end[1] + 2)],
        OCHRE,
        width=1.6,
        arrow=True,
    )
    svg.label(((start[0] + end[0]) / 2, y), "next pass")


def main() -> None:
    folder = Path(__file__).resolve().parent
    draw_points().save(folder / "points.svg")
    draw_actions().save(folder / "actions.svg")
    draw_late_copy().save(folder / "late_copy.svg")
    draw_skyline().save(folder / "skyline.svg")
    draw_carried_group().save(folder / "carried_group.svg")


if __name__ == "__main__":
    main()
