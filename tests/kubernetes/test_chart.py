"""Tests of the objects of the chart in deploy/helm, which need helm and no cluster."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import chart
import pytest
from chart import VALUE_SETS, Object, labels_of, of_kind, roles, selects

pytestmark = pytest.mark.skipif(
    chart.tool("helm") is None, reason="no helm: scripts/kubernetes-tools builds it"
)

BINARY = pathlib.Path(
    os.environ.get("MALLOCMUZERO_BINARY", chart.ROOT / "build" / "bin" / "mallocmuzero")
)
# Seconds within which a role stops after SIGTERM: docs/operations.md.
STOP_SECONDS = 10


@pytest.fixture(scope="module", params=VALUE_SETS, ids=list(VALUE_SETS))
def objects(request: pytest.FixtureRequest) -> list[Object]:
    return chart.render(VALUE_SETS[request.param])


def make_secrets(folder: pathlib.Path) -> None:
    """The files of the Secrets, with the names in the pods, as the operator would make them."""
    (folder / "tls").mkdir()
    key, certificate = folder / "tls" / "tls.key", folder / "tls" / "tls.crt"
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x"
        f" -keyout {key} -out {certificate}".split(),
        check=True,
        capture_output=True,
    )
    (folder / "tls" / "ca.crt").write_bytes(certificate.read_bytes())
    for name in ("token", "admin-token"):
        (folder / name).mkdir()
        (folder / name / "token").write_text("0123456789abcdef\n")


@pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS)
def test_lint_finds_nothing(values: list[str]) -> None:
    done = chart.helm("lint", "--strict", str(chart.CHART), *chart.value_flags(values))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout


@pytest.mark.skipif(
    chart.tool("kubeconform") is None or not (chart.TOOLS / "schemas").is_dir(),
    reason="no kubeconform with schemas: scripts/kubernetes-tools makes them",
)
@pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS)
def test_objects_have_the_fields_of_their_schemas(values: list[str]) -> None:
    done = chart.template(values)
    assert done.returncode == 0, done.stderr
    checked = chart.kubeconform(done.stdout)
    assert checked.returncode == 0, checked.stdout
    # A field that does not exist is found, so the schemas are strict.
    misspelt = chart.kubeconform(done.stdout.replace("terminationGracePeriod", "termGracePeriod"))
    assert "additional properties 'termGracePeriodSeconds' not allowed" in misspelt.stdout


@pytest.mark.skipif(not BINARY.exists(), reason=f"{BINARY} is not built")
def test_the_binary_accepts_the_configuration(
    objects: list[Object], tmp_path: pathlib.Path
) -> None:
    make_secrets(tmp_path)
    text = chart.config_of(objects).replace("/etc/mallocmuzero/", f"{tmp_path}/")
    # Each host becomes a loopback address, at which no server answers.
    hosts = sorted(set(re.findall(r"[a-z0-9.-]+\.svc\.cluster\.local", text)))
    for i, host in enumerate(hosts):
        text = text.replace(host, f"127.77.1.{i + 1}")
    config = tmp_path / "cluster.textproto"
    config.write_text(text)
    done = subprocess.run(
        [BINARY, "status", "--config", config], capture_output=True, text=True, timeout=60
    )
    # 2 would be a mistake in the configuration, 1 says that no role answers.
    assert done.returncode == 1, done.stderr
    assert "learner" in done.stdout
    for shard in re.findall(r'name: "(.*?)"', text):
        assert shard in done.stdout


def test_addresses_are_those_of_pods_and_services(objects: list[Object]) -> None:
    config = chart.config_of(objects)
    pods = chart.pod_templates(objects)
    addresses = re.findall(r' address: "([^:]*):(\d+)"\n  listen_address: "0.0.0.0:(\d+)"', config)
    assert len(addresses) == config.count("replay {") + 1
    for host, port, listens in addresses:
        pod, service, namespace, rest = host.split(".", 3)
        assert (namespace, rest, listens) == (chart.NAMESPACE, "svc.cluster.local", port)
        # Pods of a StatefulSet have its name and a number, those of a JobSet the name of the job
        # and two numbers.
        owner = re.sub(r"-\d+$", "", pod)
        if owner not in pods:
            owner = re.sub(r"-\d+$", "", owner)
        (found,) = [
            each for each in of_kind(objects, "Service") if each["metadata"]["name"] == service
        ]
        assert found["spec"]["clusterIP"] == "None"
        assert selects(found["spec"]["selector"], labels_of(pods[owner]))
        (container,) = pods[owner]["spec"]["containers"]
        assert {"name": "rpc", "containerPort": int(port)} in container["ports"]


def test_roles_listen_at_ipv6_addresses_if_asked_to() -> None:
    config = chart.config_of(chart.render([*VALUE_SETS["small"], "listenHost=[::]"]))
    for port in (7400, 7410):
        assert f'  listen_address: "[::]:{port}"\n' in config
    assert config.count('  metrics_address: "[::]:') == 4
    assert "0.0.0.0" not in config


def test_a_stop_does_not_end_the_job_of_a_learner(objects: list[Object]) -> None:
    # A Job takes the exit code 0 for its end, even if the node was drained or a probe has failed.
    job_sets = {each["metadata"]["name"] for each in of_kind(objects, "JobSet")}
    for name, pod in chart.pod_templates(objects).items():
        in_job = any(name.startswith(each) for each in job_sets)
        (container,) = pod["spec"]["containers"]
        assert ("--fail-when-stopped" in container["args"]) == in_job


def test_every_shard_has_its_section_pod_and_volume(objects: list[Object]) -> None:
    config = chart.config_of(objects)
    (shards,) = [
        each
        for each in of_kind(objects, "StatefulSet")
        if each["metadata"]["name"].endswith("replay")
    ]
    names = [f"{shards['metadata']['name']}-{i}" for i in range(shards["spec"]["replicas"])]
    assert re.findall(r'replay \{\n  name: "(.*?)"', config) == names
    assert re.findall(r'data_dir: "(.*?)"', config) == [f"/data/{name}" for name in names]
    (claim,) = shards["spec"]["volumeClaimTemplates"]
    mounts = shards["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert {"name": claim["metadata"]["name"], "mountPath": "/data"} in mounts


def test_every_process_of_the_learner_has_its_rank_and_metrics_port(objects: list[Object]) -> None:
    config = chart.config_of(objects)
    processes = re.search(r"processes: (\d+)", config)
    first_port = re.search(r'learner \{[^}]*metrics_address: "0.0.0.0:(\d+)"', config)
    assert processes is not None and first_port is not None
    learners = roles(objects, "learner")
    assert len(learners) == int(processes[1])
    for rank, pod in enumerate(learners):
        (container,) = pod["spec"]["containers"]
        assert container["args"][:3] == ["learner", "--rank", str(rank)]
        metrics = {"name": "metrics", "containerPort": int(first_port[1]) + rank}
        assert metrics in container["ports"]
        (data,) = [each for each in pod["spec"]["volumes"] if each["name"] == "data"]
        assert ("persistentVolumeClaim" in data) == (rank == 0)


def test_pods_have_no_rights(objects: list[Object]) -> None:
    for pod in chart.pod_templates(objects).values():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == 10001
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]


def test_pods_are_probed_and_have_time_to_stop(objects: list[Object]) -> None:
    for pod in roles(objects, "replay", "learner", "actor", "reanalyse"):
        (container,) = pod["spec"]["containers"]
        for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
        assert pod["spec"]["terminationGracePeriodSeconds"] >= 2 * STOP_SECONDS


def test_mounts_have_volumes(objects: list[Object]) -> None:
    claims = {
        each["metadata"]["name"]: {
            claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", [])
        }
        for each in of_kind(objects, "StatefulSet")
    }
    for name, pod in chart.pod_templates(objects).items():
        volumes = {each["name"] for each in pod["spec"]["volumes"]} | claims.get(name, set())
        for container in pod["spec"]["containers"]:
            assert {each["name"] for each in container["volumeMounts"]} == volumes


def test_files_of_the_configuration_are_mounted(objects: list[Object]) -> None:
    files = re.findall(r'"/etc/mallocmuzero/(.*?)/', chart.config_of(objects))
    for pod in chart.pod_templates(objects).values():
        for container in pod["spec"]["containers"]:
            mounted = {each["mountPath"] for each in container["volumeMounts"]}
            wanted = {f"/etc/mallocmuzero/{folder}" for folder in files}
            # Only shards and process 0 of the learner need the token of administrators.
            labels = labels_of(pod)
            if (
                labels["app.kubernetes.io/component"] != "replay"
                and labels.get("mallocmuzero/rank") != "0"
            ):
                wanted -= {"/etc/mallocmuzero/admin-token"}
            assert wanted == {
                path
                for path in mounted
                if path.startswith("/etc/mallocmuzero/") and not path.endswith("/config")
            }


def test_selectors_find_their_pods_and_no_others(objects: list[Object]) -> None:
    pods = chart.pod_templates(objects)
    for each in objects:
        if each["kind"] not in ("StatefulSet", "Deployment"):
            continue
        selector = each["spec"]["selector"]["matchLabels"]
        found = [name for name, pod in pods.items() if selects(selector, labels_of(pod))]
        assert found == [each["metadata"]["name"]]
    for budget in of_kind(objects, "PodDisruptionBudget"):
        selector = budget["spec"]["selector"]["matchLabels"]
        found = [name for name, pod in pods.items() if selects(selector, labels_of(pod))]
        assert found == [budget["metadata"]["name"]]


def test_an_upgrade_replaces_pods_that_never_became_ready(objects: list[Object]) -> None:
    # Kubernetes waits for ever until such a pod is ready, unless the policy is Parallel.
    for each in of_kind(objects, "StatefulSet"):
        assert each["spec"]["podManagementPolicy"] == "Parallel"
