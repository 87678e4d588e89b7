"""Makes the training runs of docs/learning.md: many programs, seeds and settings.

Each run has a folder. A second call continues the runs until each has trained for its minutes, so
hours can be spread over several calls. Prints Markdown tables of medians (and range) over the
seeds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys
from statistics import median

from binary import ROOT, make_parser, map_program, run_json
from training import add_run_options, train, train_all, trained_seconds, write_at_once

# Contended programs of eight families, none of them trivial for the greedy player.
CONTENDED = (
    "axial_2x256_b6x128",
    "bert_3x1024_b64x256",
    "dcn_v2_4_b8192",
    "dit_4x1024_b48x256",
    "gpt_4x1024_b16x512",
    "llama_prefill_3x2048_b4x1024",
    "resnet50_b64",
    "wavenet_10_b16x8192",
)

# Settings of `train --set` for each ablation.
SETTINGS: dict[str, tuple[str, ...]] = {
    "defaults": (),
    "4 simulations": ("search.simulations=4",),
    "50 simulations": ("search.simulations=50",),
    "no search": ("search.simulations=0",),
    "no windows": ("self_play.window_share=0",),
    "no reanalysis": ("self_play.reanalysed_share=0",),
    "no best games": ("learner.best_share=0",),
    "demonstrations": ("demonstration_seconds=3",),
}


@dataclasses.dataclass(frozen=True)
class Run:
    """One training run."""

    program: str
    setting: str
    seed: int
    folder: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Result:
    """Shares of the default's cycles that a run saves."""

    run: Run
    policy: float
    best: float
    greedy: float
    games: float


def program_file(chip: str, name: str) -> pathlib.Path:
    return ROOT / "workloads" / chip / f"{name}.program"


def go_on(run: Run, arguments: argparse.Namespace) -> None:
    """Trains until the run has trained for its minutes."""
    own = [
        *("--program", str(program_file(arguments.chip, run.program))),
        *("--threads", str(arguments.threads), "--seed", str(run.seed)),
    ]
    for setting in SETTINGS[run.setting]:
        own += ["--set", setting]
    train(arguments.binary, run.folder, arguments.minutes, *own)


def result_of(run: Run, binary: pathlib.Path) -> Result | None:
    """Returns the results of the run's last iterations; None before its first evaluation."""
    if not trained_seconds(run.folder):
        return None
    folder = str(run.folder)
    report = run_json(binary, "report", "--run", folder, "--output", f"{folder}/report")
    program = report["programs"][0]
    if "policy" not in program:
        return None
    return Result(run, program["policy"], program["best"], program["greedy"], report["games"])


def local_search(program: str, arguments: argparse.Namespace) -> float:
    """Returns the share of the default's cycles that ten seconds of local search save."""
    cache = arguments.output / arguments.chip / program / "local_search.json"
    if not cache.exists():
        path = program_file(arguments.chip, program)
        found = map_program(arguments.binary, path, "local_search", "10s")
        write_at_once(cache, json.dumps(found).encode())
    report = json.loads(cache.read_text())
    return 1 - float(report["total_cycles"]) / float(report["default_cycles"])


def spread(values: list[float]) -> str:
    """Returns the median, and the range if there are several values."""
    middle = f"{100 * median(values):z.2f} %"
    if len(values) == 1:
        return middle
    return f"{middle} ({100 * min(values):z.2f} to {100 * max(values):z.2f})"


def table(results: list[Result], arguments: argparse.Namespace) -> str:
    """Returns one row for each program and setting."""
    rows = [
        "| program | setting | greedy | final policy with search | best game | local search, 10 s "
        "| games |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for program in arguments.programs:
        for setting in arguments.settings:
            own = [r for r in results if r.run.program == program and r.run.setting == setting]
            if not own:
                continue
            games = median([r.games for r in own])
            rows.append(
                f"| {program} | {setting} | {100 * own[0].greedy:z.2f} % "
                f"| {spread([r.policy for r in own])} | {spread([r.best for r in own])} "
                f"| {100 * local_search(program, arguments):z.2f} % | {games:,.0f} |"
            )
    return "\n".join(rows)


def summary(results: list[Result]) -> str:
    """Counts the programs on which the median run wins, with the default settings."""
    own: dict[str, list[Result]] = {}
    for result in results:
        if result.run.setting == "defaults":
            own.setdefault(result.run.program, []).append(result)
    above_greedy = sum(median([r.policy for r in rs]) > rs[0].greedy for rs in own.values())
    above_default = sum(median([r.best for r in rs]) > 0 for rs in own.values())
    return (
        f"Of {len(own)} programs the final policy is above greedy on {above_greedy}, "
        f"the best game above the compiler's default on {above_default} (medians)."
    )


def parse_arguments() -> argparse.Namespace:
    parser = make_parser("learning-runs", __doc__)
    add_run_options(parser, seeds=3)
    parser.add_argument("--chip", default="tpu_v4i", help="default: tpu_v4i")
    parser.add_argument(
        "--programs",
        type=lambda text: tuple(text.split(",")),
        default=CONTENDED,
        help="separated by commas; default: " + ",".join(CONTENDED),
    )
    parser.add_argument(
        "--settings",
        type=lambda text: tuple(text.split(",")),
        default=("defaults",),
        help="separated by commas, of: " + ", ".join(SETTINGS) + "; default: defaults",
    )
    return parser.parse_args()


def check(arguments: argparse.Namespace) -> str | None:
    """Returns a fault of the arguments, or None."""
    for setting in arguments.settings:
        if setting not in SETTINGS:
            return f"--settings: no '{setting}', there are {', '.join(SETTINGS)}"
    for program in arguments.programs:
        if not program_file(arguments.chip, program).exists():
            return f"--programs: no {program_file(arguments.chip, program)}"
    if not arguments.binary.is_file():
        return f"no {arguments.binary}; build it or give --binary"
    return None


def main() -> int:
    arguments = parse_arguments()
    wrong = check(arguments)
    if wrong:
        print(f"learning-runs: {wrong}", file=sys.stderr)
        return 2
    folder = arguments.output / arguments.chip
    # Seed by seed, so that every program has a run if the command ends early.
    runs = [
        Run(
            program,
            setting,
            seed,
            folder / program / setting.replace(" ", "_") / str(seed),
        )
        for seed in range(arguments.seeds)
        for program in arguments.programs
        for setting in arguments.settings
    ]
    for run in runs:
        run.folder.parent.mkdir(parents=True, exist_ok=True)
    train_all(runs, go_on, arguments)
    results = [result for run in runs if (result := result_of(run, arguments.binary))]
    print(table(results, arguments))
    print()
    print(summary(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
