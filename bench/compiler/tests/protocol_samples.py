"""Made-up programs, records and child processes for the tests of the protocol."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

MADE_BY = {"protocol": 1, "commit": "c" * 40, "versions": {"jax": "1", "libtpu": "2"}}


def described(chip: str, program: str, split: str = "train", contended: bool = True) -> Any:
    """A program as `mallocmuzero corpus --json` describes it."""
    report = {"hardware": chip, "program": program}
    return {"report": report, "family": "x", "split": split, "contended": contended}


def price(estimates: float, copies: float = 0.0, roofline: float = 0.0) -> dict[str, float]:
    """A price as a record holds it."""
    total = estimates + copies + roofline
    return {"total": total, "estimates": estimates, "copies": copies, "roofline": roofline}


def record(**fields: Any) -> dict[str, Any]:
    """A record of a run that saves a tenth of the default's estimates, with other `fields`."""
    default = fields.pop("default_price", price(1000.0))
    better = fields.pop("price", price(900.0))
    return {
        **MADE_BY,
        "chip": "tpu_v6e",
        "program": "dit_4x1024_b48x256",
        "family": "x",
        "split": "train",
        "contended": True,
        "mode": "everything",
        "seed": 0,
        "budget_seconds": 300.0,
        "status": "ok",
        "error": None,
        "wall_seconds": 300.0,
        "processor_seconds": 500.0,
        "load": 1.0,
        "processor": "a processor",
        "default_cycles": default["total"],
        "default_error": None,
        "cycles": better["total"],
        "default_price": default,
        "price": better,
        "options": {},
        "executable": False,
        "executable_limit_kib": None,
        **fields,
    }


# Reads a job as protocol_child.py does, adds it to a log, and follows the plan of its program. The
# plan "fails" ends with a line of errors. "hangs" waits for Ctrl-C, and "deaf" hangs all the same.
# "silent" ends without an outcome. "works" lets another process work for 0.3 s.
_CHILD = """
import json, os, pathlib, signal, subprocess, sys, time
folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
job = json.load(sys.stdin)
job["environment"] = dict(os.environ)
plans = folder / "plans.json"
plan = json.loads(plans.read_text()).get(job["program"]) if plans.exists() else None
if plan == "deaf":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
with (folder / "log").open("a") as log:
    log.write(json.dumps(job) + chr(10))
if plan in ("hangs", "deaf"):
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        pass
if plan == "works":
    work = "import time\\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", work], check=True)
if plan == "fails":
    print("a first line", file=sys.stderr)
    print("protocol_child.py: it does not compile", file=sys.stderr)
    sys.exit(1)
if plan != "silent":
    price = {"total": 900.0, "estimates": 900.0, "copies": 0.0, "roofline": 0.0}
    default = {"total": 1000.0, "estimates": 1000.0, "copies": 0.0, "roofline": 0.0}
    output.write_text(json.dumps({
        "default_cycles": 1000.0, "cycles": 900.0, "default_price": default, "price": price,
        "options": {}, "executable": False, "executable_limit_kib": None, "default_error": None,
    }))
"""


def child(folder: pathlib.Path) -> list[str]:
    """Returns the command of a made-up run, which follows `plans.json` in `folder`."""
    script = folder / "child.py"
    script.write_text(_CHILD, encoding="utf-8")
    return [sys.executable, str(script), str(folder)]
