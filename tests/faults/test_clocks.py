"""Tests of clocks.py, and of a shard whose clock jumps."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from clocks import DAY, MINUTE, SOURCE, Clock
from loopback_cluster import free_ports
from preload import compile_library

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("MALLOCMUZERO_BINARY", str(ROOT / "build/bin/mallocmuzero"))


@pytest.fixture
def clock(tmp_path: pathlib.Path) -> Clock:
    return Clock(compile_library(SOURCE, tmp_path, "cc"), tmp_path / "clock")


def test_a_process_sees_the_clock_that_was_set(clock: Clock) -> None:
    clock.set_ahead(-3 * DAY)
    code = "import time; print(time.time())"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | clock.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(ran.stdout) == pytest.approx(time.time() - 3 * DAY, abs=60)


def test_a_running_process_sees_the_clock_jump(clock: Clock) -> None:
    code = "import time\nfor _ in range(2): input(); print(time.time(), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | clock.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        seen = []
        for ahead in (0.0, 2 * DAY):
            clock.set_ahead(ahead)
            process.stdin.write("\n")
            process.stdin.flush()
            seen.append(float(process.stdout.readline()))
    assert seen[1] - seen[0] == pytest.approx(2 * DAY, abs=60)


@pytest.fixture
def shard(clock: Clock, tmp_path: pathlib.Path) -> Iterator[subprocess.Popen[str]]:
    """A shard that has started."""
    config = tmp_path / "config.textproto"
    port = free_ports(1)[0]
    config.write_text(
        f"learner {{ workloads: 'none' }}\n"
        f"replay {{ name: 'shard' address: '127.0.0.1:{port}' mode: MEMORY }}\n"
    )
    process = subprocess.Popen(
        [BINARY, "replay", "--config", config],
        env=os.environ | clock.environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    try:
        assert "listens on" in process.stderr.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize("seconds", [2 * MINUTE, 3 * DAY])
def test_a_role_ends_when_its_clock_is_set_back(
    clock: Clock, shard: subprocess.Popen[str], seconds: float
) -> None:
    clock.set_ahead(-seconds)
    assert shard.wait(30) == 1
    assert shard.stderr
    log = shard.stderr.read()
    found = re.search(r"the clock was set back by (\d+) s; the process must start again", log)
    assert found, log
    assert int(found.group(1)) == pytest.approx(seconds, abs=2)


def test_a_role_goes_on_when_its_clock_is_set_forwards_or_corrected_a_little(
    clock: Clock, shard: subprocess.Popen[str]
) -> None:
    # The second one sets the clock back by five seconds.
    for ahead in (3 * DAY + 5, 3 * DAY):
        clock.set_ahead(ahead)
        with pytest.raises(subprocess.TimeoutExpired):
            shard.wait(3)
