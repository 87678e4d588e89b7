"""One run of the protocol, in a process of its own: reads a job on stdin, writes the outcome.

    python bench/compiler/protocol_child.py OUTPUT < JOB

The job is JSON: `registry`, `program`, `chip`, `cores`, and `arguments` of `optimize`. The process
keeps to these cores, and so do its compiles. A failure is one line on stderr.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

from mallocmuzero_xla.chips import find_chip
from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.compiler.builders import build_registered
from mallocmuzero_xla.compiler.trial_compiler import compiles_at_once
from mallocmuzero_xla.environment import require_compiler
from mallocmuzero_xla.search.optimize import optimize

# Longer values of options, such as hundreds of overrides, are recorded by their hash.
_LONGEST_VALUE = 200


def outcome(report: Mapping[str, Any], executable: bool) -> dict[str, Any]:
    """Returns the fields of a record that the report of `optimize` gives.

    Raises KeyboardInterrupt if a signal ended the search: its result is not that of the budget.
    """
    if report["interrupted"]:
        raise KeyboardInterrupt
    kinds = [step["step"] for step in report["tried"]]
    return {
        "default_cycles": report["default_cycles"],
        "default_error": report["default_error"],
        "cycles": report["optimized_cycles"],
        "default_price": report["default_price"],
        "price": report["optimized_price"],
        "options": {name: _shortened(value) for name, value in report["options"].items()},
        "executable": executable,
        "executable_limit_kib": report["executable_limit_kib"],
        "compile_seconds": report["compile_seconds"],
        "out_of_budget": report["out_of_budget"],
        "steps": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "failed_steps": [
            f"{step['step']}: {step['error']}" for step in report["tried"] if step["error"]
        ],
    }


def _shortened(value: str) -> str:
    if len(value) <= _LONGEST_VALUE:
        return value
    digest = hashlib.sha256(value.encode()).hexdigest()
    return f"{len(value)} characters, sha256 {digest}"


def main() -> int:
    """Does the job; returns 0, 1 on failure, 2 on bad usage."""
    output, job = pathlib.Path(sys.argv[1]), json.load(sys.stdin)

    def run() -> int:
        os.sched_setaffinity(0, job["cores"])
        require_compiler()
        built = build_registered(job["registry"], job["program"], find_chip(job["chip"]))
        arguments = {**job["arguments"], **built.jit_options}
        found = optimize(built.fn, *built.args, chip=job["chip"], **arguments)
        fields = outcome(found.report, found.executable is not None)
        fields["compiles_at_once"] = compiles_at_once()
        output.write_text(json.dumps(fields), encoding="utf-8")
        return 0

    return run_command("protocol_child.py", run)


if __name__ == "__main__":
    sys.exit(main())
