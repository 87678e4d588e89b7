"""Runs a cluster under a real Slurm, hurts it, and checks that it loses nothing and learns on.

Starts Slurm's daemons for six made-up nodes (slurm_cluster.py), submits two shards, a learner and
two actors with `mallocmuzero launch slurm`, kills nodes, requeues and preempts jobs. At the end
every acknowledged game must be in the shards' data in the shared folder. Prints a JSON report; exit
code 1 if a check fails, 77 if Slurm is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import scenes
from audit import failures_in
from checks import VARIABLE, audit, check_dry_run, check_secrets
from launched_cluster import Options, Run
from slurm_cluster import missing_tools

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Exit code of a test that ctest counts as skipped.
SKIPPED = 77

SHORT: tuple[Callable[[Run], None], ...] = (scenes.kill_actor_node, scenes.requeue_servers)
LONG: tuple[Callable[[Run], None], ...] = (
    scenes.kill_actor_node,
    scenes.requeue_actor,
    scenes.preempt_actors,
    scenes.requeue_servers,
    scenes.kill_shard_node,
    scenes.kill_learner_node,
    scenes.preempt_servers,
    scenes.reach_time_limit,
    scenes.launch_again,
)


def try_all(run: Run, chosen: tuple[Callable[[Run], None], ...]) -> dict[str, Any]:
    failures: list[str] = []
    found: dict[str, Any] = {}
    try:
        run.write_configuration()
        run.slurm.start()
        check_dry_run(run)
        run.slurm.environment[VARIABLE] = "a secret"
        run.submit()
        del run.slurm.environment[VARIABLE]
        scenes.see_training(run)
        check_secrets(run)
        for scene in chosen:
            print(f"slurm: {scene.__name__}", file=sys.stderr)
            scene(run)
        scenes.end(run)
        found = audit(run)
        failures += failures_in(found)
    except (RuntimeError, TimeoutError) as error:
        failures.append(str(error))
    finally:
        run.slurm.stop()
    return {"seen": run.seen, **found, "failures": failures}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/slurm", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="two faults only, for ctest")
    parser.add_argument(
        "--only",
        action="append",
        choices=[scene.__name__ for scene in LONG],
        default=[],
        help="only this fault; may be repeated",
    )
    parser.add_argument(
        "--processes",
        type=int,
        choices=(1, 2),
        default=1,
        help="of the learner: 1 or 2; default: 1",
    )
    parser.add_argument(
        "--shared-shards", action="store_true", help="shards are in the shared folder only"
    )
    parser.add_argument(
        "--binary",
        type=pathlib.Path,
        default=ROOT / "build/bin/mallocmuzero",
        help="default: build/bin/mallocmuzero",
    )
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and data")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if missing := missing_tools():
        print(f"slurm: SKIPPED: {', '.join(missing)} not installed", file=sys.stderr)
        return SKIPPED
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mallocmuzero-slurm-"))
    print(f"slurm: files in {folder}", file=sys.stderr)
    chosen = SHORT if arguments.short else LONG
    if arguments.only:
        chosen = tuple(scene for scene in LONG if scene.__name__ in arguments.only)
    patience = float(os.environ.get("MALLOCMUZERO_TEST_PATIENCE", "120"))
    options = Options(
        binary=arguments.binary.resolve(),
        patience=patience,
        is_hurried=arguments.short,
        processes=arguments.processes,
        local_shards=not arguments.shared_shards,
    )
    # An exception ends the daemons.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    report = try_all(Run(folder, options), chosen)
    print(json.dumps(report, indent=2))
    if report["failures"] or arguments.keep:
        print(f"slurm: {folder} is kept", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
