"""Each run is a process of its own; failures are records, and a stopped run is none."""

from __future__ import annotations

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import corpus
import pytest
from mallocmuzero_xla.errors import UsageError
from protocol_plan import EVERYTHING, FLAGS, LIMIT, PLACED, Entry, Mode, Run
from protocol_records import Record
from protocol_runner import Runner, StoppedError, core_pairs, do_all
from protocol_samples import child

CORES = sorted(os.sched_getaffinity(0))[:1]


def run_of(program: str = "p", mode: Mode = EVERYTHING, seed: int = 0) -> Run:
    entry = Entry("tpu_v6e", program, "family of p", "test", True)
    return Run(entry, mode, seed, 60.0 if mode.searches else 0.0)


@pytest.fixture
def runner(tmp_path: pathlib.Path) -> Runner:
    return Runner(tmp_path / "workloads", child(tmp_path))


def plan(folder: pathlib.Path, **programs: str) -> None:
    (folder / "plans.json").write_text(json.dumps(programs), encoding="utf-8")


def jobs(folder: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log").read_text("utf-8").splitlines()]


def test_a_run_gives_a_record_of_what_it_was_and_what_came_of_it(runner: Runner) -> None:
    record = runner.record(run_of(seed=2), CORES)
    expected: dict[str, Any] = {
        "chip": "tpu_v6e",
        "program": "p",
        "family": "family of p",
        "split": "test",
    }
    expected |= {"contended": True, "mode": "everything", "seed": 2, "budget_seconds": 60.0}
    expected |= {"status": "ok", "error": None, "default_cycles": 1000.0, "cycles": 900.0}
    assert {name: record[name] for name in expected} == expected


def test_a_record_names_the_processor(runner: Runner) -> None:
    record = runner.record(run_of(), CORES)
    assert record["processor"] in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")


def test_processor_seconds_are_those_of_all_processes_of_a_run(
    runner: Runner, tmp_path: pathlib.Path
) -> None:
    plan(tmp_path, p="works")
    assert runner.record(run_of(), CORES)["processor_seconds"] >= 0.3


@pytest.mark.parametrize(
    ("mode", "arguments"),
    [
        (EVERYTHING, {"budget": 60.0, "placed": True}),
        (LIMIT, {"budget": 60.0, "assignment": False}),
        (PLACED, {"budget": 60.0, "assignment": False, "placed": True}),
        # The first compile, under the flags, is all that the budget allows.
        (FLAGS[0], {"budget": 1.0}),
    ],
)
def test_a_mode_is_keyword_arguments_of_optimize(
    runner: Runner, tmp_path: pathlib.Path, mode: Mode, arguments: dict[str, Any]
) -> None:
    runner.record(run_of(mode=mode, seed=1), CORES)
    (job,) = jobs(tmp_path)
    assert job["arguments"] == {**arguments, "seed": 1}
    assert (job["chip"], job["program"], job["cores"]) == ("tpu_v6e", "p", CORES)


def test_a_run_has_the_flags_of_its_mode_and_none_of_the_user(
    runner: Runner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--xla_of_the_user=1")
    monkeypatch.setenv("XLA_FLAGS", "--xla_of_the_user=1")
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache of the user"))
    runner.record(run_of(mode=FLAGS[0]), CORES)
    runner.record(run_of(), CORES)
    flags, search = (job["environment"] for job in jobs(tmp_path))
    assert flags["LIBTPU_INIT_ARGS"] == "--xla_tpu_scoped_vmem_limit_kib=98304"
    assert "LIBTPU_INIT_ARGS" not in search
    assert "XLA_FLAGS" not in flags
    caches = {flags["MALLOCMUZERO_CACHE"], search["MALLOCMUZERO_CACHE"]}
    assert len(caches) == 2
    assert str(tmp_path / "cache of the user") not in caches


@pytest.mark.parametrize(
    "name", ["JAX_ENABLE_X64", "JAX_DEFAULT_MATMUL_PRECISION", "TPU_LIBRARY_PATH"]
)
def test_a_run_has_no_other_program_or_compiler_by_a_variable_of_the_user(
    runner: Runner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    runner.record(run_of(), CORES)
    environment = jobs(tmp_path)[0]["environment"]
    assert name not in environment
    assert environment["JAX_PLATFORMS"] == "cpu"


def test_a_run_imports_the_package_of_this_commit(
    runner: Runner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    runner.record(run_of(), CORES)
    path = jobs(tmp_path)[0]["environment"]["PYTHONPATH"].split(os.pathsep)
    assert path == [str(corpus.ROOT / "tools/xla/src"), "/elsewhere"]


def test_a_run_uses_the_binary_that_the_command_has_checked(
    runner: Runner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MALLOCMUZERO_BINARY", raising=False)
    monkeypatch.setattr("protocol_runner.find_binary", lambda: pathlib.Path("/checked/binary"))
    runner.record(run_of(), CORES)
    assert jobs(tmp_path)[0]["environment"]["MALLOCMUZERO_BINARY"] == "/checked/binary"


def test_a_failure_is_a_record_with_its_sentence(runner: Runner, tmp_path: pathlib.Path) -> None:
    plan(tmp_path, p="fails", q="silent")
    record = runner.record(run_of("p"), CORES)
    assert record["status"] == "failed"
    assert record["error"] == "protocol_child.py: it does not compile"
    assert "cycles" not in record
    assert runner.record(run_of("q"), CORES)["error"] == "ended with status 0"


def test_a_run_that_does_not_end_is_ended_and_fails(
    runner: Runner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(tmp_path, p="hangs")
    monkeypatch.setattr("protocol_runner._GRACE_SECONDS", -119.0)
    # 2 x 60 - 119 seconds.
    assert runner.record(run_of(), CORES)["error"] == "did not end within 1 s"


def test_a_stopped_run_has_no_record(runner: Runner, tmp_path: pathlib.Path) -> None:
    plan(tmp_path, p="hangs")
    records: list[Record] = []

    def stop_later() -> None:
        log = tmp_path / "log"
        while not log.exists() or not log.stat().st_size:
            time.sleep(0.01)  # until the process has written down its job
        runner.stop()

    stopper = threading.Thread(target=stop_later)
    stopper.start()
    do_all([run_of(), run_of(seed=1)], [CORES], runner, lambda _, record: records.append(record))
    stopper.join()
    assert records == []
    assert len(jobs(tmp_path)) == 1
    with pytest.raises(StoppedError):
        runner.record(run_of(), CORES)


# A run whose process says its id in a pipe, and keeps the pipe open until it ends.
_LONG_RUN = """
import os, pathlib, signal, sys, threading
from protocol_plan import EVERYTHING, Entry, Run
from protocol_runner import Runner, do_all

pipe, folder = sys.argv[1], pathlib.Path(sys.argv[2])
child = "import os, signal; pipe = open({pipe!r}, 'w'); print(os.getpid(), file=pipe, flush=True); "
child += "signal.pause()"
runner = Runner(folder, [sys.executable, "-c", child.format(pipe=pipe)])
run = Run(Entry("tpu_v6e", "p", "f", "test", True), EVERYTHING, 0, 60.0)
do_all([run], [sorted(os.sched_getaffinity(0))[:1]], runner, print)
"""


def test_a_run_ends_with_a_killed_command(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (
        subprocess.Popen(
            [sys.executable, "-c", _LONG_RUN, pipe, tmp_path], env=environment
        ) as command,
        pipe.open(encoding="utf-8") as words,
    ):
        process = int(words.readline())
        command.kill()
        command.wait()
        ended = bool(select.select([words], [], [], 30.0)[0])
    if not ended:
        os.kill(process, signal.SIGKILL)
    assert ended


def test_another_interrupt_ends_a_run_by_force(
    runner: Runner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(tmp_path, p="deaf")
    os.mkfifo(tmp_path / "log")
    records: list[Record] = []
    thread = threading.Thread(
        target=do_all, args=([run_of()], [CORES], runner, lambda _, record: records.append(record))
    )
    thread.start()
    assert (tmp_path / "log").read_text(encoding="utf-8")  # the process is deaf now

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("protocol_runner.time.sleep", interrupted)
        runner.stop()
    thread.join(30.0)
    assert (thread.is_alive(), records) == (False, [])


def test_workers_share_the_runs(runner: Runner, tmp_path: pathlib.Path) -> None:
    runs = [run_of(seed=seed) for seed in range(4)]
    taken: list[int] = []
    do_all(runs, [CORES, CORES], runner, lambda run, _: taken.append(run.seed))
    assert sorted(taken) == [0, 1, 2, 3]


def test_an_error_while_recording_ends_the_runs(runner: Runner, tmp_path: pathlib.Path) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        do_all([run_of(), run_of(seed=1)], [CORES], runner, full)
    assert len(jobs(tmp_path)) == 1


def test_each_worker_has_two_cores_of_its_own() -> None:
    assert core_pairs(2, cores=[0, 1, 4, 5, 6]) == [[0, 1], [4, 5]]


@pytest.mark.parametrize("workers", [0, 3])
def test_more_workers_than_pairs_of_cores_are_refused(workers: int) -> None:
    with pytest.raises(UsageError, match=f"--workers {workers}: expected 1 to 2, because each"):
        core_pairs(workers, cores=[0, 1, 2, 3, 4])
