"""Tests of ladder.py with a made-up binary."""

from __future__ import annotations

import pathlib
import stat
import subprocess
import sys

import ladder
import pytest

# `variant` writes its arguments, and refuses an odd number of further layers. `simulate`, `bench`
# and `map` report numbers that depend on the length of the program file.
FAKE = """#!{python}
import json, os, pathlib, sys
if len(sys.argv) == 4:  # search_trace PROGRAM SEED SECONDS
    print(json.dumps(dict(seconds=0, games=1, cycles=900)))
    cycles = 496 + 49.6 * int(sys.argv[2])
    print(json.dumps(dict(seconds=1, games=2, cycles=cycles, decisions=40)))
    sys.exit(0)
command, flags = sys.argv[1], dict(zip(sys.argv[2:], sys.argv[3:]))
program = pathlib.Path(flags["--program"])
if command == "variant":
    if "--to-layers" in flags and (int(flags["--to-layers"]) - int(flags["--from-layers"])) % 2:
        sys.exit("variant: expected a multiple of 2")
    if flags.get("--to-layers") == "30":
        os.kill(os.getpid(), 9)
    print("variant: a warning", file=sys.stderr)
    pathlib.Path(flags["--output"]).write_text(" ".join(sys.argv[2:]))
    sys.exit(0)
size = len(program.read_text())
print(json.dumps(dict(instructions=100, bytes_accessed=10, total_cycles=1000 - size,
                      players=[dict(decisions=50)], unlimited_cycles=5, bound_cycles=10)))
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Two captured programs and a binary."""
    (tmp_path / "captured/tpu_v6e").mkdir(parents=True)
    (tmp_path / "captured/tpu_v6e/gpt_14x512_train.program").write_text("fourteen")
    (tmp_path / "captured/tpu_v6e/gpt_28x512_train.program").write_text("twenty-eight")
    binary = tmp_path / "binary"
    binary.write_text(FAKE.format(python=sys.executable))
    binary.chmod(binary.stat().st_mode | stat.S_IEXEC)
    return tmp_path


def run(folder: pathlib.Path, *flags: str) -> str:
    """Runs the script."""
    command = [sys.executable, ladder.__file__, "--binary", str(folder / "binary")]
    command += ["--trace", str(folder / "binary")]
    paths = ["--captured", str(folder / "captured"), "--output", str(folder / "out")]
    ran = subprocess.run([*command, *paths, *flags], check=True, capture_output=True, text=True)
    return ran.stdout


def test_captured_depths_are_copied_and_others_made_of_the_deepest_one(
    folder: pathlib.Path,
) -> None:
    out = run(folder, "--depths", "14", "56")
    assert (folder / "out/tpu_v6e/gpt_14x512_train.program").read_text() == "fourteen"
    made = (folder / "out/tpu_v6e/gpt_56x512_train.program").read_text()
    assert "--from-layers 28 --to-layers 56 --name gpt_56x512_train" in made
    assert "captured/tpu_v6e/gpt_28x512_train.program" in made
    assert "tpu_v6e/gpt_56x512_train: from 28 layers" in out


def test_each_program_is_there_with_a_quarter_of_the_memory(folder: pathlib.Path) -> None:
    run(folder, "--depths", "56")
    small = (folder / "out/tpu_v6e_25pct/gpt_56x512_train.program").read_text()
    assert "--fast-memory 0.25" in small
    assert "out/tpu_v6e/gpt_56x512_train.program" in small


def test_says_which_depths_cannot_be_made(folder: pathlib.Path) -> None:
    out = run(folder, "--depths", "7", "29")
    assert "gpt_7x512_train: not made: no less deep program is captured" in out
    assert "gpt_29x512_train: not made: variant: expected a multiple of 2" in out
    assert not (folder / "out/tpu_v6e/gpt_29x512_train.program").exists()


def test_a_depth_whose_command_dies_is_not_made(folder: pathlib.Path) -> None:
    out = run(folder, "--depths", "30")
    assert "gpt_30x512_train: not made: variant ended with status -9" in out


def test_check_states_differences_in_per_cent(folder: pathlib.Path) -> None:
    out = run(folder, "--depths", "14", "--check")
    row = next(line for line in out.splitlines() if line.startswith("| tpu_v6e | gpt_28x512"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[2:7] == ["14", "+0.00 %", "+0.00 %", "+0.00 %", "+0.00 %"]
    assert cells[7].startswith("-")  # the made-up cycles fall with the length of the file


def test_a_search_is_compared_with_everything_in_hbm(folder: pathlib.Path) -> None:
    out = run(folder, "--depths", "14", "--seconds", "1")
    # 992 cycles for everything in HBM, greedy and XLA's heuristic; local search takes 496, and no
    # mapping fewer than 10.
    cells = "100 | 50 | 40 | 0.00 % | 0.00 % | 50.00 % | 98.99 %"
    assert f"| tpu_v6e | gpt_14x512_train | {cells} |" in out


def test_several_seeds_have_a_median_and_a_range(folder: pathlib.Path) -> None:
    out = run(folder, "--depths", "14", "--seconds", "1", "--seeds", "3", "--jobs", "2")
    cells = "100 | 50 | 40 | 0.00 % | 0.00 % | 45.00 % (40.00 to 50.00) | 98.99 %"
    assert f"| tpu_v6e | gpt_14x512_train | {cells} |" in out


def test_names_without_layers_are_refused(folder: pathlib.Path) -> None:
    (folder / "captured/tpu_v6e/unknown.program").touch()
    with pytest.raises(SystemExit, match="expected a name such as gpt_14x512"):
        ladder.find_captured(folder / "captured")
