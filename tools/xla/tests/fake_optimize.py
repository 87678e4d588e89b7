"""A fake `mallocmuzero optimize` that follows a plan, a JSON file.

The fields of the plan are `output`, a path whose .bin and .pb become executable and module;
`report`, the text to print; `log`, a file to which it adds its arguments; `says`, lines for stderr;
`code`, the exit code; and `waits`, whether it waits for Ctrl-C.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import signal
import sys


def main() -> int:
    """Follows the plan."""
    plan = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    arguments = sys.argv[2:]
    if plan.get("waits"):  # before the log tells that it runs
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    with pathlib.Path(plan["log"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps(arguments) + "\n")
    report = plan["report"]
    if plan.get("waits"):
        print("waiting", file=sys.stderr, flush=True)
        signal.sigwait({signal.SIGINT})
        report = {**report, "interrupted": True}
    for line in plan.get("says", []):
        print(line, file=sys.stderr, flush=True)
    if plan.get("code"):
        return int(plan["code"])
    flags = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    assert pathlib.Path(flags["--hlo"]).read_bytes().startswith(b"ML\xefR")  # MLIR bytecode
    assert pathlib.Path(flags["--compile-options"]).stat().st_size > 0
    output = pathlib.Path(flags["--output"])
    output.mkdir()
    if plan.get("output"):
        planned = pathlib.Path(plan["output"])
        shutil.copy(planned.with_suffix(".bin"), output / "executable.bin")
        shutil.copy(planned.with_suffix(".pb"), output / "module.pb")
    print(json.dumps(report))
    return 0


sys.exit(main())
