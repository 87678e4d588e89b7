"""Compiles in phases end with the estimates, an error or a crash."""

from __future__ import annotations

import os
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.compiler.estimates import Estimates, estimates_by_name
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.phased_compiler import PhasedCompiler, PhasedLanes, PhasedText
from mallocmuzero_xla.errors import BudgetSpentError, CompileError, WorkerLostError

# A process whose compiler has the instructions that the option `has` names, with what it does when
# it compiles each. It writes what libtpu writes.
CHILD = """
import os, pathlib, sys, time
from mallocmuzero_xla.compiler import phase_child
from mallocmuzero_xla.errors import CompileError
from mallocmuzero_xla.compiler.partial_programs import _bytes_field, fields, message_in

FUSED = "%f_NAME {\\n  %p = f32[8]{0} parameter(0)\\n  ROOT %r = f32[8]{0} NAME(%p)\\n}\\n\\n"
LINE = "%NAME = f32[8]{0:T(256)S(1)} fusion(%a), kind=kLoop, calls=%f_NAME"
ENTRY = "ENTRY %main {\\n  %a = f32[8]{0} parameter(0)\\n  "

def program(kind, name, body):
    named = {1: body, 2: kind, 6: name}
    return b"".join(_bytes_field(number, text.encode()) for number, text in named.items())

class Compiler:
    def __init__(self, library, topology):
        assert topology == "v6e:1x1"

    def run(self, phase, programs, options):
        if phase == phase_child.PHASE_LOWER:
            return self.lower(*programs)
        texts = [message_in(message_in(entry, 2), 1).decode() for number, entry in fields(options)]
        how = texts[0]
        if how == "refused":
            raise CompileError("refused for a reason")
        if how == "aborted":
            print("F0000 msa.cc:1] Check failed: made up", file=sys.stderr, flush=True)
            os.abort()
        if how == "hangs":
            time.sleep(600)
        each = dict(word.split("=") for word in how.split())
        made = []
        for name, what in each.items():
            text = (FUSED + ENTRY + "ROOT " + LINE + "\\n}").replace("NAME", name)
            made.append(program("dedup_hlo", what, text))
        each.pop("strange", None)
        lines = "\\n  ".join(LINE.replace("NAME", name) for name in each)
        fused = "".join(FUSED.replace("NAME", name) for name in each)
        made.append(program("", "opt_hlo", fused + ENTRY + lines + "\\n}"))
        return [*made, program("", "modified_comp_envs", "")]

    def lower(self, alone, environment):
        what = message_in(alone, 6).decode()
        with pathlib.Path(os.environ["COMPILED"]).open("a") as log:
            log.write(f"{what} {os.getpid()}\\n")
        assert "--vmodule" in os.environ["LIBTPU_INIT_ARGS"]
        how, _, cycles = what.partition("-")
        if how == "aborts":
            os.abort()
        if how == "refuses":
            raise CompileError("no")
        if how == "tiles":
            print("I1 a.cc:1] ComputeWindowConfigInternal Selected Config for HLO: ISOLATED__ | "
                  f"Config: x   output_window_bounds: 64 estimated_cycles:  {cycles} y: 1",
                  file=sys.stderr, flush=True)
            time.sleep(600)
        if how == "spills":
            print("I1 b.cc:1] x::ComputeWindowConfigInternal returning config: cycles=9",
                  file=sys.stderr, flush=True)
            raise CompileError("out of registers")
        if how == "convolves":
            print("I1 b.cc:1] x::ComputeWindowConfigInternal returning config: output_bounds=[6] "
                  f"cycles={cycles}", file=sys.stderr, flush=True)
            time.sleep(600)
        estimate = '"estimated_cycles":"%s"' % cycles if how == "ends" else ""
        return [program("compiler_metadata", "", estimate), program("isa", "", "x")]

phase_child.PhaseCompiler = Compiler
phase_child._PATIENCE_SECONDS = float(os.environ.get("PATIENCE", "0.05"))
phase_child.compiler_library = lambda: None
phase_child.prepare_environment = lambda: None
phase_child.message_in = lambda body, field: body
phase_child.module_texts = lambda modules: [module.decode() for module in modules]
phase_child.main()
"""

Compile = Callable[[str], PhasedText]


