"""The reference of all metrics, docs/metrics.md, made from what real processes serve."""

from __future__ import annotations

import dataclasses
import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "metrics.md"

HEAD = """\
# Metrics

Every process of a cluster with a `metrics_address` serves these metrics at
http://`metrics_address`/metrics, and `train` at the address of `--metrics`.
[monitoring](monitoring.md) says how to scrape, show and watch them. The metrics of `serve` are in
[serve](serve.md#watch-it).

This file is made from the help texts of running processes. The test
`Prometheus.EveryPanelRuleAndAlertAnswers` fails if it is not up to date. This command writes it:

```
PYTHONPATH=tests/faults python3 tests/prometheus/scrape.py --binary build/bin/mallocmuzero \\
  --prometheus prometheus --write-reference
```

Times are in seconds and sizes in bytes. A counter starts at 0 with its process unless its text says
otherwise.
"""

# The sections, with the beginnings of the names in each. The first that fits counts.
SECTIONS = (
    ("Every process", ("process_", "mallocmuzero_build_info")),
    ("Shards and learner: calls", ("mallocmuzero_rpc_",)),
    ("Learner and actors: their connections to the shards", ("mallocmuzero_replay_client_",)),
    ("Replay shards", ("mallocmuzero_replay_",)),
    ("Learner", ("mallocmuzero_learner_",)),
    ("Actors and reanalysers", ("mallocmuzero_actor_",)),
    ("A run of `train`", ("mallocmuzero_train_",)),
)


@dataclasses.dataclass
class Family:
    """One metric with all its labels."""

    help: str
    kind: str = ""
    labels: set[str] = dataclasses.field(default_factory=set)


def parse(text: str, families: dict[str, Family]) -> None:
    """Adds the metrics of Prometheus' text format to `families`."""
    name = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, _, help_text = line.removeprefix("# HELP ").partition(" ")
            families.setdefault(name, Family(help_text))
        elif line.startswith("# TYPE "):
            families[name].kind = line.rsplit(" ", 1)[1]
        elif (labels := re.search(r"\{(.*)\}", line)) is not None:
            names = set(re.findall(r'(\w+)="', labels[1]))
            families[name].labels |= names - {"le"}  # of the buckets of a histogram


def section_of(name: str) -> str:
    for title, beginnings in SECTIONS:
        if name.startswith(beginnings):
            return title
    raise ValueError(f"{name}: no section of tests/prometheus/reference.py fits")


def render(texts: list[str]) -> str:
    """Returns the reference of all metrics in the texts that processes serve."""
    families: dict[str, Family] = {}
    for text in texts:
        parse(text, families)
    parts = [HEAD]
    for title, _ in SECTIONS:
        rows = [
            f"| `{name}` | {family.kind} | {', '.join(sorted(family.labels))} | {family.help} |"
            for name, family in sorted(families.items())
            if section_of(name) == title
        ]
        table = ["| name | type | labels | meaning |", "| --- | --- | --- | --- |", *rows]
        parts.append(f"## {title}\n\n" + "\n".join(table) + "\n")
    return "\n".join(parts)
