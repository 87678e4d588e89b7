"""Renders the chart of deploy/helm with the helm that scripts/kubernetes-tools builds."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm"
TOOLS = pathlib.Path(os.environ.get("MALLOCMUZERO_KUBERNETES_TOOLS", ROOT / "build" / "kubernetes"))
RELEASE = "run1"
NAMESPACE = "training"
KUBERNETES = "1.36.0"

Object = dict[str, Any]

# Sets of values that together reach every branch of the templates. Each begins with a file.
VALUE_SETS: dict[str, list[str]] = {
    "small": ["values-small.yaml"],
    "real": ["values-real.yaml"],
    "job-set": [
        "values-real.yaml",
        "learner.kind=JobSet",
        "learner.jobSet.queue=gpus",
    ],
    "hpa": [
        "values-real.yaml",
        "actor.autoscaling.kind=HPA",
        "serviceMonitor.labels.release=prometheus",
        "security.tls.restartOnChange=true",
        "actor.gpus=1",
        "actor.image.repository=registry.example/mallocmuzero-cuda",
        "reanalyse.gpus=1",
        "reanalyse.image.repository=registry.example/mallocmuzero-cuda",
    ],
    "token": [
        "values-small.yaml",
        "security.allowInsecureNetwork=false",
        "security.tokenSecret=token",
        "security.allowClearTextToken=true",
        "serviceMonitor.enabled=true",
        "learner.storage.existingClaim=old-run",
    ],
    "open": [
        "values-small.yaml",
        "networkPolicy.enabled=false",
        "fullnameOverride=m",
        "image.digest=sha256:" + "0" * 64,
        "imagePullSecrets[0].name=registry",
        "actor.replicas=0",
        "learner.processes=2",
    ],
}


def tool(name: str) -> str | None:
    """The path of a tool: that of scripts/kubernetes-tools, or else one on the PATH."""
    built = TOOLS / "bin" / name
    return str(built) if built.exists() else shutil.which(name)


def value_flags(values: list[str]) -> list[str]:
    file, *settings = values
    return ["-f", str(CHART / file), *(f"--set={setting}" for setting in settings)]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = tool("helm")
    assert path is not None
    return subprocess.run([path, *arguments], capture_output=True, text=True)


def kubeconform(text: str) -> subprocess.CompletedProcess[str]:
    path = tool("kubeconform")
    assert path is not None
    location = (
        f"{TOOLS}/schemas/{{{{.ResourceKind}}}}-{{{{.Group}}}}-{{{{.ResourceAPIVersion}}}}.json"
    )
    return subprocess.run(
        [path, "-strict", "-summary", f"-schema-location={location}", "-"],
        input=text,
        capture_output=True,
        text=True,
    )


def template(values: list[str], *files: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return helm(
        "template",
        RELEASE,
        str(CHART),
        f"--namespace={NAMESPACE}",
        f"--kube-version={KUBERNETES}",
        *value_flags(values),
        *(f"--values={file}" for file in files),
    )


def render(values: list[str], *files: pathlib.Path) -> list[Object]:
    done = template(values, *files)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def pod_templates(objects: list[Object]) -> dict[str, Object]:
    """The pods that the objects make, by the name of the object (and of the job in a JobSet)."""
    pods = {}
    for each in objects:
        name = each["metadata"]["name"]
        if each["kind"] == "Pod":
            pods[name] = each
        elif each["kind"] in ("Deployment", "StatefulSet"):
            pods[name] = each["spec"]["template"]
        elif each["kind"] == "JobSet":
            for job in each["spec"]["replicatedJobs"]:
                pods[f"{name}-{job['name']}"] = job["template"]["spec"]["template"]
    return pods


def read_json(path: pathlib.Path) -> Object:
    content: Object = json.loads(path.read_text())
    return content


def config_of(objects: list[Object]) -> str:
    """The text of the ClusterConfig."""
    texts = [each["data"]["cluster.textproto"] for each in objects if each["kind"] == "ConfigMap"]
    (text,) = texts
    assert isinstance(text, str)
    return text


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
    return [pod for pod in pod_templates(objects).values() if labels_of(pod)[key] in components]
