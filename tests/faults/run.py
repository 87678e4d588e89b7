"""One run of the fault command: when faults begin and end, and what is seen meanwhile."""

from __future__ import annotations

import collections
import dataclasses
import json
import sys
import time
from collections.abc import Callable

from fault import Fault
from injectors import Faults
from loopback_cluster import Cluster
from measures import BLOCK_SECONDS, DamageMeter, UpdateMeter

TICK_SECONDS = 0.1


@dataclasses.dataclass
class Pending:
    """A fault that is still active."""

    fault: Fault
    end: float


class Run:
    """One run: the cluster, the faults, and the observations."""

    def __init__(
        self, cluster: Cluster, faults: Faults, interval: float, recovery_seconds: float
    ) -> None:
        self._cluster = cluster
        self._faults = faults
        self._interval = interval
        self.recovery_seconds = recovery_seconds
        self._pending: list[Pending] = []
        self.survived: collections.Counter[str] = collections.Counter()
        self.steps: list[float] = []
        self.failures: list[str] = []
        self._meter = UpdateMeter(cluster)
        self.damage = DamageMeter(cluster)
        # Rates of updates in spans with faults, and in spans without before and after them.
        self.hurt_rates: list[dict[str, float]] = []
        self.calm_rates: list[dict[str, float]] = []

    def hurt_in_blocks(self, seconds: float, calm_seconds: float) -> None:
        """Causes faults for `seconds`; leaves the cluster alone before, between and after blocks.

        The cluster must be healthy and learning again after each block.
        """
        self._calm(calm_seconds)
        while seconds > 0:
            begin = time.monotonic()
            block = min(seconds, BLOCK_SECONDS)
            self.hurt(block)
            seconds -= block
            self._note_rates("with faults", self.hurt_rates, begin)
            if calm_seconds <= 0:
                continue
            try:
                self.recover()
                self._calm(calm_seconds)
            except TimeoutError as error:
                # The run goes on, since its other checks are worth as much.
                self.failures.append(str(error))
        if not self.survived:
            self.failures.append("no fault was caused")

    def _calm(self, seconds: float) -> None:
        if seconds <= 0:
            return
        begin = time.monotonic()
        self.wait_until("time passes", seconds + 60, lambda: time.monotonic() > begin + seconds)
        self._note_rates("without faults", self.calm_rates, begin)

    def _note_rates(self, what: str, to: list[dict[str, float]], begin: float) -> None:
        rates = self._meter.rates(begin, time.monotonic())
        print(f"{what}: {rates}", file=sys.stderr)
        to.append(rates)

    def recover(self) -> float:
        """Waits until the cluster is healthy, learns and plays; returns the seconds."""
        begin = time.monotonic()
        self.wait_until(
            "every role is healthy",
            self.recovery_seconds,
            lambda: bool(self._cluster.status().get("healthy")),
        )
        sent = self._cluster.bytes_sent()
        games = len(self._cluster.acknowledged())
        self.learns_on(begin)
        self.wait_until(
            "games arrive",
            self.recovery_seconds,
            lambda: len(self._cluster.acknowledged()) > games,
            begin,
        )
        # Faults of connections that nobody uses would prove nothing.
        self.wait_until(
            "bytes pass every proxy",
            self.recovery_seconds,
            lambda: not self._cluster.silent_proxies(sent),
            begin,
        )
        return time.monotonic() - begin

    def hurt(self, seconds: float) -> None:
        """Begins and ends faults until the time is over; then ends the active ones."""
        begin = time.monotonic()
        next_fault = begin + self._interval
        next_look = begin
        while (now := time.monotonic()) < begin + seconds:
            self._end_due(now)
            if now >= next_fault:
                self._begin_one(now)
                next_fault = now + self._interval
            if now >= next_look:
                self.watch(now)
                next_look = now + 1
            time.sleep(TICK_SECONDS)
        self._end_due(float("inf"))

    def watch(self, now: float) -> None:
        """Takes samples; notes and restarts processes that ended by themselves."""
        hurt = {p.fault.victim for p in self._pending if not p.fault.lets_start}
        for role in self._cluster.roles:
            role.sample(now)
            if role.name not in hurt and role.is_wanted and role.note_end():
                role.start()
        self._meter.sample(now)
        self.damage.sample()

    def _begin_one(self, now: float) -> None:
        busy = {name for pending in self._pending for name in pending.fault.all_touched()}
        fault = self._faults.draw(busy)
        if fault is None:
            return
        now_text = time.strftime("%H:%M:%S", time.gmtime())
        print(f"{now_text} {fault.kind}: {fault.victim} for {fault.seconds:.1f} s", file=sys.stderr)
        fault.begin()
        self._pending.append(Pending(fault, time.monotonic() + fault.seconds))

    def _end_due(self, now: float) -> None:
        for pending in [p for p in self._pending if p.end <= now]:
            pending.fault.end()
            self._pending.remove(pending)
            self.survived[pending.fault.kind] += 1

    def wait_until(
        self,
        what: str,
        seconds: float,
        condition: Callable[[], bool],
        begin: float | None = None,
    ) -> None:
        """Waits for a condition; raises TimeoutError, which names it, if it stays false.

        The seconds count from `begin` if it is given, else from now.
        """
        end = (time.monotonic() if begin is None else begin) + seconds
        while True:
            self.watch(time.monotonic())
            if condition():
                return
            if time.monotonic() > end:
                status = json.dumps(self._cluster.status())
                raise TimeoutError(f"not within {seconds:.0f} s: {what}; status: {status}")
            time.sleep(0.5)

    def learns_on(self, begin: float | None = None) -> None:
        """Waits for further updates of the learner, until recovery_seconds after `begin`."""
        first: list[float] = []

        def has_advanced() -> bool:
            step = self._cluster.learner_step()
            if step is None:
                return False
            self.steps.append(step)
            first.append(step)
            # The learner may have gone back to its last checkpoint meanwhile.
            return step > min(first)

        self.wait_until(
            "the learner's step has advanced", self.recovery_seconds, has_advanced, begin
        )

    def takes_games(self, seconds: float) -> None:
        """Waits for an acknowledgement, and then for some seconds more."""
        before = len(self._cluster.acknowledged())
        self.wait_until(
            "games arrive",
            self.recovery_seconds,
            lambda: len(self._cluster.acknowledged()) > before,
        )
        end = time.monotonic() + seconds
        self.wait_until("time passes", self.recovery_seconds, lambda: time.monotonic() > end)
