"""The dashboard "learning": does the agent get better, and if not, why."""

from __future__ import annotations

from panels import (
    Json,
    Row,
    choice,
    dashboard,
    dashed,
    figure,
    heatmap,
    lines,
    link_to,
    on_right_axis,
    query,
    table,
)
from queries import JOB, LEARNING_UID, OPERATIONS_UID, quantile, rate

CHOSEN = 'job="$job", chip=~"$chip", program=~"$program"'
GAIN = "job_chip_program_player:mallocmuzero_gain:ratio"

PLAYERS = {
    "self_play": "self-play",
    "policy": "policy",
    "best": "best game",
    "greedy": "greedy solver",
    "default": "compiler's default",
}


def either(metric: str, selector: str = JOB) -> str:
    """Returns a gauge of a cluster's learner, or of a run of `train`."""
    return (
        f"mallocmuzero_learner_{metric}{{{selector}}} or mallocmuzero_train_{metric}{{{selector}}}"
    )


def gains(selector: str) -> str:
    """Returns the mean gain of the chosen programs by player."""
    return f"avg by (player) ({GAIN}{{{selector}}})"


def ahead_of(reference: str) -> str:
    """Returns how far the policy is ahead of another player, by program."""
    return (
        f'{GAIN}{{{CHOSEN}, player="policy"}}'
        f' - ignoring (player) {GAIN}{{{CHOSEN}, player="{reference}"}}'
    )


def gain_figure(player: str, description: str) -> Json:
    return figure(
        PLAYERS[player].capitalize(),
        description,
        [query(f'avg ({GAIN}{{{CHOSEN}, player="{player}"}})', "gain")],
        "percentunit",
        decimals=2,
    )


def returns() -> Row:
    # A program may be there for several chips.
    named = f'label_join({GAIN}{{{CHOSEN}}}, "name", " ", "program", "chip")'
    return Row(
        "Does it get better?",
        [
            gain_figure(
                "policy",
                "Cycles saved against the compiler's default, mean of the chosen programs, in "
                "games without exploration (evaluated_share). Empty until the first such game.",
            ),
            gain_figure("self_play", "The same for recent games with exploration."),
            gain_figure("best", "The same for the best game of each program so far."),
            gain_figure("greedy", "The same for the greedy solver, which does not learn."),
            figure(
                "Updates",
                "Updates of the weights so far.",
                [
                    query(
                        f"max (mallocmuzero_learner_step{{{JOB}}}"
                        f" or mallocmuzero_train_updates_total{{{JOB}}})",
                        "updates",
                    )
                ],
                "short",
            ),
            figure(
                "Games",
                "Games that actors have played since the learner started.",
                [
                    query(
                        f"sum (mallocmuzero_learner_actor_games_total{{{JOB}}}"
                        f" or mallocmuzero_train_games_total{{{JOB}}})",
                        "games",
                    )
                ],
                "short",
            ),
            dashed(
                lines(
                    "Evaluation: cycles saved against the compiler's default",
                    "The mean of the chosen programs. Policy is the agent itself; it should rise "
                    "above the greedy solver and come close to the best game. The default is 0.",
                    [query(gains(CHOSEN), "{{player}}")],
                    "percentunit",
                    width=12,
                    least=None,
                ),
                "greedy|default",
            ),
            lines(
                "Policy by program, the ten worst against the default",
                "The programs of the chosen ones with the least gain of the policy. Below 0 the "
                "compiler's default is better.",
                [query(f"bottomk(10, {ahead_of('default')})", "{{program}} {{chip}}")],
                "percentunit",
                width=12,
                least=None,
            ),
            table(
                "Cycles saved against the compiler's default, by program",
                "The present gain of each player on each program and chip. Sort by a column to "
                "find programs that do not learn.",
                [query(f"sum by (name, player) ({named})", table=True)],
                {"name\\player": "program", **PLAYERS},
                units=dict.fromkeys(PLAYERS.values(), "percentunit"),
                pivot=("name", "player"),
                sort="program",
                width=12,
            ),
            lines(
                "Policy behind the best game, by program",
                "How much of the best known game the policy does not find, for the ten largest "
                "differences. A lasting difference means that the policy does not take the best "
                "games up.",
                [query(f"bottomk(10, {ahead_of('best')})", "{{program}} {{chip}}")],
                "percentunit",
                width=12,
                least=None,
            ),
        ],
    )


