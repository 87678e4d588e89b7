"""Measures the gains of placed modules over the corpus and writes the table of docs/placed.md.

`mallocmuzero optimize` compiles a placed module of every program. It starts from the captured
compiles, or with --lowered from the program's function, which also lets it try other limits of
scoped memory. Each program appends a record to a JSON Lines file; a second run continues where the
first stopped. Then the table is written.

The captures may come from another version of the compiler than the placed modules. --defaults
compiles each program by default with the present version, and the table compares with that. It
names the programs without such a default, and has no gain of them.
"""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import corpus
from mallocmuzero_xla.binary_path import binary_version, find_binary
from mallocmuzero_xla.budget import Budget, parse_duration
from mallocmuzero_xla.captures.capture import lower_job
from mallocmuzero_xla.chips import find_chip
from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.environment import compiler_library
from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.processes import run_with_this_process

BEGIN = "<!-- table of bench/compiler/placed.py: begin -->"
END = "<!-- table of bench/compiler/placed.py: end -->"
RESULTS = corpus.ROOT / "docs/results"
CAPTURED, LOWERED = RESULTS / "placed.jsonl", RESULTS / "placed_limits.jsonl"
DEFAULTS = RESULTS / "placed_defaults.jsonl"

Record = dict[str, Any]
Key = tuple[str, str]  # chip and program


def captured_arguments(entry: corpus.Entry, folder: pathlib.Path) -> list[str]:
    """Returns the flags for `optimize` with the captured compiles."""
    capture = entry.workloads / "captures" / entry.chip / entry.name
    all_hbm = entry.write_all_hbm(folder / "all_hbm.pb")
    words = ["--all-hbm", str(all_hbm), "--default", str(capture / "default.hlo.zst")]
    for sample in sorted(capture.glob("sample_*.hlo.zst")):
        words += ["--sample", str(sample)]
    return words


def lowered_arguments(entry: corpus.Entry, folder: pathlib.Path) -> list[str]:
    """Returns the flags for `optimize` with the lowered function."""
    chip = find_chip(entry.chip)
    with TrialCompiler(chip) as compiler:
        job = lower_job(entry.name, chip, compiler.lowered, entry.registry.resolve())
        compiler.lower(job, Budget())
        program = LoweredProgram.read(compiler.lowered)
    module, options = folder / "program.mlir", folder / "options.pb"
    module.write_bytes(program.module)
    options.write_bytes(program.compile_options)
    words = ["--hlo", str(module), "--compile-options", str(options)]
    return [*words, "--topology", program.topology_name]


def run_binary(*words: str) -> str:
    """Returns the output of a command; raises CaptureError with its last line of errors."""
    done = run_with_this_process([str(find_binary()), *words])
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise CaptureError((lines or [f"{words[0]}: ended with status {done.returncode}"])[-1])
    return done.stdout


def settings_of(arguments: argparse.Namespace) -> Record:
    """Returns what the result of `optimize` for a program depends on besides the compiler."""
    if arguments.rounds < 1:
        raise UsageError(f"--rounds is {arguments.rounds}: expected 1 or more")
    return {
        "budget_seconds": parse_duration(arguments.budget),
        "rounds": arguments.rounds,
        "commit": binary_version(find_binary())[1],
    }


def measure(entry: corpus.Entry, arguments: argparse.Namespace) -> Record:
    """Runs `optimize` on one program."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        describe = lowered_arguments if arguments.lowered else captured_arguments
        words = ["optimize", "--json", "--chip", entry.chip]
        words += ["--libtpu", str(compiler_library()), "--output", str(folder / "found")]
        words += ["--budget", f"{parse_duration(arguments.budget):g}s"]
        words += ["--rounds", str(arguments.rounds)]
        words += describe(entry, folder)
        report = json.loads(run_binary(*words))
    del report["library"]  # a path of this machine
    return {"budget": arguments.budget, "contended": entry.contended, "report": report}


def measure_default(entry: corpus.Entry) -> Record:
    """Compiles one program by default and prices the module."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        module = folder / "default.pb"
        words = ["compile", "--chip", entry.chip, "--libtpu", str(compiler_library())]
        words += [*lowered_arguments(entry, folder), "--module", str(module)]
        run_binary(*words)
        price = run_binary("simulate", "--hlo", str(module), "--hardware", entry.chip, "--json")
    return {"default_cycles": json.loads(price)["total_cycles"]}


