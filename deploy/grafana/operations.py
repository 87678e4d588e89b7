"""The dashboard "operations": is every process up, what does it wait for, and is anything lost."""

from __future__ import annotations

from panels import (
    GREEN,
    RED,
    TRANSPARENT,
    YELLOW,
    Json,
    Row,
    choice,
    dashboard,
    figure,
    lines,
    link_to,
    query,
    states,
    table,
    thresholds,
)
from queries import CHOSEN, JOB, LEARNING_UID, OPERATIONS_UID, rate
from traffic import calls, connections, flow, store

SERVERS = f'{JOB}, role=~"learner|replay"'
WAITS = {0: ("works", TRANSPARENT), 1: ("waits", YELLOW)}


def risen(metric: str) -> str:
    """Returns by how much a counter has risen over the time range shown."""
    return f"sum (increase({metric}{{{JOB}}}[$__range]))"


def overview() -> Row:
    none_is_good = thresholds((None, GREEN), (1, RED))
    return Row(
        "Is every process up?",
        [
            figure(
                "Answering processes",
                "The share of the processes of each role that answer Prometheus. Actors may come "
                "and go; shards and the learner must not.",
                [query(f"job_role:mallocmuzero_up:ratio{{{JOB}}}", "{{role}}")],
                "percentunit",
                colors=thresholds((None, RED), (0.5, YELLOW), (1, GREEN)),
                width=6,
                decimals=0,
            ),
            figure(
                "Firing alerts",
                "Alerts that fire now. The table beside has their names, and docs/operations.md "
                "says what to do.",
                [
                    query(
                        f'count (ALERTS{{{JOB}, alertstate="firing"}}) or vector(0)',
                        "alerts",
                    )
                ],
                "none",
                colors=none_is_good,
                width=3,
            ),
            figure(
                "Games",
                "Games a second that all actors play, as the learner counts them.",
                [query(f"job:mallocmuzero_games:rate5m{{{JOB}}}", "games/s")],
                "suffix: /s",
                width=3,
            ),
            figure(
                "Updates",
                "Updates of the weights a second.",
                [query(f"job:mallocmuzero_updates:rate5m{{{JOB}}}", "updates/s")],
                "suffix: /s",
                width=3,
            ),
            figure(
                "Oldest weights in use",
                "Updates that the actor with the oldest weights is behind the newest version. "
                "Above max_policy_lag an actor waits.",
                [query(f"max (mallocmuzero_learner_policy_lag_updates{{{JOB}}})", "lag")],
                "none",
                width=3,
            ),
            figure(
                "Since the last checkpoint",
                "The time of training that a crash of the learner loses. It is very large until "
                "the first checkpoint is saved.",
                [
                    query(
                        f"time() - max (mallocmuzero_learner_saved_timestamp_seconds{{{JOB}}})",
                        "age",
                    )
                ],
                "s",
                colors=thresholds((None, GREEN), (600, YELLOW), (3600, RED)),
                width=3,
            ),
            figure(
                "Games lost",
                "Games over the time range shown that are damaged on disk, or that a shard has "
                "refused for good. The row about losses has the causes.",
                [
                    query(
                        f"{risen('mallocmuzero_replay_unreadable_items_total')}"
                        # Prometheus need not reach the actors.
                        f" + ({risen('mallocmuzero_replay_client_refused_items_total')}"
                        " or vector(0))",
                        "games",
                    )
                ],
                "none",
                colors=none_is_good,
                width=3,
                decimals=0,
            ),
            states(
                "Shards and learner",
                "Whether each server answers Prometheus.",
                [query(f"up{{{SERVERS}}}", "{{role}} {{instance}}")],
                {0: ("away", RED), 1: ("up", GREEN)},
                width=8,
            ),
            lines(
                "Actors",
                "Actors and reanalysers that the learner has heard of within 5 minutes, and those "
                "of them that say they wait for something.",
                [
                    query(f"sum by (kind) (mallocmuzero_learner_actors{{{JOB}}})", "{{kind}}"),
                    query(f"sum (mallocmuzero_learner_actors_blocked{{{JOB}}})", "waiting"),
                ],
                "none",
            ),
            table(
                "Alerts",
                "Pending and firing alerts. Watchdog always fires: if it is missing, Prometheus "
                "evaluates no rules.",
                [
                    query(
                        'sum by (alertname, severity, alertstate) (ALERTS{job=~"$job|"})',
                        table=True,
                    )
                ],
                {"severity": "severity", "alertname": "alert", "alertstate": "state"},
                sort="severity",
                width=8,
            ),
        ],
    )


