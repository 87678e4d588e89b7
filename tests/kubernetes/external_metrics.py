"""An adapter for external metrics, like prometheus-adapter: it answers with a number of a test."""

from __future__ import annotations

import http.server
import json
import pathlib
import socket
import ssl
import subprocess
import threading
from typing import Any

from control_plane import ControlPlane, await_

GROUP = "external.metrics.k8s.io"
VERSION = f"{GROUP}/v1beta1"
NAME = "adapter"


def own_address() -> str:
    """An address of this machine that is not loopback, which Endpoints must not be."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # Sends nothing.
        return str(probe.getsockname()[0])


class Adapter:
    """Serves `value` for every metric and selector; `asked` has the paths of the requests."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.value = 1.0
        self.asked: list[str] = []
        files = ["-keyout", str(folder / "key"), "-out", str(folder / "certificate")]
        request = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=adapter"]
        subprocess.run(["openssl", "req", *request, *files], check=True, capture_output=True)
        self._server = http.server.ThreadingHTTPServer((own_address(), 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "certificate", folder / "key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()

    def answer(self, path: str) -> Any:
        if path.split("?")[0] == f"/apis/{VERSION}":
            resource = {
                "name": "mallocmuzero_actor_demand",
                "kind": "ExternalMetricValueList",
                "namespaced": True,
                "singularName": "",
                "verbs": ["get"],
            }
            return {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": VERSION,
                "resources": [resource],
            }
        self.asked.append(path)
        item = {
            "metricName": "mallocmuzero_actor_demand",
            "metricLabels": {},
            "timestamp": "2026-11-24T00:00:00Z",
            "value": f"{round(self.value * 1000)}m",
        }
        return {"kind": "ExternalMetricValueList", "apiVersion": VERSION, "items": [item]}

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        adapter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = json.dumps(adapter.answer(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def register(self, cluster: ControlPlane) -> None:
        """Makes the API server pass requests for external metrics on to this adapter."""
        address, port = self._server.server_address[:2]
        metadata = {"name": NAME, "namespace": "default"}
        ports = [{"name": "https", "port": port, "protocol": "TCP"}]
        cluster.create(
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}
        )
        endpoints = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": metadata,
            "subsets": [{"addresses": [{"ip": address}], "ports": ports}],
        }
        cluster.call("POST", "/api/v1/namespaces/default/endpoints", endpoints)
        services = "/apis/apiregistration.k8s.io/v1/apiservices"
        service = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"v1beta1.{GROUP}"},
            "spec": {
                "group": GROUP,
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": metadata | {"port": port},
            },
        }
        cluster.call("POST", services, service)

        def available() -> bool:
            found = cluster.get(f"{services}/v1beta1.{GROUP}")
            conditions = (found["status"].get("conditions") if found else None) or []
            return any(
                each["type"] == "Available" and each["status"] == "True" for each in conditions
            )

        await_("the API of external metrics", available)
