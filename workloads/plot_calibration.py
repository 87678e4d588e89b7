#!/usr/bin/env python3
"""Draws predicted against compiled cycles of every placement in the corpus.

    mallocmuzero corpus --workloads workloads --json | workloads/plot_calibration.py OUTPUT.svg

Needs matplotlib. Each point is one placement of one program, which the latency table was fitted
without.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    # Only the picture needs matplotlib, the curves do not.
    try:
        import matplotlib
    except ImportError:
        print("plot_calibration.py: needs matplotlib: pip install matplotlib", file=sys.stderr)
        return 2
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "calibration"  # the same picture has the same names
    import matplotlib.pyplot as plt

    programs = json.load(sys.stdin)["programs"]
    figure, (totals, errors) = plt.subplots(1, 2, figsize=(11, 5))
    chips = sorted({program["report"]["hardware"] for program in programs})
    for chip in chips:
        compiled, predicted = [], []
        for program in programs:
            if program["report"]["hardware"] != chip:
                continue
            for placement in program["calibration"]["placements"]:
                compiled.append(placement["compiled_cycles"] / 1e6)
                predicted.append(placement["predicted_cycles"] / 1e6)
        totals.scatter(compiled, predicted, s=9, alpha=0.6, label=f"{chip} ({len(compiled)})")
        draw_shares(
            errors,
            (abs(p / c - 1) for p, c in zip(predicted, compiled, strict=True) if c > 0),
            chip,
        )
    draw_axes(totals, errors)
    figure.tight_layout()
    figure.savefig(sys.argv[1], metadata={"Date": None})
    return 0


def draw_shares(axes: Axes, errors: Iterable[float], label: str) -> None:
    """Draws the share of placements whose error is at most x, from none at x = 0 on.

    The share grows at each error and stays the same up to the next one.
    """
    ascending = sorted(errors)
    shares = [(i + 1) / len(ascending) for i in range(len(ascending))]
    axes.step([0.0, *ascending], [0.0, *shares], where="post", label=label)


def draw_axes(totals: Axes, errors: Axes) -> None:
    """Labels both plots. The diagonal is a perfect prediction."""
    from matplotlib.ticker import PercentFormatter

    low, high = totals.get_xlim()[0], totals.get_xlim()[1]
    totals.set(xscale="log", yscale="log", xlabel="compiled Mcycles", ylabel="predicted Mcycles")
    totals.plot([max(low, 0.1), high], [max(low, 0.1), high], color="black", linewidth=0.7)
    totals.set_title("Sum of estimates, placement left out")
    totals.legend(title="chip (placements)")
    errors.set(xlabel="error of the total", ylabel="share of placements", xlim=(0, 0.06))
    errors.xaxis.set_major_formatter(PercentFormatter(1))
    errors.yaxis.set_major_formatter(PercentFormatter(1))
    errors.axvline(0.01, color="black", linewidth=0.7, linestyle=":")
    errors.axvline(0.03, color="black", linewidth=0.7, linestyle=":")
    errors.set_title("How many placements are within an error")
    errors.legend()


if __name__ == "__main__":
    sys.exit(main())
