"""Compares the names of alerts in deploy/prometheus with other places that list them.

Every alert must be in the table of symptoms of docs/operations.md as "alert `Name`", and must fire
in alerts_test.yml. No place may name an alert that does not exist.
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "prometheus"


def alerts() -> dict[str, str]:
    """Returns the severity of each alert."""
    text = (DEPLOY / "alerts.yml").read_text()
    found = re.findall(r"- alert: (\w+)\n.*?labels: \{severity: (\w+)\}", text, re.DOTALL)
    assert len(found) == text.count("- alert:"), "alerts.yml: an alert has no severity"
    return dict(found)


def documented() -> set[str]:
    text = (ROOT / "docs" / "operations.md").read_text()
    section = text.partition("## When something is wrong\n")[2].partition("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    return set(re.findall(r"alert `(\w+)`", table))


def differences() -> list[str]:
    known = alerts()
    tested = set(
        re.findall(r"alertname: (\w+)\n", (ROOT / "tests/prometheus/alerts_test.yml").read_text())
    )
    routing = (DEPLOY / "alertmanager.yml").read_text()
    inhibited = set(
        re.findall(r"\b[A-Z]\w+\b", " ".join(re.findall(r"alertname =~? (.*)\]", routing)))
    )
    wrong = [f"docs/operations.md: no symptom for {name}" for name in known.keys() - documented()]
    wrong += [f"docs/operations.md: no alert {name}" for name in documented() - known.keys()]
    wrong += [f"alerts_test.yml: never fires {name}" for name in known.keys() - tested]
    wrong += [f"alertmanager.yml: no alert {name}" for name in inhibited - known.keys()]
    wrong += [
        f"alerts.yml: {name}: severity {severity}, must be critical, warning or none"
        for name, severity in known.items()
        if severity not in ("critical", "warning", "none")
    ]
    return sorted(wrong)


def main() -> int:
    wrong = differences()
    for line in wrong:
        print(f"check_alerts: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
