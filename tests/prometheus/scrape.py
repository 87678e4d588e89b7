"""Lets a real Prometheus scrape a real cluster with the configuration of deploy/prometheus.

Prometheus must see all roles as up, every series of an alert must exist, and no rule may fail.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from loopback_cluster import free_ports

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "prometheus"
PROGRAM = ROOT / "workloads" / "tpu_v4i" / "dcn_v2_4_b8192.program"
PATIENCE_SECONDS = 120
STOP_SECONDS = 30


def write_cluster(folder: pathlib.Path, ports: list[int]) -> pathlib.Path:
    """One shard, a learner and an actor; the last three ports are those of their metrics."""
    shard, learner, *metrics = (f"'127.0.0.1:{port}'" for port in ports)
    config = folder / "cluster.textproto"
    config.write_text(
        f"replay {{ name: 's' address: {shard} metrics_address: {metrics[0]}\n"
        f"  data_dir: 'shard' rate_limit {{ min_positions: 100 }} }}\n"
        f"learner {{ address: {learner} metrics_address: {metrics[1]}\n"
        f"  run_dir: 'run' workloads: '{PROGRAM}' checkpoint_seconds: 1\n"
        "  search { simulations: 2 } options { batch_size: 16 unroll_steps: 2 } }\n"
        "actor { count: 1 games_in_flight: 2 spool_dir: 'spool'\n"
        f"  metrics_address: {metrics[2]} }}\n"
    )
    return config


def write_prometheus(folder: pathlib.Path, metrics: list[int]) -> pathlib.Path:
    """Writes the committed files with this cluster's addresses and a scrape each second."""
    text = (DEPLOY / "prometheus.yml").read_text()
    config = folder / "prometheus.yml"
    config.write_text(text.replace("15s", "1s"))
    (folder / "alerts.yml").write_text((DEPLOY / "alerts.yml").read_text())
    targets = [
        {"targets": [f"127.0.0.1:{port}"], "labels": {"role": role}}
        for port, role in zip(metrics, ("replay", "learner", "actor"), strict=True)
    ]
    (folder / "targets.yml").write_text(json.dumps(targets))  # JSON is YAML
    return config


def ask(port: int, path: str, **arguments: str) -> Any:
    """Returns an answer of Prometheus' HTTP interface; None if there is none yet."""
    query = urllib.parse.urlencode(arguments)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}?{query}") as answer:
            return json.load(answer)["data"]
    except (urllib.error.URLError, ConnectionError):
        return None


def wanted_series() -> set[str]:
    """Returns the names in the expressions of alerts.yml."""
    expressions = re.findall(r"expr: (?:>-)?(.*?)\n +(?:for|labels):", alerts_text(), re.DOTALL)
    return set(re.findall(r"\b((?:mallocmuzero|process)_\w+|up)\b", " ".join(expressions)))


def alerts_text() -> str:
    return (DEPLOY / "alerts.yml").read_text()


def missing(port: int) -> str | None:
    """Returns what is still missing; None once everything is there."""
    targets = ask(port, "targets")
    if targets is None:
        return "Prometheus does not answer"
    down = [
        f"{target['labels'].get('role')}: {target['lastError'] or 'not scraped'}"
        for target in targets["activeTargets"]
        if target["health"] != "up"
    ]
    if down or len(targets["activeTargets"]) != 3:
        return f"{len(targets['activeTargets'])} targets, of them not up: {down}"
    unknown = wanted_series() - set(ask(port, "label/__name__/values") or ())
    if unknown:
        return f"series that no role has: {', '.join(sorted(unknown))}"
    rules = [rule for group in ask(port, "rules")["groups"] for rule in group["rules"]]
    if len(rules) != alerts_text().count("- alert:"):
        return f"{len(rules)} rules"
    failing = [f"{rule['name']}: {rule['health']}" for rule in rules if rule["health"] != "ok"]
    return f"rules {failing}" if failing else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="mallocmuzero")
    parser.add_argument("--prometheus", required=True, help="prometheus")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ports = free_ports(6)
        cluster = write_cluster(folder, ports[:5])
        config = write_prometheus(folder, ports[2:5])
        commands = [
            [arguments.binary, "up", "--config", str(cluster)],
            [
                arguments.prometheus,
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{ports[5]}",
                "--log.level=warn",
            ],
        ]
        processes = [subprocess.Popen(command) for command in commands]
        try:
            end = time.monotonic() + PATIENCE_SECONDS
            while (wrong := missing(ports[5])) is not None and time.monotonic() < end:
                time.sleep(0.2)
        finally:
            for process in processes:
                process.terminate()
            ends = [process.wait(STOP_SECONDS) for process in processes]
    if wrong is not None or any(ends):
        print(f"scrape: {wrong}; exit codes {ends}", file=sys.stderr)
        return 1
    print(f"scrape: 3 roles, {len(wanted_series())} series of alerts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
