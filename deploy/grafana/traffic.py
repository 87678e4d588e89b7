"""Rows of the dashboard "operations" about the traffic between actors, shards and learner."""

from __future__ import annotations

from panels import Row, dashed, heatmap, lines, query
from queries import CHOSEN, CLIENT, JOB, quantile, rate

# Methods that stream for as long as a connection lives say nothing by their durations.
UNARY = f'{CHOSEN}, method!~".*[.](Insert|Sample|WatchCheckpoint|Watch)"'
FAILED = f'{CHOSEN}, code!="OK"'
NO_ERRORS = 'label_replace(vector(0), "code", "no errors", "", "")'


def flow() -> Row:
    return Row(
        "How fast does it go?",
        [
            lines(
                "Positions in and out",
                "Decisions that actors insert and that the learner draws, for all shards.",
                [
                    query(f"job:mallocmuzero_inserted_positions:rate5m{{{JOB}}}", "inserted"),
                    query(f"job:mallocmuzero_drawn_positions:rate5m{{{JOB}}}", "drawn"),
                ],
                "suffix: /s",
            ),
            lines(
                "Games stored by shard",
                "Games a second that each shard stores. Shards of one cluster get equal shares.",
                [
                    query(
                        rate("mallocmuzero_replay_inserted_items_total", CHOSEN, "instance"),
                        "{{instance}}",
                    )
                ],
                "suffix: /s",
            ),
            lines(
                "Play",
                "Decisions and simulations a second of all actors, as the learner counts them.",
                [
                    query(rate("mallocmuzero_learner_actor_decisions_total", JOB), "decisions"),
                    query(rate("mallocmuzero_learner_actor_simulations_total", JOB), "simulations"),
                ],
                "suffix: /s",
            ),
            lines(
                "Training",
                "Positions trained on a second, by process of the learner.",
                [
                    query(
                        rate("mallocmuzero_learner_rows_total", CHOSEN, "instance"), "{{instance}}"
                    )
                ],
                "suffix: rows/s",
            ),
            lines(
                "Prepared batches",
                "Batches that wait for the training thread. At 0 the learner waits: give it more "
                "threads, or more games.",
                [query(f"mallocmuzero_learner_prepared_batches{{{CHOSEN}}}", "{{instance}}")],
                "none",
            ),
            heatmap(
                "Rows of a network call",
                "How well actors fill their batches. Larger batches use a processor better.",
                [query(rate("mallocmuzero_actor_batch_rows_bucket", CHOSEN, "le"), "{{le}}")],
                "none",
                width=8,
            ),
        ],
    )


def store() -> Row:
    error = "mallocmuzero_replay_limiter_error_positions"
    buffer = "mallocmuzero_replay_limiter_buffer_positions"
    items = "mallocmuzero_replay_commit_items"
    return Row(
        "Replay: rate limiter, store and disk",
        [
            dashed(
                lines(
                    "Error of the rate limiter",
                    "Above 0, draws are ahead of inserts. At +1, draws wait for inserts: the "
                    "actors are too slow. At -1, inserts wait for draws: the learner is too slow.",
                    [
                        query(f"{error}{{{CHOSEN}}} / {buffer}{{{CHOSEN}}}", "{{instance}}"),
                        query("vector(1)", "draws wait"),
                        query("vector(-1)", "inserts wait"),
                    ],
                    "none",
                    least=None,
                ),
                "wait",
            ),
            lines(
                "Streams that wait",
                "Insert requests and sample streams that the shard holds back.",
                [
                    query(
                        f"mallocmuzero_replay_blocked_inserts{{{CHOSEN}}}", "{{instance}} inserts"
                    ),
                    query(
                        f"mallocmuzero_replay_blocked_samples{{{CHOSEN}}}", "{{instance}} samples"
                    ),
                ],
                "none",
            ),
            lines(
                "Open streams",
                "Actors and reanalysers each keep an insert stream to every shard.",
                [
                    query(
                        f"mallocmuzero_replay_insert_streams{{{CHOSEN}}}", "{{instance}} inserts"
                    ),
                    query(
                        f"mallocmuzero_replay_sample_streams{{{CHOSEN}}}", "{{instance}} samples"
                    ),
                ],
                "none",
            ),
            lines(
                "Stored positions",
                "Decisions that a draw chooses among. At max_positions or max_bytes, old games "
                "leave.",
                [query(f"mallocmuzero_replay_positions{{{CHOSEN}}}", "{{instance}}")],
                "short",
            ),
            lines(
                "Evicted games",
                "Games a second that leave because of the bounds of their shard.",
                [
                    query(
                        rate("mallocmuzero_replay_evicted_items_total", CHOSEN, "instance"),
                        "{{instance}}",
                    )
                ],
                "suffix: /s",
            ),
            lines(
                "Bytes",
                "Files of the data folder, the games in them, and the part of these in memory. "
                "Space for three times max_bytes is needed.",
                [
                    query(f"mallocmuzero_replay_disk_bytes{{{CHOSEN}}}", "{{instance}} files"),
                    query(f"mallocmuzero_replay_bytes{{{CHOSEN}}}", "{{instance}} games"),
                    query(
                        f"mallocmuzero_replay_memory_bytes{{{CHOSEN}}}", "{{instance}} in memory"
                    ),
                ],
                "bytes",
            ),
            lines(
                "Time to store games",
                "Time of a commit, which stores a group of games at once. It shows the speed of "
                "the disk.",
                [
                    query(quantile(0.5, "mallocmuzero_replay_commit_seconds", CHOSEN), "p50"),
                    query(quantile(0.99, "mallocmuzero_replay_commit_seconds", CHOSEN), "p99"),
                ],
                "s",
            ),
            lines(
                "Games in one commit",
                "The mean size of a group. Groups grow when games arrive faster than the disk "
                "takes them.",
                [
                    query(
                        f"{rate(f'{items}_sum', CHOSEN, 'instance')} / "
                        f"({rate(f'{items}_count', CHOSEN, 'instance')} > 0)",
                        "{{instance}}",
                    )
                ],
                "none",
            ),
            lines(
                "Remembered ids",
                "Ids of evicted games, at 72 bytes each. A late second insert of a remembered game "
                "changes nothing.",
                [query(f"mallocmuzero_replay_remembered_ids{{{CHOSEN}}}", "{{instance}}")],
                "short",
            ),
        ],
    )


