"""A node without Slurm and a folder that it shares with others, on which role.sh runs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "deploy/slurm"
PATIENCE_SECONDS = 120.0  # of a busy machine; each look of a role takes a second

CONFIGURATION = """
replay { name: "a" address: "%address:a%" data_dir: "%local%/shards/a" }
actor { spool_dir: "%spool%" }
"""

# A role that stores a game when it starts and leaves one in its spool when it stops.
MALLOCMUZERO = """#!/bin/bash
if [[ " $* " == *" --checkpoint "* ]]; then
  rm -rf "$LOCAL/checkpoint"
  cp -r "$LOCAL/shards/a" "$LOCAL/checkpoint"
  echo "a: $LOCAL/checkpoint"
  exit
fi
case "$1" in
  replay)
    mkdir -p "$LOCAL/shards/a"
    trap 'exit 0' TERM
    echo stored >>"$LOCAL/shards/a/games"
    ;;
  actor) trap 'echo spooled >>"$LOCAL/spool.0/actor-0.spool"; exit 0' TERM ;;
esac
echo "$PATH" >"$LOCAL/path"
echo $$ >>"$LOCAL/started"
while :; do sleep 0.05; done
"""

# `mv` fails for the small files of a shard's state while the shared folder is said to be full.
MV = """#!/bin/bash
if [ -e "$LOCAL/full" ] && [[ "${@: -1}" =~ /(home|copy)$ ]]; then exit 1; fi
exec {mv} "$@"
"""

# `cp` is slow, and notes when it copies to the shared folder; or it stops in the middle.
CP = """#!/bin/bash
if [ -e "$LOCAL/cut" ]; then
  {cp} "$@"
  echo half >"${{@: -1}}/actor-0.spool"
  exit 1
fi
if [ -e "$LOCAL/slow" ] && [[ "${{@: -1}}" == */data.* ]]; then
  echo begin >>"$LOCAL/copies"
  sleep 2.5
  {cp} "$@"
  echo end >>"$LOCAL/copies"
  exit
fi
exec {cp} "$@"
"""


# `sleep` notes when a role has looked whether it must do something.
SLEEP = """#!/bin/bash
[ "$1" != 1 ] || echo >>"$LOCAL/looks"
exec {sleep} "$@"
"""


class Node:
    """A node, and the folder that it shares with others."""

    def __init__(
        self,
        folder: pathlib.Path,
        copy_seconds: int = 0,
        settings: dict[str, str] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.shared = folder / "shared"
        self.run_dir = folder / "run"
        launch_id = hashlib.sha256(str(self.shared).encode()).hexdigest()[:8]
        self.scratch = folder / f"disk/test-{launch_id}"
        for name in ("addresses", "configs", "launch", "shards", "spool", "targets"):
            (self.shared / name).mkdir(parents=True)
        self.scratch.mkdir(parents=True)
        tools = folder / "bin"
        tools.mkdir()
        mv, cp, sleep = (shutil.which(name) for name in ("mv", "cp", "sleep"))
        for name, text in (
            ("mallocmuzero", MALLOCMUZERO),
            ("mv", MV.replace("{mv}", str(mv))),
            ("cp", CP.format(cp=cp)),
            ("sleep", SLEEP.format(sleep=sleep)),
            ("scontrol", "#!/bin/bash\nexit 1\n"),
        ):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        self._environment = {
            # As in a job with --export=NIL.
            **{name: value for name, value in os.environ.items() if name != "USER"},
            "LC_ALL": "C",  # messages of bash in English
            "PATH": f"{tools}:{os.environ['PATH']}",
            "LOCAL": str(self.scratch),
            "SLURM_JOB_ID": "7",
            "SLURM_PROCID": "0",
            "SLURM_ARRAY_TASK_ID": "0",
            "SLURMD_NODENAME": "node-1",
            **(environment or {}),
        }
        launch = self.shared / "launch"
        shutil.copy(SCRIPTS / "role.sh", launch)
        (launch / "cluster.textproto.in").write_text(CONFIGURATION)
        (self.shared / "addresses/a").write_text("127.0.0.1:7410\n")
        (self.shared / "addresses/learner").write_text("127.0.0.1:7400\n")
        values = {
            "NAME": "test",
            "SHARED": str(self.shared),
            "RUN_DIR": str(self.run_dir),
            "LOCAL": str(folder / "disk"),
            "COMMAND": str(tools / "mallocmuzero"),
            "HOST_COMMAND": "echo 127.0.0.1",
            "SETUP": "",
            "SHARDS": "a",
            "ACTORS": "1",
            "SHARD_PORTS": "7410",
            "SHARDS_ARE_LOCAL": "1",
            "COPY_SECONDS": str(copy_seconds),
            "LOST_NODE_SECONDS": "1",
            "GOES_ON": "1",
            "LEARNER_PORT": "7400",
            "RESCUE_OPTIONS": "",
            **(settings or {}),
        }
        for name in ("common.sh", "servers.sbatch"):
            text = (SCRIPTS / f"{name}.in").read_text()
            text = re.sub(r"@(\w+)@", lambda mark: values.get(mark[1], "''"), text)
            (launch / name).write_text(text)

    def start(self, role: str, *arguments: str) -> subprocess.Popen[str]:
        return self._start(str(self.shared / "launch/role.sh"), role, *arguments)

    def start_servers(self) -> subprocess.Popen[str]:
        return self._start("bash", str(self.shared / "launch/servers.sbatch"))

    def _start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(
        self, role: str, until: Callable[[], bool] = lambda: True, hurried: bool = False
    ) -> str:
        """Starts a role, stops it in order once it runs and `until` holds, and returns its log.

        If `hurried`, signals go on to come while the role stops.
        """
        (self.scratch / "started").unlink(missing_ok=True)
        process = self.start(role)
        try:
            await_that((self.scratch / "started").exists)
            await_that(until)
            process.send_signal(signal.SIGTERM)
            if hurried:
                await_that(lambda: has_ended_after_signal(process))
            return process.communicate(timeout=PATIENCE_SECONDS)[0]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    @property
    def spool(self) -> pathlib.Path:
        return self.scratch / "spool.0/actor-0.spool"


def give_folders_to_another_user(folder: pathlib.Path) -> None:
    """Makes `folder`, of a Node, one like /tmp; for scripts, what is in it is another user's."""
    stat = folder / "bin/stat"
    stat.write_text(f"#!/bin/bash\necho {os.getuid() + 1}\n")
    stat.chmod(0o755)
    folder.chmod(0o1777)


def has_ended_after_signal(process: subprocess.Popen[str]) -> bool:
    process.send_signal(signal.SIGTERM)
    return process.poll() is not None


def await_that(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)
