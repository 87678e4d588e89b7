"""Checks of a cluster under Slurm: what a dry run prints, secrets, and that no game is lost."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import time
from typing import Any

from audit import Content, compare, listed_ids, written_ids
from launched_cluster import ACTORS, SHARDS, Run
from loopback_cluster import free_ports, shard_of

# A variable of the shell that submits the jobs, which must not get to the jobs.
VARIABLE = "MALLOCMUZERO_TEST_SECRET"


def check_dry_run(run: Run) -> None:
    """Fails if --dry-run writes a file or leaves a script out."""
    printed = run.launch("--dry-run")
    for text in ("#SBATCH hetjob", f"#SBATCH --array=0-{ACTORS - 1}", "sbatch --parsable"):
        if text not in printed:
            raise RuntimeError(f"--dry-run does not print {text}")
    if run.shared.exists():
        raise RuntimeError("--dry-run writes files")


def check_secrets(run: Run) -> None:
    """Fails if the token is in a script, a log, or the command line or environment of a process."""
    secret = (run.folder / "token").read_bytes().strip()
    for place, _, names in os.walk(run.shared):
        for file in (pathlib.Path(place, name) for name in names):
            # Shards replace their copies meanwhile.
            with contextlib.suppress(FileNotFoundError):
                if file.stat().st_size < 1 << 22 and secret in file.read_bytes():
                    raise RuntimeError(f"the token is in {file}")
    for process in pathlib.Path("/proc").iterdir():
        for name in ("cmdline", "environ"):
            try:
                text = (process / name).read_bytes() if process.name.isdecimal() else b""
            except OSError:
                continue
            if secret in text or (VARIABLE.encode() in text and b"SLURM_JOB_ID" in text):
                raise RuntimeError(f"a secret is in {process / name}: {text[:200]!r}")


def audit(run: Run) -> dict[str, Any]:
    """Compares the acknowledged games with those in the shards' data in the shared folder."""
    contents = []
    for name in SHARDS:
        state = run.shared / "shards" / name
        home = "copy data"
        if run.options.local_shards:
            home = (state / "home").read_text().strip()
        kind, _, where = home.partition(" ")
        if kind != "copy":
            raise RuntimeError(f"{name}: its data are not in the shared folder but at {where}")
        port = free_ports(1)[0]
        config = run.folder / f"audit-{name}.textproto"
        config.write_text(
            f"replay {{ name: '{name}' address: '127.0.0.1:{port}'"
            f" data_dir: '{state / where}' max_positions: 20000 }}\n"
        )
        written = written_ids(state / where)
        stored, evicted = listed_ids(list_ids(run.binary, config))
        contents.append(Content(stored, evicted, written | written_ids(state / where)))
    return compare(run.acknowledged(), contents, shard_of)


def list_ids(binary: pathlib.Path, config: pathlib.Path) -> str:
    """Runs a shard and returns the output of --list-ids."""
    shard = subprocess.Popen([binary, "replay", "--config", config], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            ran = subprocess.run(
                [binary, "replay", "--config", config, "--list-ids"],
                capture_output=True,
                check=False,
                text=True,
            )
            if ran.returncode == 0:
                return ran.stdout
            time.sleep(0.3)
        raise RuntimeError(f"{config}: {ran.stderr}")
    finally:
        shard.terminate()
        shard.wait()
