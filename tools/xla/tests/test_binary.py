"""Calls of the binary, and the processes that stay for the next call."""

from __future__ import annotations

import pathlib
import sys

from mallocmuzero_xla.binary import Binary, Server

# Prices every module by the number that the program file holds at the start.
_SCRIPT = """#!{python}
import json, pathlib, sys
cycles = float(pathlib.Path(sys.argv[sys.argv.index("--program") + 1]).read_text())
report = {{"mapped_cycles": cycles, "default_mapped_cycles": 1, "followed_share": 1,
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


# Answers `map` with its own arguments.
_ECHO = """#!{python}
import json, sys
print(json.dumps({{"arguments": sys.argv[1:]}}))
"""


def test_solve_lets_the_server_search(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "mallocmuzero"
    script.write_text(_ECHO.format(python=sys.executable), encoding="utf-8")
    script.chmod(0o755)
    files = tmp_path / "p.program", tmp_path / "m.mapping"
    here = Binary(script).solve(*files, 5)
    assert "--server" not in here["arguments"]
    there = Binary(script, Server("host:7500", "security.textproto")).solve(*files, 5)
    flags = there["arguments"]
    assert flags[flags.index("--server") + 1] == "host:7500"
    assert flags[flags.index("--server-security") + 1] == "security.textproto"
    assert flags[flags.index("--budget") + 1] == "5s"
