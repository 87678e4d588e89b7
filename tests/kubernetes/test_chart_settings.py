"""Tests of what single settings of the chart do, and of its policies, names and notes."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator

import chart
import pytest
import yaml
from chart import VALUE_SETS, Object, labels_of, of_kind, roles, selects

pytestmark = pytest.mark.skipif(
    chart.tool("helm") is None, reason="no helm: scripts/kubernetes-tools builds it"
)


def test_actors_that_wait_for_the_learner_hold_up_no_drain() -> None:
    (budget,) = [
        each
        for each in of_kind(chart.render(VALUE_SETS["small"]), "PodDisruptionBudget")
        if each["metadata"]["name"].endswith("-actor")
    ]
    assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


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
    (pod,) = re.findall(
        r"kubectl exec --namespace NAMESPACE RELEASE-(\S+)-0 -- mallocmuzero shards ", text
    )
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
        (["actor.env[0].value=v"], "missing property 'name'"),
        (["actor.env[0].name=n", "actor.env[0].value=1"], "got number, want string"),
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


@pytest.mark.parametrize("role", ["learner", "actor", "reanalyse"])
def test_a_role_has_its_own_variables_and_runtime_class(role: str) -> None:
    variable = {"name": "GLOO_SOCKET_IFNAME", "value": "eth0"}
    objects = chart.render(
        [
            *VALUE_SETS["small"],
            "reanalyse.replicas=1",
            f"{role}.runtimeClassName=nvidia",
            *(f"{role}.env[0].{key}={value}" for key, value in variable.items()),
        ]
    )
    for pod in roles(objects, "replay", "learner", "actor", "reanalyse"):
        (container,) = pod["spec"]["containers"]
        is_role = container["name"] == role
        assert pod["spec"].get("runtimeClassName") == ("nvidia" if is_role else None)
        assert (variable in container["env"]) == is_role
        # The name of a shard's pod is that of the shard.
        assert container["env"][0]["name"] == "POD_NAME"


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


def test_all_roles_have_the_form_of_logs_that_is_asked_for() -> None:
    values = [*VALUE_SETS["small"], "reanalyse.replicas=1"]
    for settings, expected in (([], 0), (["logFormat=json"], 1)):
        objects = chart.render([*values, *settings])
        pods = roles(objects, "replay", "learner", "actor", "reanalyse")
        assert len(pods) == 4
        for pod in pods:
            (container,) = pod["spec"]["containers"]
            assert " ".join(container["args"]).count(" --log-format json") == expected


def test_a_learner_has_time_to_save_while_another_process_does_not_answer() -> None:
    # It waits for an update of all processes: docs/operations.md.
    objects = chart.render([*VALUE_SETS["small"], "learner.processes=2"])
    for pod in roles(objects, "learner"):
        assert pod["spec"]["terminationGracePeriodSeconds"] >= 75


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


def test_notes_say_which_volumes_stay(tmp_path: pathlib.Path) -> None:
    values = VALUE_SETS["small"]
    assert "Volumes stay when" in notes(values, tmp_path / "kept")
    setting = "replay.storage.retention.whenDeleted=Delete"
    deleted = notes([*values, setting], tmp_path / "deleted")
    assert "Volumes stay when" not in deleted
    assert "volumes of the shards are deleted" in deleted


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
