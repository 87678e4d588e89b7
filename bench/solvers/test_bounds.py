"""Tests of bounds.py with a made-up binary."""

from __future__ import annotations

import pathlib
import stat
import subprocess
import sys

import bounds
import pytest

FAKE = """#!{python}
import json
print(json.dumps(dict(total_cycles={cycles}, default_cycles=100.0, all_hbm_cycles=120.0,
                      bound_cycles=85.0, unlimited_cycles={unlimited}, solver="local_search")))
"""


@pytest.fixture
def workloads(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with one program."""
    (tmp_path / "tpu_v6e").mkdir()
    (tmp_path / "tpu_v6e/gpt.program").touch()
    return tmp_path


def run(workloads: pathlib.Path, cycles: float, *flags: str, unlimited: float = 70.0) -> str:
    """Runs the script with a binary that finds a mapping of `cycles`."""
    binary = workloads / "map"
    figures = {"cycles": cycles, "unlimited": unlimited}
    binary.write_text(FAKE.format(python=sys.executable, **figures))
    binary.chmod(binary.stat().st_mode | stat.S_IEXEC)
    command = [sys.executable, bounds.__file__, "--workloads", str(workloads)]
    ran = subprocess.run(
        [*command, "--binary", str(binary), *flags], check=True, capture_output=True, text=True
    )
    return ran.stdout


def test_a_better_mapping_replaces_the_best_known_one(workloads: pathlib.Path) -> None:
    """A worse one does not."""
    run(workloads, 92.0, "--budget", "1s")
    run(workloads, 90.0, "--budget", "2s")
    run(workloads, 95.0, "--budget", "3s")
    known = bounds.read_registry(workloads / "best_known.csv")
    assert known == {("tpu_v6e", "gpt"): bounds.Known(90.0, "local_search", "2s")}


def test_the_table_names_gap_and_share(workloads: pathlib.Path) -> None:
    """Best known 90, bound 85, without limits 70: the bound closes 15 of 20."""
    row = "| tpu_v6e | gpt | 10.00 % | 15.00 % | 5.00 | 75 % | local_search, 1s |"
    assert row in run(workloads, 90.0, "--budget", "1s")


def test_a_program_that_gains_as_in_a_memory_without_limits_has_nothing_to_close(
    workloads: pathlib.Path,
) -> None:
    """0.1 of 120 cycles is less than 0.1 %."""
    table = run(workloads, 85.1, "--budget", "1s", unlimited=85.0)
    assert "| 14.90 % | 15.00 % | 0.10 | nothing to close | local_search, 1s |" in table
    assert "For 0 of them a memory without limits would save more" in table


def test_a_table_without_a_search_leaves_the_registry(workloads: pathlib.Path) -> None:
    """The known mapping counts although the short search finds a worse one."""
    run(workloads, 90.0, "--budget", "1s")
    before = (workloads / "best_known.csv").read_text()
    document = workloads / "bounds.md"
    document.write_text(f"# Bounds\n{bounds.BEGIN}\nold\n{bounds.END}\n")
    run(workloads, 99.0, "--budget", "0s", "--write", str(document))
    assert "| 10.00 % | 15.00 % |" in document.read_text()
    assert "old" not in document.read_text()
    assert (workloads / "best_known.csv").read_text() == before


def test_some_programs_do_not_replace_a_table_of_all(workloads: pathlib.Path) -> None:
    document = workloads / "bounds.md"
    document.write_text(f"{bounds.BEGIN}\nold\n{bounds.END}\n")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(workloads, 90.0, "--budget", "1s", "--only", "g*", "--write", str(document))
    assert failed.value.returncode == 2
    assert "--write: leave --only out" in failed.value.stderr
    assert "old" in document.read_text()
    assert not (workloads / "best_known.csv").exists()


def test_a_bound_that_is_a_memory_without_limits_closes_nothing(workloads: pathlib.Path) -> None:
    """Both are 85 cycles, as in a long program whose bound had a short time."""
    row = "| tpu_v6e | gpt | 10.00 % | 15.00 % | 5.00 | 0 % (loose) | local_search, 1s |"
    assert row in run(workloads, 90.0, "--budget", "1s", unlimited=85.0)


def test_a_known_mapping_below_the_bound_is_of_other_prices(workloads: pathlib.Path) -> None:
    run(workloads, 90.0, "--budget", "1s")
    path = workloads / "best_known.csv"
    path.write_text(path.read_text().replace("90.000", "84.000"))
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(workloads, 90.0, "--budget", "1s")
    assert "gpt: the best known mapping takes 84 cycles, and no mapping fewer than 85" in (
        failed.value.stderr
    )


def test_shares_of_nothing_have_no_minus_sign(workloads: pathlib.Path) -> None:
    assert "| gpt | 0.00 % |" in run(workloads, 100.001, "--budget", "1s")
