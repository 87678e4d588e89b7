"""A worker can be closed by one thread while another waits for its answer."""

from __future__ import annotations

import pathlib
import sys
import threading
import time

import pytest
from conftest import FakeCompiler

from mallocmuzero_xla.errors import WorkerLostError
from mallocmuzero_xla.worker import Worker, WorkerClosedError


def test_close_ends_a_job_under_way_and_refuses_more(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({"default": ["hang"]})
    worker = Worker()

    def close_once_started() -> None:
        while not log.exists():
            time.sleep(0.01)
        worker.close()

    closer = threading.Thread(target=close_once_started)
    closer.start()
    job = {"action": "compile", "output": str(tmp_path / "default.hlo.zst"), "options": {}}
    with pytest.raises(WorkerClosedError):
        worker.run(job, timeout=60)
    closer.join()
    with pytest.raises(WorkerClosedError):
        worker.run(job, timeout=60)


def test_last_words_are_the_fatal_line_of_any_month() -> None:
    log = "F1012 08:00:00 llo.cc:1] out of registers\n    @ 0x1 abort\n"
    script = f"import sys; sys.stderr.write({log!r}); sys.exit(1)"
    worker = Worker((sys.executable, "-c", script))
    with pytest.raises(WorkerLostError, match="out of registers"):
        worker.run({}, 60.0)
