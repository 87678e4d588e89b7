"""Draws the mean gains by chip and mode as bars, in SVG."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from html import escape

from protocol_gains import Gains, Program, mean_of, median_of
from protocol_plan import CHIPS, MODES, Mode
from protocol_records import Record

# In pixels.
_WIDTH, _HEIGHT = 860, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 60, 60
_GAP = 40.0  # between chips

# Shares between two lines of the axis, and about how many of these it may have.
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 1.0)
_MOST_STEPS = 9

# A colour for each mode, which readers with any colour vision tell apart; flags are grey.
_GREYS = ("#aaaaaa", "#8f8f8f", "#c4c4c4", "#757575", "#5c5c5c")
_COLOURS = dict(zip(MODES, (*_GREYS, "#e69f00", "#56b4e9", "#009e73", "#0072b2"), strict=True))


@dataclasses.dataclass(frozen=True)
class Bar:
    """The mean gain of one mode on one chip, as shares of the default's cycles."""

    mode: str
    title: str
    known: float
    roofline: float
    programs: int  # that compile in this mode


def bars_of(gains: Gains) -> dict[str, tuple[int, list[Bar]]]:
    """Returns for each chip the number of compared programs, and a bar for each mode."""
    bars = {}
    for chip in CHIPS:
        programs = gains.compared(chip)
        if programs:
            every = [_bar(gains, programs, mode) for mode in gains.modes(chip)]
            bars[chip] = len(programs), [bar for bar in every if bar is not None]
    return bars


def _bar(gains: Gains, programs: Sequence[Program], mode: Mode) -> Bar | None:
    """Returns the bar of the programs that compile in a mode; None if there are none."""
    found = [median_of(some) for program in programs if (some := gains.of(program, mode))]
    if not found:
        return None
    known, roofline = mean_of(found, "known"), mean_of(found, "roofline")
    return Bar(mode.name, mode.title, known, roofline, len(found))


class _Scale:
    """Turns shares into heights; the axis ends at whole multiples of its step."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(0.0, *values), max(0.01, *values)
        steps = (step for step in _STEPS if high - low < _MOST_STEPS * step)
        self.step = next(steps, _STEPS[-1])
        self.low = math.floor(low / self.step)
        self.high = math.ceil(high / self.step)

    def y(self, share: float) -> float:
        """Returns the place of a share on the vertical axis, in pixels."""
        room = _HEIGHT - _TOP - _BOTTOM
        return _TOP + room * (self.high - share / self.step) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Returns the shares with a line."""
        return [number * self.step for number in range(self.low, self.high + 1)]


def picture(records: Sequence[Record]) -> str:
    """Returns the picture; an empty one if no program has been compared."""
    bars = bars_of(Gains(records))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        *(_drawn(bars) if bars else ()),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _drawn(bars: dict[str, tuple[int, list[Bar]]]) -> Iterator[str]:
    every = [bar for _, some in bars.values() for bar in some]
    scale = _Scale([value for bar in every for value in (bar.known, bar.known + bar.roofline)])
    for share in scale.ticks():
        y = scale.y(share)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>'
    room = _WIDTH - _LEFT - _RIGHT - _GAP * len(bars)
    width = room / len(every)
    x = _LEFT + _GAP / 2
    for chip, (count, some) in bars.items():
        middle = x + width * len(some) / 2
        noun = "program" if count == 1 else "programs"
        yield _text(middle, _HEIGHT - _BOTTOM + 36, f"{chip}, {count} {noun}")
        for bar in some:
            yield from _bar_lines(bar, x, width, scale)
            if bar.programs != count:
                yield _text(x + width / 2, _HEIGHT - _BOTTOM + 18, f"({bar.programs})")
            x += width
        x += _GAP
    yield from _legend({bar.mode: bar.title for bar in every})


def _bar_lines(bar: Bar, x: float, width: float, scale: _Scale) -> Iterator[str]:
    colour = _COLOURS[bar.mode]
    whole = bar.known + bar.roofline
    yield _box(x, width, scale.y(0), scale.y(bar.known), f'fill="{colour}"')
    # A frame shows where the gain would end with the roofline.
    yield _box(x, width, scale.y(0), scale.y(whole), f'fill="none" stroke="{colour}"')
    top = min(scale.y(bar.known), scale.y(whole), scale.y(0))
    yield _text(x + width / 2, top - 4, f"{100 * bar.known:z.1f}")


def _box(x: float, width: float, one: float, other: float, style: str) -> str:
    top, height = min(one, other), abs(one - other)
    place = f'x="{x + 2:.1f}" y="{top:.1f}" width="{width - 4:.1f}" height="{height:.1f}"'
    return f"<rect {place} {style}/>"


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(words)}</text>'


def _legend(titles: dict[str, str]) -> Iterator[str]:
    x, y = float(_LEFT), 14
    for name in (name for name in MODES if name in titles):
        width = 30 + 7.2 * len(titles[name])
        if x + width > _WIDTH - _RIGHT:
            x, y = float(_LEFT), y + 20
        yield f'<rect x="{x:.0f}" y="{y}" width="12" height="12" fill="{_COLOURS[name]}"/>'
        yield f'<text x="{x + 16:.0f}" y="{y + 10}">{escape(titles[name])}</text>'
        x += width
    words = (
        "Mean gain in % of the default's cycles. A frame adds the roofline. (N): the other "
        "programs do not compile."
    )
    yield f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{words}</text>'
