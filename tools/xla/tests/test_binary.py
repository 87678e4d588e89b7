"""Calls of the binary, and the processes that stay for the next call."""

from __future__ import annotations

import pathlib
import sys

from mallocmuzero_xla.binary import Binary

# Prices every module by the number that the program file holds at the start.
_SCRIPT = """#!{python}
import json, pathlib, sys
cycles = float(pathlib.Path(sys.argv[sys.argv.index("--program") + 1]).read_text())
report = {{"mapped_cycles": cycles, "default_mapped_cycles": 1, "honoured_share": 1,
          "fast_memory_bytes": 1}}
for line in sys.stdin:
    print(json.dumps(report), flush=True)
"""


def test_program_written_over_is_read_anew(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "mallocmuzero"
    script.write_text(_SCRIPT.format(python=sys.executable), encoding="utf-8")
    script.chmod(0o755)
    binary = Binary(script)
    program = tmp_path / "refit_1.program"
    seen = []
    for cycles in ("10", "20"):
        program.write_text(cycles, encoding="utf-8")
        seen.append(binary.readback(program, tmp_path / "all_hbm", "text", "default").mapped_cycles)
    assert seen == [10, 20]
