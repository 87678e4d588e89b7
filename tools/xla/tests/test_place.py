"""place() with a fake binary on CPU devices, and with the real binary if it exists."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import threading
import time
from typing import Any

import pytest
from placed_world import (
    HAS_JAX,
    REPORT,
    FakeSearch,
    add,
    fake_search,
    multiply,
    needs_jax,
    output_of,
    run,
    shapes,
    threes,
)

from mallocmuzero_xla import CHIPS, CaptureError, UsageError, load_placed, place
from mallocmuzero_xla.artefacts.artefact import load_artefact
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.commands.place_cli import describe_placed
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.errors import WorkerLostError
from mallocmuzero_xla.runtime.applying import apply
from mallocmuzero_xla.search.earlier import earlier_of

if HAS_JAX:
    import jax
    import jax.numpy as jnp

pytestmark = needs_jax


@pytest.fixture
def fake(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> FakeSearch:
    return fake_search(tmp_path, monkeypatch)


def test_output_of_the_binary_is_saved_and_runs(fake: FakeSearch, tmp_path: pathlib.Path) -> None:
    placed = run()
    assert (placed.default_cycles, placed.optimized_cycles) == (1000.0, 900.0)
    assert placed.report == {**REPORT, "from_cache": False}
    assert placed.load()(threes(), threes()).tolist() == [9.0] * 4
    placed.save(tmp_path / "f.placed")
    assert load_placed(tmp_path / "f.placed", add)(threes(), threes()).tolist() == [9.0] * 4


def test_artefact_beside_the_executable_is_applied_if_both_belong_together(
    fake: FakeSearch, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "f.placed"
    run().save(path)
    artefact = load_artefact(f"{path}.json")
    assert artefact.gain == pytest.approx(0.1)
    assert artefact.chip == "tpu_v6e"
    # The fake search returns an executable that multiplies, for a function that adds.
    assert apply(add, f"{path}.json")(threes(), threes()).tolist() == [9.0] * 4
    path.write_bytes(path.read_bytes() + b" ")
    assert apply(add, f"{path}.json")(threes(), threes()).tolist() == [6.0] * 4
    path.unlink()
    assert apply(add, f"{path}.json")(threes(), threes()).tolist() == [6.0] * 4
    assert "f.placed is not the executable of" in caplog.text
    assert "f.placed: No such file" in caplog.text


def test_binary_is_told_what_to_do(fake: FakeSearch) -> None:
    run(budget="90s", rounds=3, threads=2, topology="v6e:2x2")
    ((command, *words),) = fake.calls()
    assert command == "optimize"
    flags = dict(zip(words[::2], words[1::2], strict=False))
    wanted = {"--chip": "tpu_v6e", "--topology": "v6e:2x2", "--libtpu": "libtpu.so"}
    assert flags.items() >= {**wanted, "--budget": "90s", "--rounds": "3", "--threads": "2"}.items()
    assert "--json" in words
    assert "--keep-scoped-limit" not in words


def test_compile_options_are_those_that_jax_would_pass(
    fake: FakeSearch, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jax._src.lib import _jax

    kept: list[bytes] = []
    search = run.__globals__["place"].__globals__["search"]

    def spy(binary: Any, program: Any, *rest: Any) -> Any:
        kept.append(program.compile_options)
        return search(binary, program, *rest)

    monkeypatch.setattr("mallocmuzero_xla.search.placing.search", spy)
    mesh = jax.make_mesh((4,), ("x",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    fake.plan(output_of(multiply, shapes(), in_shardings=(rows, rows)))
    placed = run(in_shardings=(rows, rows), compiler_options={"xla_cpu_enable_fast_math": False})
    options = _jax.CompileOptions.ParseFromString(kept[0])
    assert (options.num_replicas, options.num_partitions) == (1, 4)
    assert options.device_assignment.computation_count() == 4
    assert options.executable_build_options.use_spmd_partitioning
    assert options.executable_build_options.use_shardy_partitioner
    assert dict(options.env_option_overrides) == {"xla_cpu_enable_fast_math": False}
    assert placed.load()(threes(), threes()).tolist() == [9.0] * 4


def test_default_that_is_kept_is_an_executable_too(fake: FakeSearch) -> None:
    report = {"default_cycles": 1000.0, "optimized_cycles": 1000.0, "rounds": []}
    fake.plan(output_of(add, shapes()), report=report)
    placed = run()
    assert placed.default_cycles == placed.optimized_cycles
    assert placed.load()(threes(), threes()).tolist() == [6.0] * 4


def without_stubs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes place() compile the function itself, as it does on several devices."""
    monkeypatch.setattr("mallocmuzero_xla.compiler.stub.has_stub", lambda _: False)


