"""A compile process that returns recorded texts: recorded_child.py FOLDER trial|compile|phase.

FOLDER has the compiler's texts of one program: all_hbm, default, and optimized, which the compiler
made under some overrides. A compile under any overrides returns `optimized`, whatever they ask for,
and a compile under another limit of scoped memory fails. Compiles in phases are impossible.
"""

from __future__ import annotations

import json
import pathlib
import sys

import zstandard

_LIMIT = "xla_tpu_scoped_vmem_limit_kib"


def variant_of(options: dict[str, str]) -> str:
    """Returns the name of the recorded text for compiler options."""
    if any(name.endswith("memory_space_assignment") for name in options):
        return "all_hbm"
    return "optimized" if any("overrides" in name for name in options) else "default"


def main() -> None:
    """Answers jobs until stdin closes."""
    folder, action = pathlib.Path(sys.argv[1]), sys.argv[2]
    for line in sys.stdin:
        job = json.loads(line)
        program = json.loads(pathlib.Path(job["program"]).read_text(encoding="utf-8"))
        error = None
        if action == "phase":
            error = "CompileError: cannot compile in phases"
        elif _LIMIT in job["options"] or _LIMIT in json.dumps(program):
            error = "RESOURCE_EXHAUSTED: no text is recorded for this limit"
        else:
            content = (folder / f"{variant_of(job['options'])}.hlo.zst").read_bytes()
            if action == "trial":
                content = zstandard.ZstdDecompressor().decompress(content)
            pathlib.Path(job["output"]).write_bytes(content)
        reply = {"error": error, "usage": False, "lost": False}
        print(json.dumps({**reply, "seconds": 0.1, "peak_mebibytes": 1}), flush=True)


main()
