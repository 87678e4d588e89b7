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
    # Against the faster one of the defaults of two versions of libtpu.
    of_both = re.search(
        r"are ([\d.]+) % on TPUv4i, ([\d.]+) %\s+on v5e\s+and ([\d.]+) %\s+on v6e", placed
    )
    assert of_both is not None
    placed_alone = dict(zip(("TPUv4i", "v5e", "v6e"), of_both.groups(), strict=True))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    row = r"^\| (\w+) \| (\d+) \| ([\d.]+) % \|(.*)\| ([\d.]+) % \|$"
    rows = re.findall(row, readme, re.M)
    assert {CHIPS[row[0]] for row in rows} == set(CHIPS.values())
    for name, programs, alone, limits, overrides in rows:
        assert alone == placed_alone[name]
        assert (programs, overrides) == programs_and_overrides[CHIPS[name]]
        assert limits.strip().removesuffix(" %") == with_limits.get(CHIPS[name], "")


def means_side_by_side(document: str) -> dict[str, list[str]]:
    """The mean of each mode by chip, with one decimal, as prose has it."""
    text = (ROOT / document).read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| mean \|  \|(.*)\|$", text, re.M)
    return {
        chip: [f"{abs(float(mean)):.1f}" for mean in re.findall(r"\*\*(-?[\d.]+) %", cells)]
        for chip, cells in rows
    }


def test_the_readme_has_the_mean_gains_of_the_protocol() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ours = means_side_by_side("docs/results.md")
    # A table has the flag first and all searches last.
    for gain in (ours["tpu_v6e"][-1], ours["tpu_v5e"][-1]):
        assert re.search(rf"\b{re.escape(gain)} % on (v6e|v5e)", readme), gain
    for loss in (ours["tpu_v6e"][0], ours["tpu_v5e"][0]):
        assert f"by {loss} %" in readme, loss
