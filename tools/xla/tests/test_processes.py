"""Processes of the package end with it, even if it is killed, and say why they failed."""

from __future__ import annotations

import os
import pathlib
import select
import signal
import subprocess
import sys

import pytest

from mallocmuzero_xla.binary_path import binary_version
from mallocmuzero_xla.processes import end_with, run_with_this_process

# A fake binary that says its id in a pipe, and keeps the pipe open until it ends.
_BINARY = """#!{python}
import os, signal
pipe = open({pipe!r}, "w")
print(os.getpid(), file=pipe, flush=True)
signal.pause()
"""

# Each calls the binary, argv[1], in another way.
_CALLS = {
    "place": "place_search._run([sys.argv[1]], print)",
    "placed rounds": (
        "placed_rounds.PlacedRounds._run(types.SimpleNamespace(_process=None), [sys.argv[1]])"
    ),
    "map": "binary.Binary(path).solve(path, path, 5.0)",
    "import": "importer.import_program({}, 'tpu_v6e', path)",
    "compile": "readable._compiled_by_binary(program, CHIPS['tpu_v6e'], {}, '--module')",
}
_READBACK = "binary.Binary(path).readback(path, path, '', '')"  # it ends when stdin closes

_SETUP = """
import pathlib, sys, types
from mallocmuzero_xla import binary
from mallocmuzero_xla.captures import importer
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler import readable
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.placed import place_search
from mallocmuzero_xla.search import placed_rounds
path = pathlib.Path(sys.argv[1])
importer.find_binary = readable.find_binary = lambda: path
readable.compiler_library = lambda: "libtpu.so"
program = types.SimpleNamespace(
    module=b"", compile_options=b"", topology_name="", base_options={}
)
"""


@pytest.mark.parametrize("call", _CALLS.values(), ids=_CALLS)
def test_binary_ends_with_a_killed_search(call: str, tmp_path: pathlib.Path) -> None:
    binary, pipe = tmp_path / "mallocmuzero", tmp_path / "pipe"
    binary.write_text(_BINARY.format(python=sys.executable, pipe=str(pipe)), encoding="utf-8")
    binary.chmod(0o755)
    os.mkfifo(pipe)
    script = _SETUP + call
    words = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    also_open = os.open(pipe, os.O_WRONLY)  # so that the pipe does not end before the binary starts
    with subprocess.Popen([sys.executable, "-c", script, binary]) as search:
        started = bool(select.select([words], [], [], 60.0)[0])
        search.kill()
        search.wait()
    os.close(also_open)
    assert started
    process = int(os.read(words, 100))
    ended = bool(select.select([words], [], [], 30.0)[0])
    os.close(words)
    if not ended:
        os.kill(process, signal.SIGKILL)
    assert ended


@pytest.mark.parametrize("call", [*_CALLS.values(), _READBACK], ids=[*_CALLS, "readback"])
def test_message_that_is_not_utf_8_is_the_reason_all_the_same(
    call: str, tmp_path: pathlib.Path
) -> None:
    binary = tmp_path / "mallocmuzero"
    binary.write_bytes(b"#!/bin/sh\necho 'p\xe4th: no such file' 1>&2\nexit 1\n")
    binary.chmod(0o755)
    script = f"{_SETUP}\ntry: {call}\nexcept CaptureError as error: print(ascii(error.args[0]))"
    found = subprocess.run(
        [sys.executable, "-c", script, binary], capture_output=True, text=True, check=False
    )
    assert found.stderr == ""
    assert r"p\ufffdth: no such file" in found.stdout


def test_version_that_is_not_utf_8_is_unknown(tmp_path: pathlib.Path) -> None:
    binary = tmp_path / "mallocmuzero"
    binary.write_bytes(b"#!/bin/sh\necho 'm\xe4llocmuzero'\n")
    binary.chmod(0o755)
    assert binary_version(binary) == (None, None)


def test_command_gets_the_signals_of_a_shell() -> None:
    # SIGPIPE and SIGXFSZ, which Python ignores, are the bits 12 and 24.
    found = run_with_this_process(["/usr/bin/grep", "SigIgn", "/proc/self/status"])
    assert int(found.stdout.split()[1], 16) & (1 << 12 | 1 << 24) == 0


def test_command_that_is_not_there_is_named_in_the_last_line() -> None:
    found = run_with_this_process(["/absent/mallocmuzero"])
    assert found.returncode == 1
    assert "No such file or directory" in found.stderr.splitlines()[-1]


def test_a_fork_whose_parent_has_ended_ends() -> None:
    fork = os.fork()
    if fork == 0:
        end_with(os.getpid())  # as if it had another parent now
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 1
