"""Checks the dashboards of deploy/grafana against the types that Grafana publishes.

grafana-foundation-sdk reads a dashboard into these types and drops what they do not have. So a
dashboard that comes out as it went in has only known fields.
"""

from __future__ import annotations

import copy
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))

register_default_plugins()


def lost(given: Any, kept: Any, place: str = "") -> Iterator[str]:
    """Yields the fields of `given` that `kept` does not have, or has with another value."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for name, value in given.items():
            if name in kept:
                yield from lost(value, kept[name], f"{place}.{name}")
            else:
                yield f"{place}.{name}"
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for index, (value, other) in enumerate(zip(given, kept, strict=True)):
            yield from lost(value, other, f"{place}[{index}]")
    elif given != kept:
        yield place


def lost_by_grafana(dashboard: Any) -> list[str]:
    read = Dashboard.from_json(copy.deepcopy(dashboard))
    return list(lost(dashboard, json.loads(JSONEncoder().encode(read))))


def panels(dashboard: Any) -> list[Any]:
    rows = [one for one in dashboard["panels"] if one["type"] == "row"]
    inner = [panel for row in rows for panel in row["panels"]]
    return [one for one in dashboard["panels"] if one["type"] != "row"] + inner


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_grafana_knows_every_field(file: pathlib.Path) -> None:
    assert lost_by_grafana(json.loads(file.read_text())) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_wrong_field_anywhere_in_a_panel_is_noticed(file: pathlib.Path) -> None:
    dashboard = json.loads(file.read_text())
    kinds = {panel["type"]: panel for panel in panels(dashboard)}
    for kind, panel in kinds.items():
        for part in (
            panel,
            panel["options"],
            panel["targets"][0],
            panel["fieldConfig"]["defaults"],
        ):
            part["no_such_field"] = 1
            assert lost_by_grafana(dashboard) != [], kind
            del part["no_such_field"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_panel_says_what_it_shows_and_in_which_unit(file: pathlib.Path) -> None:
    for panel in panels(json.loads(file.read_text())):
        assert panel["title"], panel
        assert panel["description"].endswith("."), panel["title"]
        if panel["type"] in ("timeseries", "stat"):
            assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_panels_do_not_overlap(file: pathlib.Path) -> None:
    dashboard = json.loads(file.read_text())
    closed = [row["panels"] for row in dashboard["panels"] if row.get("panels")]
    for group in [dashboard["panels"], *closed]:
        taken: set[tuple[int, int]] = set()
        for panel in group:
            place = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert place["x"] + place["w"] <= 24, panel["title"]
            assert not cells & taken, panel["title"]
            taken |= cells


def test_dashboards_link_to_each_other() -> None:
    links = {}
    for file in FILES:
        dashboard = json.loads(file.read_text())
        links[dashboard["uid"]] = [link["url"].split("?")[0] for link in dashboard["links"]]
    assert links == {
        "mallocmuzero-learning": ["/d/mallocmuzero-operations"],
        "mallocmuzero-operations": ["/d/mallocmuzero-learning"],
    }