@pytest.fixture(autouse=True)
def lowered(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    script = tmp_path / "child.py"
    script.write_text(CHILD, encoding="utf-8")
    monkeypatch.setattr(
        "mallocmuzero_xla.compiler.worker.PHASE_COMMAND", (sys.executable, str(script))
    )
    monkeypatch.setenv("COMPILED", str(tmp_path / "compiled"))
    path = tmp_path / "lowered.json"
    LoweredProgram("f", "v6e:1x1", (0,), b"", b"", {}, "").write(path)
    return path


@pytest.fixture
def phased(lowered: pathlib.Path) -> Iterator[PhasedCompiler]:
    made = PhasedCompiler(lowered, lowered.with_name("files"))
    yield made
    made.close()


@pytest.fixture
def compile_in_phases(phased: PhasedCompiler) -> Compile:
    estimates = Estimates()

    def run(has: str) -> PhasedText:
        return phased.compile({"has": has}, estimates, threading.Lock(), Budget())

    return run


def compiled(lowered: pathlib.Path) -> list[str]:
    """Returns what was compiled alone, in order."""
    log = lowered.with_name("compiled")
    return [line.split()[0] for line in log.read_text(encoding="utf-8").splitlines()]


def test_each_instruction_gets_the_estimate_of_its_compile_alone(
    compile_in_phases: Compile, lowered: pathlib.Path
) -> None:
    made = compile_in_phases("one=ends-10 two=ends-20")
    assert estimates_by_name(made.text) == {"one": 10, "two": 20}
    assert (made.lowered, made.missing, made.complete) == (2, 0, True)
    processes = {line.split()[1] for line in lowered.with_name("compiled").open()}
    assert len(processes) == 1


def test_a_compile_is_ended_once_the_estimate_is_in_the_log(
    compile_in_phases: Compile, lowered: pathlib.Path
) -> None:
    started = time.monotonic()
    made = compile_in_phases("one=tiles-7 two=convolves-8 three=ends-9")
    assert time.monotonic() - started < 300  # each would take 600 s
    assert estimates_by_name(made.text) == {"one": 7, "two": 8, "three": 9}
    for line in lowered.with_name("compiled").open():
        with pytest.raises(ProcessLookupError):
            os.kill(int(line.split()[1]), 0)


def test_known_instructions_are_not_compiled_again(
    compile_in_phases: Compile, lowered: pathlib.Path
) -> None:
    compile_in_phases("one=ends-10 two=tiles-20")
    made = compile_in_phases("two=ends-99 one=ends-99 three=ends-30")
    assert estimates_by_name(made.text) == {"two": 20, "one": 10, "three": 30}
    assert made.lowered == 1
    assert compiled(lowered) == ["ends-10", "tiles-20", "ends-30"]


@pytest.mark.parametrize("how", ["aborts", "refuses"])
def test_an_instruction_that_fails_alone_leaves_the_text_incomplete(
    compile_in_phases: Compile, lowered: pathlib.Path, how: str
) -> None:
    made = compile_in_phases(f"one=ends-10 two={how} three=ends-30")
    assert estimates_by_name(made.text) == {"one": 10, "three": 30}
    assert made.missing == 1
    assert not made.complete
    assert compiled(lowered) == ["ends-10", how, "ends-30"]


def test_tiles_that_do_not_compile_are_no_estimate(
    compile_in_phases: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATIENCE", "300")  # the failure comes in time, however slow the machine is
    made = compile_in_phases("one=spills-9 two=ends-20")
    assert estimates_by_name(made.text) == {"two": 20}
    assert made.missing == 1


def test_an_instruction_that_the_module_seems_not_to_have_leaves_the_text_incomplete(
    compile_in_phases: Compile,
) -> None:
    made = compile_in_phases("one=ends-10 strange=ends-20")
    assert estimates_by_name(made.text) == {"one": 10}
    assert (made.missing, made.complete) == (1, False)


def test_an_instruction_without_estimate_is_known_to_have_none(compile_in_phases: Compile) -> None:
    made = compile_in_phases("one=silent two=ends-20")
    assert made.complete
    assert estimates_by_name(made.text) == {"two": 20}


def test_refused_options_and_aborts_are_errors(compile_in_phases: Compile) -> None:
    with pytest.raises(CompileError, match="refused for a reason"):
        compile_in_phases("refused")
    with pytest.raises(WorkerLostError, match="Check failed: made up"):
        compile_in_phases("aborted")
    assert compile_in_phases("one=ends-1").complete


def test_time_that_runs_out_is_no_fault_of_the_compiler(phased: PhasedCompiler) -> None:
    with pytest.raises(BudgetSpentError):
        phased.compile({"has": "hangs"}, Estimates(), threading.Lock(), Budget(2))


def test_close_leaves_no_files(phased: PhasedCompiler, compile_in_phases: Compile) -> None:
    compile_in_phases("one=ends-1")
    phased.close()
    assert not phased._folder.exists()


@pytest.mark.parametrize("has", ["refused", "one=refuses"])
def test_phases_are_not_used_after_a_first_compile_without_text(
    lowered: pathlib.Path, has: str
) -> None:
    lanes = PhasedLanes(lowered, width=1)
    assert lanes.usable
    assert lanes.text({"has": has}, Estimates(), threading.Lock(), Budget()) is None
    assert not lanes.usable
    lanes.close()


def test_refused_options_do_not_end_compiles_in_phases(lowered: pathlib.Path) -> None:
    lanes, estimates, lock = PhasedLanes(lowered, width=2), Estimates(), threading.Lock()
    text = lanes.text({"has": "one=ends-1"}, estimates, lock, Budget())
    assert text is not None
    assert estimates_by_name(text) == {"one": 1}
    assert lanes.text({"has": "refused"}, estimates, lock, Budget()) is None
    assert lanes.text({"has": "one=ends-1 two=refuses"}, estimates, lock, Budget()) is None
    assert lanes.usable
    lanes.close()