def waiting() -> Row:
    return Row(
        "What does each role wait for?",
        [
            states(
                "Shards",
                "What the streams of a shard wait for. rate_limiter and min_size are normal: "
                "inserts wait for draws, or draws for inserts.",
                [query(f"mallocmuzero_replay_blocked{{{CHOSEN}}}", "{{instance}}: {{on}}")],
                WAITS,
                width=8,
            ),
            states(
                "Learner",
                "What keeps the learner from its next update, or from saving. Short times of "
                "batches are normal.",
                [query(f"mallocmuzero_learner_blocked{{{CHOSEN}}}", "{{instance}}: {{on}}")],
                WAITS,
                width=8,
            ),
            lines(
                "Actors",
                "The share of the actors and reanalysers in which all threads wait, by reason. "
                "spool is normal while the rate limiter holds inserts back.",
                [query(f"job_on:mallocmuzero_actors_blocked:ratio{{{JOB}}}", "{{on}}")],
                "percentunit",
                stacked=True,
                most=1,
            ),
            time_by_state(
                "Time of the training thread",
                "The share of its time in each state. A busy learner spends most of it updating.",
                "mallocmuzero_learner_seconds_total",
            ),
            time_by_state(
                "Time of the threads that prepare batches",
                "drawing includes waiting for positions of the shards; making rebuilds "
                "observations.",
                "mallocmuzero_learner_batch_seconds_total",
            ),
            time_by_state(
                "Time of the threads that play",
                "waiting means waiting for the learner, weights, or room in the spool.",
                "mallocmuzero_actor_seconds_total",
            ),
        ],
    )


def time_by_state(title: str, description: str, metric: str) -> Json:
    whole = f"({rate(metric, CHOSEN)} > 0)"
    share = f"{rate(metric, CHOSEN, 'state')} / ignoring (state) group_left () {whole}"
    return lines(
        title, description, [query(share, "{{state}}")], "percentunit", stacked=True, most=1
    )


def losses() -> Row:
    kinds = {
        "damaged on disk": "mallocmuzero_replay_unreadable_items_total",
        "refused by a shard": "mallocmuzero_replay_client_refused_items_total",
        "refused by the learner (rows)": "mallocmuzero_learner_refused_rows_total",
        "drawn, not readable": "mallocmuzero_replay_client_invalid_items_total",
        "failed commits (held, tried again)": "mallocmuzero_replay_failed_commits_total",
        "ids forgotten early": "mallocmuzero_replay_ids_forgotten_early_total",
        "failed saves of checkpoints": "mallocmuzero_learner_failed_saves_total",
        "damaged transfers of weights": "mallocmuzero_actor_damaged_fetches_total",
    }
    lost = lines(
        "Losses by cause",
        "Events within the last 5 minutes. All should be 0.",
        [query(f"sum (increase({metric}{{{JOB}}}[5m]))", name) for name, metric in kinds.items()],
        "none",
        width=12,
    )
    return Row(
        "Is anything lost?",
        [
            lost,
            lines(
                "Sent again and known already",
                "Games sent again after a broken connection, and second inserts of games that a "
                "shard knew. Neither loses a game or stores one twice.",
                [
                    query(rate("mallocmuzero_replay_client_resent_items_total", JOB), "sent again"),
                    query(rate("mallocmuzero_replay_duplicate_items_total", JOB), "known already"),
                    query(
                        rate("mallocmuzero_replay_client_dropped_priorities_total", JOB),
                        "priorities not delivered",
                    ),
                ],
                "suffix: /s",
                width=12,
            ),
        ],
    )


def processes() -> Row:
    files = f"process_open_fds{{{CHOSEN}}} / process_max_fds{{{CHOSEN}}}"
    return Row(
        "Processes",
        [
            lines(
                "Memory",
                "Memory in RAM of the 20 largest processes. It should not grow.",
                [
                    query(
                        f"topk(20, process_resident_memory_bytes{{{CHOSEN}}})",
                        "{{role}} {{instance}}",
                    )
                ],
                "bytes",
            ),
            lines(
                "Processors",
                "Cores that each role uses.",
                [query(rate("process_cpu_seconds_total", CHOSEN, "role"), "{{role}}")],
                "suffix: cores",
            ),
            lines(
                "Starts within an hour",
                "Starts of processes, by role. Preempted actors start again; a server should not.",
                [
                    query(
                        f"sum by (role) (changes(process_start_time_seconds{{{CHOSEN}}}[1h]))",
                        "{{role}}",
                    )
                ],
                "none",
            ),
            lines(
                "Open files",
                "Open files and sockets, as a share of the limit (ulimit -n). The largest by role.",
                [query(f"max by (role) ({files})", "{{role}}")],
                "percentunit",
                most=1,
            ),
            lines(
                "Threads",
                "Threads of the largest process of each role.",
                [query(f"max by (role) (process_threads{{{CHOSEN}}})", "{{role}}")],
                "none",
            ),
            table(
                "Builds",
                "How many processes run which build. During an upgrade there are two.",
                [
                    query(
                        f"count by (role, version, commit) (mallocmuzero_build_info{{{JOB}}})",
                        table=True,
                    )
                ],
                {"role": "role", "version": "version", "commit": "commit", "Value": "processes"},
                sort="role",
                width=8,
            ),
        ],
        closed=True,
    )


def operations() -> Json:
    return dashboard(
        OPERATIONS_UID,
        "mallocMuZero: operations",
        "Is every process of a cluster up, what does it wait for, how fast is it, and is anything "
        "lost? Colours: red needs a person, yellow needs a look.",
        [
            choice("job", "cluster", "label_values(mallocmuzero_build_info, job)"),
            choice(
                "instance",
                "process",
                'label_values(mallocmuzero_build_info{job="$job"}, instance)',
                several=True,
            ),
        ],
        [link_to(LEARNING_UID, "Learning")],
        [overview(), waiting(), flow(), store(), losses(), connections(), calls(), processes()],
    )
