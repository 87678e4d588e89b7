"""Runs solvers over a corpus and the closed loop on their mappings; resumes an earlier run.

    python bench/compiler/results.py --workloads workloads --captures workloads/captures \
        --registry workloads/zoo --output results.jsonl --markdown solvers.md

It appends records to a JSON Lines file: "solve" for a solver on a program, "verify" for a mapping
that was recompiled. A record is reused as long as its program file is the same; a record with an
error is made again. Beside the figures a record has the "budget", and for "verify" the "versions"
of the compiler. Some records lack these fields.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import functools
import hashlib
import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget, parse_duration
from mallocmuzero_xla.closed_loop import Loop, Plan
from mallocmuzero_xla.command import run_command
from mallocmuzero_xla.environment import compiler_versions, require_compiler
from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.saved_capture import open_capture
from mallocmuzero_xla.source import Source, capture_chip, lower_for
from mallocmuzero_xla.store import write_atomically
from mallocmuzero_xla.trial_compiler import TrialCompiler, trial_compiles_at_once
from results_table import render_results

SOLVERS = ("default", "greedy", "xla_like", "local_search", "portfolio")
_SPLITS = ("test", "validation", "train")


@dataclasses.dataclass(frozen=True)
class ResultsRequest:
    """The programs, solvers and budgets of a run.

    Attributes:
        workloads: folder of `<chip>/<program>.program`.
        captures: folder of `<chip>/<program>/`, as capture_zoo.py writes them.
        registry: folder of the package with PROGRAMS.
        output: the JSON Lines file; mappings are kept in `folder`.
        solvers: names of solvers, each of which runs on every program.
        solve_seconds: budget of one solver on one program.
        verify_seconds: budget of the closed loop on one mapping.
        trial_compiles, compiles: the most for one mapping.
        only: glob patterns of program names; empty for all programs.
        chips: names of chips; empty for all.
        every_solver: glob patterns of programs for which each solver's mapping is recompiled, not
            only the best.
        retry_fallbacks: whether to verify again where the default was kept.
    """

    workloads: pathlib.Path
    captures: pathlib.Path
    registry: pathlib.Path
    output: pathlib.Path
    solvers: tuple[str, ...] = SOLVERS
    solve_seconds: float = 60.0
    verify_seconds: float = 600.0
    trial_compiles: float = 400
    compiles: float = 6
    only: tuple[str, ...] = ()
    chips: tuple[str, ...] = ()
    every_solver: tuple[str, ...] = ()
    retry_fallbacks: bool = False

    @property
    def folder(self) -> pathlib.Path:
        """The folder of mappings: the output's path without its suffix."""
        stem = self.output.with_suffix("")
        return stem if stem != self.output else self.output.with_name(f"{stem.name}.mappings")


