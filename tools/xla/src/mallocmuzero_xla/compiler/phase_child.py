"""The process of compiles in phases: gives a placed module, and estimates of instructions alone.

`optimize` writes the scheduled module with all memory spaces, and a module for each different
instruction. `lower` finds the estimates of such instructions. libtpu chooses the tiles of an
instruction and estimates it before it generates its machine code, which takes nearly all of the
time. It logs the estimate, so a compile that does not end soon after that line is killed.

libtpu runs in forks. This process imports jaxlib once but never loads libtpu, whose threads would
not survive a fork. worker.py starts it; jobs and answers are those of
compile_child, and the answer to `lower` has `cycles`, the estimates by number.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pathlib
import re
import resource
import shutil
import sys
import time
from typing import Any

from mallocmuzero_xla.compiler.forked import Forked
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.partial_programs import (
    PartialProgram,
    first_program,
    message_in,
    with_options,
)
from mallocmuzero_xla.compiler.phases import PHASE_LOWER, PHASE_OPTIMIZE, PhaseCompiler
from mallocmuzero_xla.compiler.readable import module_texts
from mallocmuzero_xla.environment import compiler_library, prepare_environment
from mallocmuzero_xla.errors import CompileError

# Files of a job's folder. Instruction number N is in N.program, for `lower`, and in N.hlo.
MODULE = "module.hlo"
ALONE = "{}.hlo"
_PROGRAM, _ENVIRONMENT, _OPTIONS = "{}.program", "environment", "options"

# HloModuleProtoWithConfig.hlo_module.
_HLO_MODULE = 1

# Names that the first phase gives to its results.
_PLACED, _CHANGED_OPTIONS = "opt_hlo", "modified_comp_envs"

# libtpu logs the chosen tiles at these levels, and not at lower ones.
_LOG_FLAGS = "--vmodule=fusion_emitter=3,spatial_major_convolution=2 --stderrthreshold=0"
_CHOSEN = re.compile(
    rb"ComputeWindowConfigInternal (?:returning config: [^\n]*\bcycles=|"
    rb"Selected Config for HLO: [^\n]*\bestimated_cycles: +)(-?\d+)"
)

# What the forked process says of each instruction; <- keeps such lines apart from those of libtpu.
_STARTED, _FINISHED, _FAILED = b"<-started", b"<-finished", b"<-failed"

_ESTIMATE = re.compile(rb'"estimated_cycles":"(-?\d+)"')

# A compile may end by itself for so long after its estimate. To start libtpu again takes about as
# long.
_PATIENCE_SECONDS = 0.05


def run_optimize(job: dict[str, Any]) -> dict[str, Any]:
    """Makes the placed module and the instructions alone, as files of the job's folder."""
    folder = pathlib.Path(job["output"])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    forked = Forked(lambda: _optimize(job, folder))
    try:
        for line in forked.lines():
            if line:
                os.write(2, line + b"\n")  # the log, for the reason of an abort
    finally:
        status = forked.end()
    lost = status != 0 and forked.error is None
    error = f"the compile process ended (status {status})" if lost else forked.error
    return {"error": error, "lost": lost}


def run_lower(job: dict[str, Any]) -> dict[str, Any]:
    """Finds the estimates of the instructions `numbers` of a folder that `optimize` has filled.

    An instruction has no estimate in the answer if the compiler refuses it, or aborts.
    """
    folder, left = pathlib.Path(job["output"]), [int(number) for number in job["numbers"]]
    cycles: dict[int, int | None] = {}
    while left:
        numbers = tuple(left)
        forked = Forked(functools.partial(_lower, job["topology"], folder, numbers))
        try:
            current = _watch(forked, cycles)
        finally:
            forked.end()
        left = left[left.index(current) + 1 :] if current in left else []
    return {"error": None, "lost": False, "cycles": cycles}


def _watch(forked: Forked, cycles: dict[int, int | None]) -> int | None:
    """Reads estimates until the process ends or is of no more use; returns its last instruction."""
    current: int | None = None
    chosen: int | None = None
    since = 0.0
    for line in forked.lines():
        if line.startswith((_STARTED, _FINISHED, _FAILED)):
            word, number, *rest = line.split(maxsplit=2)
            current, chosen = int(number), None
            if word == _FINISHED:
                cycles[current] = json.loads(rest[0])
        elif found := _CHOSEN.search(line):
            chosen, since = int(found.group(1)), time.monotonic()
        late = time.monotonic() - since > _PATIENCE_SECONDS
        if chosen is not None and current is not None and late:
            cycles[current] = chosen
            break
    return current


def _optimize(job: dict[str, Any], folder: pathlib.Path) -> None:
    program = LoweredProgram.read(pathlib.Path(job["program"]))
    compiler = PhaseCompiler(compiler_library(), program.topology_name)
    options = with_options(program.compile_options, {**program.base_options, **job["options"]})
    made = compiler.run(PHASE_OPTIMIZE, [first_program(program.module, PHASE_OPTIMIZE)], options)
    found = [PartialProgram.parse(each) for each in made]
    named = {each.name: each for each in found}
    (folder / _OPTIONS).write_bytes(options)
    (folder / _ENVIRONMENT).write_bytes(named[_CHANGED_OPTIONS].serialized)
    alone = [each for each in found if each.kind == "dedup_hlo"]
    placed, *texts = module_texts(
        [message_in(each.body, _HLO_MODULE) for each in (named[_PLACED], *alone)]
    )
    for number, (each, text) in enumerate(zip(alone, texts, strict=True)):
        (folder / _PROGRAM.format(number)).write_bytes(each.serialized)
        (folder / ALONE.format(number)).write_text(text, encoding="utf-8")
    # The last file says that all others are there.
    (folder / MODULE).write_text(placed, encoding="utf-8")


def _lower(topology: str, folder: pathlib.Path, numbers: tuple[int, ...]) -> None:
    """Makes machine code of instructions, one after the other, and says what is known."""
    flags = f"{os.environ.get('LIBTPU_INIT_ARGS', '')} {_LOG_FLAGS}"
    os.environ |= {"LIBTPU_INIT_ARGS": flags.strip(), "TF_CPP_MIN_LOG_LEVEL": "0"}
    compiler = PhaseCompiler(compiler_library(), topology)
    options, environment = ((folder / name).read_bytes() for name in (_OPTIONS, _ENVIRONMENT))
    for number in numbers:
        program = (folder / _PROGRAM.format(number)).read_bytes()
        _say(_STARTED, number)
        try:
            made = compiler.run(PHASE_LOWER, [program, environment], options)
        except CompileError as error:
            _say(_FAILED, number, error)
            continue
        bodies = (PartialProgram.parse(each).body for each in made)
        found = {int(each) for body in bodies for each in _ESTIMATE.findall(body)}
        if len(found) > 1:
            _say(_FAILED, number, "it has several estimates")
        else:
            _say(_FINISHED, number, json.dumps(next(iter(found), None)))


def _say(word: bytes, number: int, detail: object = "") -> None:
    line = b"\n%s %d %s\n" % (word, number, str(detail).encode())
    os.write(1, line)


_ACTIONS = {"optimize": run_optimize, "lower": run_lower}


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Runs one job."""
    started = time.monotonic()
    reply = _ACTIONS[job["action"]](job)
    return {
        "usage": False,
        "seconds": round(time.monotonic() - started, 3),
        "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        **reply,
    }


def main() -> None:
    """Answers jobs until stdin closes."""
    # libtpu may print: only answers belong on the real stdout.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    prepare_environment()
    with contextlib.suppress(ImportError):
        import jaxlib._hlo  # noqa: F401  # so that the forks need not
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
