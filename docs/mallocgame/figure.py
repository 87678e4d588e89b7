"""Writes SVG: what the pictures of this folder have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

INK = "#222222"
MUTED = "#5f6368"
GRID = "#d0d4d9"
PALE = "#f4f5f7"
STALL = "#c1121f"
BLUE = "#0072b2"
GREEN = "#00795a"
OCHRE = "#a86f00"
GREY = "#8a8f98"

# Fill and outline. The hatches tell the colours apart without colour.
COPY = ("url(#in)", BLUE)
OUT = ("url(#out)", OCHRE)
KEEP = ("#c4e6da", GREEN)
RESERVED = ("#edf7f3", GREEN)
FREE = ("#e3e6ea", GREY)
PLAIN = ("#ffffff", GREY)

_FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # x, y, width, height
Paint = tuple[str, str]


class Svg:
    """Collects elements; coordinates are pixels from the top left corner."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="{_FONT}" font-size="12" fill="{INK}">',
            f"<title>{escape(title)}</title>",
            "<defs>",
            _hatch("in", "#c6def1", BLUE, "M-2,2 L2,-2 M0,8 L8,0 M6,10 L10,6"),
            _hatch("out", "#fbe0ac", OCHRE, "M-2,6 L2,10 M0,0 L8,8 M6,-2 L10,2"),
            *(_arrow_head(colour) for colour in (INK, BLUE, OCHRE, GREEN)),
            "</defs>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]

    def rect(self, box: Box, paint: Paint, *, dash: str = "", radius: float = 0) -> None:
        x, y, w, h = box
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        extra += f' rx="{_n(radius)}"' if radius else ""
        self._lines.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" fill="{paint[0]}" '
            f'stroke="{paint[1]}" stroke-width="1.2"{extra}/>'
        )

    def line(
        self,
        points: Sequence[Point],
        stroke: str = INK,
        *,
        width: float = 1.2,
        dash: str = "",
        arrow: bool = False,
    ) -> None:
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        extra += f' marker-end="url(#{_arrow_name(stroke)})"' if arrow else ""
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._lines.append(
            f'<polyline points="{path}" fill="none" stroke="{stroke}" '
            f'stroke-width="{_n(width)}"{extra}/>'
        )

    def text(
        self,
        at: Point,
        text: str,
        *,
        anchor: str = "start",
        size: float = 12,
        fill: str = INK,
        bold: bool = False,
    ) -> None:
        """`at`: the base line of the first of the text's lines."""
        weight = ' font-weight="bold"' if bold else ""
        for k, line in enumerate(text.split("\n")):
            self._lines.append(
                f'<text x="{_n(at[0])}" y="{_n(at[1] + 1.35 * size * k)}" text-anchor="{anchor}" '
                f'font-size="{_n(size)}" fill="{fill}"{weight}>{escape(line)}</text>'
            )

    def label(self, centre: Point, text: str) -> None:
        """Text on a white ground, to stand on a hatch or a line."""
        lines = text.split("\n")
        width = 7.3 * max(len(line) for line in lines) + 10
        height = 16.2 * len(lines) + 2
        x, y = centre
        self.rect((x - width / 2, y - height / 2, width, height), ("#ffffff", "none"), radius=4)
        self.text((x, y - height / 2 + 13.4), text, anchor="middle")

    def legend(self, at: Point, entries: Sequence[tuple[Paint, str, float]]) -> None:
        """`entries`: paint, words, pixels to the next entry."""
        x, y = at
        for paint, words, step in entries:
            self.rect((x, y - 11, 22, 14), paint)
            self.text((x + 29, y), words)
            x += step

    def save(self, path: Path) -> None:
        path.write_text("\n".join([*self._lines, "</svg>"]) + "\n", encoding="utf-8")


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _hatch(name: str, fill: str, stroke: str, path: str) -> str:
    return (
        f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="{fill}"/>'
        f'<path d="{path}" stroke="{stroke}" stroke-width="1.3"/></pattern>'
    )


def _arrow_name(colour: str) -> str:
    return "head" + colour[1:]


def _arrow_head(colour: str) -> str:
    return (
        f'<marker id="{_arrow_name(colour)}" viewBox="0 0 10 10" refX="9" refY="5" '
        f'markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
        f'<path d="M0,0.5 L10,5 L0,9.5 z" fill="{colour}"/></marker>'
    )
