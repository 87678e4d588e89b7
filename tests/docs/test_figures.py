"""Tests that a figure of the README is the figure of the document that it names."""

import re

from documents import ROOT

CHIPS = {"TPUv4i": "tpu_v4i", "v5e": "tpu_v5e", "v6e": "tpu_v6e"}


def test_the_readme_has_the_mean_gains_of_placed_modules() -> None:
    placed = (ROOT / "docs/placed.md").read_text(encoding="utf-8")
    mean = r"- (\w+), (\d+) contended programs: ([\d.]+) % {}, ([\d.]+) % by overrides\."
    programs_and_overrides = {
        chip: (programs, overrides)
        for chip, programs, _, overrides in re.findall(mean.format("placed"), placed)
    }
    with_limits = {
        chip: gain for chip, _, gain, _ in re.findall(mean.format("placed, with limits"), placed)
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (\d+) \| [\d.]+ % \|(.*)\| ([\d.]+) % \|$", readme, re.M)
    assert {CHIPS[row[0]] for row in rows} == set(CHIPS.values())
    for name, programs, limits, overrides in rows:
        assert (programs, overrides) == programs_and_overrides[CHIPS[name]]
        assert limits.strip().removesuffix(" %") == with_limits.get(CHIPS[name], "")
