"""Captures in phases write the texts of whole compiles, or compile to the end."""

from __future__ import annotations

import pathlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import FakeCompiler
from test_phased_compiler import CHILD

from mallocmuzero_xla.captures.runner import Limits, Subject, Task, run_tasks
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.estimates import estimates_by_name
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.phased_worker import PhasedWorker
from mallocmuzero_xla.compiler.store import CaptureStore, read_text
from mallocmuzero_xla.compiler.variants import DEFAULT, Variant
from mallocmuzero_xla.compiler.worker import WorkerClosedError
from mallocmuzero_xla.errors import CompileError, WorkerLostError
from mallocmuzero_xla.progress import Progress

Plan = dict[str, list[str]]


class Compiles:
    """A worker of made-up compilers, and what they did."""

    def __init__(self, folder: pathlib.Path, whole: pathlib.Path) -> None:
        self.folder = folder
        self.worker = PhasedWorker()
        self._whole = whole

    def run(self, has: str, name: str = "p", timeout: float = 60.0) -> pathlib.Path:
        """Compiles the program `name`, which has these instructions; returns its text's path."""
        program, output = self.folder / f"{name}.json", self.folder / f"{name}.hlo.zst"
        output.unlink(missing_ok=True)
        LoweredProgram(name, "v6e:1x1", (0,), b"", b"", {}, "").write(program)
        self.worker.run(self.job(program, output, has), timeout)
        return output

    def job(self, program: pathlib.Path, output: pathlib.Path, has: str) -> dict[str, Any]:
        return {
            "action": "compile",
            "program": str(program),
            "output": str(output),
            "options": {"has": has},
        }

    def alone(self) -> list[str]:
        """The instructions that were compiled alone."""
        log = self.folder / "alone"
        return [line.split()[0] for line in log.read_text(encoding="utf-8").splitlines()]

    def to_the_end(self) -> list[str]:
        """What was compiled to the end."""
        return self._whole.read_text(encoding="utf-8").split() if self._whole.exists() else []


@pytest.fixture
def plan() -> Plan:
    return {}


@pytest.fixture
def compiles(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_compiler: FakeCompiler,
    plan: Plan,
) -> Iterator[Compiles]:
    script = tmp_path / "child.py"
    script.write_text(CHILD, encoding="utf-8")
    whole = fake_compiler(plan)
    monkeypatch.setattr(
        "mallocmuzero_xla.compiler.worker.PHASE_COMMAND", (sys.executable, str(script))
    )
    monkeypatch.setenv("COMPILED", str(tmp_path / "alone"))
    made = Compiles(tmp_path, whole)
    yield made
    made.worker.close()


def test_a_text_has_all_estimates_without_a_whole_compile(compiles: Compiles) -> None:
    text = read_text(compiles.run("one=ends-10 two=tiles-20"))
    assert estimates_by_name(text) == {"one": 10, "two": 20}
    assert compiles.to_the_end() == []


def test_a_further_variant_compiles_new_instructions_only(compiles: Compiles) -> None:
    compiles.run("one=ends-10 two=ends-20")
    text = read_text(compiles.run("two=ends-99 three=ends-30"))
    assert estimates_by_name(text) == {"two": 20, "three": 30}
    assert compiles.alone() == ["ends-10", "ends-20", "ends-30"]


def test_a_further_program_has_estimates_of_its_own(compiles: Compiles) -> None:
    compiles.run("one=ends-10")
    text = read_text(compiles.run("one=ends-11", name="q"))
    assert estimates_by_name(text) == {"one": 11}


@pytest.mark.parametrize("in_phases", [False, True])
def test_captures_are_in_phases_on_request(compiles: Compiles, in_phases: bool) -> None:
    chip, path = CHIPS["tpu_v6e"], compiles.folder / "p.json"
    LoweredProgram("p", "v6e:1x1", (0,), b"", b"", {"has": "one=ends-10"}, "").write(path)
    subject = Subject(CaptureStore(compiles.folder / "p", "p", chip), chip, path)
    default = Variant(DEFAULT)
    run_tasks([Task(subject, default)], Limits(in_phases=in_phases), Progress(1, quiet=True))
    assert (estimates_by_name(subject.store.read(default)) == {"one": 10}) == in_phases
    assert compiles.to_the_end() == ([] if in_phases else ["default"])


@pytest.mark.parametrize("has", ["one=refuses", "refused", "aborted"])
def test_what_does_not_work_in_phases_is_compiled_to_the_end(compiles: Compiles, has: str) -> None:
    assert read_text(compiles.run(has)).startswith("HloModule p by")
    assert compiles.to_the_end() == ["p"]
    assert estimates_by_name(read_text(compiles.run("two=ends-20"))) == {"two": 20}


@pytest.mark.parametrize("plan", [{"p": ["error"]}])
def test_a_program_that_the_compiler_refuses_is_an_error(compiles: Compiles) -> None:
    with pytest.raises(CompileError, match="made up"):
        compiles.run("refused")


def test_a_compile_in_phases_has_the_time_limit(compiles: Compiles) -> None:
    with pytest.raises(WorkerLostError, match="no result within 2 s"):
        compiles.run("hangs", timeout=2.0)
    assert compiles.to_the_end() == []


def test_close_ends_a_compile_under_way_and_refuses_more(compiles: Compiles) -> None:
    compiles.run("one=ends-10")
    closer = threading.Timer(1.0, compiles.worker.close)
    closer.start()
    with pytest.raises(WorkerClosedError):
        compiles.run("hangs", timeout=600.0)
    closer.join()
    with pytest.raises(WorkerClosedError):
        compiles.run("one=ends-10")
