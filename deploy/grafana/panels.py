"""Short forms for the JSON of Grafana dashboards, in plain dicts.

A dashboard is a list of rows, and a row a list of panels. Panels fill a row from left to right, and
`dashboard` computes their places. Every query goes to the Prometheus of the variable `datasource`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24  # of Grafana's grid
SCHEMA_VERSION = 39  # of Grafana 11; newer releases migrate it when they load it

GREEN, YELLOW, RED, BLUE, TRANSPARENT = "green", "yellow", "red", "blue", "transparent"


@dataclasses.dataclass
class Row:
    """A heading and its panels. A closed row costs no queries until it is opened."""

    title: str
    panels: list[Json]
    closed: bool = False
    repeat: str | None = None  # a variable: the row is shown once for each of its values


def query(expression: str, legend: str = "", *, table: bool = False) -> Json:
    """Returns a query over time, or of the present values for a table."""
    made: Json = {
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": expression,
        "legendFormat": legend or "__auto",
        "range": not table,
        "instant": table,
    }
    if table:
        made["format"] = "table"
    return made


def panel(kind: str, title: str, description: str, queries: list[Json], width: int) -> Json:
    """Returns what all kinds of panels have in common."""
    for ref, one in zip("ABCDEFGH", queries, strict=False):
        one["refId"] = ref
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "targets": queries,
        "fieldConfig": {"defaults": {}, "overrides": []},
        "options": {},
        "gridPos": {"x": 0, "y": 0, "w": width, "h": 8},
    }


def thresholds(*steps: tuple[float | None, str]) -> Json:
    """Colours from a value on; the first value is None."""
    return {
        "mode": "absolute",
        "steps": [{"value": value, "color": color} for value, color in steps],
    }


def lines(
    title: str,
    description: str,
    queries: list[Json],
    unit: str,
    *,
    width: int = 8,
    stacked: bool = False,
    least: float | None = 0,
    most: float | None = None,
) -> Json:
    """Lines over time, or a stack of areas."""
    made = panel("timeseries", title, description, queries, width)
    defaults: Json = {
        "unit": unit,
        "custom": {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 40 if stacked else 8,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        },
    }
    if least is not None:
        defaults["min"] = least
    if most is not None:
        defaults["max"] = most
    made["fieldConfig"]["defaults"] = defaults
    made["options"] = {
        "legend": {
            "displayMode": "table",
            "placement": "bottom",
            "showLegend": True,
            "calcs": ["lastNotNull", "max"],
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return made


def figure(
    title: str,
    description: str,
    queries: list[Json],
    unit: str,
    *,
    colors: Json | None = None,
    width: int = 4,
    decimals: int | None = None,
) -> Json:
    """One large figure a query, with its recent course behind it."""
    made = panel("stat", title, description, queries, width)
    defaults: Json = {"unit": unit, "thresholds": colors or thresholds((None, BLUE))}
    if decimals is not None:
        defaults["decimals"] = decimals
    made["fieldConfig"]["defaults"] = defaults
    made["options"] = {
        "reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""},
        "colorMode": "background" if colors else "value",
        "graphMode": "none" if colors else "area",
        "textMode": "auto",
        "justifyMode": "auto",
        "orientation": "auto",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
    }
    made["gridPos"]["h"] = 4
    return made


def states(
    title: str,
    description: str,
    queries: list[Json],
    names: dict[int, tuple[str, str]],
    *,
    width: int = 12,
) -> Json:
    """A bar over time for each series; `names` has the text and the colour of each value."""
    made = panel("state-timeline", title, description, queries, width)
    mapping = {
        str(value): {"text": text, "color": color, "index": index}
        for index, (value, (text, color)) in enumerate(names.items())
    }
    made["fieldConfig"]["defaults"] = {
        "custom": {"fillOpacity": 80, "lineWidth": 0},
        "mappings": [{"type": "value", "options": mapping}],
        "thresholds": thresholds((None, TRANSPARENT)),
    }
    made["options"] = {
        "showValue": "never",
        "rowHeight": 0.85,
        "mergeValues": True,
        "legend": {
            "displayMode": "list",
            "placement": "bottom",
            "showLegend": True,
            "calcs": [],
        },
        "tooltip": {"mode": "single", "sort": "none"},
    }
    return made


def heatmap(title: str, description: str, queries: list[Json], unit: str, *, width: int) -> Json:
    """The buckets of a histogram over time."""
    for one in queries:
        one["format"] = "heatmap"
    made = panel("heatmap", title, description, queries, width)
    made["options"] = {
        "calculate": False,
        "color": {
            "mode": "scheme",
            "scheme": "Blues",
            "fill": "dark-blue",
            "reverse": False,
            "steps": 64,
            "exponent": 0.5,
        },
        "showValue": "never",
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "yAxis": {"unit": unit},
        "cellGap": 1,
        "tooltip": {"mode": "single", "yHistogram": False},
        "legend": {"show": True},
    }
    return made


def table(
    title: str,
    description: str,
    queries: list[Json],
    columns: dict[str, str],
    *,
    units: dict[str, str] | None = None,
    pivot: tuple[str, str] | None = None,
    sort: str = "",
    width: int = 12,
) -> Json:
    """Present values. `columns` has the new name of each field that is shown, in their order.

    With `pivot`, a pair of labels, the table has a line for each value of the first and a column
    for each value of the second; `columns` then has the names of these values.
    """
    made = panel("table", title, description, queries, width)
    made["transformations"] = []
    if pivot is not None:
        line, column = pivot
        options = {"rowField": line, "columnField": column, "valueField": "Value"}
        made["transformations"].append({"id": "groupingToMatrix", "options": options})
    organize = {
        "includeByName": dict.fromkeys(columns, True),
        "indexByName": {name: index for index, name in enumerate(columns)},
        "renameByName": columns,
    }
    made["transformations"].append({"id": "organize", "options": organize})
    made["fieldConfig"]["defaults"] = {
        "custom": {"align": "auto", "filterable": True, "inspect": False}
    }
    made["fieldConfig"]["overrides"] = [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [{"id": "unit", "value": unit}, {"id": "decimals", "value": 2}],
        }
        for name, unit in (units or {}).items()
    ]
    made["options"] = {"frameIndex": 0, "showHeader": True, "cellHeight": "sm"}
    if sort:
        made["options"]["sortBy"] = [{"displayName": sort, "desc": False}]
    return made


def on_right_axis(made: Json, name: str, unit: str) -> Json:
    """Gives the series of a panel of lines an axis of its own."""
    made["fieldConfig"]["overrides"].append(
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [
                {"id": "custom.axisPlacement", "value": "right"},
                {"id": "unit", "value": unit},
            ],
        }
    )
    return made


def dashed(made: Json, pattern: str) -> Json:
    """Dashes the lines whose names match a regular expression: bounds and references."""
    made["fieldConfig"]["overrides"].append(
        {
            "matcher": {"id": "byRegexp", "options": f"/{pattern}/"},
            "properties": [
                {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}},
                {"id": "custom.fillOpacity", "value": 0},
            ],
        }
    )
    return made


def choice(name: str, label: str, text: str, *, several: bool = False) -> Json:
    """A variable whose values are those of a label: `text` is label_values(SELECTOR, LABEL)."""
    made: Json = {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": DATASOURCE,
        "query": {"query": text, "refId": "StandardVariableQuery"},
        "refresh": 2,  # whenever the time range changes
        "sort": 1,
        "multi": several,
        "includeAll": several,
    }
    if several:
        made["allValue"] = ".*"
        made["current"] = {"text": ["All"], "value": ["$__all"]}
    return made


def prometheus_choice() -> Json:
    return {
        "type": "datasource",
        "name": "datasource",
        "label": "Prometheus",
        "query": "prometheus",
        "refresh": 1,
    }


def link_to(uid: str, title: str) -> Json:
    """A link at the top of the dashboard, which keeps cluster and time range."""
    return {
        "type": "link",
        "title": title,
        "url": f"/d/{uid}?var-datasource=${{datasource}}&var-job=${{job}}",
        "icon": "dashboard",
        "keepTime": True,
        "includeVars": False,
        "asDropdown": False,
        "targetBlank": False,
        "tags": [],
        "tooltip": "",
    }


def restarts() -> Json:
    """Marks the starts of learners in all panels."""
    started = 'process_start_time_seconds{job="$job", role=~"learner|train"}'
    return {
        "name": "Starts of the learner",
        "datasource": DATASOURCE,
        "enable": True,
        "iconColor": "orange",
        "expr": f"changes({started}[$__rate_interval]) > 0",
    }


def place(rows: list[Row]) -> list[Json]:
    """Returns headings and panels with numbers and places on the grid."""
    placed: list[Json] = []
    y = 0
    number = 0
    for row in rows:
        number += 1
        heading: Json = {
            "type": "row",
            "id": number,
            "title": row.title,
            "collapsed": row.closed,
            "panels": [],
            "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1},
        }
        if row.repeat is not None:
            heading["repeat"] = row.repeat
        placed.append(heading)
        y += 1
        x = height = 0
        for one in row.panels:
            number += 1
            size = one["gridPos"]
            if x + size["w"] > COLUMNS:
                x, y, height = 0, y + height, 0
            one["id"] = number
            size.update(x=x, y=y)
            x += size["w"]
            height = max(height, size["h"])
            (heading["panels"] if row.closed else placed).append(one)
        y += height
    return placed


def dashboard(
    uid: str,
    title: str,
    description: str,
    variables: list[Json],
    links: list[Json],
    rows: list[Row],
) -> Json:
    return {
        "uid": uid,
        "title": title,
        "description": description,
        "tags": ["mallocmuzero"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,  # one cross-hair in all panels
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [prometheus_choice(), *variables]},
        "annotations": {"list": [restarts()]},
        "links": links,
        "panels": place(rows),
    }