def losses() -> Row:
    return Row(
        "Do the networks learn?",
        [
            lines(
                "Losses",
                "The mean loss of the latest updates, by head. docs/training.md has the values "
                "that untrained networks start from.",
                [query(f"avg by (head) ({either('loss')})", "{{head}}")],
                "none",
                least=None,
            ),
            lines(
                "Value error",
                "The mean error of predicted values in units of the baseline. It starts near 1. If "
                "it stays there, the search follows noise.",
                [query(f"avg ({either('value_error')})", "error")],
                "none",
            ),
            on_right_axis(
                lines(
                    "Gradient and learning rate",
                    "The norm of the gradient before it is clipped. If it is above "
                    "max_gradient_norm most of the time, lower the learning rate.",
                    [
                        query(f"avg ({either('gradient_norm')})", "gradient norm"),
                        query(f"avg ({either('learning_rate')})", "learning rate"),
                    ],
                    "none",
                ),
                "learning rate",
                "sci",
            ),
            lines(
                "Updates a second",
                "The speed of training. Each version of the weights takes publish_updates updates.",
                [query(f"job:mallocmuzero_updates:rate5m{{{JOB}}}", "updates")],
                "suffix: /s",
            ),
            lines(
                "Games a second",
                "The speed of play.",
                [query(f"job:mallocmuzero_games:rate5m{{{JOB}}}", "games")],
                "suffix: /s",
            ),
            lines(
                "Positions trained on",
                "Rows of batches a second, for all processes of the learner.",
                [query(rate("mallocmuzero_learner_rows_total", JOB), "rows")],
                "suffix: rows/s",
            ),
        ],
    )


def freshness() -> Row:
    age = "mallocmuzero_learner_drawn_age_updates"
    quantiles = {"median": 0.5, "90 %": 0.9, "99 %": 0.99}
    return Row(
        "Are the games fresh?",
        [
            lines(
                "Age of drawn games",
                "Updates since the weights that the games were played with. Old games teach what "
                "the agent did earlier: store fewer positions, or add actors.",
                [query(quantile(share, age, JOB), name) for name, share in quantiles.items()],
                "suffix: updates",
            ),
            heatmap(
                "Age of drawn games, all",
                "How many drawn positions a second are how many updates old.",
                [query(rate(f"{age}_bucket", JOB, "le"), "{{le}}")],
                "none",
                width=8,
            ),
            lines(
                "Age of the weights in use",
                "Updates since the newest version was published, and updates that the weights of "
                "actors are behind it.",
                [
                    query(
                        f"max (mallocmuzero_learner_step{{{JOB}}})"
                        f" - max (mallocmuzero_learner_published_step{{{JOB}}})",
                        "since the newest version",
                    ),
                    query(f"avg (mallocmuzero_actor_policy_lag_updates{{{JOB}}})", "actors, mean"),
                    query(
                        f"max (mallocmuzero_actor_policy_lag_updates{{{JOB}}})", "actors, oldest"
                    ),
                ],
                "suffix: updates",
            ),
            dashed(
                lines(
                    "Reuse of samples",
                    "How often a position is drawn, over half an hour. The rate limiter keeps it "
                    "near samples_per_insert. If that is 0 there is no limit, and a low value "
                    "means that the learner is too slow.",
                    [
                        query(f"job:mallocmuzero_sample_reuse:ratio_rate30m{{{JOB}}}", "drawn"),
                        query(
                            f"avg (mallocmuzero_replay_limiter_samples_per_insert_ratio{{{JOB}}})",
                            "samples_per_insert",
                        ),
                    ],
                    "none",
                ),
                "samples_per_insert",
            ),
            lines(
                "New games",
                "Different games a second that positions were drawn from for the first time.",
                [query(rate("mallocmuzero_learner_games_seen_total", JOB), "games")],
                "suffix: /s",
            ),
            lines(
                "Turnover of the store",
                "The time in which actors insert as many games as are stored.",
                [
                    query(
                        f"sum (mallocmuzero_replay_items{{{JOB}}})"
                        f" / ({rate('mallocmuzero_replay_inserted_items_total', JOB)} > 0)",
                        "turnover",
                    )
                ],
                "s",
            ),
        ],
    )


