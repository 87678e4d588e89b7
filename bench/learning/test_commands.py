"""Runs the commands of docs/learning.md on small inputs."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Callable

import pytest
from binary import ROOT


def run(script: str, *arguments: str) -> str:
    """Returns the output of the command."""
    command = [str(ROOT / "scripts" / script), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def train(done: Callable[[list[str], str], bool], script: str, *arguments: str) -> list[str]:
    """Goes on with the training of a command for longer and longer, up to twelve minutes a run.

    Returns the lines of its output when `done` finds enough training in them, given the minutes. A
    machine with much other work needs many seconds for one iteration.
    """
    for minutes in ("0.1", "0.2", "0.4", "0.8", "3", "12"):
        lines = run(script, *arguments, "--minutes", minutes).splitlines()
        if done(lines, minutes):
            return lines
    raise AssertionError("\n".join(["not enough training:", *lines]))


def count(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize(
    ("flags", "fault"),
    [
        (("--seeds", "0"), "--seeds: '0', a whole number of 1 or more expected"),
        (("--programs", "two"), "--programs: 'two', a whole number of 1 or more expected"),
        (("--minutes", "nan"), "--minutes: 'nan', a number of minutes above 0 expected"),
        (("/dev/null/runs",), "output: /dev/null/runs: cannot make this folder: Not a directory"),
    ],
)
def test_tiny_names_a_wrong_argument(
    tmp_path: pathlib.Path, flags: tuple[str, ...], fault: str
) -> None:
    output = () if flags[0].startswith("/") else (str(tmp_path),)
    command = [str(ROOT / "scripts" / "learning-tiny"), *output, *flags]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: argument {fault}\n")


@pytest.mark.parametrize("programs", ["8,0", "8,,16", "8,two"])
def test_curve_names_a_wrong_number_of_programs(tmp_path: pathlib.Path, programs: str) -> None:
    command = [str(ROOT / "scripts" / "learning-curve"), str(tmp_path), "--programs", programs]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    wrong = programs.split(",")[1]
    assert done.stderr.endswith(
        f"error: argument --programs: '{wrong}', a whole number of 1 or more expected\n"
    )


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_tiny_trains_and_tells_the_same_when_all_is_done(tmp_path: pathlib.Path) -> None:
    arguments = (str(tmp_path), "--seeds", "1", "--programs", "2")

    def is_all_done(lines: list[str], minutes: str) -> bool:
        # An iteration that a busy machine did not end in time is begun again.
        again = run("learning-tiny", *arguments, "--minutes", minutes).splitlines()
        return float(cells(lines[2])[-1]) >= 1 and again == lines

    table = train(is_all_done, "learning-tiny", *arguments)
    seed, optimal, gap, best, greedy_gap, _ = cells(table[2])
    assert seed == "0"
    assert optimal in ("0 of 2", "1 of 2", "2 of 2")
    assert int(best) >= int(optimal.split()[0])
    assert float(gap.split()[0]) >= 0
    assert float(greedy_gap.split()[0]) > 0


def test_runs_of_two_sittings_are_one_run(tmp_path: pathlib.Path) -> None:
    program = "gpt_4x1024_b16x512"
    arguments = (str(tmp_path), "--seeds", "1", "--threads", "1", "--programs", program)

    def games(lines: list[str]) -> int:
        return count(cells(lines[2])[-1])

    lines = train(lambda lines, _: games(lines) > 0, "learning-runs", *arguments)
    more = train(lambda more, _: games(more) > games(lines), "learning-runs", *arguments)
    first, second = cells(lines[2]), cells(more[2])
    assert first[:2] == second[:2] == [program, "defaults"]
    assert first[2] == second[2]  # greedy
    assert float(second[4].split()[0]) >= float(second[3].split()[0])  # best game and policy


def test_generalist_compares_every_program_that_is_asked_for() -> None:
    options = ("--split", "test", "--least-accesses", "1000", "--budget", "50ms", "--seeds", "1")
    lines = run("learning-generalist", *options).splitlines()
    rows = [cells(line) for line in lines[2 : lines.index("")]]
    assert rows
    assert all(len(row) == 5 and row[1] in ("default", "all in HBM") for row in rows)
    verdict = next(line for line in lines if line.startswith("The agent against local search"))
    assert sum(int(word.strip(".,")) for word in verdict.split() if word[0].isdigit()) == len(rows)


def test_curve_adds_programs_to_those_of_the_smaller_agent(tmp_path: pathlib.Path) -> None:
    arguments = (
        *(str(tmp_path), "--programs", "1,3", "--threads", "1"),
        *("--device", "cpu", "--demonstrations", "0.05"),
    )

    def updates(line: str) -> int:
        return count(cells(line)[1].split(", ")[3])

    def both_learn(lines: list[str], _: str) -> bool:
        return len(lines) == 5 and all(map(updates, lines[3:]))

    table = train(both_learn, "learning-curve", *arguments)
    assert cells(table[2])[0] == "shipped"
    learned = []
    for programs, line in zip((1, 3), table[3:], strict=True):
        name, _, own, validation, test = cells(line)
        assert name == str(programs)
        assert own.endswith(f" of {3 * programs}")  # with three sizes of fast memory
        assert validation.endswith(" of 27")
        assert test.endswith(" of 36")
        folder = tmp_path / f"{programs}_programs/workloads"
        learned.append({path.name for path in folder.glob("*/*.program")})
    assert learned[0] < learned[1]
    assert run("learning-curve", *arguments, "--minutes", "0.1").splitlines() == table
