"""Applies the chart to a real control plane. scripts/test-all runs this."""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Iterator

import chart
import control_plane
import pytest
from chart import NAMESPACE, RELEASE, VALUE_SETS
from control_plane import ApiError, ControlPlane, await_
from external_metrics import Adapter

pytestmark = pytest.mark.control_plane

NAME = f"{RELEASE}-mallocmuzero"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
STORAGE = ["replay.storage.storageClassName=disk", "learner.storage.storageClassName=disk"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as started:
        install_definitions(started)
        # Pods that ask for any right that they do not need are refused.
        started.create(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": NAMESPACE,
                    "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
                },
            }
        )
        for i in range(8):
            started.create(disk(f"disk-{i}"))
        started.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "programs", "namespace": NAMESPACE},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "disk",
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        )
        yield started


def install_definitions(cluster: ControlPlane) -> None:
    kinds = {"jobsets", "scaledobjects", "servicemonitors", "prometheusrules", "certificates"}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for path in (chart.TOOLS / "schemas" / "crds").glob("*.json"):
        if path.name.split(".")[0] not in kinds:
            continue
        cluster.call("POST", definitions, chart.read_json(path))
        name = path.name.removesuffix(".json")
        await_(f"the definition {name}", functools.partial(is_established, cluster, name))


def is_established(cluster: ControlPlane, name: str) -> bool:
    found = cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    conditions = (found["status"].get("conditions") if found else None) or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def disk(name: str) -> chart.Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "500Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disk",
            "hostPath": {"path": f"/disks/{name}"},
        },
    }


def pods(cluster: ControlPlane, component: str = "") -> dict[str, chart.Object]:
    """The pods of the release that are not about to end, by name."""
    selector = f"app.kubernetes.io/instance={RELEASE}"
    if component:
        selector += f",app.kubernetes.io/component={component}"
    found = cluster.items(f"{CORE}/pods?labelSelector={selector}")
    return {
        each["metadata"]["name"]: each
        for each in found
        if "deletionTimestamp" not in each["metadata"]
    }


def is_ready(pod: chart.Object) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def all_ready(cluster: ControlPlane, count: int) -> bool:
    found = pods(cluster)
    return len(found) == count and all(is_ready(pod) for pod in found.values())


def install(cluster: ControlPlane, command: str, values: list[str]) -> None:
    cluster.helm(
        command, RELEASE, str(chart.CHART), f"--namespace={NAMESPACE}", *chart.value_flags(values)
    )


@pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS)
def test_the_server_accepts_every_object(cluster: ControlPlane, values: list[str]) -> None:
    objects = chart.render(values)
    for each in objects:
        if each["kind"] != "Pod":
            cluster.create(in_namespace(each), dry_run=True)
    # Controllers make pods without a word to the one who applied the template.
    for name, template in chart.pod_templates(objects).items():
        cluster.create(pod_of(name, template), dry_run=True)


def in_namespace(each: chart.Object) -> chart.Object:
    return each | {"metadata": each["metadata"] | {"namespace": NAMESPACE}}