def play() -> Row:
    # Actors follow the weights of process 0 of the learner, which alone publishes.
    weights = (
        f"mallocmuzero_learner_program_weight_ratio{{{CHOSEN}}}"
        f" and on (job, instance) mallocmuzero_learner_published_step{{{JOB}}} > 0"
    )
    return Row(
        "What is played?",
        [
            lines(
                "Programs played most",
                "The share of games that actors give to each program; a program with regret is "
                "played more often. The ten largest of the chosen programs.",
                [
                    query(
                        f"topk(10, max by (program, chip) ({weights}))",
                        "{{program}} {{chip}}",
                    )
                ],
                "percentunit",
            ),
            lines(
                "Searches",
                "Decisions a second that were searched, by role. Reanalysers search stored games "
                "again.",
                [query(rate("mallocmuzero_actor_searches_total", JOB, "role"), "{{role}}")],
                "suffix: /s",
            ),
            lines(
                "Priorities written back",
                "Priorities a second that shards have taken from the learner.",
                [query(rate("mallocmuzero_replay_updated_priorities_total", JOB), "priorities")],
                "suffix: /s",
            ),
            lines(
                "Scored versions",
                "Versions of the weights that got a score from evaluation games, in the last hour. "
                "None for long means that actors do not evaluate.",
                [
                    query(
                        f"sum (increase(mallocmuzero_learner_scored_versions_total{{{JOB}}}[1h]))",
                        "versions",
                    )
                ],
                "short",
            ),
        ],
        closed=True,
    )


def each_program() -> Row:
    one = 'job="$job", chip=~"$chip", program="$program"'
    return Row(
        "$program",
        [
            dashed(
                lines(
                    "Cycles saved against the compiler's default",
                    "All players of one program.",
                    [query(f"{GAIN}{{{one}}}", "{{player}} {{chip}}")],
                    "percentunit",
                    width=12,
                    least=None,
                ),
                "greedy|default",
            ),
            dashed(
                lines(
                    "Cycles saved against everything in HBM",
                    "The returns of the game, as the networks learn them.",
                    [
                        query(
                            f"max by (player, chip) ({either('return_ratio', one)})",
                            "{{player}} {{chip}}",
                        )
                    ],
                    "percentunit",
                    width=12,
                    least=None,
                ),
                "greedy|default",
            ),
        ],
        closed=True,
        repeat="program",
    )


def learning() -> Json:
    return dashboard(
        LEARNING_UID,
        "mallocMuZero: learning",
        "Does the agent get better on each program, do the networks learn, and are the games that "
        "they learn from fresh? Shows clusters and runs of train.",
        [
            choice("job", "cluster", "label_values(mallocmuzero_build_info, job)"),
            choice("chip", "chip", f"label_values({GAIN}{{{JOB}}}, chip)", several=True),
            choice(
                "program",
                "program",
                f'label_values({GAIN}{{{JOB}, chip=~"$chip"}}, program)',
                several=True,
            ),
        ],
        [link_to(OPERATIONS_UID, "Operations")],
        [returns(), losses(), freshness(), play(), each_program()],
    )