def children_that(monkeypatch: pytest.MonkeyPatch, error: CaptureError | None) -> None:
    """Makes every compile in a child process succeed, or fail with `error`."""

    def compile_it(self: TrialCompiler, options: dict[str, str], budget: Budget) -> str:
        if error is not None:
            raise error
        return ""

    monkeypatch.setattr(TrialCompiler, "compile", compile_it)


def test_program_that_makes_the_compiler_abort_in_hbm_alone_does_not_end_the_process(
    fake: FakeSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def refuse(_: Any, compiler_options: dict[str, Any]) -> Any:
        asked.append(compiler_options)
        raise RuntimeError("no room")

    without_stubs(monkeypatch)
    monkeypatch.setattr(jax.stages.Lowered, "compile", refuse)
    children_that(monkeypatch, WorkerLostError("the compile process ended (status -6)"))
    words = r"add does not compile \(RuntimeError: no room\), nor with everything in HBM \(.* -6\)"
    with pytest.raises(CaptureError, match=words):
        run()
    assert asked == [{}]


def test_program_that_compiles_only_when_placed_is_placed(
    fake: FakeSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    children_that(monkeypatch, None)
    asked: list[dict[str, Any]] = []
    compile_it = jax.stages.Lowered.compile

    def refuse_default(lowered: Any, compiler_options: dict[str, Any]) -> Any:
        asked.append(compiler_options)
        if not compiler_options:
            raise RuntimeError("no room")
        return compile_it(lowered)

    report = {"default_error": "no room", "optimized_cycles": 900.0, "best_round": 1}
    fake.plan(output_of(multiply, shapes()), report=report)
    without_stubs(monkeypatch)
    monkeypatch.setattr(jax.stages.Lowered, "compile", refuse_default)
    placed = run()
    assert asked == [{}, {CHIPS["tpu_v6e"].msa_option: False}]
    assert placed.default_cycles is None
    assert placed.load()(threes(), threes()).tolist() == [9.0] * 4
    assert describe_placed(placed.report).splitlines() == [
        "default  not compiled: no room",
        "placed   0.001 Mcycles",
    ]


def test_progress_of_the_binary_is_shown(
    fake: FakeSearch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.plan(output_of(multiply, shapes()), says=["round 1: 900"])
    run(progress=True)
    assert "round 1: 900" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("plan", "kind", "message"),
    [
        ({"code": 1, "says": ["a", "out of memory"]}, CaptureError, r"failed \(1\): out of memory"),
        ({"code": 2, "says": ["no such option"]}, UsageError, r"failed \(2\): no such option"),
        ({"report": {"default_error": "no room"}}, CaptureError, "add does not compile: no room"),
        ({}, CaptureError, "wrote less than expected"),
    ],
)
def test_what_goes_wrong_in_the_binary_is_said(
    fake: FakeSearch, plan: dict[str, Any], kind: type[Exception], message: str
) -> None:
    fake.plan(**plan)
    with pytest.raises(kind, match=message):
        run()


def test_binary_that_the_system_kills_is_no_interrupt(
    fake: FakeSearch, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "mallocmuzero").write_text("#!/bin/sh\nkill -9 $$\n", encoding="utf-8")
    with pytest.raises(CaptureError, match=r"optimize failed \(-9\): no message"):
        run()


def test_function_without_work_is_a_usage_error(fake: FakeSearch) -> None:
    nothing = {"default_cycles": 0.0, "optimized_cycles": 0.0, "rounds": []}
    fake.plan(output_of(add, shapes()), report=nothing)
    with pytest.raises(UsageError, match="add takes no cycles by the compiler's estimates"):
        run()


def test_module_that_is_called_otherwise_is_refused(fake: FakeSearch) -> None:
    executable, _ = output_of(multiply, shapes())
    other = (jax.ShapeDtypeStruct((8,), jnp.float32),) * 2
    fake.plan((executable, output_of(multiply, other)[1]))
    with pytest.raises(CaptureError, match=r"the placed module is called otherwise: .*f32\[8"):
        run()


def test_module_with_other_layouts_is_refused(fake: FakeSearch) -> None:
    from jax.experimental.layout import Format, Layout

    square = (jax.ShapeDtypeStruct((4, 4), jnp.float32),) * 2
    one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    columns = Format(Layout(major_to_minor=(1, 0)), one)
    fake.plan(output_of(multiply, square))
    assert place(multiply, *square, chip="tpu_v6e").optimized_cycles == 900.0
    fake.plan(output_of(multiply, square, in_shardings=(columns, columns)))
    with pytest.raises(CaptureError, match=r"called otherwise: \(f32\[4,4\]\{0,1\}, .*\{1,0\}"):
        place(multiply, *square, chip="tpu_v6e", budget="6m")


def test_executable_in_jaxlibs_own_frame_is_refused(fake: FakeSearch) -> None:
    from placed_world import traced_and_compiled

    compiled = traced_and_compiled(multiply, shapes())[1].runtime_executable()
    framed = compiled.client.serialize_executable(compiled)
    fake.plan((framed, output_of(multiply, shapes())[1]))
    with pytest.raises(CaptureError, match="not one of the compiler that jax has here"):
        run()


def test_interrupt_ends_with_the_best_so_far(
    fake: FakeSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.plan(output_of(multiply, shapes()), waits=True)
    waiting, wait = threading.Event(), subprocess.Popen.wait

    def wait_for(process: subprocess.Popen[str], timeout: float | None = None) -> int:
        if isinstance(process.args, list) and "optimize" in process.args:
            waiting.set()
        return wait(process, timeout)

    def interrupt() -> None:
        while not fake.calls():
            time.sleep(0.05)
        waiting.wait()
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess.Popen, "wait", wait_for)
    threading.Thread(target=interrupt).start()
    placed = run()
    assert placed.report["interrupted"]
    # An interrupted search does not answer another call.
    fake.plan(output_of(multiply, shapes()))
    assert not run().report["from_cache"]


@pytest.mark.parametrize(("mebibytes", "kib"), [(48, 49152), (0, None)])
def test_later_search_starts_from_the_limit_of_the_executable(
    fake: FakeSearch, monkeypatch: pytest.MonkeyPatch, mebibytes: int, kib: int | None
) -> None:
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--xla_made_up=1")
    report = {**REPORT, "best_scoped_limit_bytes": mebibytes << 20}
    fake.plan(output_of(multiply, shapes()), report=report)
    artefact = run().artefact
    assert earlier_of(artefact, CHIPS["tpu_v6e"]).limit == kib
    assert artefact.found["environment"] == {"LIBTPU_INIT_ARGS": "--xla_made_up=1"}


def test_interrupt_before_there_is_anything_is_an_interrupt(fake: FakeSearch) -> None:
    fake.plan(report={"interrupted": True, "default_error": "stopped by a signal"})
    with pytest.raises(KeyboardInterrupt):
        run()


@pytest.mark.without_tpu
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": "5"}, "budget '5': expected a time"),
        ({"rounds": 0}, "rounds is 0: expected 1 to 1000"),
        ({"threads": -1}, "threads is -1: expected 1 to 1024"),
        ({"threads": 100000}, "threads is 100000: expected 1 to 1024"),
        ({"chip": "tpu_v9"}, "unknown chip 'tpu_v9'"),
        ({"chip": None}, "no chip named, and jax runs on 'cpu' here: name the chip"),
        ({"donate_argnum": 0}, "jax.jit with donate_argnum"),
    ],
)
def test_wrong_arguments_are_usage_errors(
    fake: FakeSearch, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        run(**options)
    assert fake.calls() == []
