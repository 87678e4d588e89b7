"""A search that runs without a terminal is neither silent nor noisy."""

from __future__ import annotations

import errno
import io
import sys
from typing import Any

import pytest

from mallocmuzero_xla.progress import LoopProgress, Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A list whose only element is the time."""
    now = [100.0]
    monkeypatch.setattr("mallocmuzero_xla.progress.time.monotonic", lambda: now[0])
    return now


def test_log_gets_a_line_every_half_minute(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = LoopProgress()
    for seconds in (1, 29, 31, 40, 59, 62):
        clock[0] = 100.0 + seconds
        shown.status(f"{seconds} s")
    assert capsys.readouterr().err == "31 s\n62 s\n"


def test_quiet_search_says_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    shown = LoopProgress(quiet=True)
    clock[0] = 200.0
    shown.status("100 s")
    shown.note("a note")
    assert capsys.readouterr().err == ""


class Gone(io.StringIO):
    """The stderr of a process whose terminal has been closed."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, _: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_lines_that_cannot_be_written_end_no_search(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", Gone(is_terminal))
    search = LoopProgress()
    capture = Progress(2)
    clock[0] = 200.0
    search.status("100 s")
    search.note("a note")
    search.close()
    capture.report("one", "a problem")
    capture.skip()
    capture.close()


def test_a_process_without_stderr_may_search(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    LoopProgress().note("a note")
    Progress(1).report("one")
    assert capsys.readouterr().out == ""


def test_listener_hears_every_line_of_a_quiet_search(clock: list[float]) -> None:
    heard: list[str] = []
    shown = LoopProgress(quiet=True, listener=heard.append)
    for seconds in (1, 2):
        clock[0] = 100.0 + seconds
        shown.status(f"{seconds} s")
    shown.note("a note")
    assert heard == ["1 s", "2 s", "a note"]


def test_lines_that_stay_are_logged(
    clock: list[float], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level("INFO", logger="mallocmuzero_xla"):
        shown = LoopProgress()
        shown.status("a state")
        shown.note("a note")
    assert caplog.messages == ["a note"]


def test_notebook_replaces_its_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    shown = LoopProgress()
    shown.status("first")
    shown.status("2nd")
    assert capsys.readouterr().err == "\rfirst\r2nd  "


class Bar:
    """Stands in for a bar of tqdm.auto."""

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit, self.done, self.closed = total, unit, 0, False
        self.lines: list[str] = []

    def update(self) -> None:
        self.done += 1

    def set_description(self, text: str) -> None:
        self.description = text

    def write(self, line: str, file: object) -> None:
        self.lines.append(line)

    def close(self) -> None:
        self.closed = True


def test_notebook_gets_a_bar_of_compiles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    bars: list[Bar] = []

    def bar(**options: Any) -> Bar:
        bars.append(Bar(**options))
        return bars[-1]

    monkeypatch.setattr("mallocmuzero_xla.progress.tqdm", bar)
    progress = Progress(3)
    progress.report("step default")
    progress.report("step sample_0", "no result within 9 s")
    progress.skip()
    progress.close()
    (shown,) = bars
    assert (shown.total, shown.done, shown.unit, shown.closed) == (3, 3, "compile", True)
    assert shown.description == "step sample_0"
    assert shown.lines == ["step sample_0: no result within 9 s"]
    assert capsys.readouterr().err == ""


def test_bars_are_those_that_tqdm_chooses_for_the_notebook() -> None:
    from tqdm.auto import tqdm

    from mallocmuzero_xla import progress

    assert vars(progress)["tqdm"] is tqdm


def test_quiet_capture_has_no_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr("mallocmuzero_xla.progress.tqdm", None)
    progress = Progress(1, quiet=True)
    progress.report("step default")
    progress.close()
    assert capsys.readouterr().err == ""
