"""Runs the roles in an image, as the chart starts them. scripts/test-kubernetes does this.

MALLOCMUZERO_IMAGE is the OCI layout of deploy/image/build.
"""

from __future__ import annotations

import functools
import os
import pathlib
import re
import subprocess
import time
from collections.abc import Iterator

import chart
import pytest
import yaml
from control_plane import await_
from pods import Node, Pod

pytestmark = [
    pytest.mark.control_plane,
    pytest.mark.skipif("MALLOCMUZERO_IMAGE" not in os.environ, reason="no MALLOCMUZERO_IMAGE"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

# The parts of values-real.yaml, in a size for one machine.
VALUES = {
    "security": {
        "allowInsecureNetwork": False,
        "tls": {
            "serverSecret": "server",
            "clientSecret": "client",
            "certManager": {"enabled": True, "issuerRef": {"name": "test"}},
        },
        "tokenSecret": "token",
        "adminTokenSecret": "admin-token",
    },
    "replay": {"shards": 2, "rateLimit": {"minPositions": 200, "errorBuffer": 2000}},
    "learner": {
        "processes": 2,
        "config": "options { batch_size: 16 unroll_steps: 2 }\nsearch { simulations: 2 }",
    },
    "actor": {"replicas": 2, "config": "games_in_flight: 4"},
    "reanalyse": {"replicas": 1, "config": "games_in_flight: 4"},
}
PROGRAM = chart.ROOT / "workloads" / "tpu_v4i" / "dcn_v2_4_b8192.program"


def openssl(folder: pathlib.Path, command: str) -> None:
    subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)


def certificate(folder: pathlib.Path, name: str, hosts: list[str]) -> dict[str, bytes]:
    """What cert-manager would put into the Secret."""
    (folder / "san").write_text("subjectAltName=" + ",".join(f"DNS:{host}" for host in hosts))
    curve = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    openssl(folder, f"req {curve} -subj /CN={name} -keyout key -out request")
    openssl(
        folder,
        "x509 -req -in request -CA ca -CAkey ca-key -CAcreateserial -days 2 -extfile san -out leaf",
    )
    return {
        "ca.crt": (folder / "ca").read_bytes(),
        "tls.crt": (folder / "leaf").read_bytes(),
        "tls.key": (folder / "key").read_bytes(),
    }


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Iterator[Node]:
    layout = os.environ["MALLOCMUZERO_IMAGE"]
    bundle = tmp_path / "bundle"
    unpack = ["umoci", "unpack", "--image", f"{layout}:latest", str(bundle)]
    subprocess.run(unpack, check=True, capture_output=True)
    # Other users must reach the root of the image.
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(VALUES))
    objects = chart.render(
        ["values-small.yaml"],
        tmp_path / "values.yaml",
    )
    with Node(tmp_path, bundle / "rootfs", objects) as made:
        ca = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca"
        openssl(tmp_path, f"{ca} -keyout ca-key -out ca")
        for each in objects:
            if each["kind"] == "Certificate":
                name, spec = each["metadata"]["name"], each["spec"]
                files = certificate(tmp_path, name, spec["dnsNames"])
                made.add_files("secret", spec["secretName"], files)
        for secret in ("token", "admin-token"):
            made.add_files("secret", secret, {"token": secret.encode() * 4})
        made.add_files("configMap", "programs", {PROGRAM.name: PROGRAM.read_bytes()})
        yield made


def is_healthy(node: Node) -> bool:
    """Runs the pod of `helm test`."""
    pod = node.start(f"{chart.RELEASE}-mallocmuzero-status")
    assert pod.process is not None
    code = pod.process.wait(timeout=60)
    assert code in (0, 1), pod.log.read_text()
    return code == 0


def step(pod: Pod) -> float:
    found = re.search(r"^mallocmuzero_learner_step (\S+)", pod.get("/metrics") or "", re.MULTILINE)
    return float(found[1]) if found else 0


def test_the_roles_train_in_their_pods(node: Node) -> None:
    roles = [name for name in node.pods if not name.endswith("status")]
    # Two shards, two processes of the learner, two actors, a reanalyser.
    assert len(roles) == 7
    for name in roles:
        node.start(name)
    for name in roles:
        await_(f"readiness of {name}", functools.partial(node.pods[name].probe, "readinessProbe"))
        assert node.pods[name].probe("livenessProbe")
    learner = node.pods[f"{chart.RELEASE}-mallocmuzero-learner-0-0"]
    await_("an update", lambda: step(learner) > 0)
    await_("health", lambda: is_healthy(node))

    shard = node.pods[f"{chart.RELEASE}-mallocmuzero-replay-1"]
    assert shard.stop() == 0
    assert not is_healthy(node)
    node.start(shard.name)
    await_("health with the shard back", lambda: is_healthy(node))
    before = step(learner)
    await_("further updates", lambda: step(learner) > before)

    # Players first, so that they can deliver their games.
    for name in sorted(roles, key=lambda name: "-replay-" in name):
        begin = time.monotonic()
        assert node.pods[name].stop() == 0, node.pods[name].log.read_text()
        assert time.monotonic() - begin < node.pods[name].grace / 2
