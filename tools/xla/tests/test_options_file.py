"""Files of compiler options are read as written, and other files are refused."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import pytest

import mallocmuzero_xla
from mallocmuzero_xla.artefacts.placed_file import check_placed_output
from mallocmuzero_xla.compiler.options_file import (
    check_options_output,
    check_output,
    read_options,
    write_options,
)
from mallocmuzero_xla.errors import UsageError


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


def test_pipe_gets_the_options_and_stays_a_pipe(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    check_options_output(pipe)
    write_options(pipe, {"xla_a": "1"})
    assert os.read(reader, 100) == b"xla_a=1\n"
    os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_output_that_is_a_link_is_written_where_it_leads(tmp_path: pathlib.Path) -> None:
    link, target = tmp_path / "latest.options", tmp_path / "runs" / "1.options"
    link.symlink_to(pathlib.Path("runs") / "1.options")
    target.parent.mkdir()
    for options in ({"xla_a": "1"}, {"xla_a": "2"}):
        check_options_output(link)
        write_options(link, options)
        assert link.is_symlink()
        assert read_options(target) == options


@pytest.mark.parametrize("check", [check_output, check_options_output])
def test_device_may_be_an_output(check: Callable[[pathlib.Path], None]) -> None:
    check(pathlib.Path(os.devnull))


def test_pipe_is_no_output_of_an_executable_which_is_read_again(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="pipe: a pipe or device; expected a file"):
        check_placed_output(pipe, tmp_path / "pipe.json")
