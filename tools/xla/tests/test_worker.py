"""A worker can be closed by one thread while another waits for its answer."""

from __future__ import annotations

import pathlib
import threading
import time

import pytest
from conftest import FakeCompiler

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
