"""The process of trial compiles: starts compiles and ends each once its placement is known.

libtpu can write the scheduled module with its final placement before it generates machine code, by
far the longest part of a compile. A trial compile takes that text, which lacks only the estimated
cycles. libtpu cannot stop half-way, so each trial compile runs in a fork that this process kills.
This process imports jax once but never loads libtpu, whose threads would not survive a fork.

worker.py starts it; jobs and answers are those of compile_child.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import select
import shutil
import signal
import sys
import time
from typing import Any

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.hlo_text import strip_source_locations
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.readable import readable_text
from mallocmuzero_xla.processes import end_with

_MODULE_SUFFIX = "-TLP-hlo.txt"
# The compiler writes this file next, after the module's text is complete.
_MARKER_SUFFIX = "-TLP-00-deduplication-map.txt"

# Dumps the text of one pass only: the dumps of all passes are gigabytes of machine code.
_DUMP_FLAGS = (
    "--xla_jf_dump_hlo_text=true",
    "--xla_jf_dump_llo_text=false",
    "--xla_jf_dump_llo_pass_label_regex=deduplication-map",
)
_ERROR, _TEXT = "error.txt", "compiled.txt"
_POLL_SECONDS = 0.005


def run_trial(job: dict[str, Any]) -> dict[str, Any]:
    """Runs one trial compile, writes the module to the job's output and returns the answer."""
    started = time.monotonic()
    folder = pathlib.Path(job["dump"])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        end_with(parent)  # no compile may outlive it
        _compile(job, folder)
    try:
        error, lost = _wait(child, folder)
        if error is None:
            output = pathlib.Path(job["output"])
            output.write_text(_read_dump(folder), encoding="utf-8")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "error": error,
        "lost": lost,
        "usage": False,
        "seconds": round(time.monotonic() - started, 3),
        "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _compile(job: dict[str, Any], folder: pathlib.Path) -> None:
    """The forked process: compiles until it is killed, or leaves an error or the whole text."""
    dump = str(folder)
    if len(dump.split()) > 1:  # as below a TMPDIR with a space, which would end the flag
        os.chdir(folder)
        dump = "."
    flags = [os.environ.get("LIBTPU_INIT_ARGS", ""), f"--xla_jf_dump_to={dump}", *_DUMP_FLAGS]
    os.environ["LIBTPU_INIT_ARGS"] = " ".join(flags).strip()
    try:
        program = LoweredProgram.read(pathlib.Path(job["program"]))
        text = readable_text(program, Chip(**job["chip"]), job["options"]).text
    except BaseException as failure:
        words = f"{type(failure).__name__}: {' '.join(str(failure).split())[:2000]}"
        (folder / _ERROR).write_text(words, encoding="utf-8")
        os._exit(1)
    # A libtpu without these flags compiles to the end, which takes longer but gives the same.
    (folder / _TEXT).write_text(text, encoding="utf-8")
    os._exit(0)


def _wait(child: int, folder: pathlib.Path) -> tuple[str | None, bool]:
    """Waits for the placement or the child's end; returns an error, and whether it crashed."""
    status = 0
    try:
        while not any(folder.glob(f"*{_MARKER_SUFFIX}")):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                child = 0
                break
            # No second job comes before this answer, so readable input means its end.
            if select.select([sys.stdin], [], [], _POLL_SECONDS)[0]:
                os._exit(0)
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if child or status == 0:
        return None, False
    if (folder / _ERROR).is_file():
        return (folder / _ERROR).read_text(encoding="utf-8"), False
    return f"the compile process ended (status {os.waitstatus_to_exitcode(status)})", True


def _read_dump(folder: pathlib.Path) -> str:
    """Returns the module's text."""
    whole = folder / _TEXT
    modules = sorted(folder.glob(f"*{_MODULE_SUFFIX}"), key=lambda path: path.stat().st_size)
    text = (whole if whole.is_file() else modules[-1]).read_text(encoding="utf-8")
    return strip_source_locations(text)


def _import_compiler() -> None:
    """Imports all modules of a compile except libtpu, so that the forks need not."""
    import jax  # noqa: F401
    from jax._src.interpreters import mlir  # noqa: F401
    from jax.experimental import topologies  # noqa: F401


def main() -> None:
    """Answers jobs until stdin closes."""
    # libtpu and user code may print: only answers belong on the real stdout.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _import_compiler()
    for line in sys.stdin:
        answers.write(json.dumps(run_trial(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
