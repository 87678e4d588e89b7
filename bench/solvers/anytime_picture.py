"""Draws how local search of two builds improves with processor time.

    python3 bench/solvers/anytime_picture.py RECORD --output docs/search/anytime.svg

RECORD is what `anytime.py --record` has written. Each program has a plot: per cent above the fewest
cycles of all its searches, by processor time. Both axes are logarithmic. A thick line is the median
of the seeds, and a thin line one seed. A line begins with the first mapping. It runs along the
bottom where the gap is 0.01 % or less.

Needs matplotlib.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import statistics
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from anytime import BUILDS, Comparison, Search, Trace, read_record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 3
EARLIEST = 0.001  # seconds; the left end of the axis
LEAST_GAP = 0.01  # per cent; the lower end of the axis
LEAST_CHANGE = 0.98  # a point is drawn where the gap is at most this share of the last one
COLOURS = {"before": "#999999", "after": "#0072b2"}


def comparisons(traces: dict[Search, Trace]) -> list[Comparison]:
    """Returns a comparison for each program, of the seeds that both builds have searched."""
    found = []
    for program in dict.fromkeys(search.program for search in traces):
        by_seed = [
            {s.seed: t for s, t in traces.items() if (s.program, s.build) == (program, build)}
            for build in BUILDS
        ]
        seeds = sorted(by_seed[0].keys() & by_seed[1].keys())
        if seeds:
            before, after = ([of_build[seed] for seed in seeds] for of_build in by_seed)
            found.append(Comparison(program, before, after))
    return found


def median_line(
    comparison: Comparison, traces: Sequence[Trace], end: float
) -> list[tuple[float, float]]:
    """Returns the points at which the median gap falls, from the first mapping up to `end`."""
    times = sorted({seconds for trace in traces for seconds, _ in trace.points if seconds < end})
    points: list[tuple[float, float]] = []
    for seconds in [*times, end]:
        gap = statistics.median(comparison.gaps(traces, seconds))
        if not math.isfinite(gap):
            continue
        if seconds == end or not points or gap < points[-1][1] * LEAST_CHANGE:
            points.append((seconds, gap))
    return points


def draw(axes: Axes, comparison: Comparison, end: float) -> None:
    """Draws one program."""
    for build, traces in (("before", comparison.before), ("after", comparison.after)):
        for some, width, opacity in [*(([t], 0.6, 0.5) for t in traces), (traces, 2.0, 1.0)]:
            line = median_line(comparison, some, end)
            axes.step(
                [max(seconds, EARLIEST) for seconds, _ in line],
                [max(gap, LEAST_GAP) for _, gap in line],
                where="post",
                color=COLOURS[build],
                linewidth=width,
                alpha=opacity,
                label=build if len(some) > 1 else None,
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(EARLIEST, end)
    axes.set_ylim(LEAST_GAP / 1.2, 300)
    axes.minorticks_off()
    axes.grid(visible=True, linewidth=0.3)
    folder, name = pathlib.Path(comparison.program).with_suffix("").parts[-2:]
    axes.set_title(f"{folder}\n{name}", fontsize=8)
    axes.tick_params(labelsize=7)


def main() -> int:
    """Parses the flags and draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path, help="an SVG file")
    arguments = parser.parse_args()

    try:
        import matplotlib
    except ImportError:
        print("anytime_picture.py: needs matplotlib: pip install matplotlib", file=sys.stderr)
        return 2
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "anytime"  # the same picture has the same names
    matplotlib.rcParams["svg.fonttype"] = "none"  # letters as text, not as curves
    import matplotlib.pyplot as plt

    traces = read_record(arguments.record.read_text().splitlines())
    programs = comparisons(traces)
    rows = math.ceil(len(programs) / COLUMNS)
    figure, grid = plt.subplots(rows, COLUMNS, figsize=(10, 2.4 * rows), squeeze=False)
    end = max(search.seconds for search in traces)
    for axes, comparison in zip(grid.flat, programs, strict=False):
        draw(axes, comparison, end)
    for axes in grid.flat[len(programs) :]:
        axes.axis("off")
    grid[0][0].legend(fontsize=7, loc="lower left")
    figure.supxlabel("seconds of processor time", fontsize=9)
    figure.supylabel("per cent above the fewest cycles", fontsize=9)
    figure.tight_layout()
    figure.savefig(arguments.output, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
