"""Calls of the binary, and the processes that stay for the next call."""

from __future__ import annotations

import pathlib
import sys

import pytest

from mallocmuzero_xla.binary import Binary, Server
from mallocmuzero_xla.errors import UsageError

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
    security = tmp_path / "security.textproto"
    security.touch()
    there = Binary(script, Server("host:7500", security)).solve(*files, 5)
    flags = there["arguments"]
    assert flags[flags.index("--server") + 1] == "host:7500"
    assert flags[flags.index("--server-security") + 1] == str(security)
    assert flags[flags.index("--budget") + 1] == "5s"


def test_binary_without_a_client_is_refused_before_a_search(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "mallocmuzero"
    script.write_text("#!/bin/sh\necho 'status: needs the executable' >&2\nexit 2\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match=r"build in MALLOCMUZERO_BINARY \(status: needs the exec"):
        Binary(script, Server("host:7500"))
    Binary(script)


@pytest.mark.parametrize("address", ["127.0.0.1:7500", "[::1]:7500", "search.example:7500"])
def test_addresses_of_servers_are_taken(address: str) -> None:
    assert Server(address).flags() == ["--server", address]


@pytest.mark.parametrize("address", ["", "host", ":7500", "host:", "host:port", "a b:1", "::1:1"])
def test_what_is_no_address_is_refused_before_a_search(address: str) -> None:
    with pytest.raises(UsageError, match=r"server '.*': expected host:port, such as 127"):
        Server(address)


def test_missing_file_of_security_is_named_before_a_search(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match=r"server_security .*absent: no such file"):
        Server("host:7500", tmp_path / "absent")
