"""Faults of connections between roles."""

from __future__ import annotations

from fault import Fault
from loopback_cluster import Cluster
from proxy import Link, Proxy


class BadLink(Fault):
    """Connections that are cut, slow, or pass nothing on."""

    def __init__(self, cluster: Cluster, proxy: Proxy, link: Link, seconds: float) -> None:
        self.kind = f"{link.value} connection"
        self._network = cluster.network
        self._proxy = proxy
        self._link = link
        self.victim = f"port {proxy.port}"
        self.seconds = seconds

    def begin(self) -> None:
        self._network.set_link(self._proxy, self._link)

    def end(self) -> None:
        self._network.set_link(self._proxy, Link.PASS)
