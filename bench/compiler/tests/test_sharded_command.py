"""The measurement of sharded programs says what is wrong with its request."""

from __future__ import annotations

import pytest
import sharded


@pytest.mark.parametrize("words", [["--chip", "tpu_v9"], ["--only", "absent*"]])
def test_request_without_a_program_is_bad_usage(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sharded.main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("sharded.py: no program is for ")
