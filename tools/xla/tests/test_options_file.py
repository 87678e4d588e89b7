"""Files of compiler options are read as written, and other files are refused."""

from __future__ import annotations

import pathlib

import pytest

import mallocmuzero_xla
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.options_file import read_options, write_options


def test_options_are_read_as_they_were_written(tmp_path: pathlib.Path) -> None:
    options = {"xla_a": "overrides { x: 1 } y=2", "xla_b": "true", "xla_c": ""}
    write_options(tmp_path / "o.options", options)
    assert read_options(tmp_path / "o.options") == options


def test_reading_is_part_of_the_package() -> None:
    assert mallocmuzero_xla.read_options is read_options


def test_empty_file_holds_no_options(tmp_path: pathlib.Path) -> None:
    write_options(tmp_path / "o.options", {})
    assert read_options(tmp_path / "o.options") == {}


@pytest.mark.parametrize("content", [b"import jax\n", b"xla_a=1\n\n", b"\xff\xfe"])
def test_file_of_something_else_is_a_usage_error(tmp_path: pathlib.Path, content: bytes) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"model\.py"):
        read_options(path)


def test_file_that_is_not_there_is_a_usage_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_options(tmp_path / "absent.options")
