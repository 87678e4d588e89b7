"""Tests of search_trace, if it is built."""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest

_BINARY = pathlib.Path(__file__).resolve().parents[2] / "build" / "bin" / "search_trace"

pytestmark = pytest.mark.skipif(not _BINARY.exists(), reason="search_trace is not built")


def trace(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs search_trace for at most a minute."""
    command = [str(_BINARY), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_prints_better_and_better_mappings() -> None:
    for seconds in (0.2, 2.0, 20.0):  # a busy machine may have time for one game only
        printed = trace("layers:20", "1", str(seconds)).stdout.splitlines()
        lines = [json.loads(line) for line in printed]
        cycles = [line["cycles"] for line in lines]
        assert cycles == sorted(cycles, reverse=True)
        assert lines[-1]["seconds"] >= seconds
        if cycles[-1] < cycles[0]:
            return
    pytest.fail(f"no better mapping was found: {cycles}")


def test_counts_the_decisions_of_the_best_game() -> None:
    *_, last = (json.loads(line) for line in trace("layers:20", "1", "0.2").stdout.splitlines())
    # A layer has 9 accesses, and at some of them one action is legal.
    assert 20 < last["decisions"] <= 20 * 9


@pytest.mark.parametrize("layers", ["0", "-1", "x", "", "4000000000"])
def test_refuses_a_wrong_number_of_layers(layers: str) -> None:
    refused = trace(f"layers:{layers}", "1", "0.1")
    assert refused.returncode == 1
    assert f"layers:{layers}: 1 to 100000 layers expected" in refused.stderr


@pytest.mark.parametrize("seconds", ["nan", "-1", "1s"])
def test_refuses_a_wrong_time(seconds: str) -> None:
    refused = trace("layers:3", "1", seconds)
    assert refused.returncode == 2
    assert refused.stderr.startswith("usage:")
