"""Captures survive a compiler that aborts, hangs or refuses, and a second run continues them."""

from __future__ import annotations

import concurrent.futures
import itertools
import json
import pathlib
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest
from conftest import VERSIONS, FakeCompiler

from mallocmuzero_xla.captures.capture import Captured, capture, capture_reference, run_capture
from mallocmuzero_xla.captures.runner import Limits, Subject
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.store import CaptureStore
from mallocmuzero_xla.compiler.variants import standard_variants
from mallocmuzero_xla.compiler.worker import WorkerClosedError, Workers
from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.progress import Progress


def run(folder: pathlib.Path, samples: int = 1, **limits: Any) -> Captured:
    return capture_reference("m:f", CHIPS["tpu_v4i"], folder, samples, Limits(**limits))


def attempts(log: pathlib.Path) -> list[str]:
    return log.read_text(encoding="utf-8").split()


def process_of(text: str) -> str:
    return text.split()[3]


def test_all_variants_come_from_one_process_and_are_recorded(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    fake_compiler({})
    captured = run(tmp_path / "out", samples=2)
    assert list(captured.hlo) == ["all_hbm", "default", "sample_0", "sample_1"]
    assert len({process_of(text) for text in captured.hlo.values()}) == 1
    record = json.loads((tmp_path / "out" / "capture.json").read_text(encoding="utf-8"))
    assert record["chip"] == "tpu_v4i"
    assert record["versions"] == {"jax": "1", "jaxlib": "1", "libtpu": "1"}
    assert record["variants"]["all_hbm"] == {
        "options": {"xla_tpu_cmem_memory_space_assignment": "false"},
        "seconds": 0.5,
    }


def test_abort_of_the_compiler_loses_one_attempt_only(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({"default": ["abort", "ok"]})
    captured = run(tmp_path / "out")
    assert attempts(log) == ["lower", "all_hbm", "default", "default", "sample_0"]
    assert process_of(captured.hlo["all_hbm"]) != process_of(captured.hlo["default"])
    assert captured.failures == {}


def test_each_attempt_at_a_sample_draws_another_placement(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    fake_compiler({"sample_0": ["abort", "error", "ok"]})
    captured = run(tmp_path / "out", retries=2)
    assert "seed: 200001 " in captured.hlo["sample_0"]


def test_sample_that_never_compiles_is_reported_and_the_rest_is_kept(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({"sample_0": ["abort"]})
    captured = run(tmp_path / "out", samples=2, retries=1)
    assert attempts(log).count("sample_0") == 2
    assert set(captured.hlo) == {"all_hbm", "default", "sample_1"}
    assert "Check failed: made up" in captured.failures["sample_0"]


def test_all_attempts_at_a_compile_may_have_one_time_limit(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_compiler({"sample_0": ["abort"]})
    clock = itertools.count(step=40.0)
    time = types.SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("mallocmuzero_xla.captures.runner.time", time)
    run(tmp_path / "out", samples=1, retries=5, attempts_timeout=60.0)
    # The second attempt would begin 80 seconds after the limit began.
    assert attempts(log).count("sample_0") == 1


def test_compile_that_hangs_is_ended_and_tried_again(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, hangs: pathlib.Path
) -> None:
    fake_compiler({"all_hbm": ["hang", "ok"]})
    captured = run(tmp_path / "out", samples=0, timeout=60.0)
    assert hangs.exists()
    assert set(captured.hlo) == {"all_hbm", "default"}


@pytest.mark.usefixtures("hangs")
def test_compile_that_always_hangs_names_the_time_limit(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    fake_compiler({"all_hbm": ["hang"]})
    with pytest.raises(CaptureError, match=r"all_hbm: no result within 60 s \(attempt 1\)"):
        run(tmp_path / "out", samples=0, timeout=60.0, retries=0)


def test_error_in_the_default_compile_is_final(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({"default": ["error"]})
    with pytest.raises(CaptureError, match="f: default: made up"):
        run(tmp_path / "out")
    assert attempts(log).count("default") == 1


def test_failed_lowering_is_raised_as_it_is_and_compiles_nothing(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({"lower": ["error"]})
    with pytest.raises(CaptureError, match=r"^made up$"):
        run(tmp_path / "out")
    assert attempts(log) == ["lower"]


def test_second_run_compiles_only_what_is_missing(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({"sample_1": ["error", "error", "ok"]})
    first = run(tmp_path / "out", samples=2, retries=1)
    assert set(first.failures) == {"sample_1"}
    log.write_text("sample_1 sample_1 ", encoding="utf-8")
    second = run(tmp_path / "out", samples=2, retries=1)
    assert attempts(log) == ["sample_1", "sample_1", "lower", "sample_1"]
    assert second.failures == {}
    assert second.hlo["default"] == first.hlo["default"]


def test_texts_of_another_lowered_program_are_not_taken_up(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({"lower": ["ok:v1", "ok:v2"]})
    run(tmp_path / "out", samples=1)
    second = run(tmp_path / "out", samples=0)
    assert attempts(log).count("default") == 2
    assert not (tmp_path / "out" / "sample_0.hlo.zst").exists()
    assert set(second.hlo) == {"all_hbm", "default"}


@pytest.mark.parametrize("options", [{"chip": "tpu_v5e"}, {"name": "g"}])
def test_function_does_not_replace_the_texts_of_another_chip_or_program(
    tmp_path: pathlib.Path,
    fake_compiler: FakeCompiler,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
) -> None:
    fake_compiler({"lower": ["ok:v1"]})
    run(tmp_path / "out")
    files = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    program = LoweredProgram("f", "v4 lite:1x1", (0,), b"", b"", {}, "v2")
    monkeypatch.setattr("mallocmuzero_xla.captures.capture.lower", lambda *_: program)
    with pytest.raises(UsageError, match="out: holds the texts of f for tpu_v4i"):
        capture(lambda: None, output_dir=tmp_path / "out", progress=False, **options)
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == files


def test_text_without_a_record_is_compiled_again(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "default.hlo.zst").write_bytes(b"left by someone else")
    fake_compiler({})
    assert run(tmp_path / "out").hlo["default"].startswith("HloModule default")


def cut_short(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


@pytest.mark.parametrize("damage", [cut_short, lambda path: path.write_bytes(b"")])
def test_damaged_text_is_captured_again(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, damage: Callable[[pathlib.Path], None]
) -> None:
    log = fake_compiler({})
    run(tmp_path / "out")
    log.unlink()
    damage(tmp_path / "out" / "default.hlo.zst")
    assert run(tmp_path / "out").hlo["default"].startswith("HloModule default")
    assert attempts(log) == ["lower", "default"]


def test_record_that_is_not_json_is_a_usage_error(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    (tmp_path / "capture.json").write_text("{", encoding="utf-8")
    fake_compiler({})
    with pytest.raises(UsageError, match=r"capture\.json: not JSON"):
        run(tmp_path)


def test_flag_with_a_wrong_limit_is_a_usage_error(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_compiler({})
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--xla_tpu_scoped_vmem_limit_kib=64M")
    with pytest.raises(UsageError, match="limit_kib=64M: expected a number of KiB"):
        run(tmp_path / "out")
    assert attempts(log) == ["lower"]


def test_several_jobs_capture_the_same_set(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({"default": ["abort", "ok"]})
    captured = run(tmp_path / "out", samples=4, jobs=3)
    assert len(captured.hlo) == 6
    assert attempts(log).count("lower") == 1


class Hanging:
    """A worker whose compiles end when it is closed."""

    started, closed = threading.Event(), threading.Event()

    def run(self, job: dict[str, Any], timeout: float) -> float:
        self.started.set()
        self.closed.wait()
        raise WorkerClosedError

    def close(self) -> None:
        self.closed.set()


def test_captures_end_when_their_processes_are_closed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As after Ctrl-C, when the search that waits for the capture has ended.
    monkeypatch.setattr("mallocmuzero_xla.captures.runner.Worker", Hanging)
    monkeypatch.setattr("mallocmuzero_xla.compiler.store.compiler_versions", lambda: VERSIONS)
    lowered = tmp_path / "lowered.json"
    LoweredProgram("f", "v4 lite:1x1", (0,), b"", b"", {}, "1" * 64).write(lowered)
    chip, workers = CHIPS["tpu_v4i"], Workers()
    subject = Subject(CaptureStore(tmp_path / "texts", "f", chip), chip, lowered)

    def run_all() -> None:
        run_capture(subject, standard_variants(1), Limits(), Progress(3, quiet=True), workers)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_all)
        assert Hanging.started.wait(30.0)
        workers.close()
        with pytest.raises(WorkerClosedError):
            running.result(30.0)
    Hanging.closed.clear()
    with pytest.raises(WorkerClosedError):
        run_all()  # nothing begins any more


def test_output_that_is_a_file_is_a_usage_error(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({})
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"^output_dir .*/file: .* is a file; expected a folder"):
        capture(abs, 1.0, chip="tpu_v4i", output_dir=tmp_path / "file")
    assert not log.exists()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"jobs": 0}, "jobs is 0: expected 1 or more"),
        ({"retries": -1}, "retries is -1: expected 0 or more"),
        ({"timeout": 0.0}, "timeout is 0: expected seconds above 0"),
        ({"timeout": float("nan")}, "timeout is nan: expected seconds above 0"),
    ],
)
def test_impossible_limits_are_usage_errors(
    tmp_path: pathlib.Path, fake_compiler: FakeCompiler, limits: dict[str, Any], message: str
) -> None:
    fake_compiler({})
    with pytest.raises(UsageError, match=message):
        run(tmp_path / "out", **limits)
