"""Asks promtool for the answers of panels that a healthy run of one process does not test."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess

import pytest
from test_schema import FILES, panels

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool")

RULES = FILES[0].parents[2] / "prometheus" / "rules.yml"
VARIABLES = {
    "job": "m",
    "chip": ".*",
    "instance": ".*",
    "program": "p",
    "__rate_interval": "5m",
    "__range": "1h",
}
GAIN = "job_chip_program_player:mallocmuzero_gain:ratio"
TWO_CHIPS = {
    f'{GAIN}{{job="m",program="p",chip="{chip}",player="{player}"}}': str(value)
    for chip, player, value in (("v4", "policy", 0.25), ("v6", "policy", 0.5), ("v6", "best", 0.75))
}


def expressions(file: str, title: str) -> list[str]:
    """The expressions of the panels with this title, with a value for each variable."""
    (path,) = (each for each in FILES if each.stem == file)
    found = [panel for panel in panels(json.loads(path.read_text())) if panel["title"] == title]
    assert found, title
    texts = [target["expr"] for panel in found for target in panel["targets"]]
    for name, value in VARIABLES.items():
        texts = [re.sub(rf"\${name}\b", value, text) for text in texts]
    return texts


def check(folder: pathlib.Path, expression: str, series: dict[str, str], answer: object) -> None:
    """Fails unless the expression gives `answer`, a value for each set of labels.

    The series have the given values, in promtool's notation, for half an hour.
    """
    assert isinstance(answer, dict)
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": name, "values": value if "x" in value else f"{value}x40"}
                    for name, value in series.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": expression,
                        "eval_time": "35m",
                        "exp_samples": [
                            {"labels": labels, "value": value} for labels, value in answer.items()
                        ],
                    }
                ],
            }
        ],
    }
    file = folder / "test.yml"
    file.write_text(json.dumps(test))  # JSON is YAML
    ran = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_gains_on_two_chips_are_not_added(tmp_path: pathlib.Path) -> None:
    title = "Cycles saved against the compiler's default, by program"
    (expression,) = expressions("learning", title)
    answer = {
        '{name="p v4", player="policy"}': 0.25,
        '{name="p v6", player="policy"}': 0.5,
        '{name="p v6", player="best"}': 0.75,
    }
    check(tmp_path, expression, TWO_CHIPS, answer)


@pytest.mark.parametrize("fails", [True, False])
def test_answers_by_code_say_no_errors_only_if_there_are_none(
    tmp_path: pathlib.Path, fails: bool
) -> None:
    (expression,) = expressions("operations", "Answers by code")
    count = 'mallocmuzero_rpc_server_seconds_count{job="m",instance="l",code="%s"}'
    series = {count % "OK": "0+60x40"}
    if fails:
        series[count % "INTERNAL"] = "0+60x40"
    answer = {'{code="INTERNAL"}': 1} if fails else {'{code="no errors"}': 0}
    check(tmp_path, expression, series, answer)


def test_two_processes_of_a_learner_are_one_line(tmp_path: pathlib.Path) -> None:
    loss = 'mallocmuzero_learner_loss{job="m",head="value",instance="%s"}'
    (expression,) = expressions("learning", "Losses")
    series = {loss % "l0": "1", loss % "l1": "3"}
    check(tmp_path, expression, series, {'{head="value"}': 2})

    (expression,) = expressions("learning", "Cycles saved against everything in HBM")
    labels = 'job="m",program="p",chip="c",player="best",instance="%s"'
    gain = f"mallocmuzero_learner_return_ratio{{{labels}}}"
    series = {gain % "l0": "0.5", gain % "l1": "0.25"}
    check(tmp_path, expression, series, {'{chip="c", player="best"}': 0.5})


def test_the_weights_of_programs_are_those_of_the_process_that_actors_ask(
    tmp_path: pathlib.Path,
) -> None:
    (expression,) = expressions("learning", "Programs played most")
    labels = 'job="m",program="p",chip="c",instance="%s"'
    weight = f"mallocmuzero_learner_program_weight_ratio{{{labels}}}"
    published = 'mallocmuzero_learner_published_step{job="m",instance="%s"}'
    series = {
        weight % "l0": "0.25",
        weight % "l1": "0.75",
        published % "l0": "20",
        published % "l1": "0",
    }
    check(tmp_path, expression, series, {'{program="p", chip="c"}': 0.25})


def test_while_nothing_is_inserted_there_is_no_turnover_and_no_reuse(
    tmp_path: pathlib.Path,
) -> None:
    series = {
        'mallocmuzero_replay_positions{job="m",instance="r"}': "1000",
        'mallocmuzero_replay_inserted_positions_total{job="m",instance="r"}': "1000",
        'mallocmuzero_replay_sampled_positions_total{job="m",instance="r"}': "0+60x40",
    }
    (expression,) = expressions("learning", "Turnover of the store")
    check(tmp_path, expression, series, {})
    drawn, _ = expressions("learning", "Reuse of samples")
    check(tmp_path, drawn, series, {})


def test_damaged_games_show_while_prometheus_reaches_no_actor(tmp_path: pathlib.Path) -> None:
    (expression,) = expressions("operations", "Games lost")
    damaged = 'mallocmuzero_replay_unreadable_items_total{job="m",instance="r"}'
    # 0.1 a minute, over an hour of which 35 minutes are there.
    check(tmp_path, f"{expression} > bool 3", {damaged: "0+0.1x40"}, {"{}": 1})