def connections() -> Row:
    return Row(
        "Actors: spools, weights and connections",
        [
            lines(
                "Spools",
                "Games that no shard has acknowledged: the sum over all actors, and the ten "
                "fullest spools. An actor whose spool is full stops playing.",
                [
                    query(f"sum (mallocmuzero_replay_client_spooled_bytes{{{JOB}}})", "all"),
                    query(
                        f"topk(10, mallocmuzero_replay_client_spooled_bytes{{{CHOSEN}}})",
                        "{{instance}}",
                    ),
                ],
                "bytes",
            ),
            lines(
                "Actors connected to each shard",
                "The share of the actors and reanalysers with an open insert stream.",
                [
                    query(
                        f"avg by (shard) ({CLIENT}_insert_stream_connected{{{JOB}}})",
                        "{{shard}}",
                    )
                ],
                "percentunit",
                most=1,
            ),
            lines(
                "Lost streams",
                "Streams a second that were open and ended.",
                [
                    query(
                        rate(
                            "mallocmuzero_replay_client_lost_insert_streams_total", CHOSEN, "shard"
                        ),
                        "inserts to {{shard}}",
                    ),
                    query(
                        rate(
                            "mallocmuzero_replay_client_lost_sample_streams_total", CHOSEN, "shard"
                        ),
                        "draws from {{shard}}",
                    ),
                ],
                "suffix: /s",
            ),
            lines(
                "Policy lag",
                "Updates that the weights in use are behind the newest known.",
                [
                    query(
                        f"quantile(0.5, mallocmuzero_actor_policy_lag_updates{{{CHOSEN}}})",
                        "median",
                    ),
                    query(f"max (mallocmuzero_actor_policy_lag_updates{{{CHOSEN}}})", "oldest"),
                ],
                "none",
            ),
            lines(
                "Time to fetch weights",
                "The mean time from an actor's request until newer weights have arrived. Failed "
                "transfers count, too.",
                [
                    query(
                        f"{rate('mallocmuzero_actor_fetch_seconds_total', CHOSEN)} / "
                        f"({rate('mallocmuzero_actor_fetches_total', CHOSEN)} > 0)",
                        "mean",
                    )
                ],
                "s",
            ),
            lines(
                "Weights sent and reports without an answer",
                "Bytes a second that the learner sends to actors, and reports a second that it did "
                "not answer.",
                [
                    query(rate("mallocmuzero_learner_fetched_bytes_total", JOB), "sent, bytes/s"),
                    query(
                        rate("mallocmuzero_actor_failed_reports_total", CHOSEN), "failed reports/s"
                    ),
                ],
                "short",
            ),
        ],
        closed=True,
    )


def calls() -> Row:
    seconds = "mallocmuzero_rpc_server_seconds"
    return Row(
        "Calls between the processes",
        [
            lines(
                "Calls",
                "Calls a second that shards and the learner answer, by method.",
                [query(rate(f"{seconds}_count", CHOSEN, "method"), "{{method}}")],
                "suffix: /s",
            ),
            lines(
                "Failing calls",
                "The share of calls with an error. Cancelled calls, NOT_FOUND and UNAVAILABLE do "
                "not count: all are normal. UNAVAILABLE comes from a process that stops or is "
                "drained.",
                [query(f"job_method:mallocmuzero_rpc_errors:ratio_rate5m{{{JOB}}}", "{{method}}")],
                "percentunit",
            ),
            lines(
                "Answers by code",
                "Calls a second by status code, without OK.",
                [
                    query(
                        f"{rate(f'{seconds}_count', FAILED, 'code')} or on () {NO_ERRORS}",
                        "{{code}}",
                    )
                ],
                "suffix: /s",
            ),
            lines(
                "Duration, median",
                "Time from a call's arrival until its status is sent, without streams.",
                [query(quantile(0.5, seconds, UNARY, "method"), "{{method}}")],
                "s",
                width=12,
            ),
            lines(
                "Duration, 99 %",
                "99 of 100 calls take less than this time, without streams.",
                [query(quantile(0.99, seconds, UNARY, "method"), "{{method}}")],
                "s",
                width=12,
            ),
        ],
        closed=True,
    )
