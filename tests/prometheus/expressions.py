"""All expressions of dashboards, recording rules and alerts, and what each must answer."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

DASHBOARDS = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "dashboards"

# The values that a user of the dashboards would choose.
CHOICES = {
    "instance": ".*",
    "chip": ".*",
    "__rate_interval": "10s",
    "__range": "1m",
}
# Parts of selectors whose series a healthy run does not have: Prometheus makes ALERTS when an alert
# fires, and a call that fails makes the series of its code. The run has no server of `serve`.
MAY_BE_MISSING = ("ALERTS", "code!", 'role="serve"')
# The alert that tells that alerts are evaluated.
FIRES_ALWAYS = "Watchdog"


@dataclasses.dataclass(frozen=True)
class Expression:
    """An expression and what it must do in a healthy run."""

    place: str  # for messages
    text: str
    answers: bool  # True: it must return a number; False: it must return nothing

    def selectors(self) -> set[str]:
        """Returns its selectors of series, such as `up{job="j"}`, without functions and ranges."""
        name = r"(?<![\w:\"])(?:mallocmuzero_\w+|process_\w+|job\w*:[\w:]+|up|ALERTS)(?![\w:(\"])"
        found = re.findall(name + r"(?:\{[^}]*\})?", self.text)
        # Either a cluster or a run of train has the series, and any of them will do.
        return {
            re.sub(r'job="[^"]*"', 'job=~"mallocmuzero.*"', selector)
            for selector in found
            if not any(part in selector for part in MAY_BE_MISSING)
        }


def substitute(text: str, **choices: str) -> str:
    """Replaces Grafana's variables. An unknown variable stays, and Prometheus refuses it."""
    for name, value in (CHOICES | choices).items():
        text = re.sub(rf"\$(?:{name}\b|{{{name}}})", value, text)
    return text


def all_panels(panels: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields panels, also those of closed rows."""
    for panel in panels:
        if panel["type"] != "row":
            yield panel
        yield from all_panels(panel.get("panels", []))


def dashboard_expressions(job: str, train_job: str, program: str) -> list[Expression]:
    """Returns the expressions of all panels.

    An expression that has metrics of `train` must also answer for a run of `train`.
    """
    found = []
    for file in sorted(DASHBOARDS.glob("*.json")):
        for panel in all_panels(json.loads(file.read_text())["panels"]):
            for target in panel["targets"]:
                jobs = [job] + ([train_job] if "mallocmuzero_train" in target["expr"] else [])
                for one in jobs:
                    text = substitute(target["expr"], job=one, program=program)
                    place = f"{file.stem}, {panel['title']} ({target['refId']}, {one})"
                    found.append(Expression(place, text, answers=True))
    return found


def variable_selectors(job: str) -> list[tuple[str, str, str]]:
    """Returns (place, selector, label) of each variable that offers the values of a label."""
    found = []
    for file in sorted(DASHBOARDS.glob("*.json")):
        for variable in json.loads(file.read_text())["templating"]["list"]:
            if variable["type"] == "query":
                text = substitute(variable["query"]["query"], job=job)
                parts = re.fullmatch(r"label_values\((.*), (\w+)\)", text)
                assert parts is not None, text
                found.append((f"{file.stem}, ${variable['name']}", parts[1], parts[2]))
    return found


def rule_expressions(groups: list[dict[str, Any]]) -> list[Expression]:
    """Returns the expressions of the answer of Prometheus to /api/v1/rules."""
    return [
        Expression(
            rule["name"],
            rule["query"],
            answers=rule["type"] == "recording" or rule["name"] == FIRES_ALWAYS,
        )
        for group in groups
        for rule in group["rules"]
    ]
