"""Differences between the table of rooms and the sources are found and named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from check_architecture import compare
from rooms import BEGIN, END, find_cycle, read_includes, read_table, write_table

ROOMS = {"proto": set[str](), "base": {"proto"}, "env": {"base", "proto"}}


def test_table_is_read_as_it_was_written() -> None:
    text = write_table(f"before\n{BEGIN}\n{END}\nafter\n", ROOMS)
    assert read_table(text) == ROOMS
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "| `env` | `base`, `proto` |" in text


def test_equal_table_and_sources_have_no_problems() -> None:
    assert compare(ROOMS, ROOMS) == []


@pytest.mark.parametrize(
    ("table", "includes", "problem"),
    [
        ({"a": set(), "b": set()}, {"a": {"b"}, "b": set()}, "a: includes b, which its row"),
        ({"a": {"b"}, "b": set()}, {"a": set(), "b": set()}, "a: lists b, which no source"),
        ({"a": set()}, {"a": set(), "b": set()}, "b: has no row"),
        ({"a": set(), "b": set()}, {"a": set()}, "b: has a row, but no sources"),
    ],
)
def test_difference_is_named(
    table: dict[str, set[str]], includes: dict[str, set[str]], problem: str
) -> None:
    problems = compare(table, includes)
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_cycle_is_named() -> None:
    cyclic = {"a": {"b"}, "b": {"c"}, "c": {"b"}}
    assert find_cycle(ROOMS) == []
    assert find_cycle(cyclic) == ["b", "c", "b"]
    assert compare(cyclic, cyclic) == ["cycle: b -> c -> b"]


def test_tests_and_headers_of_packages_do_not_count(tmp_path: Path) -> None:
    files = {
        "a/one.h": '#include "absl/status/status.h"\n#include <string>\n',
        "a/two.cc": '#include "a/one.h"\n#include "mallocmuzero/v1/program.pb.h"\n',
        "a/two_test.cc": '#include "b/three.h"\n',
        "a/testing/fake.h": '#include "b/three.h"\n',
        "b/three.h": '#include "a/one.h"\n',
        "proto/program.proto": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    found = read_includes(tmp_path)
    assert found["a"] == {"proto"}
    assert found["b"] == {"a"}
