"""Progress on stderr: a bar on a terminal and in a notebook, a line for each step elsewhere."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator

from tqdm.auto import tqdm

_LOG = logging.getLogger("mallocmuzero_xla")

# Interval of status lines in a log, which should neither fall silent for minutes nor fill up.
_STATUS_SECONDS = 30.0


def _can_redraw() -> bool:
    """Whether stderr is a terminal or the output of a notebook, where a line may be replaced."""
    return (sys.stderr is not None and sys.stderr.isatty()) or "ipykernel" in sys.modules


@contextlib.contextmanager
def _ignoring_readers() -> Iterator[None]:
    """Ignores that stderr takes no text: its reader may be gone, or its disk full.

    No search ends for this.
    """
    with contextlib.suppress(OSError, ValueError):
        yield


def _print(text: str = "", end: str = "\n") -> None:
    if sys.stderr is not None:  # print() would take stdout
        with _ignoring_readers():
            print(text, end=end, file=sys.stderr, flush=True)


class Progress:
    """Counts finished steps. Any thread may call `report`."""

    def __init__(
        self, total: int, quiet: bool = False, listener: Callable[[str], None] | None = None
    ) -> None:
        """`quiet` shows nothing; `listener` gets the line of each step all the same."""
        self._total = total
        self._quiet = quiet
        self._listener = listener
        self._done = 0
        self._started = time.monotonic()
        self._lock = threading.Lock()
        show_bar = _can_redraw() and not quiet
        self._bar = tqdm(total=total, unit="compile") if show_bar else None

    def report(self, what: str, problem: str | None = None) -> None:
        """Counts one step and reports its problem, if any."""
        line = f"{what}: {problem}" if problem else what
        with self._lock:
            self._done += 1
            if self._listener is not None:
                self._listener(line)
            if self._bar is not None:
                with _ignoring_readers():
                    if problem:
                        self._bar.write(line, file=sys.stderr)
                    self._bar.set_description(what)
                    self._bar.update()
            elif not self._quiet:
                elapsed = time.monotonic() - self._started
                _print(f"[{self._done}/{self._total} {elapsed:.0f}s] {line}")

    def skip(self) -> None:
        """Counts one step without a report."""
        with self._lock:
            self._done += 1
            if self._bar is not None:
                with _ignoring_readers():
                    self._bar.update()

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            with _ignoring_readers():
                self._bar.close()


class LoopProgress:
    """Shows the progress of a search: a changing line on a terminal, or lines at intervals."""

    def __init__(self, quiet: bool = False, listener: Callable[[str], None] | None = None) -> None:
        """`quiet` shows nothing; `listener` gets every line all the same."""
        self.quiet = quiet
        self.listener = listener
        self._told = time.monotonic()
        self._live = _can_redraw() and not quiet
        self._shown = ""

    def status(self, line: str) -> None:
        """Shows the state of the search; outside a terminal only at intervals."""
        if self.listener is not None:
            self.listener(line)
        if self._live:
            _print(f"\r{line:{len(self._shown)}}", end="")
            self._shown = line
        elif time.monotonic() - self._told >= _STATUS_SECONDS:
            self._show(line)

    def note(self, line: str) -> None:
        """Shows a line that stays, and logs it at level INFO."""
        _LOG.info("%s", line)
        if self.listener is not None:
            self.listener(line)
        self._show(line)

    def _show(self, line: str) -> None:
        if self.quiet:
            return
        self._told = time.monotonic()
        if self._shown:
            _print(f"\r{'':{len(self._shown)}}\r", end="")
            self._shown = ""
        _print(line)

    def close(self) -> None:
        """Ends the changing line."""
        if self._shown:
            _print()
            self._shown = ""
