"""Tests of the chart in deploy/helm that need helm and no cluster."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator

import chart
import pytest
import yaml
from chart import VALUE_SETS, Object

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


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [each for each in objects if each["kind"] == kind]


def selects(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def labels_of(pod: Object) -> dict[str, str]:
    labels: dict[str, str] = pod["metadata"]["labels"]
    return labels


def roles(objects: list[Object], *components: str) -> list[Object]:
    """The templates of pods of these components."""
    key = "app.kubernetes.io/component"
    return [
        pod for pod in chart.pod_templates(objects).values() if labels_of(pod)[key] in components
    ]


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


def allowed(objects: list[Object], source: Object, target: Object, port: int) -> bool:
    """Whether the policies let the pod `source` connect to a port of the pod `target`."""

    def permits(pod: Object, peer: Object, direction: str, peers: str) -> bool:
        for policy in of_kind(objects, "NetworkPolicy"):
            if not selects(policy["spec"]["podSelector"]["matchLabels"], labels_of(pod)):
                continue
            for rule in policy["spec"][direction]:
                ports = rule.get("ports", [{"port": 1, "endPort": 65535}])
                if not any(
                    each["port"] <= port <= each.get("endPort", each["port"]) for each in ports
                ):
                    continue
                for each in rule.get(peers, []):
                    selector = each.get("podSelector", {}).get("matchLabels")
                    if selector is not None and selects(selector, labels_of(peer)):
                        return True
        return False

    return permits(source, target, "egress", "to") and permits(target, source, "ingress", "from")


def test_policies_allow_the_calls_of_the_roles_and_no_others() -> None:
    objects = chart.render(VALUE_SETS["real"])
    (shard,) = roles(objects, "replay")
    first, second = roles(objects, "learner")
    (actor,) = roles(objects, "actor")
    (reanalyser,) = roles(objects, "reanalyse")
    (status,) = roles(objects, "test")
    for caller in (first, second, actor, reanalyser, status):
        assert allowed(objects, caller, shard, 7410)
        assert allowed(objects, caller, first, 7400)
    assert allowed(objects, second, first, 7500)
    assert allowed(objects, first, second, 40000)
    assert not allowed(objects, actor, first, 7500)
    assert not allowed(objects, actor, shard, 9465)
    assert not allowed(objects, shard, first, 7400)
    assert not allowed(objects, actor, actor, 9470)
    stranger: Object = {"metadata": {"labels": {}}}
    assert not allowed(objects, stranger, shard, 7410)


def test_policies_and_mounts_allow_the_commands_of_administrators() -> None:
    objects = chart.render(VALUE_SETS["real"])
    (shard,) = roles(objects, "replay")
    first, _ = roles(objects, "learner")
    text = (chart.ROOT / "docs" / "kubernetes.md").read_text()
    (pod,) = re.findall(r"kubectl exec RELEASE-(\S+)-0 -- mallocmuzero shards ", text)
    caller = chart.pod_templates(objects)[f"{chart.RELEASE}-{pod}"]
    # The learner keeps the list of the shards; games move from shard to shard through the command.
    assert allowed(objects, caller, shard, 7410)
    assert allowed(objects, caller, first, 7400)
    (container,) = caller["spec"]["containers"]
    assert "admin-token" in {each["name"] for each in container["volumeMounts"]}


@pytest.mark.parametrize("kind", ["KEDA", "HPA"])
def test_the_autoscaler_asks_for_the_error_over_its_buffer(kind: str) -> None:
    objects = chart.render([*VALUE_SETS["real"], f"actor.autoscaling.kind={kind}"])
    if kind == "KEDA":
        (scaler,) = of_kind(objects, "ScaledObject")
        (trigger,) = scaler["spec"]["triggers"]
        assert trigger["metadata"]["threshold"] == "1"
        query = trigger["metadata"]["query"]
    else:
        (scaler,) = of_kind(objects, "HorizontalPodAutoscaler")
        (metric,) = scaler["spec"]["metrics"]
        assert metric["external"]["target"] == {"type": "Value", "value": "1"}
        (rules,) = of_kind(objects, "PrometheusRule")
        (rule,) = rules["spec"]["groups"][0]["rules"]
        assert rule["record"] == metric["external"]["metric"]["name"]
        query = rule["expr"]
    buffer = re.search(r"error_buffer: (\d+)", chart.config_of(objects))
    assert buffer is not None
    assert f"/ {buffer[1]}, -1, 1)" in query
    assert 'namespace="training",service="run1-mallocmuzero-replay"' in query
    (deployment,) = [
        each
        for each in of_kind(objects, "Deployment")
        if each["metadata"]["name"] == scaler["spec"]["scaleTargetRef"]["name"]
    ]
    # The Deployment must not undo what the autoscaler does.
    assert "replicas" not in deployment["spec"]


def checksums(objects: list[Object]) -> set[str]:
    return {
        pod["metadata"]["annotations"]["checksum/config"]
        for name, pod in chart.pod_templates(objects).items()
        if not name.endswith("status")
    }


def test_pods_restart_for_other_settings_but_not_for_more_actors_or_shards() -> None:
    before = checksums(chart.render(VALUE_SETS["small"]))
    assert len(before) == 1
    assert checksums(chart.render([*VALUE_SETS["small"], "actor.replicas=5"])) == before
    assert checksums(chart.render([*VALUE_SETS["small"], "replay.shards=5"])) == before
    assert checksums(chart.render([*VALUE_SETS["small"], "actor.threads=2"])) != before


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["actor.replicaz=3"], "additional properties 'replicaz' not allowed"),
        (["fullnameOverride=m", "nameOverride=two words"], "'two words' does not match pattern"),
        (["replay.shards=0"], "minimum: got 0, want 1"),
        (["replay.terminationGracePeriodSeconds=5"], "minimum: got 5, want 10"),
        (["security.allowInsecureNetwork=false"], "security: set tls.serverSecret"),
        (["learner.gpus=1", "learner.config=devices: 1"], "learner.config: no devices expected"),
        (["actor.maxUnavailable=0%"], "'0%' does not match pattern"),
        (["actor.maxUnavailable=101%"], "'101%' does not match pattern"),
        (["learner.programs=null"], "learner.programs: one volume source expected"),
        (["security.tls.clientSecret=mine"], "security.tls: serverSecret expected"),
        (["security.tls.certManager.enabled=true"], "security.tls.certManager: serverSecret"),
        (
            ["actor.autoscaling.enabled=true", "actor.autoscaling.minReplicas=20"],
            "actor.autoscaling: minReplicas is above maxReplicas",
        ),
    ],
)
def test_wrong_values_are_refused(settings: list[str], reason: str) -> None:
    done = chart.template([*VALUE_SETS["small"], *settings])
    assert done.returncode != 0
    assert reason in done.stderr


@pytest.mark.parametrize(
    "value", ["replay.resources", "learner.resources", "actor.resources", "networkPolicy.clients"]
)
def test_a_default_may_be_removed_by_null(value: str) -> None:
    assert chart.render([*VALUE_SETS["small"], f"{value}=null"])


def test_objects_of_long_release_names_have_valid_names() -> None:
    done = chart.helm(
        "template",
        "r" * 53,
        str(chart.CHART),
        f"--kube-version={chart.KUBERNETES}",
        *chart.value_flags([*VALUE_SETS["job-set"], "reanalyse.replicas=1"]),
    )
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^  name: (\S+)$", done.stdout, re.MULTILINE)
    # A StatefulSet adds 11 characters to the label of its pods.
    assert names and all(len(name) <= 52 for name in names)
    hosts = re.findall(r'address: "([^.]*)\.', done.stdout)
    assert all(len(host) <= 63 for host in hosts)


def template_as(release: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return chart.helm(
        "template", release, str(chart.CHART), f"--kube-version={chart.KUBERNETES}", *flags
    )


# Fields of objects whose values are texts, or maps of texts.
NAMES = {"name", "namespace", "secretName", "serviceAccountName", "storageClassName", "claimName"}
NAMES |= {"priorityClassName", "release"}
LABELS = {"labels", "matchLabels", "annotations"}


def texts(value: object) -> Iterator[object]:
    """All values that Kubernetes takes for texts."""
    if isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in NAMES and not isinstance(each, dict):
                yield each
            elif key in LABELS:
                yield from each.values()
            else:
                yield from texts(each)


def test_names_that_yaml_takes_for_numbers_stay_texts() -> None:
    settings = {
        "fullnameOverride": "on",
        "nameOverride": "7",
        "security.tls.serverSecret": "11",
        "security.tls.clientSecret": "12",
        "security.tokenSecret": "13",
        "security.adminTokenSecret": "14",
        "replay.storage.storageClassName": "15",
        "learner.storage.storageClassName": "16",
        "learner.priorityClassName": "17",
        "learner.kind": "JobSet",
        "learner.jobSet.queue": "18",
        "actor.autoscaling.kind": "HPA",
    }
    done = template_as(
        "42",
        "--namespace=2026",
        *chart.value_flags(["values-real.yaml"]),
        *(f"--set-string={name}={value}" for name, value in settings.items()),
    )
    assert done.returncode == 0, done.stderr
    found = list(texts(list(yaml.safe_load_all(done.stdout))))
    assert [each for each in found if not isinstance(each, str)] == []
    assert {"42", "2026", "on", "7", *map(str, range(11, 19))} <= set(found)


@pytest.mark.parametrize("release", ["2fast", "run.1"])
def test_releases_whose_services_would_have_wrong_names_are_refused(release: str) -> None:
    values = chart.value_flags(VALUE_SETS["small"])
    done = template_as(release, *values)
    assert done.returncode != 0
    assert f"the names of Services would begin with '{release}-mallocmuzero'" in done.stderr
    assert template_as(release, *values, "--set=fullnameOverride=run").returncode == 0


def images(*settings: str) -> dict[str, str]:
    objects = chart.render([*VALUE_SETS["small"], "reanalyse.replicas=1", *settings])
    found = {}
    for pod in chart.pod_templates(objects).values():
        (container,) = pod["spec"]["containers"]
        found[container["name"]] = container["image"]
    return found


A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


def test_the_digest_of_an_image_is_not_that_of_another_one() -> None:
    pinned = [f"image.digest={A}", "learner.image.repository=cuda"]
    made = images(*pinned, f"learner.image.digest={B}", "actor.image.tag=v2")
    assert made["learner"] == f"cuda@{B}"
    assert made["actor"] == "mallocmuzero:v2"
    assert made["replay"] == made["reanalyse"] == made["status"] == f"mallocmuzero@{A}"
    assert images(*pinned, "learner.image.tag=v1")["learner"] == "cuda:v1"
    # A cluster with pinned images would have one that is not pinned.
    done = chart.template([*VALUE_SETS["small"], *pinned])
    assert done.returncode != 0
    assert "learner.image: a digest or a tag expected" in done.stderr


@pytest.mark.parametrize("role", ["learner", "actor", "reanalyse"])
def test_a_role_with_a_gpu_requests_and_uses_it(role: str) -> None:
    resource = "nvidia.com/mig-1g.10gb"
    objects = chart.render(
        [
            *VALUE_SETS["small"],
            "reanalyse.replicas=1",
            f"{role}.gpus=1",
            f"{role}.image.repository=cuda",
            f"{role}.gpuResource={resource.replace('.', chr(92) + '.')}",
        ]
    )
    for pod in roles(objects, "replay", "learner", "actor", "reanalyse"):
        (container,) = pod["spec"]["containers"]
        is_role = container["name"] == role
        assert container["resources"]["limits"].get(resource) == (1 if is_role else None)
        assert container["image"].startswith("cuda:") == is_role
    section = re.search(rf"^{role} {{\n(.*?)^}}", chart.config_of(objects), re.M | re.S)
    assert section is not None
    # A learner takes the first device that it sees.
    assert ('device: "cuda"' in section[1]) == (role != "learner")


@pytest.mark.parametrize(
    ("release", "job"),
    [("run1", "mallocmuzero-run1"), ("mallocmuzero-b", "mallocmuzero-b")],
)
def test_series_name_their_cluster_and_their_process(release: str, job: str) -> None:
    # As deploy/prometheus/kubernetes.yml does it. With one job for all, alerts would take the
    # actors of one release for those of another.
    done = template_as(release, *chart.value_flags(VALUE_SETS["real"]))
    assert done.returncode == 0, done.stderr
    monitors = of_kind([each for each in yaml.safe_load_all(done.stdout) if each], "ServiceMonitor")
    assert len(monitors) == 2
    for monitor in monitors:
        (endpoint,) = monitor["spec"]["endpoints"]
        rules = {each["targetLabel"]: each for each in endpoint["relabelings"]}
        assert rules["job"] == {"targetLabel": "job", "replacement": job}
        assert rules["instance"]["sourceLabels"] == ["__meta_kubernetes_pod_name"]


def test_a_learner_has_time_to_save_while_another_process_does_not_answer() -> None:
    # It waits for an update of all processes: docs/operations.md.
    objects = chart.render([*VALUE_SETS["small"], "learner.processes=2"])
    for pod in roles(objects, "learner"):
        assert pod["spec"]["terminationGracePeriodSeconds"] >= 75


def test_an_upgrade_replaces_pods_that_never_became_ready(objects: list[Object]) -> None:
    # Kubernetes waits for ever until such a pod is ready, unless the policy is Parallel.
    for each in of_kind(objects, "StatefulSet"):
        assert each["spec"]["podManagementPolicy"] == "Parallel"


def notes(values: list[str], folder: pathlib.Path) -> str:
    """What `helm install` prints at its end. `helm template` leaves that out."""
    copy = folder / "chart"
    shutil.copytree(chart.CHART, copy)
    text = (copy / "templates" / "NOTES.txt").read_text()
    (copy / "templates" / "notes.yaml").write_text(
        f'{{{{- define "notes" -}}}}{text}{{{{- end -}}}}text: {{{{ include "notes" . | quote }}}}'
    )
    done = chart.helm(
        "template",
        chart.RELEASE,
        str(copy),
        f"--namespace={chart.NAMESPACE}",
        f"--kube-version={chart.KUBERNETES}",
        "--show-only=templates/notes.yaml",
        *chart.value_flags(values),
    )
    assert done.returncode == 0, done.stderr
    return str(yaml.safe_load(done.stdout)["text"])


@pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS)
def test_commands_after_an_installation_are_for_pods_that_exist(
    values: list[str], tmp_path: pathlib.Path
) -> None:
    objects = chart.render(values)
    pods = [
        f"{each['metadata']['name']}-{i}"
        for each in of_kind(objects, "StatefulSet")
        for i in range(each["spec"]["replicas"])
    ]
    pods += [f"deployment/{each['metadata']['name']}" for each in of_kind(objects, "Deployment")]
    for each in of_kind(objects, "JobSet"):
        name = each["metadata"]["name"]
        pods += [f"job/{name}-{job['name']}-0" for job in each["spec"]["replicatedJobs"]]
    named = re.findall(r" exec (\S+) -- ", notes(values, tmp_path))
    assert len(named) == 2
    assert set(named) <= set(pods)
