"""A real control plane of Kubernetes on this machine, with nodes that kwok pretends to be.

The API server, its controllers and the scheduler are real, so objects are checked, admitted, bound
and scaled as in any cluster. Pods run nothing: kwok reports them as running and ready.
"""

from __future__ import annotations

import json
import os
import pathlib
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar

import chart

TOKEN = "0123456789abcdef"
PATIENCE_SECONDS = 300
NODES = 3
Result = TypeVar("Result")


class ApiError(Exception):
    """An answer of the API server that is no success."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def await_(what: str, check: Callable[[], Result]) -> Result:
    """Calls `check` until its result is true, and returns that."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        result = check()
        if result:
            return result
        assert time.monotonic() < deadline, f"{what} did not happen in {PATIENCE_SECONDS} s"
        time.sleep(0.2)


def plural(kind: str) -> str:
    kind = kind.lower()
    return (
        f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}{'es' if kind.endswith('s') else 's'}"
    )


class ControlPlane:
    """Starts all processes; `with` ends them."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._port = free_port()
        self.kubeconfig = folder / "kubeconfig"
        self._context = ssl._create_unverified_context()

    def __enter__(self) -> ControlPlane:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def _run(self, name: str, *arguments: str) -> None:
        path = chart.tool(name)
        assert path is not None, f"no {name}: scripts/kubernetes-tools --control-plane builds it"
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [path, *arguments],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=os.environ | {"GOMAXPROCS": "2"},
                )
            )

    def _start(self) -> None:
        etcd, peers = free_port(), free_port()
        data = f"{self._folder}/etcd"
        self._run(
            "etcd",
            f"--data-dir={data}",
            "--unsafe-no-fsync",
            f"--listen-client-urls=http://127.0.0.1:{etcd}",
            f"--advertise-client-urls=http://127.0.0.1:{etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{peers}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
            f"--initial-cluster=default=http://127.0.0.1:{peers}",
        )
        key = self._folder / "service-accounts.pem"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        tokens = self._folder / "tokens.csv"
        tokens.write_text(f"{TOKEN},admin,1,system:masters\n")
        self._run(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            f"--secure-port={self._port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self._folder}/certificates",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            # No proxy brings calls to the address of a Service.
            "--enable-aggregator-routing=true",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.96.0.0/16",
        )
        cluster = {"server": self.url(""), "insecure-skip-tls-verify": True}
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "test", "cluster": cluster}],
                    "users": [{"name": "test", "user": {"token": TOKEN}}],
                    "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                    "current-context": "test",
                }
            )
        )
        await_("the API server's readiness", self._is_ready)
        login = f"--kubeconfig={self.kubeconfig}"
        unthrottled = ["--kube-api-qps=500", "--kube-api-burst=1000", "--leader-elect=false"]
        self._run(
            "kube-controller-manager",
            login,
            *unthrottled,
            f"--secure-port={free_port()}",
            f"--service-account-private-key-file={key}",
            "--horizontal-pod-autoscaler-sync-period=1s",
        )
        self._run("kube-scheduler", login, *unthrottled, f"--secure-port={free_port()}")
        self._run(
            "kwok",
            login,
            f"--config={chart.TOOLS / 'kwok.yaml'}",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
            f"--server-address=127.0.0.1:{free_port()}",
        )
        for i in range(NODES):
            self.create(node(f"node-{i}"))
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        await_("the first service account", lambda: self.get(account))

    def _is_ready(self) -> bool:
        try:
            return bool(self.call("GET", "/readyz", plain=True) == "ok")
        except (ApiError, OSError):
            assert all(each.poll() is None for each in self._processes), "a process has ended"
            return False

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self._port}{path}"

    def call(self, method: str, path: str, body: Any = None, plain: bool = False) -> Any:
        request = urllib.request.Request(
            self.url(path),
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {TOKEN}",
                "Content-Type": "application/merge-patch+json"
                if method == "PATCH"
                else "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=30) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, error.read().decode()) from None
        return text if plain else json.loads(text)

    def get(self, path: str) -> Any:
        """The object at this path, or None."""
        try:
            return self.call("GET", path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str) -> list[chart.Object]:
        items: list[chart.Object] = self.call("GET", path)["items"]
        return items

    def create(self, each: chart.Object, dry_run: bool = False) -> None:
        """Creates the object; a field that does not exist is an error."""
        version, kind = each["apiVersion"], each["kind"]
        base = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        namespace = each["metadata"].get("namespace")
        inner = f"/namespaces/{namespace}" if namespace else ""
        query = "?fieldValidation=Strict" + ("&dryRun=All" if dry_run else "")
        self.call("POST", f"{base}{inner}/{plural(kind)}{query}", each)

    def helm(self, *arguments: str) -> None:
        done = chart.helm(*arguments, f"--kubeconfig={self.kubeconfig}")
        assert done.returncode == 0, done.stdout + done.stderr


def node(name: str) -> chart.Object:
    resources = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "cloud.google.com/gke-spot": "true"},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {"capacity": resources, "allocatable": resources},
    }
