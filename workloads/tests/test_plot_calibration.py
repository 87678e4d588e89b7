"""The curve of errors in the picture of the calibration."""

from __future__ import annotations

import bisect
import pathlib
import sys
from typing import Any

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from plot_calibration import draw_shares, main


class Steps:
    """Axes that remember one curve of steps, as matplotlib draws it."""

    def step(self, xs: list[float], ys: list[float], where: str = "pre", **_: Any) -> None:
        self.xs, self.ys, self.where = xs, ys, where

    def at(self, x: float) -> float:
        """Returns the height of the curve between two of its points."""
        right = bisect.bisect_right(self.xs, x)
        return self.ys[right] if self.where == "pre" else self.ys[right - 1]


@pytest.mark.parametrize(
    ("error", "share"), [(0.005, 0.0), (0.015, 0.25), (0.025, 0.5), (0.035, 0.75)]
)
def test_the_curve_is_the_share_of_placements_within_an_error(error: float, share: float) -> None:
    axes: Any = Steps()
    draw_shares(axes, [0.04, 0.01, 0.03, 0.02], "tpu_v6e")
    assert axes.at(error) == share


def test_all_placements_are_within_the_largest_error() -> None:
    axes: Any = Steps()
    draw_shares(axes, [0.02, 0.01], "tpu_v6e")
    assert (axes.xs[-1], axes.ys[-1]) == (0.02, 1.0)


def test_a_missing_matplotlib_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(sys, "argv", ["plot_calibration.py", "picture.svg"])
    assert main() == 2
    assert capsys.readouterr().err == (
        "plot_calibration.py: needs matplotlib: pip install matplotlib\n"
    )
