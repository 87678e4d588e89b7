"""A fake compile process: follows a plan instead of compiling.

A plan maps a variant to the action of each attempt: "ok", "abort", "killed", "hang" or "error".
"lower" stands for the lowering; its actions may also name the lowered program, as in "ok:v2".
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys
import time

import zstandard
from fake_lowered import write_lowered


def main() -> None:
    """Answers jobs until stdin closes."""
    plan = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    log = pathlib.Path(sys.argv[2])
    for line in sys.stdin:
        job = json.loads(line)
        output = pathlib.Path(job["output"])
        step = "lower" if job["action"] == "lower" else output.name.removesuffix(".hlo.zst")
        made = log.read_text(encoding="utf-8").split().count(step) if log.exists() else 0
        with log.open("a", encoding="utf-8") as stream:
            stream.write(f"{step}\n")
        actions = plan.get(step, ["ok"])
        action, _, detail = actions[min(made, len(actions) - 1)].partition(":")
        if action == "abort":
            print("F0000 msa.cc:1] Check failed: made up", file=sys.stderr, flush=True)
            os.abort()
        if action == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "hang":
            with log.with_name("hangs").open("a", encoding="utf-8") as stream:
                stream.write(".")
            time.sleep(600)
        if action == "ok":
            write_output(step, output, job, detail)
        reply = {"error": "made up" if action == "error" else None, "usage": False}
        print(json.dumps({**reply, "seconds": 0.5, "peak_mebibytes": 1}), flush=True)


def write_output(step: str, output: pathlib.Path, job: dict[str, object], detail: str) -> None:
    """Writes a lowered program, or a text that names the process and the options."""
    if step == "lower":
        write_lowered(output, sha256=detail)
    else:
        text = f"HloModule {step} by {os.getpid()} with {json.dumps(job['options'])}"
        output.write_bytes(zstandard.compress(text.encode()))


main()
