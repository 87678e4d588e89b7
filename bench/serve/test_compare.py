"""Tests of compare.py with a made-up binary."""

from __future__ import annotations

import os
import pathlib
import stat
import subprocess
import sys

import compare
import pytest

# A server writes its process into `server` and waits; beside a file `broken` it ends at once, and
# beside a file `refuses` it answers no request. Beside a pipe `waits` a client opens it, and waits.
FAKE = """#!{python}
import json, os, pathlib, signal, sys
here = pathlib.Path(__file__).parent
if sys.argv[1] == "serve":
    (here / "server").write_text(str(os.getpid()))
    if (here / "broken").exists():
        sys.exit("serve: the address is in use")
    print("listens on 127.0.0.1", file=sys.stderr, flush=True)
    signal.pause()
if sys.argv[1] == "bench" and (here / "refuses").exists():
    sys.exit(1)
if sys.argv[1] == "bench" and (here / "waits").exists():
    (here / "waits").open("w").close()
    signal.pause()
print(json.dumps(dict(games=10, simulations=10, seconds=1)))
"""


@pytest.fixture
def binary(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "binary"
    path.write_text(FAKE.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def command(binary: pathlib.Path) -> list[str]:
    words = f"--program p --binary {binary} --clients 1 --rounds 1 --overhead-requests 0"
    return [sys.executable, compare.__file__, *words.split()]


def run(binary: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(binary), check=False, capture_output=True, text=True, timeout=60)


def is_running(binary: pathlib.Path) -> bool:
    try:
        os.kill(int((binary.parent / "server").read_text()), 0)
    except ProcessLookupError:
        return False
    return True


def test_a_figure_that_no_process_has_is_left_out() -> None:
    # Local search plays games, and simulates nothing.
    searched = {"games": 10, "simulations": 0, "seconds": 2.0, "cpu_seconds": 1.0}
    shares = compare.shares_of({**searched, "games": 5}, searched)
    assert shares == {"games_per_seconds": 0.5, "games_per_cpu_seconds": 0.5}


def test_a_server_ends_with_a_comparison_that_fails(binary: pathlib.Path) -> None:
    (binary.parent / "refuses").touch()
    assert run(binary).returncode != 0
    assert not is_running(binary)


def test_a_server_ends_with_a_comparison_that_is_terminated(binary: pathlib.Path) -> None:
    os.mkfifo(binary.parent / "waits")
    with subprocess.Popen(command(binary)) as comparison:
        (binary.parent / "waits").read_text()  # until a client asks the server
        assert is_running(binary)
        comparison.terminate()
        assert comparison.wait(timeout=60) == 1
    assert not is_running(binary)


def test_a_server_that_does_not_start_is_told(binary: pathlib.Path) -> None:
    (binary.parent / "broken").touch()
    ran = run(binary)
    assert ran.returncode != 0
    assert "serve: the address is in use" in ran.stderr


def test_percentiles_are_those_of_the_benchmarks_in_cpp() -> None:
    """The cases of base/percentile_test.cc."""
    values = [5, 2, 4, 1, 3]
    assert [compare.percentile(values, share) for share in (0.2, 0.21, 0.5, 0.99)] == [1, 2, 3, 5]
    assert compare.percentile([4, 1, 3, 2], 0.5) == 2
    assert [compare.percentile([3, 1, 2], share) for share in (0, 1)] == [1, 3]
