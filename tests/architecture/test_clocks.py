"""Durations are measured by a clock that nobody sets; the wall clock is for times that are told."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The sources that read the wall clock, and what for. All others use SteadyNow
# (base/steady_clock.h). An operator or NTP may set the wall clock. A limit of time, a rate or a
# timeout would then be wrong by as much.
WALL_CLOCK = {
    "actor/role/actor_name.cc": "the id of a run",
    "base/log.cc": "the time of a line of the log",
    "base/steady_clock.h": "a comment that names it",
    "base/temporary_file.cc": "compares with the time at which a file was changed",
    "bench/cluster/synthetic_actors.cc": "the id of a run",
    "bench/serve/serve_load.cc": "a deadline for gRPC",
    "cli/agent/run_role.cc": "notices that the clock is set back",
    "dashboard/dashboard.cc": "compares with the time at which a file was changed",
    "learner/checkpoint_store.cc": "when a checkpoint was kept",
    "learner/role/learner_role_state.cc": "compares with the time of the last save",
    "learner/role/training_state.cc": "the time of the last save, which metrics tell",
    "learner/run_lock.cc": "since when a folder is locked",
    "replay/client/item_sampler.cc": "a deadline for Abseil, whose waits follow the wall clock",
    "replay/client/sample_source.cc": "likewise",
    "replay/client/shard_writer.cc": "likewise",
    "replay/service/replay_table.cc": "when an item was stored",
    "replay/service/shard_copies.cc": "the name of a copy",
    "rpc/channel.cc": "a deadline for gRPC",
    "rpc/server.cc": "likewise",
    "serve/mapper_service.cc": "the deadline of a call, which gRPC has by the wall clock",
}


# The ways to read it that C++ and Abseil have.
READS = (
    r"absl::(Now|GetCurrentTimeNanos)\(|system_clock::now\(|(^|[^_:[:alnum:]])(std::)?time\("
    r"(nullptr|NULL|0)\)|gettimeofday|CLOCK_REALTIME"
)


def sources_with(pattern: str) -> set[str]:
    """Returns the C++ sources that match an extended regular expression, without tests."""
    command = ["git", "grep", "--extended-regexp", "--files-with-matches", pattern]
    command += ["--", "*.cc", "*.h"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {
        path
        for path in found.stdout.split()
        if not path.endswith("_test.cc")
        and not Path(path).name.startswith("test_")
        and "testing/" not in path
        and "tests/" not in path
    }


def test_only_known_sources_read_the_wall_clock() -> None:
    assert sources_with(READS) == set(WALL_CLOCK)
