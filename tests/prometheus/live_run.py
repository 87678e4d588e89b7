"""A short real run: a cluster and a run of train, scraped by a real Prometheus."""

from __future__ import annotations

import json
import pathlib
import subprocess
import types
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from loopback_cluster import free_ports

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "prometheus"
PROGRAM = ROOT / "workloads" / "tpu_v4i" / "dcn_v2_4_b8192.program"
STOP_SECONDS = 30

CLUSTER_JOB = "mallocmuzero"
TRAIN_JOB = "mallocmuzero-train"
# Iterations of a second, so that every figure is there soon.
TRAIN_SETTINGS = (
    "search.simulations=2",
    "learner.batch_size=16",
    "learner.unroll_steps=2",
    "self_play.games_per_iteration=8",
)
ROLES = ("replay", "learner", "actor", "reanalyse", "train")


def wait_for_end(process: subprocess.Popen[bytes]) -> int:
    """Returns the exit code. Kills a process that does not stop; it would go on for ever."""
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class LiveRun:
    """The processes; used in a with statement, which ends them.

    Every role serves metrics. Prometheus runs with the files of deploy/prometheus, this run's
    addresses, and intervals of a second.
    """

    def __init__(self, folder: pathlib.Path, binary: str, prometheus: str) -> None:
        ports = free_ports(2 + len(ROLES) + 1)
        self.metrics = dict(zip(ROLES, ports[2:], strict=False))
        self.port = ports[-1]
        cluster = self._write_cluster(folder, ports[0], ports[1])
        train = f"{binary} train --program {PROGRAM} --output {folder / 'train'} --threads 1"
        train += f" --metrics 127.0.0.1:{self.metrics['train']}"
        for setting in TRAIN_SETTINGS:
            train += f" --set {setting}"
        self._commands = [
            [binary, "up", "--config", str(cluster)],
            train.split(),
            [
                prometheus,
                f"--config.file={self._write_prometheus(folder)}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--log.level=warn",
            ],
        ]
        self._processes: list[subprocess.Popen[bytes]] = []
        self.exit_codes: list[int] = []

    def _write_cluster(self, folder: pathlib.Path, shard: int, learner: int) -> pathlib.Path:
        """Everything that a metric may be about happens within seconds in this cluster."""

        def at(port: int) -> str:
            return f"'127.0.0.1:{port}'"

        config = folder / "cluster.textproto"
        config.write_text(
            f"replay {{ name: 's' address: {at(shard)} data_dir: 'shard'\n"
            f"  metrics_address: {at(self.metrics['replay'])}\n"
            "  rate_limit { min_positions: 100 } }\n"
            f"learner {{ address: {at(learner)} metrics_address: {at(self.metrics['learner'])}\n"
            f"  run_dir: 'run' workloads: '{PROGRAM}' checkpoint_seconds: 1 evaluated_share: 0.2\n"
            "  search { simulations: 2 } options { batch_size: 16 unroll_steps: 2 } }\n"
            "actor { count: 1 games_in_flight: 2 spool_dir: 'spool'\n"
            f"  metrics_address: {at(self.metrics['actor'])} }}\n"
            f"reanalyse {{ count: 1 metrics_address: {at(self.metrics['reanalyse'])} }}\n"
        )
        return config

    def _write_prometheus(self, folder: pathlib.Path) -> pathlib.Path:
        for name in ("rules.yml", "alerts.yml"):
            (folder / name).write_text((DEPLOY / name).read_text())
        targets = [
            {
                "targets": [f"127.0.0.1:{port}"],
                "labels": {"role": role} | ({"job": TRAIN_JOB} if role == "train" else {}),
            }
            for role, port in self.metrics.items()
        ]
        (folder / "targets.yml").write_text(json.dumps(targets))  # JSON is YAML
        config = folder / "prometheus.yml"
        text = (DEPLOY / "prometheus.yml").read_text()
        config.write_text(text.replace("15s", "1s").replace("2s", "1s"))
        return config

    def __enter__(self) -> LiveRun:
        self._processes = [subprocess.Popen(command) for command in self._commands]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.terminate()
        self.exit_codes = [wait_for_end(process) for process in self._processes]

    def ended(self) -> list[str]:
        """Returns the commands of the processes that have ended by themselves."""
        return [
            " ".join(command)
            for command, process in zip(self._commands, self._processes, strict=True)
            if process.poll() is not None
        ]

    def ask(self, path: str, **arguments: str) -> Any:
        """Returns an answer of Prometheus' HTTP interface; None if there is none yet.

        Raises ValueError with Prometheus' message if it refuses the question.
        """
        query = urllib.parse.urlencode(arguments)
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}"
            ) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 400:
                raise ValueError(json.load(error)["error"]) from error
            return None
        except (urllib.error.URLError, ConnectionError):
            return None

    def scrape(self, role: str) -> str:
        """Returns the text that a role serves to Prometheus."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics[role]}/metrics") as answer:
            text: str = answer.read().decode()
        return text
