"""A trial compile ends with the placement, an error or a crash, and leaves nothing behind."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time
import types
from collections.abc import Sequence
from typing import Any

import pytest
import zstandard

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.errors import BudgetSpentError, CompileError, WorkerLostError
from mallocmuzero_xla.scratch import ScratchFolder

# A process of trial compiles whose compiler writes what libtpu writes, or fails, as the options
# say.
CHILD = """
import os, pathlib, re, sys, time
from mallocmuzero_xla.compiler import trial_child
from mallocmuzero_xla.compiler.readable import Readable

def compile_to_text(program, devices, options):
    how = options["how"]
    folder = pathlib.Path(re.search("xla_jf_dump_to=([^ ]+)", os.environ["LIBTPU_INIT_ARGS"])[1])
    if how == "refuses":
        raise RuntimeError("refused\\nfor a reason")
    if how == "aborts":
        print("F0000 msa.cc:1] Check failed: made up", file=sys.stderr, flush=True)
        os.abort()
    if how == "finishes":
        return Readable("HloModule whole", 0.0)
    if how == "meets":
        pathlib.Path(options["mine"]).touch()
        while not pathlib.Path(options["other"]).exists():
            time.sleep(0.01)
        return Readable("HloModule of " + options["mine"], 0.0)
    pathlib.Path(options["pid"]).write_text(str(os.getpid()))
    (folder / "2-TLP-hlo.txt").write_text("HloModule placed by " + os.environ["LIBTPU_INIT_ARGS"])
    if how == "places":
        (folder / "2-TLP-00-deduplication-map.txt").write_text("")  # the compile may end now
    if how == "hangs":
        pathlib.Path(options["pid"]).with_name("hangs").write_text(".")
    time.sleep(600)

