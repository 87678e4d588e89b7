"""Runs the pods of the chart on this machine, in the file system of a real image.

It does what a node does with a pod: a network namespace with an address of its own, names in DNS
(here in /etc/hosts), a read-only root, volumes in the form that the kubelet gives them, the user of
the pod and its environment. Needs root.
"""

from __future__ import annotations

import http.client
import os
import pathlib
import shlex
import signal
import subprocess
import urllib.error
import urllib.request

import chart
from chart import Object

SUBNET = "10.213.77"
USER = 10001

# $1 is the host name, $2 the root. Pairs of source and target of a bind mount follow until "--",
# then the command.
IN_NAMESPACES = """
set -euo pipefail
hostname "$1"
root="$2"
shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p "$root$2"; else touch "$root$2"; fi
  mount --bind "$1" "$root$2"
  shift 2
done
shift
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
exec /usr/sbin/chroot --userspec=10001:10001 "$root" "$@"
"""

Files = dict[str, bytes]


def write_volume(folder: pathlib.Path, files: Files) -> None:
    """A ConfigMap or Secret as the kubelet mounts it: links to files in a hidden folder."""
    hidden = folder / "..2026_11_24"
    hidden.mkdir(parents=True)
    (folder / "..data").symlink_to(hidden.name)
    for name, content in files.items():
        (hidden / name).write_bytes(content)
        os.chown(hidden / name, 0, USER)
        (hidden / name).chmod(0o440)
        (folder / name).symlink_to(f"..data/{name}")


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


class Pod:
    """A pod with one container."""

    def __init__(self, name: str, template: Object, address: str, folder: pathlib.Path) -> None:
        self.name = name
        self.template = template
        self.address = address
        # Unique, and short enough for the name of an interface.
        self.namespace = f"mz{os.getpid() % 100000}n{address.rsplit('.', 1)[1]}"
        self.log = folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def container(self) -> Object:
        (container,) = self.template["spec"]["containers"]
        assert isinstance(container, dict)
        return container

    @property
    def grace(self) -> int:
        return int(self.template["spec"]["terminationGracePeriodSeconds"])

    def probe(self, name: str) -> bool:
        """Whether the readinessProbe or livenessProbe succeeds."""
        get = self.container[name]["httpGet"]
        return self.get(get["path"]) is not None

    def get(self, path: str) -> str | None:
        """What the metrics server answers; None if it does not, or not with success."""
        ports = {each["name"]: each["containerPort"] for each in self.container["ports"]}
        try:
            with urllib.request.urlopen(
                f"http://{self.address}:{ports['metrics']}{path}", timeout=5
            ) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError, http.client.HTTPException):
            return None

    def stop(self) -> int:
        """Ends the container as the kubelet does, and returns its exit code."""
        assert self.process is not None
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)
        return self.process.wait(timeout=self.grace)


class Node:
    """Starts pods; `with` ends them and removes their networks."""

    def __init__(self, folder: pathlib.Path, root: pathlib.Path, objects: list[Object]) -> None:
        self.pods: dict[str, Pod] = {}
        self._folder = folder
        self._root = root
        self._bridge = f"mmz{os.getpid() % 100000}"
        config_maps = {
            each["metadata"]["name"]: each["data"]
            for each in objects
            if each["kind"] == "ConfigMap"
        }
        for name, data in config_maps.items():
            self.add_files("configMap", name, {key: text.encode() for key, text in data.items()})
        kinds = {each["metadata"]["name"]: each for each in objects}
        for owner, template in chart.pod_templates(objects).items():
            count = kinds[owner]["spec"].get("replicas", 1)
            names = [f"{owner}-{i}" for i in range(count)]
            for name in names if kinds[owner]["kind"] != "Pod" else [owner]:
                address = f"{SUBNET}.{len(self.pods) + 2}"
                self.pods[name] = Pod(name, template, address, folder)
        services = {each["metadata"]["name"] for each in objects if each["kind"] == "Service"}
        self._hosts = folder / "hosts"
        lines = ["127.0.0.1 localhost"]
        for name, pod in self.pods.items():
            made_by = kinds.get(name.rsplit("-", 1)[0], {"kind": "Pod"})
            names = [name]
            if made_by["kind"] == "StatefulSet":
                service = made_by["spec"]["serviceName"]
                assert service in services
                names.insert(0, f"{name}.{service}.{chart.NAMESPACE}.svc.cluster.local")
            lines.append(f"{pod.address} {' '.join(names)}")
        self._hosts.write_text("\n".join(lines) + "\n")

    def add_files(self, kind: str, name: str, files: Files) -> None:
        """Makes a ConfigMap (`configMap`) or a Secret (`secret`)."""
        write_volume(self._folder / kind / name, files)

    def __enter__(self) -> Node:
        run("ip", "link", "add", self._bridge, "type", "bridge")
        run("ip", "address", "add", f"{SUBNET}.1/24", "dev", self._bridge)
        run("ip", "link", "set", self._bridge, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for pod in self.pods.values():
            if pod.process is not None:
                pod.process.kill()
                pod.process.wait()
            # The end in the bridge, which the other end would outlive for a while.
            subprocess.run(["ip", "link", "delete", f"v{pod.namespace}"], capture_output=True)
            subprocess.run(["ip", "netns", "delete", pod.namespace], capture_output=True)
        run("ip", "link", "delete", self._bridge)

    def _connect(self, pod: Pod) -> None:
        inside = ["ip", "-n", pod.namespace]
        if pathlib.Path("/run/netns", pod.namespace).exists():
            return
        run("ip", "netns", "add", pod.namespace)
        end = f"v{pod.namespace}"
        run("ip", "link", "add", end, "type", "veth", "peer", "eth0", "netns", pod.namespace)
        run("ip", "link", "set", end, "master", self._bridge, "up")
        run(*inside, "address", "add", f"{pod.address}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "link", "set", "lo", "up")

    def _source(self, pod: Pod, volume: str) -> pathlib.Path:
        """The folder of a volume. One that is not projected belongs to the pod alone."""
        sources = {each["name"]: each for each in pod.template["spec"]["volumes"]}
        source = sources.get(volume, {})
        if "configMap" in source:
            return self._folder / "configMap" / str(source["configMap"]["name"])
        if "secret" in source:
            return self._folder / "secret" / str(source["secret"]["secretName"])
        folder = self._folder / "disks" / pod.name / volume
        folder.mkdir(parents=True, exist_ok=True)
        # The kubelet gives volumes to the group of the pod.
        os.chown(folder, 0, USER)
        folder.chmod(0o2775)
        return folder

    def start(self, name: str) -> Pod:
        pod = self.pods[name]
        self._connect(pod)
        mounts = [str(self._hosts), "/etc/hosts", "/dev", "/dev"]
        for each in pod.container["volumeMounts"]:
            mounts += [str(self._source(pod, each["name"])), each["mountPath"]]
        arguments = [each.replace("$(POD_NAME)", name) for each in pod.container["args"]]
        command = [
            *["ip", "netns", "exec", pod.namespace],
            *["unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child"],
            *["bash", "-c", IN_NAMESPACES, "bash", name, str(self._root), *mounts, "--"],
            *["/usr/local/bin/mallocmuzero", *arguments],
        ]
        with pod.log.open("ab") as log:
            log.write(f"{shlex.join(arguments)}\n".encode())
            log.flush()
            pod.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp"},
            )
        return pod
