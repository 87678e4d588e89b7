"""Compares a server of `mallocmuzero serve` with `map` processes on the same threads.

Throughput: clients of a server, and as many simultaneous `map` processes of one thread each, on the
same programs with the same budget. The server's speed is given as a share of that of the processes,
per second, and per second of CPU time without the start of the processes. The latter depends less
on other work of the machine. Overhead: the time until the answer without the budget, for one client
of the server and for single `map` processes. Prints one JSON object.

    python3 bench/serve/compare.py --program workloads/tpu_v6e/*.program
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import pathlib
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

_FIGURES = ("simulations", "games")
_UNITS = ("seconds", "cpu_seconds")

# Budget in seconds of a search that takes no time, so that the rest is the start of the process.
_SHORT = 0.05

ROOT = pathlib.Path(__file__).resolve().parents[2]


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the percentile as base/percentile.h defines it, like the server's own figures.

    It is the least value that at least this share of the values do not exceed.
    """
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


def cpu_seconds_of(pid: int) -> float:
    """Returns the CPU time that a process has taken."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds_of_children() -> float:
    """Returns the CPU time of all processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def shares_of(serve: dict[str, Any], processes: dict[str, Any]) -> dict[str, float]:
    """Returns the server's speeds as shares of those of the processes.

    A figure that the processes do not have is left out: local search makes no simulations.
    """
    shares = {}
    for figure in _FIGURES:
        if not processes.get(figure):
            continue
        for unit in _UNITS:
            speeds = [float(ran.get(figure, 0)) / float(ran[unit]) for ran in (serve, processes)]
            shares[f"{figure}_per_{unit}"] = speeds[0] / speeds[1]
    return shares


class Comparison:
    """Runs the binary in both ways."""

    def __init__(self, arguments: argparse.Namespace, scratch: pathlib.Path) -> None:
        self._arguments = arguments
        self._scratch = scratch

    def _line(self, *words: str) -> list[str]:
        return [str(self._arguments.binary), *words]

    def _programs(self, count: int) -> list[str]:
        programs: list[pathlib.Path] = self._arguments.program
        return [str(programs[k % len(programs)]) for k in range(count)]

    @contextlib.contextmanager
    def server(self) -> Iterator[tuple[str, int]]:
        """Runs a server; yields its address and its process."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        settings = [f"searches={self._arguments.clients}", *self._arguments.set]
        flags = [word for item in settings for word in ("--set", item)]
        process = subprocess.Popen(
            self._line("serve", "--address", address, *flags), stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        try:
            said = ""
            for said in process.stderr:
                if "listens on" in said:
                    break
            else:
                raise SystemExit(f"the server ended: {said.strip()}")
            yield address, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()

    def ask(self, address: str, clients: int, requests: int, budget: float) -> dict[str, Any]:
        """Returns the report of `bench serve`."""
        flags = [word for path in self._programs(requests) for word in ("--program", path)]
        line = self._line(
            *("bench", "serve", "--server", address, *flags, "--json"),
            *("--clients", str(clients), "--requests", str(requests)),
            *("--solver", self._arguments.solver, "--budget", f"{budget}s"),
        )
        report: dict[str, Any] = json.loads(
            subprocess.run(line, check=True, capture_output=True).stdout
        )
        return report

    def map(self, count: int, budget: float) -> dict[str, float]:
        """Runs `count` simultaneous `map` processes; returns their totals."""
        start, cpu = time.monotonic(), cpu_seconds_of_children()
        processes = [
            subprocess.Popen(
                self._line(
                    *("map", "--program", path, "--threads", "1", "--json"),
                    *("--solver", self._arguments.solver, "--budget", f"{budget}s"),
                    *("--output", str(self._scratch / f"{k}.mapping")),
                ),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for k, path in enumerate(self._programs(count))
        ]
        reports = [json.loads(process.communicate()[0]) for process in processes]
        return {
            "seconds": time.monotonic() - start,
            "cpu_seconds": cpu_seconds_of_children() - cpu,
            "games": sum(float(report.get("games", 0)) for report in reports),
            "simulations": sum(float(report.get("simulations", 0)) for report in reports),
        }

    def throughput(self) -> dict[str, Any]:
        """Returns the speed of the server as a share of that of the processes, by round."""
        clients, budget = self._arguments.clients, self._arguments.budget
        start_cpu = self.map(1, _SHORT)["cpu_seconds"] - _SHORT
        rounds: list[dict[str, Any]] = []
        for number in range(self._arguments.rounds):
            ran: dict[str, dict[str, Any]] = {}
            for way in ("map", "serve") if number % 2 == 0 else ("serve", "map"):
                if way == "map":
                    ran[way] = self.map(clients, budget)
                    ran[way]["cpu_seconds"] -= clients * start_cpu
                    continue
                with self.server() as (address, pid):
                    before = cpu_seconds_of(pid)
                    ran[way] = self.ask(address, clients, clients, budget)
                    ran[way]["cpu_seconds"] = cpu_seconds_of(pid) - before
            rounds.append({**shares_of(ran["serve"], ran["map"]), **ran})
        medians = {
            name: statistics.median(entry[name] for entry in rounds)
            for name in rounds[0]
            if all(name in entry for entry in rounds) and name not in ("serve", "map")
        }
        return {"medians": medians, "start_cpu_seconds": start_cpu, "rounds": rounds}

    def overhead(self) -> dict[str, float]:
        """Returns percentiles of the time beyond the budget, in milliseconds."""
        budget, requests = self._arguments.overhead_budget, self._arguments.overhead_requests
        alone = []
        with self.server() as (address, _):
            self.ask(address, 1, 1, budget)
            report = self.ask(address, 1, requests, budget)
            for _ in range(requests):
                alone.append(1e3 * (self.map(1, budget)["seconds"] - budget))
        return {
            "serve_p50_ms": report["overhead_p50_ms"],
            "serve_p99_ms": report["overhead_p99_ms"],
            "map_p50_ms": percentile(alone, 0.5),
            "map_p99_ms": percentile(alone, 0.99),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--program", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/bin/mallocmuzero")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--budget", type=float, default=20, help="seconds of a search")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--solver", default="agent", help="default: agent, which plays a network")
    parser.add_argument("--set", action="append", default=[], help="field of the server's config")
    parser.add_argument("--overhead-budget", type=float, default=1.0)
    parser.add_argument("--overhead-requests", type=int, default=100)
    arguments = parser.parse_args()
    # A signal ends the server, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(arguments, pathlib.Path(folder))
        result: dict[str, Any] = {}
        if arguments.rounds:
            result["throughput"] = comparison.throughput()
        if arguments.overhead_requests:
            result["overhead"] = comparison.overhead()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