trial_child.readable_text = compile_to_text
trial_child._import_compiler = lambda: None
trial_child.main()
"""


@pytest.fixture
def compiler(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    script = tmp_path / "child.py"
    script.write_text(CHILD, encoding="utf-8")
    monkeypatch.setattr(
        "mallocmuzero_xla.compiler.worker.TRIAL_COMMAND", (sys.executable, str(script))
    )
    with TrialCompiler(CHIPS["tpu_v4i"], width=2) as made:
        LoweredProgram("f", "v4 lite:1x1", (0,), b"", b"", {}, "").write(made.lowered)
        yield made


def gone(pid_file: pathlib.Path) -> bool:
    """Whether the process ends within a minute."""
    for _ in range(6000):
        try:
            os.kill(int(pid_file.read_text(encoding="utf-8")), 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def options(tmp_path: pathlib.Path, how: str) -> dict[str, str]:
    return {"how": how, "pid": str(tmp_path / "pid")}


def test_trial_compile_takes_the_placement_and_ends_the_compile(
    tmp_path: pathlib.Path, compiler: TrialCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--the_users_own=1")
    text = compiler.compile_trial(options(tmp_path, "places"), Budget())
    assert text.startswith("HloModule placed by --the_users_own=1 --xla_jf_dump_to=")
    assert gone(tmp_path / "pid")
    left = {path.name for path in compiler.lowered.parent.iterdir()} - {"lock"}
    assert left == {"lowered.json", "trial_0.hlo"}


def test_compiler_that_writes_no_placement_is_left_to_finish(
    tmp_path: pathlib.Path, compiler: TrialCompiler
) -> None:
    assert compiler.compile_trial(options(tmp_path, "finishes"), Budget()) == "HloModule whole"


def test_refusal_is_the_compilers_on_one_line(
    tmp_path: pathlib.Path, compiler: TrialCompiler
) -> None:
    with pytest.raises(CompileError, match=r"^RuntimeError: refused for a reason$"):
        compiler.compile_trial(options(tmp_path, "refuses"), Budget())


def test_abort_is_reported_with_its_last_line_and_the_next_trial_works(
    tmp_path: pathlib.Path, compiler: TrialCompiler
) -> None:
    with pytest.raises(WorkerLostError, match=r"status -6.*Check failed: made up"):
        compiler.compile_trial(options(tmp_path, "aborts"), Budget())
    assert compiler.compile_trial(options(tmp_path, "finishes"), Budget()) == "HloModule whole"


@pytest.mark.usefixtures("hangs")
def test_running_compile_ends_with_its_process(
    tmp_path: pathlib.Path, compiler: TrialCompiler
) -> None:
    with pytest.raises(BudgetSpentError):
        compiler.compile_trial(options(tmp_path, "hangs"), Budget(60.0))
    assert gone(tmp_path / "pid")


class SlowWorker:
    """A worker whose compiles take as many seconds as their option says, on no clock."""

    def __init__(self, command: Sequence[str] | None = None) -> None:
        pass

    def run(self, job: dict[str, Any], timeout: float) -> float:
        seconds = float(job["options"]["takes"])
        if seconds > timeout:
            raise WorkerLostError(f"no result within {timeout:g} s")
        pathlib.Path(job["output"]).write_bytes(zstandard.compress(b"HloModule slow"))
        return seconds

    def close(self) -> None:
        pass


def test_only_a_budget_of_seconds_limits_a_slow_whole_compile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mallocmuzero_xla.compiler.trial_compiler.Worker", SlowWorker)
    slow = {"takes": "1.0"}
    with TrialCompiler(CHIPS["tpu_v4i"], timeout=0.5) as compiler:
        with pytest.raises(WorkerLostError, match=r"no result within 0\.5 s"):
            compiler.compile(slow, Budget(60.0))
        assert compiler.compile(slow, Budget()) == "HloModule slow"
        # It is known now that a compile of this program takes so long.
        assert compiler.compile(slow, Budget(60.0)) == "HloModule slow"
        with pytest.raises(WorkerLostError, match="no result within 2 s"):
            compiler.compile({"takes": "600"}, Budget(60.0))


@pytest.mark.parametrize("free", [64 << 20, 2 << 30])
def test_files_are_in_memory_only_where_there_is_room(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr("mallocmuzero_xla.scratch._TMPFS", memory)
    usage = types.SimpleNamespace(free=free)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with TrialCompiler(CHIPS["tpu_v4i"]) as compiler:
        assert (memory in compiler.lowered.parents) == (free > 1 << 30)
    assert list(memory.iterdir()) == []


def test_folder_in_memory_of_another_user_is_left_alone(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mallocmuzero_xla.scratch._TMPFS", tmp_path)
    other, own = tmp_path / "mallocmuzero-xla-other", tmp_path / "mallocmuzero-xla-own"
    for folder in (other, own):
        folder.mkdir()
    os.mkfifo(own / "lock")  # opening it would wait for a writer
    (other / "lock").touch()
    lstat = pathlib.Path.lstat

    def of_another(path: pathlib.Path) -> Any:
        return types.SimpleNamespace(st_uid=os.getuid() + 1) if path == other else lstat(path)

    monkeypatch.setattr(pathlib.Path, "lstat", of_another)
    ScratchFolder().close()
    assert (other / "lock").exists()


# Makes a folder, says so, and waits until it is killed.
OTHER = """
import pathlib, signal, sys
from mallocmuzero_xla import scratch
scratch._TMPFS, scratch._TMPFS_BYTES = pathlib.Path(sys.argv[1]), 0
folder = scratch.ScratchFolder()
(folder.path / "dump").touch()
print(folder.path, flush=True)
signal.pause()
"""


def test_files_of_killed_searches_are_removed_and_those_of_others_stay(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mallocmuzero_xla.scratch._TMPFS", tmp_path)
    (tmp_path / "mallocmuzero-xla-new").mkdir()  # its process has not locked it yet
    command = [sys.executable, "-c", OTHER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        folder = pathlib.Path(other.stdout.readline().strip())
        ScratchFolder().close()
        assert (folder / "dump").is_file()
        other.kill()
        other.wait()
    ScratchFolder().close()
    assert [path.name for path in tmp_path.iterdir()] == ["mallocmuzero-xla-new"]


def test_trial_compiles_of_two_threads_run_at_once(
    tmp_path: pathlib.Path, compiler: TrialCompiler
) -> None:
    files = [str(tmp_path / name) for name in ("left", "right")]
    budget = Budget(60.0, trial_compiles=2)

    def run(mine: str, other: str) -> str:
        return compiler.compile_trial({"how": "meets", "mine": mine, "other": other}, budget)

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        texts = list(threads.map(run, files, reversed(files)))
    assert texts == [f"HloModule of {name}" for name in files]
    assert compiler.trial_compiles == 2


def test_same_options_are_asked_once_also_when_refused(
    tmp_path: pathlib.Path, compiler: TrialCompiler
) -> None:
    budget = Budget(60.0, trial_compiles=2)
    for how in ("places", "refuses", "places", "refuses"):
        try:
            compiler.compile_trial(options(tmp_path, how), budget)
        except CompileError:
            assert how == "refuses"
    assert compiler.trial_compiles == 2