def pod_of(name: str, template: chart.Object) -> chart.Object:
    """A pod as a controller makes it, with an account that exists and all of its volumes."""
    spec = template["spec"] | {"serviceAccountName": "default"}
    mounted = {each["name"] for pod in spec["containers"] for each in pod["volumeMounts"]}
    missing = mounted - {each["name"] for each in spec["volumes"]}
    spec["volumes"] = spec["volumes"] + [{"name": each, "emptyDir": {}} for each in missing]
    metadata = template["metadata"] | {"name": name}
    return in_namespace({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def test_jobs_of_a_job_set_are_valid_jobs(cluster: ControlPlane) -> None:
    (job_set,) = [each for each in chart.render(VALUE_SETS["job-set"]) if each["kind"] == "JobSet"]
    for each in job_set["spec"]["replicatedJobs"]:
        metadata = {"name": each["name"], "namespace": NAMESPACE}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
        cluster.create(job | {"spec": each["template"]["spec"]}, dry_run=True)


def test_a_release_lives(cluster: ControlPlane) -> None:
    """Installs the release, loses pods, changes it, and removes it."""
    values = [*VALUE_SETS["real"], *STORAGE]
    install(cluster, "install", values)
    # Four shards, two processes of the learner, an actor, as nothing scales yet, two reanalysers.
    await_("readiness of all pods", lambda: all_ready(cluster, 4 + 2 + 1 + 2))
    before = pods(cluster)
    check_addresses(cluster, before)
    learners = pods(cluster, "learner").values()
    gpu_nodes = {pod["spec"]["nodeName"] for pod in learners}
    assert len(gpu_nodes) == 2, "each process has the GPU of another node"
    budget = cluster.get(
        f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{NAME}-replay"
    )
    assert budget["status"]["disruptionsAllowed"] == 1

    check_lost_shard(cluster, before[f"{NAME}-replay-1"])

    more_actors = [*values, "actor.autoscaling.minReplicas=20"]
    install(cluster, "upgrade", more_actors)
    settings = cluster.get(f"{CORE}/configmaps/{NAME}")["data"]["cluster.textproto"]
    assert "expected: 20" in settings
    shards = cluster.get(f"{APPS}/statefulsets/{NAME}-replay")
    assert shards["status"]["currentRevision"] == shards["status"]["updateRevision"]

    install(cluster, "upgrade", [*more_actors, "replay.rateLimit.minPositions=60000"])
    await_("restart of the shards", lambda: restarted(cluster, before))
    await_("readiness of all pods", lambda: all_ready(cluster, 4 + 2 + 1 + 2))

    cluster.helm("uninstall", RELEASE, f"--namespace={NAMESPACE}")
    await_("the end of all pods", lambda: not pods(cluster))
    claims = {each["metadata"]["name"] for each in cluster.items(f"{CORE}/persistentvolumeclaims")}
    assert claims == {"programs", f"{NAME}-run", *(f"data-{NAME}-replay-{i}" for i in range(4))}


def check_addresses(cluster: ControlPlane, found: dict[str, chart.Object]) -> None:
    """A pod's name in DNS is its host name and its subdomain, a Service that selects it."""
    text = cluster.get(f"{CORE}/configmaps/{NAME}")["data"]["cluster.textproto"]
    addresses = re.findall(
        r' address: "([^.]*)\.([^.]*)\.training\.svc\.cluster\.local:(\d+)"', text
    )
    assert len(addresses) == 5
    for host, service, port in addresses:
        spec = found[host]["spec"]
        assert (spec["hostname"], spec["subdomain"]) == (host, service)
        slices = cluster.items(
            f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
            f"?labelSelector=kubernetes.io/service-name={service}"
        )
        served = {
            (endpoint["hostname"], each["port"])
            for part in slices
            for endpoint in part["endpoints"]
            for each in part["ports"]
            if "hostname" in endpoint
        }
        assert (host, int(port)) in served


def check_lost_shard(cluster: ControlPlane, lost: chart.Object) -> None:
    """The pod comes back under its name, with its volume."""
    name, uid = lost["metadata"]["name"], lost["metadata"]["uid"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": NAMESPACE},
    }
    cluster.call("POST", f"{CORE}/pods/{name}/eviction", eviction)

    def back() -> chart.Object | None:
        pod = pods(cluster).get(name)
        return pod if pod and pod["metadata"]["uid"] != uid and is_ready(pod) else None

    pod = await_(f"the return of {name}", back)
    assert pod is not None
    (volume,) = [each for each in pod["spec"]["volumes"] if each["name"] == "data"]
    assert volume["persistentVolumeClaim"]["claimName"] == f"data-{name}"
    assert volume in lost["spec"]["volumes"]


def restarted(cluster: ControlPlane, before: dict[str, chart.Object]) -> bool:
    now = pods(cluster, "replay")
    return len(now) == 4 and all(
        pod["metadata"]["uid"] != before[name]["metadata"]["uid"] for name, pod in now.items()
    )


def test_a_pod_with_more_rights_is_refused(cluster: ControlPlane) -> None:
    objects = chart.render([*VALUE_SETS["small"], "podSecurityContext.runAsNonRoot=false"])
    name = f"{NAME}-replay"
    pod = pod_of(name, chart.pod_templates(objects)[name])
    with pytest.raises(ApiError, match="violates PodSecurity"):
        cluster.create(pod, dry_run=True)


def test_control_plane_is_the_version_of_the_schemas(cluster: ControlPlane) -> None:
    version = cluster.call("GET", "/version")
    major, minor, _ = chart.KUBERNETES.split(".")
    assert (version["major"], version["minor"]) == (major, minor)
    assert len(cluster.items("/api/v1/nodes")) == control_plane.NODES


def test_the_autoscaler_follows_the_demand(cluster: ControlPlane, tmp_path: pathlib.Path) -> None:
    adapter = Adapter(tmp_path)
    adapter.register(cluster)
    settings = [
        "actor.autoscaling.enabled=true",
        "actor.autoscaling.kind=HPA",
        "actor.autoscaling.minReplicas=2",
        "actor.autoscaling.maxReplicas=9",
        "actor.autoscaling.scaleUpSeconds=1",
        "actor.autoscaling.scaleDownSeconds=1",
    ]
    install(cluster, "install", [*VALUE_SETS["small"], *STORAGE, *settings])
    path = f"{APPS}/deployments/{NAME}-actor"

    def actors() -> int:
        return int(cluster.get(path)["spec"]["replicas"])

    await_("the least number of actors", lambda: actors() == 2)
    adapter.value = 2.0
    await_("the largest number of actors", lambda: actors() == 9)
    # Neither side waits: the number stays.
    adapter.value = 1.05
    asked = len(adapter.asked)
    await_("some decisions", lambda: len(adapter.asked) > asked + 5)
    assert actors() == 9
    adapter.value = 0.2
    await_("the least number of actors", lambda: actors() == 2)
    assert f"/namespaces/{NAMESPACE}/mallocmuzero_actor_demand" in adapter.asked[-1]
    assert f"release%3D{RELEASE}" in adapter.asked[-1]
    cluster.helm("uninstall", RELEASE, f"--namespace={NAMESPACE}")
    adapter.close()
