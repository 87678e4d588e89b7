"""Lets a real Prometheus scrape a real run, and evaluates every expression that is deployed.

All roles must be up, and every series that an expression names must exist. Each expression of a
panel or a recording rule must answer with a number, each expression of an alert must be silent, and
docs/metrics.md must have all metrics.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import sys
import tempfile
import time

import reference
from expressions import (
    Expression,
    dashboard_expressions,
    rule_expressions,
    variable_selectors,
)
from live_run import CLUSTER_JOB, PROGRAM, ROLES, TRAIN_JOB, LiveRun

PATIENCE_SECONDS = 120


class Checks:
    """What has not been seen yet. Each expression is asked until it has answered as it should."""

    def __init__(self, run: LiveRun) -> None:
        self._run = run
        self._expressions: list[Expression] | None = None
        self._selectors: set[str] = set()
        self._variables = variable_selectors(CLUSTER_JOB)
        self.figures = ""

    def missing(self) -> list[str]:
        """Returns what is still missing; empty once everything was seen."""
        if (targets := self._run.ask("targets")) is None:
            return ["Prometheus does not answer"]
        down = [
            f"{target['labels'].get('role')}: {target['lastError'] or 'not scraped'}"
            for target in targets["activeTargets"]
            if target["health"] != "up"
        ]
        if down or len(targets["activeTargets"]) != len(ROLES):
            return [f"{len(targets['activeTargets'])} processes, of them not up: {down}"]
        if self._expressions is None:
            self._read_expressions()
        return self._ask_expressions() + self._ask_variables() + self._broken_rules()

    def _read_expressions(self) -> None:
        rules = rule_expressions(self._run.ask("rules")["groups"])
        panels = dashboard_expressions(CLUSTER_JOB, TRAIN_JOB, PROGRAM.stem)
        self._expressions = panels + rules
        self._selectors = set().union(*(one.selectors() for one in self._expressions))
        self.figures = (
            f"{len(panels)} expressions of panels, {len(rules)} of rules and alerts,"
            f" {len(self._selectors)} selectors"
        )

    def _values(self, text: str) -> list[dict[str, str]]:
        """Returns the labels of the series with a number in an expression's answer."""
        found = self._run.ask("query", query=text)
        results = found["result"] if found is not None else []
        return [one["metric"] for one in results if not math.isnan(float(one["value"][1]))]

    def _ask_expressions(self) -> list[str]:
        assert self._expressions is not None
        self._expressions = [
            one for one in self._expressions if bool(self._values(one.text)) != one.answers
        ]
        self._selectors = {one for one in self._selectors if not self._values(one)}
        return [
            f"{one.place}: {'no answer' if one.answers else 'true in a healthy run'}: {one.text}"
            for one in self._expressions
        ] + [f"no process has {one}" for one in sorted(self._selectors)]

    def _ask_variables(self) -> list[str]:
        return [
            f"{place}: no series with the label {label}: {selector}"
            for place, selector, label in self._variables
            if not any(label in labels for labels in self._values(selector))
        ]

    def _broken_rules(self) -> list[str]:
        """Rules that fail, and series whose own label hides behind one of the scraper's."""
        groups = self._run.ask("rules")["groups"]
        broken = [
            f"{rule['name']}: {rule.get('lastError') or rule['health']}"
            for group in groups
            for rule in group["rules"]
            if rule["health"] != "ok"
        ]
        labels = self._run.ask("labels") or []
        return broken + [
            f"a metric has the label {label.removeprefix('exported_')}, which is the scraper's"
            for label in labels
            if label.startswith("exported_")
        ]


def check_reference(run: LiveRun, write: bool) -> list[str]:
    made = reference.render([run.scrape(role) for role in ROLES])
    if write:
        reference.FILE.write_text(made)
    elif not reference.FILE.exists() or reference.FILE.read_text() != made:
        return ["docs/metrics.md: not up to date; --write-reference writes it"]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="mallocmuzero")
    parser.add_argument("--prometheus", required=True, help="prometheus")
    parser.add_argument("--write-reference", action="store_true", help="write docs/metrics.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with LiveRun(folder, arguments.binary, arguments.prometheus) as run:
            checks = Checks(run)
            end = time.monotonic() + PATIENCE_SECONDS
            while (wrong := checks.missing()) and time.monotonic() < end and not run.ended():
                time.sleep(0.5)
            wrong += [f"ended: {command}" for command in run.ended()]
            if not wrong:
                wrong = check_reference(run, arguments.write_reference)
    if any(run.exit_codes):
        wrong.append(f"exit codes {run.exit_codes}")
    for line in wrong:
        print(f"scrape: {line}", file=sys.stderr)
    if not wrong:
        print(f"scrape: {len(ROLES)} roles, {checks.figures}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
