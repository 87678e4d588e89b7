"""What the corpus's programs gain when the mapping itself is compiled: docs/placed.md's table.

For every captured program `mallocmuzero optimize` places local search's mapping and has it compiled
as it stands. A record a program is appended to a JSON Lines file; a program that has one is left
out, so an interrupted run goes on where it stopped. Captures made with another version of the
compiler than the one at hand are placed by the present one; their default is the captured one's.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any

import zstandard

BEGIN = "<!-- table of bench/compiler/placed.py: begin -->"
END = "<!-- table of bench/compiler/placed.py: end -->"

Record = dict[str, Any]


def module_bytes(text_file: pathlib.Path) -> bytes:
    """The HloModuleProto of a captured text."""
    hlo = importlib.import_module("jaxlib._hlo")  # only to measure; the table needs no jaxlib
    with text_file.open("rb") as stream:
        text = zstandard.ZstdDecompressor().stream_reader(stream).read().decode()
    return bytes(hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


def measure(capture: pathlib.Path, arguments: argparse.Namespace) -> Record:
    """Runs `optimize` on one captured program."""
    chip, program = capture.parts[-2:]
    record: Record = {"chip": chip, "program": program, "budget": arguments.budget}
    with tempfile.TemporaryDirectory() as folder:
        all_hbm = pathlib.Path(folder) / "all_hbm.pb"
        all_hbm.write_bytes(module_bytes(capture / "all_hbm.hlo.zst"))
        command = [arguments.binary, "optimize", "--json", "--chip", chip]
        command += ["--all-hbm", str(all_hbm), "--default", str(capture / "default.hlo.zst")]
        for sample in sorted(capture.glob("sample_*.hlo.zst")):
            command += ["--sample", str(sample)]
        command += ["--output", folder, "--budget", arguments.budget]
        command += ["--rounds", str(arguments.rounds)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {**record, "error": done.stderr.strip().splitlines()[-1]}
    return {**record, "report": json.loads(done.stdout)}


def gain(cycles: float, default: float) -> float:
    return 100 * (1 - cycles / default)


def by_overrides(results: pathlib.Path) -> dict[tuple[str, str], tuple[float, bool]]:
    """By chip and program: what options gained, in per cent, and whether it is contended."""
    gains: dict[tuple[str, str], tuple[float, bool]] = {}
    for file in sorted(results.glob("tpu_*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record.get("kind") != "verify" or "verified" not in record:
                continue
            key = record["chip"], record["program"]
            best = max(100 * record["verified"]["gain"], gains.get(key, (0.0, False))[0])
            gains[key] = best, bool(record["contended"])
    return gains


def best_round(report: Record) -> Record | None:
    """The compiled round with the fewest cycles."""
    rounds = [r for r in report.get("rounds", []) if "compiled_cycles" in r]
    return min(rounds, key=lambda r: float(r["compiled_cycles"])) if rounds else None


def row(record: Record, overrides: tuple[float, bool] | None) -> str:
    report = record.get("report")
    asked = f"{overrides[0]:.2f}" if overrides else ""
    name = f"| {record['chip']} | {record['program']} |"
    if report is None:
        return f"{name} | | | {asked} | {record['error']} |"
    best = best_round(report)
    if best is None:
        refused = next((r["error"] for r in report.get("rounds", []) if r.get("error")), "no round")
        return f"{name} | | | {asked} | {refused[:80]} |"
    default = float(report["default_cycles"])
    promised = gain(float(best["promised_cycles"]), default)
    compiled = gain(float(best["compiled_cycles"]), default)
    elsewhere = best.get("accesses_elsewhere", 0)
    return f"{name} {promised:.2f} | {compiled:.2f} | {asked} | {elsewhere} elsewhere |"


def summary(records: list[Record], overrides: dict[tuple[str, str], tuple[float, bool]]) -> str:
    """Means over the contended programs of each chip, and how well promises are kept."""
    lines = []
    for chip in sorted({str(r["chip"]) for r in records}):
        pairs = []
        for record in records:
            key = record["chip"], record["program"]
            if (
                record["chip"] != chip
                or "report" not in record
                or not overrides.get(key, (0, 0))[1]
            ):
                continue
            report = record["report"]
            default = float(report["default_cycles"])
            pairs.append((gain(float(report["optimized_cycles"]), default), overrides[key][0]))
        if pairs:
            placed = statistics.mean(p for p, _ in pairs)
            asked = statistics.mean(a for _, a in pairs)
            lines.append(
                f"- {chip}, {len(pairs)} contended programs: {placed:.2f} % placed (the default "
                f"kept where nothing is better), {asked:.2f} % by overrides."
            )
    errors = []
    for record in records:
        best = best_round(record.get("report", {}))
        if best is not None:
            default = float(record["report"]["default_cycles"])
            errors.append(
                gain(float(best["compiled_cycles"]), default)
                - gain(float(best["promised_cycles"]), default)
            )
    if errors:
        kept = sum(e >= -0.2 for e in errors)
        median = statistics.median(abs(e) for e in errors)
        lines.append(
            f"- {kept} of {len(errors)} programs get what was promised less at most 0.2 points, or "
            f"more; the median difference is {median:.2f} points."
        )
    return "\n".join(lines)


def table(records: list[Record], results: pathlib.Path) -> str:
    overrides = by_overrides(results)
    rows = [row(r, overrides.get((r["chip"], r["program"]))) for r in records]
    header = "| chip | program | promised, % | compiled, % | by overrides, % | accesses |\n"
    header += "| --- | --- | ---: | ---: | ---: | --- |"
    return "\n".join([summary(records, overrides), "", header, *rows])


def write_table(document: pathlib.Path, text: str) -> None:
    """Replaces what stands between the two marks."""
    old = document.read_text(encoding="utf-8")
    before, rest = old.split(BEGIN)
    after = rest.split(END)[1]
    document.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--captures", type=pathlib.Path, default=root / "workloads/captures")
    parser.add_argument("--output", type=pathlib.Path, default=root / "docs/results/placed.jsonl")
    parser.add_argument("--document", type=pathlib.Path, default=root / "docs/placed.md")
    parser.add_argument("--binary", default=str(root / "build/bin/mallocmuzero"))
    parser.add_argument("--budget", default="5m", help="of each program; default: 5m")
    parser.add_argument("--rounds", type=int, default=4, help="of each program; default: 4")
    parser.add_argument("--only", nargs="*", help="programs as chip/name; default: all")
    parser.add_argument("--table", action="store_true", help="write the table and measure nothing")
    arguments = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")

    records: list[Record] = []
    if arguments.output.is_file():
        lines = arguments.output.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
    done = {(r["chip"], r["program"]) for r in records}
    captures = sorted(arguments.captures.glob("*/*"))
    if arguments.only:
        captures = [arguments.captures / name for name in arguments.only]
    for capture in [] if arguments.table else captures:
        if (capture.parts[-2], capture.parts[-1]) in done:
            continue
        records.append(measure(capture, arguments))
        with arguments.output.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(records[-1], sort_keys=True) + "\n")
        print(row(records[-1], None), file=sys.stderr, flush=True)
    records.sort(key=lambda r: (r["chip"], r["program"]))
    write_table(arguments.document, table(records, root / "docs/results"))


if __name__ == "__main__":
    main()
