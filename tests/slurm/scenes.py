"""What happens to the cluster under Slurm. Each function is one fault, and waits for its end."""

from __future__ import annotations

import re

from launched_cluster import ACTORS, Run
from slurm_cluster import PARTITIONS


def see_training(run: Run) -> None:
    run.wait_until("the learner learns", lambda: run.step() > 0)
    run.wait_until("games are acknowledged", lambda: len(run.acknowledged()) > 5)
    run.note("learns")
    if "GPUs 0" not in (run.shared / "logs/learner.0.log").read_text():
        raise RuntimeError("the learner did not get the GPU that its job asks for")


def kill_actor_node(run: Run) -> None:
    """Kills a node of actors. Slurm requeues its actors, with the same numbers."""
    parts = run.slurm.states(run.actors)
    victim = next(node for state, node in parts if state == "RUNNING")
    before = run.restarts(f"{run.actors}_0") + run.restarts(f"{run.actors}_1")
    killed = run.slurm.kill_node(victim)
    run.note(f"killed {killed} processes of {victim} (actors)")
    if run.options.is_hurried:
        # Slurm would take half a minute to notice.
        run.slurm.run("scontrol", "update", f"NodeName={victim}", "State=DOWN", "Reason=killed")
    run.wait_until(
        "the actors run again",
        lambda: (
            run.restarts(f"{run.actors}_0") + run.restarts(f"{run.actors}_1") > before
            and [state for state, _ in run.slurm.states(run.actors)] == ["RUNNING"] * ACTORS
        ),
    )
    run.slurm.start_node(victim)
    run.learns_on("the loss of a node of actors")


def requeue_actor(run: Run) -> None:
    """Requeues the last actor, whose job has the number of the array. The others stay."""
    job, other = f"{run.actors}_{ACTORS - 1}", f"{run.actors}_0"
    before, before_of_other = run.restarts(job), run.restarts(other)
    run.slurm.run("scontrol", "requeue", job)
    run.wait_until(
        "the actor runs again",
        lambda: (
            run.restarts(job) > before
            and [state for state, _ in run.slurm.states(run.actors)] == ["RUNNING"] * ACTORS
        ),
    )
    if run.restarts(other) != before_of_other:
        raise RuntimeError("the requeue of an actor has requeued another one")
    run.learns_on("the requeue of an actor")


def wait_for_servers(run: Run, restarts: int) -> None:
    run.wait_until(
        "the servers run again",
        lambda: run.restarts(run.servers) > restarts and run.server_states() == {"RUNNING"},
    )


def requeue_servers(run: Run) -> None:
    """Requeues the heterogeneous job, whose shards save their data first."""
    before = run.restarts(run.servers)
    run.slurm.run("scontrol", "requeue", run.servers)
    wait_for_servers(run, before)
    run.learns_on("the requeue of the servers")


def kill_shard_node(run: Run) -> None:
    """Kills the node of the shards. They continue on the other node with the data of that one."""
    before = run.restarts(run.servers)
    victim = run.node_of("s0")
    # Slurm would choose the victim again as soon as it is back.
    other = next(node for node in PARTITIONS["shards"] if node != victim)
    killed = run.slurm.kill_node(victim)
    run.note(f"killed {killed} processes of {victim} (shards)")
    wait_for_servers(run, before)
    run.wait_until("the shards have announced their new node", lambda: run.node_of("s0") == other)
    run.note(f"the shards wait on {other} for the disk of {victim}")
    run.slurm.start_node(victim)
    run.learns_on("the loss of the node of the shards")
    if not run.options.local_shards:
        return
    home = (run.shared / "shards/s0/home").read_text()
    if not home.startswith(f"node {other} "):
        raise RuntimeError(f"the shard's data are not on its new node: {home}")


def kill_learner_node(run: Run) -> None:
    before = run.restarts(run.servers)
    victim = run.node_of("learner")
    killed = run.slurm.kill_node(victim)
    run.note(f"killed {killed} processes of {victim} (learner)")
    wait_for_servers(run, before)
    run.slurm.start_node(victim)
    run.learns_on("the loss of the node of the learner")


def preempt(run: Run, partition: str, job: str) -> None:
    """Submits a job with precedence that needs all nodes of a partition."""
    before = run.restarts(job)
    nodes = ",".join(PARTITIONS[partition])
    urgent = run.slurm.run(
        "sbatch",
        "--parsable",
        "--partition=urgent",
        "--exclusive",
        f"--nodelist={nodes}",
        f"--output={run.folder}/urgent.log",
        "--wrap=sleep 5",
    )
    run.wait_until(
        "the urgent job has run",
        lambda: {state for state, _ in run.slurm.states(urgent)} == {"COMPLETED"},
    )
    run.note(f"an urgent job has taken the nodes of the partition {partition}")
    if run.restarts(job) == before:
        raise RuntimeError(f"job {job} was not preempted")


def preempt_actors(run: Run) -> None:
    preempt(run, "actors", f"{run.actors}_0")
    run.learns_on("the preemption of the actors")


def preempt_servers(run: Run) -> None:
    preempt(run, "gpus", run.servers)
    run.learns_on("the preemption of the servers")


def reach_time_limit(run: Run) -> None:
    """Lets the servers come to their time limit, at which they queue themselves again."""
    before = run.restarts(run.servers)
    shown = run.slurm.run("scontrol", "show", "job", run.servers)
    found = re.search(r"RunTime=(\d+):(\d+):(\d+)", shown)
    assert found is not None
    minutes = int(found[1]) * 60 + int(found[2]) + 3
    for part in re.findall(r"JobId=(\d+)", shown):
        run.slurm.run("scontrol", "update", f"JobId={part}", f"TimeLimit={minutes}")
    wait_for_servers(run, before)
    if "stops: limit" not in (run.shared / "logs/servers.log").read_text():
        raise RuntimeError("the servers did not stop ahead of their time limit")
    run.learns_on("the time limit of the servers")


def launch_again(run: Run) -> None:
    """Ends the jobs, launches one time with roles that cannot start, and then the cluster again."""
    end(run)
    site = run.folder / "site.textproto"
    text = site.read_text()
    site.write_text(text + 'command: ["bash", "-c", "exit 2", "role"]\n')
    run.submit()
    run.wait_until("a mistake fails the servers", lambda: "FAILED" in run.server_states())
    run.wait_until("a mistake ends the actors", lambda: not is_active(run, run.actors))
    site.write_text(text)
    step = run.step()
    run.submit()
    run.learns_on("another launch")
    if run.step() < step:
        raise RuntimeError(f"the learner did not continue from step {step}")


def end(run: Run) -> None:
    """Ends all jobs, actors first."""
    run.slurm.run("scancel", run.actors)
    run.wait_until("the actors end", lambda: not is_active(run, run.actors))
    run.slurm.run("scancel", run.servers)
    run.wait_until("the servers end", lambda: not is_active(run, run.servers))


def is_active(run: Run, job: str) -> bool:
    ended = {"CANCELLED", "COMPLETED", "FAILED", "TIMEOUT"}
    return any(state not in ended for state, _ in run.slurm.states(job))
