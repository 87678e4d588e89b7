"""Tests of threads.py with a made-up binary."""

from __future__ import annotations

import pathlib
import stat
import sys

import pytest
import threads

# More threads and more time find fewer cycles; the seed makes a difference of 2 cycles.
FAKE = """#!{python}
import json, sys
flags = dict(zip(sys.argv[3:], sys.argv[4:]))
seconds = float(flags["--budget"].rstrip("s"))
cycles = 1000 - 10 * int(flags["--threads"]) - seconds + 2 * int(flags["--seed"])
print(json.dumps(dict(total_cycles=cycles, bound_cycles=900 if seconds > 1 else 800)))
"""


def test_compares_each_number_of_threads_with_the_best_of_all(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "binary"
    binary.write_text(FAKE.format(python=sys.executable))
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    options = f"--binary {binary} --threads 1 4 --seconds 1 10 --seeds 3 a/p.program"
    threads.main(options.split())
    _, _, row = capsys.readouterr().out.splitlines()
    # The best is 1000 - 40 - 10 = 950 cycles. With one thread and 1 s, the median is 991.
    gaps = [100 * (cycles / 950 - 1) for cycles in (991, 961, 982, 952)]
    expected = " | ".join(f"{gap:.3f}" for gap in gaps)
    assert row == f"| p | {expected} | {100 * (950 / 900 - 1):.2f} % |"
