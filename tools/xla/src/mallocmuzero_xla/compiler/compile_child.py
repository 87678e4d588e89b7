"""The compile process: takes jobs as JSON lines on stdin, answers each with one JSON line.

worker.py starts it. A process takes any number of jobs, so it imports
jax once. The compiler may abort the process, for which its parent must be prepared.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import queue
import resource
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.builders import build_function, build_registered
from mallocmuzero_xla.compiler.hlo_text import strip_source_locations
from mallocmuzero_xla.compiler.lowering import LoweredProgram, lower
from mallocmuzero_xla.compiler.readable import readable_text, unprintable
from mallocmuzero_xla.compiler.store import write_text
from mallocmuzero_xla.errors import CaptureError, UsageError, in_one_line


def run_lower(job: dict[str, Any]) -> float:
    """Builds the function a job names, lowers it and writes the result; returns the seconds."""
    started = time.monotonic()
    chip = Chip(**job["chip"])
    if job["registry"]:
        built = build_registered(job["registry"], job["function"], chip)
    else:
        built = build_function(job["function"])
    options = dict(built.jit_options)
    own = {**(options.pop("compiler_options", None) or {}), **job["compiler_options"]}
    program = lower(built.fn, built.args, chip, options, own)
    program.write(pathlib.Path(job["output"]))
    return time.monotonic() - started


def run_compile(job: dict[str, Any]) -> float:
    """Compiles a lowered program and writes its text atomically.

    Returns the seconds of the compile, as another one would take.
    """
    program = _read_program(job["program"])
    compiled = readable_text(program, Chip(**job["chip"]), job["options"])
    write_text(pathlib.Path(job["output"]), strip_source_locations(compiled.text))
    return compiled.seconds


@functools.lru_cache(maxsize=1)
def _read_program(path: str) -> LoweredProgram:
    return LoweredProgram.read(pathlib.Path(path))


_ACTIONS: dict[str, Callable[[dict[str, Any]], float]] = {
    "lower": run_lower,
    "compile": run_compile,
}


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Runs one job. An exception becomes the answer's `error`, on one line; `usage` marks errors
    that the user can correct."""
    seconds, error, usage = 0.0, None, False
    unprintable.update(job.get("unprintable", ()))
    try:
        seconds = _ACTIONS[job["action"]](job)
    except UsageError as failure:
        error, usage = str(failure), True
    except CaptureError as failure:
        error = str(failure)
    except OSError as failure:  # such as a full disk: the compiler has refused nothing
        error, usage = in_one_line(failure), True
    except Exception as failure:
        error = in_one_line(failure)
    return {
        "error": error,
        "usage": usage,
        "seconds": round(seconds, 3),
        "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "unprintable": sorted(unprintable),
    }


def _read_jobs(jobs: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        jobs.put(line)
    # The parent has ended or needs no more answers, so a running compile is useless.
    os._exit(0)


def main() -> None:
    """Answers jobs until stdin closes."""
    # libtpu and user code may print: only answers belong on the real stdout.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_jobs, args=(jobs,), daemon=True).start()
    while True:
        answers.write(json.dumps(answer(json.loads(jobs.get()))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
