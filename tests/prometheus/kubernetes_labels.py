"""The labels that deploy/prometheus/kubernetes.yml gives to pods, by Prometheus' own tool.

Debian's Prometheus has no Kubernetes discovery. This test hands the labels that the discovery finds
to the tool in a file, in place of the section `kubernetes_sd_configs`; all rules of relabelling
remain.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "prometheus"
JOBS = ("mallocmuzero", "mallocmuzero-servers")


def pod(name: str, component: str, release: str, port: str, phase: str) -> dict[str, object]:
    """A pod of one container port, as Kubernetes discovery finds it."""
    labels = {
        "namespace": "training",
        "pod_name": name,
        "pod_node_name": "node-1",
        "pod_phase": phase,
        "pod_container_port_name": port,
        "pod_label_app_kubernetes_io_name": "mallocmuzero",
        "pod_label_app_kubernetes_io_component": component,
        "pod_label_app_kubernetes_io_instance": release,
    }
    named = {f"__meta_kubernetes_{label}": value for label, value in labels.items() if value}
    return {"targets": ["10.0.0.1:9464"], "labels": named}


PODS = [
    pod("learner-0", "learner", "mallocmuzero", "metrics", "Running"),
    pod("b-mallocmuzero-replay-0", "replay", "b", "metrics", "Running"),
    pod("actor-x", "actor", "mallocmuzero-c", "metrics", "Running"),
    pod("reanalyse-y", "reanalyse", "", "metrics", "Running"),
    pod("learner-0", "learner", "mallocmuzero", "grpc", "Running"),
    pod("actor-preempted", "actor", "mallocmuzero", "metrics", "Failed"),
    pod("init", "migration", "mallocmuzero", "metrics", "Running"),
]

# (job of the configuration, job, role, instance, service). The autoscaler of the chart finds the
# shards of its release by the service; other roles need none.
EXPECTED = {
    ("mallocmuzero", "mallocmuzero-c", "actor", "actor-x", ""),
    ("mallocmuzero", "mallocmuzero", "reanalyse", "reanalyse-y", ""),
    ("mallocmuzero-servers", "mallocmuzero", "learner", "learner-0", ""),
    (
        "mallocmuzero-servers",
        "mallocmuzero-b",
        "replay",
        "b-mallocmuzero-replay-0",
        "b-mallocmuzero-replay",
    ),
}


def without_kubernetes(folder: pathlib.Path) -> pathlib.Path:
    """Writes the configuration with a file of pods in place of the discovery."""
    (folder / "pods.json").write_text(json.dumps(PODS))
    text = (DEPLOY / "kubernetes.yml").read_text()
    section = r"    kubernetes_sd_configs:(?: &pods(?:\n {6,}.*)+| \*pods)"
    text, count = re.subn(section, "    file_sd_configs: [{files: [pods.json]}]", text)
    assert count == len(JOBS), "kubernetes.yml has another form"
    config = folder / "prometheus.yml"
    config.write_text(re.sub(r"rule_files:\n(  - .*\n)+", "", text))
    return config


def labels_by(promtool: str, config: pathlib.Path, seconds: int) -> set[tuple[str, ...]]:
    """Returns what the tool has found after so many seconds."""
    found: set[tuple[str, ...]] = set()
    for job in JOBS:
        ran = subprocess.run(
            [promtool, "check", "service-discovery", f"--timeout={seconds}s", str(config), job],
            capture_output=True,
            text=True,
            check=True,
        )
        # A list follows some lines of text. It is null if nothing was found.
        _, bracket, rest = ran.stdout.partition("[")
        for target in json.loads(bracket + rest or "[]"):
            if labels := target.get("labels"):
                shown = (labels.get(name, "") for name in ("job", "role", "instance", "service"))
                found.add((job, *shown))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--promtool", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        config = without_kubernetes(pathlib.Path(name))
        # The tool waits for all of its time, and on a busy machine it may find nothing in a second.
        for seconds in (1, 4, 16):
            found = labels_by(arguments.promtool, config, seconds)
            if found == EXPECTED:
                break
    for one in sorted(EXPECTED ^ found):
        kind = "not found" if one in EXPECTED else "not expected"
        print(f"kubernetes_labels: {kind}: {one}", file=sys.stderr)
    return 0 if found == EXPECTED else 1


if __name__ == "__main__":
    sys.exit(main())
