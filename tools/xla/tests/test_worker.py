"""A worker can be closed by one thread while another waits for its answer."""

from __future__ import annotations

import gc
import math
import os
import pathlib
import resource
import sys
import threading
import time
from typing import Any

import pytest
from conftest import FakeCompiler

from mallocmuzero_xla.captures.capture import lower_job as job_of
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.worker import Worker, WorkerClosedError
from mallocmuzero_xla.errors import UsageError, WorkerKilledError, WorkerLostError


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


def test_process_that_the_system_kills_says_nothing_of_the_program(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    fake_compiler({"default": ["killed"]})
    job = {"action": "compile", "output": str(tmp_path / "default.hlo.zst"), "options": {}}
    with pytest.raises(WorkerKilledError, match="lack of memory: run fewer searches at once"):
        Worker().run(job, timeout=60)


def test_last_words_are_the_fatal_line_of_any_month() -> None:
    log = "F1012 08:00:00 llo.cc:1] out of registers\n    @ 0x1 abort\n"
    script = f"import sys; sys.stderr.write({log!r}); sys.exit(1)"
    worker = Worker((sys.executable, "-c", script))
    with pytest.raises(WorkerLostError, match="out of registers"):
        worker.run({}, 60.0)


ANSWERS = """
import sys
for _ in sys.stdin:
    print('{"error": null, "usage": false, "seconds": 0.5, "peak_mebibytes": 1}', flush=True)
"""


# Says which programs it was told of, and that jax cannot print the program of the job.
UNPRINTABLE = """
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    known = [*job["unprintable"], *job.get("program", [])]
    answer = {"error": None, "usage": False, "seconds": len(known), "peak_mebibytes": 1}
    print(json.dumps({**answer, "unprintable": known}), flush=True)
"""


def test_processes_tell_each_other_which_programs_jax_cannot_print(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mallocmuzero_xla.compiler.worker._unprintable", set())
    one, other = (Worker((sys.executable, "-c", UNPRINTABLE)) for _ in range(2))
    assert one.run({}, 60.0) == 0
    assert one.run({"program": ["a"]}, 60.0) == 1
    assert other.run({}, 60.0) == 1
    for worker in (one, other):
        worker.close()


def opened() -> set[str]:
    return {path.name for path in pathlib.Path("/proc/self/fd").iterdir()}


def test_process_with_many_open_files_can_ask() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip("this user may not open so many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    many: list[int] = []
    try:
        while not many or many[-1] < 1024:
            many.append(os.dup(0))
        worker = Worker((sys.executable, "-c", ANSWERS))
        assert worker.run({}, 60.0) == 0.5
        assert worker.run({}, math.inf) == 0.5
        worker.close()
    finally:
        for descriptor in many:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_closed_worker_has_no_open_file() -> None:
    gc.collect()  # closes files of earlier tests, which must not happen later
    before = opened()
    worker = Worker((sys.executable, "-c", ANSWERS))
    worker.run({}, 60.0)
    assert len(opened()) > len(before)
    worker.close()
    assert opened() == before


def lower_job(function: str, folder: pathlib.Path) -> dict[str, Any]:
    return job_of(function, CHIPS["tpu_v6e"], folder / "lowered.json")


def test_files_of_the_working_folder_take_the_place_of_no_module(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("resource", "queue", "select"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.chdir(tmp_path)
    worker = Worker()
    with pytest.raises(UsageError, match=r"absent\.py: no such file"):
        worker.run(lower_job("absent.py:build", tmp_path), timeout=60)
    worker.close()


def test_builder_finds_modules_of_the_working_folder(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "beside_the_folder.py").write_text("NUMBER = 5")
    (tmp_path / "sub" / "model.py").write_text(
        "import beside_the_folder\ndef build(): return beside_the_folder.NUMBER"
    )
    monkeypatch.chdir(tmp_path)
    worker = Worker()
    with pytest.raises(UsageError, match=r"sub/model\.py:build must return"):
        worker.run(lower_job("sub/model.py:build", tmp_path), timeout=60)
    worker.close()
