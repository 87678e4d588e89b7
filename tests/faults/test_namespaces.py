"""Tests of namespaces.py."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from namespaces import zombies_of


def test_a_child_that_nobody_has_waited_for_is_a_zombie() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert len(zombies_of(os.getpid())) == 1
    assert zombies_of(os.getpid()) == []


def test_a_child_that_vanishes_meanwhile_is_no_zombie(monkeypatch: pytest.MonkeyPatch) -> None:
    read_text = pathlib.Path.read_text

    def read(path: pathlib.Path) -> str:
        if path.name == "status":
            raise FileNotFoundError(path)
        return read_text(path)

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        monkeypatch.setattr(pathlib.Path, "read_text", read)
        assert zombies_of(os.getpid()) == []
        child.communicate()