class Records:
    """The JSON Lines file. Of equal kind, program, chip and solver the last record counts."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._by_key: dict[tuple[str, ...], dict[str, Any]] = {}
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for number, line in enumerate(text.splitlines(), 1):
            self._take(line, number)
        if text and not text.endswith("\n"):
            with path.open("a", encoding="utf-8") as stream:
                stream.write("\n")

    def _take(self, line: str, number: int) -> None:
        try:
            record = dict(json.loads(line))
            self._by_key[_key(record)] = record
        except (ValueError, KeyError, TypeError) as error:
            # A killed run may leave half a line; its work is done again.
            LoopProgress().note(f"{self._path}:{number}: not a record, left out ({error!r})")

    def all(self) -> list[dict[str, Any]]:
        """Returns the records that count."""
        return list(self._by_key.values())

    def find(self, like: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the record of the same work on the same program file, unless it failed."""
        record = self._by_key.get(_key(like))
        same = record is not None and record["program_sha256"] == like["program_sha256"]
        return record if record is not None and same and "error" not in record else None

    def append(self, record: dict[str, Any]) -> None:
        """Adds a record to the file at once."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record, sort_keys=True) + "\n")
        self._by_key[_key(record)] = record


def _key(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(record[name]) for name in ("kind", "chip", "program", "solver"))


def run_results(
    request: ResultsRequest, progress: LoopProgress
) -> tuple[Records, list[dict[str, Any]]]:
    """Makes the missing records, program by program; Ctrl-C ends it between records.

    Returns all records, and the new records with errors.
    """
    binary = Binary()
    records = Records(request.output)
    programs = selected_programs(binary.corpus(request.workloads), request)
    failures = []
    for number, entry in enumerate(programs, 1):
        progress.note(f"[{number}/{len(programs)}] {entry['chip']} {entry['program']}")
        failures += _run_program(entry, request, binary, records, progress)
    return records, failures


def selected_programs(
    corpus: list[dict[str, Any]], request: ResultsRequest
) -> list[dict[str, Any]]:
    """Returns the selected programs by chip, contended ones first, held-out ones first."""
    entries = [
        {
            "program": item["report"]["program"],
            "chip": item["report"]["hardware"],
            "family": item["family"],
            "split": item["split"],
            "contended": bool(item["contended"]),
        }
        for item in corpus
    ]
    chosen = [
        entry
        for entry in entries
        if (not request.chips or entry["chip"] in request.chips)
        and _matches(entry["program"], request.only or ("*",))
    ]
    if not chosen:
        raise UsageError(f"no program of {request.workloads} matches --only and --chip")
    return sorted(
        chosen,
        key=lambda entry: (
            entry["chip"],
            not entry["contended"],
            _SPLITS.index(entry["split"]),
            entry["program"],
        ),
    )


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _run_program(
    entry: dict[str, Any],
    request: ResultsRequest,
    binary: Binary,
    records: Records,
    progress: LoopProgress,
) -> list[dict[str, Any]]:
    """Makes the records of one program; returns those with errors."""
    program = request.workloads / entry["chip"] / f"{entry['program']}.program"
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    folder = request.folder / entry["chip"] / entry["program"]
    folder.mkdir(parents=True, exist_ok=True)
    solved, failures = [], []
    for solver in request.solvers:
        record = {**entry, "kind": "solve", "solver": solver, "program_sha256": digest}
        mapping = folder / f"{solver}.mapping"
        found = records.find(record) if mapping.is_file() else None
        if found is None:
            record["budget"] = {"seconds": request.solve_seconds}
            found = {**record, **_solve(binary, program, mapping, request.solve_seconds, solver)}
            records.append(found)
        if "error" in found:
            progress.note(f"  {solver}: {found['error']}")
            failures.append(found)
        else:
            solved.append(found)
    if not solved:
        return failures
    winner = min(solved, key=lambda record: float(record["total_cycles"]))
    every = _matches(entry["program"], request.every_solver)
    for found in solved if every else [winner]:
        record = {**found, "kind": "verify", "winner": found is winner}
        known = records.find(record)
        if known is None or (request.retry_fallbacks and not known["verified"]["options"]):
            mapping = folder / f"{found['solver']}.mapping"
            record |= _made_with(request)
            record |= _verify(record, request, binary, program, mapping, progress)
            records.append(record)
            failures += [record] if "error" in record else []
    return failures


def _solve(
    binary: Binary, program: pathlib.Path, mapping: pathlib.Path, seconds: float, solver: str
) -> dict[str, Any]:
    try:
        reply = binary.solve(program, mapping, seconds, solver)
    except UsageError:
        raise
    except CaptureError as error:
        return {"error": str(error)}
    return {name: reply[name] for name in ("total_cycles", "default_cycles", "seconds")}


def _made_with(request: ResultsRequest) -> dict[str, Any]:
    """Returns the budget and versions, on which the outcome of the closed loop depends."""
    budget = {
        "seconds": request.verify_seconds,
        "looks": request.trial_compiles,
        "compiles": request.compiles,
    }
    return {"budget": budget, "versions": compiler_versions()}


def _verify(
    record: dict[str, Any],
    request: ResultsRequest,
    binary: Binary,
    program: pathlib.Path,
    mapping: pathlib.Path,
    progress: LoopProgress,
) -> dict[str, Any]:
    """Recompiles with one mapping; returns the fields to add to its record."""
    budget = Budget(request.verify_seconds, request.trial_compiles, request.compiles)
    try:
        capture = open_capture(request.captures / record["chip"] / record["program"])
        with TrialCompiler(capture_chip(capture), width=trial_compiles_at_once()) as compiler:
            lower_for(capture, Source(record["program"], request.registry), compiler, budget)
            solve = functools.partial(binary.solve, solver=record["solver"])
            # One folder for each solver: all loops use the same file names.
            own = mapping.with_suffix("")
            own.mkdir(exist_ok=True)
            plan = Plan(capture, program, mapping, own, solve)
            verified = Loop(plan, compiler, binary, budget, progress).run()
    except CaptureError as error:
        progress.note(f"  {record['solver']}: {error}")
        return {"error": str(error)}
    if verified.interrupted:
        raise KeyboardInterrupt
    fields = verified.to_json()
    for name in ("mapping", "program"):
        fields[name] = _recorded_path(fields[name], mapping.parent)
    return {"verified": fields}


def _recorded_path(path: str | None, folder: pathlib.Path) -> str | None:
    """Returns a path relative to the program's `folder`, valid on any machine."""
    if path is None:
        return None
    found = pathlib.Path(path)
    return str(found.relative_to(folder)) if found.is_relative_to(folder) else found.name


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, 1 on failure, 2 on bad usage."""
    arguments = _parser().parse_args(argv)

    def run() -> int:
        if not arguments.render_only:
            require_compiler()
        return _run_results(arguments)

    return run_command("results.py", run)


def _parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(description="Run solvers and the loop over a corpus.")
    for name in ("workloads", "captures", "registry"):
        command.add_argument(f"--{name}", type=pathlib.Path, metavar="FOLDER")
    command.add_argument(
        "--output", required=True, type=pathlib.Path, metavar="FILE", help="records, a line each"
    )
    command.add_argument(
        "--markdown",
        type=pathlib.Path,
        metavar="FILE",
        help="the tables; text above them and other chips' tables in FILE are kept",
    )
    command.add_argument(
        "--render-only",
        action="store_true",
        help="make the tables of the records there are; printed without --markdown",
    )
    command.add_argument("--solvers", default=",".join(SOLVERS), help="a comma-separated list")
    command.add_argument("--budget", default="60s", metavar="TIME", help="of a solver")
    command.add_argument("--verify-budget", default="10m", metavar="TIME", help="of a mapping")
    command.add_argument(
        "--max-trial-compiles", type=int, default=ResultsRequest.trial_compiles, metavar="N"
    )
    command.add_argument("--budget-compiles", type=int, default=ResultsRequest.compiles)
    for name, text in (
        ("--only", "program names; repeatable"),
        ("--chip", "chip names; repeatable"),
        ("--every-solver", "programs on which each solver's mapping is recompiled; repeatable"),
    ):
        what = "CHIP" if name == "--chip" else "GLOB"
        command.add_argument(name, action="append", default=[], metavar=what, help=text)
    command.add_argument(
        "--retry-fallbacks", action="store_true", help="verify again where the default was kept"
    )
    return command


def _run_results(arguments: argparse.Namespace) -> int:
    failures: list[dict[str, Any]] = []
    if arguments.render_only:
        if not arguments.output.is_file():
            raise UsageError(f"--output {arguments.output}: no such file of records")
        records = Records(arguments.output)
    else:
        folders = (arguments.workloads, arguments.captures, arguments.registry)
        if None in folders:
            raise UsageError("expected --workloads, --captures and --registry, or --render-only")
        request = ResultsRequest(
            *folders,
            output=arguments.output,
            solvers=tuple(name.strip() for name in arguments.solvers.split(",")),
            solve_seconds=parse_duration(arguments.budget),
            verify_seconds=parse_duration(arguments.verify_budget),
            trial_compiles=arguments.max_trial_compiles,
            compiles=arguments.budget_compiles,
            only=tuple(arguments.only),
            chips=tuple(arguments.chip),
            every_solver=tuple(arguments.every_solver),
            retry_fallbacks=arguments.retry_fallbacks,
        )
        records, failures = run_results(request, LoopProgress())
    if arguments.markdown is not None:
        _write_tables(arguments.markdown, records)
    elif arguments.render_only:
        print(render_results(records.all()), end="")
    for record in failures:
        print(f"results.py: {record['program']}: {record['error']}", file=sys.stderr)
    return 1 if failures else 0


def _write_tables(path: pathlib.Path, records: Records) -> None:
    earlier = (path.read_text(encoding="utf-8"),) if path.is_file() else ()
    write_atomically(path, render_results(records.all(), *earlier).encode("utf-8"))


if __name__ == "__main__":
    sys.exit(main())
