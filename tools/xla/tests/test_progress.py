"""A search that runs without a terminal is neither silent nor noisy."""

from __future__ import annotations

import sys

import pytest

from mallocmuzero_xla.progress import LoopProgress


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