def gain(cycles: float, report: Record) -> float:
    """Returns a gain in per cent of the compiler's default."""
    return 100 * (1 - cycles / float(report["default_cycles"]))


def percent(value: float) -> str:
    """Returns a number of per cent for a table."""
    return f"{value:z.2f}"


def compare_with(default_cycles: float, report: Record) -> None:
    """Puts another default into a report, which is then never slower than that default."""
    rounds = [float(entry["compiled_cycles"]) for entry in compiled_rounds(report)]
    report["default_cycles"] = default_cycles
    report["optimized_cycles"] = min([default_cycles, *rounds])


def by_overrides() -> dict[Key, float]:
    """Returns the gain of the override search in per cent; the best of several records."""
    gains: dict[Key, float] = {}
    for file in sorted(RESULTS.glob("tpu_*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record.get("kind") == "verify" and "verified" in record:
                key = record["chip"], record["program"]
                gains[key] = max(100 * float(record["verified"]["gain"]), gains.get(key, 0.0))
    return gains


def compiled_rounds(report: Record) -> list[Record]:
    """Returns the compiled rounds under the chip's own limit of scoped memory."""
    return [
        entry
        for entry in report.get("rounds", [])
        if "compiled_cycles" in entry and not entry.get("scoped_limit_bytes")
    ]


def best_round(report: Record) -> Record | None:
    """Returns the compiled round with the fewest cycles."""
    return min(compiled_rounds(report), key=lambda r: float(r["compiled_cycles"]), default=None)


def refusal(report: Record) -> str:
    """Returns the reason for which no round is compiled."""
    errors = [entry["error"] for entry in report.get("rounds", []) if entry.get("error")]
    return str(errors[-1])[:80] if errors else "no round"


def row(key: Key, captured: Record, asked: float | None, lowered: Record | None) -> str:
    """Returns one program's line of the table."""
    best = best_round(captured)
    promised = compiled = limited = limit = ""
    elsewhere = refusal(captured)
    if best is not None:
        promised = percent(gain(float(best["promised_cycles"]), captured))
        compiled = percent(gain(float(best["compiled_cycles"]), captured))
        elsewhere = str(best.get("accesses_elsewhere", 0))
    if lowered is not None and "default_cycles" in lowered:
        limited = percent(gain(float(lowered["optimized_cycles"]), lowered))
        mebibytes = float(lowered.get("best_scoped_limit_bytes", 0)) / (1 << 20)
        limit = f"{mebibytes:g}" if mebibytes else "own"
    overrides = "" if asked is None else percent(asked)
    cells = (*key, promised, compiled, elsewhere, overrides, limited, limit)
    return f"| {' | '.join(cells)} |"


def means(records: list[Record], asked: dict[Key, float], how: str) -> list[str]:
    """Returns a line for each chip: mean gains of contended programs, at least the default."""
    lines = []
    for chip in sorted({str(record["chip"]) for record in records}):
        pairs = [
            (gain(float(r["report"]["optimized_cycles"]), r["report"]), asked[chip, r["program"]])
            for r in records
            if r["chip"] == chip and r["contended"] and (chip, r["program"]) in asked
            if "default_cycles" in r["report"]
        ]
        if pairs:
            placed, overrides = (statistics.mean(column) for column in zip(*pairs, strict=True))
            lines.append(
                f"- {chip}, {len(pairs)} contended programs: {percent(placed)} % {how}, "
                f"{percent(overrides)} % by overrides."
            )
    return lines


def promises(records: list[Record]) -> list[str]:
    """Compares compiled with promised cycles, by the number of earlier rounds."""
    lines = []
    for number, name in enumerate(("first", "second", "third")):
        errors = []
        for record in records:
            rounds = compiled_rounds(record["report"])
            if len(rounds) > number:
                promised = float(rounds[number]["promised_cycles"])
                errors.append(100 * (float(rounds[number]["compiled_cycles"]) / promised - 1))
        if errors:
            kept = sum(error <= 0.2 for error in errors)
            median = statistics.median(abs(error) for error in errors)
            lines.append(
                f"- {name} placed module: {kept} of {len(errors)} programs take what was promised, "
                f"0.2 % more at most, or less; the median difference is {median:.2f} %."
            )
    return lines


def table(captured: list[Record], lowered: list[Record]) -> str:
    """Returns the text between the marks of the document."""
    asked = by_overrides()
    limits = {(r["chip"], r["program"]): r["report"] for r in lowered}
    header = (
        "| chip | program | promised, % | compiled, % | accesses elsewhere | by overrides, % "
        "| with limits, % | limit, MiB |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    rows = []
    for record in sorted(captured, key=lambda r: (r["chip"], r["program"])):
        key = record["chip"], record["program"]
        rows.append(row(key, record["report"], asked.get(key), limits.get(key)))
    summary = means(captured, asked, "placed") + means(lowered, asked, "placed, with limits")
    return "\n".join([*summary, *promises(captured), "", header, *rows])


def records_of(file: pathlib.Path) -> list[Record]:
    """Returns the records of a JSON Lines file; empty if there is no such file."""
    if not file.is_file():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def key_of(record: Record) -> Key:
    """Returns the chip and the program of a record."""
    return str(record["chip"]), str(record["program"])


def present_defaults(captured: list[Record], lowered: list[Record]) -> dict[Key, float]:
    """Returns the defaults by the compiler of the placed modules, in cycles.

    Raises UsageError if records name different versions of the compiler.
    """
    measured = records_of(DEFAULTS)
    named = [
        record["versions"] for record in (*captured, *lowered, *measured) if "versions" in record
    ]
    if any(versions != named[0] for versions in named):
        raise UsageError(f"the records of {RESULTS} are of different compilers: start new files")
    defaults = {key_of(record): float(record["default_cycles"]) for record in measured}
    for record in lowered:
        if "default_cycles" in record["report"]:
            defaults[key_of(record)] = float(record["report"]["default_cycles"])
    return defaults


def write_table(document: pathlib.Path) -> None:
    """Replaces the text between the two marks."""
    before, rest = document.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    captured, lowered = records_of(CAPTURED), records_of(LOWERED)
    defaults = present_defaults(captured, lowered)
    known = [record for record in captured if key_of(record) in defaults]
    for record in known:
        compare_with(defaults[key_of(record)], record["report"])
    without = [key_of(record) for record in captured if key_of(record) not in defaults]
    text = table(known, lowered)
    if without:
        left_out = ", ".join(" ".join(key) for key in without)
        text = f"- left out, because the present default is not known: {left_out}.\n{text}"
    document.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the corpus, then writes the table.

    Returns 0, 1 on failure, 2 on bad usage.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    corpus.add_arguments(parser)
    parser.add_argument("--lowered", action="store_true", help="build programs; try limits, too")
    parser.add_argument("--defaults", action="store_true", help="compile the defaults only")
    parser.add_argument("--budget", default="5m", help="of each program; default: 5m")
    parser.add_argument("--rounds", type=int, default=6, help="of each program; default: 6")
    parser.add_argument("--table", action="store_true", help="write the table and measure nothing")
    arguments = parser.parse_args(argv)
    return run_command("placed.py", lambda: _measure_and_write(arguments))


def _measure_and_write(arguments: argparse.Namespace) -> int:
    if arguments.defaults:
        corpus.record_each(corpus.chosen(arguments), DEFAULTS, measure_default)
    elif not arguments.table:
        output = LOWERED if arguments.lowered else CAPTURED
        one = functools.partial(measure, arguments=arguments)
        corpus.record_each(corpus.chosen(arguments), output, one, settings_of(arguments))
    write_table(corpus.ROOT / "docs/placed.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
