"""Makes docs/results*.md: runs `optimize` as a user calls it, and records each run.

    python bench/compiler/protocol.py --reduced --write   # 12 programs, an hour on two cores
    python bench/compiler/protocol.py --write             # everything, two evenings on two cores
    python bench/compiler/protocol.py --tpu7x --write     # six programs for TPU7x, half an hour
    python bench/compiler/protocol.py --third-party --write  # other projects, three hours
    python bench/compiler/protocol.py --list              # the runs and how long they take

Each run is one call of `optimize` in a process of its own, on two cores, with an empty cache. It
appends a record to a JSON Lines file, and the same command goes on after a stop. A file has records
of one commit, one compiler and one protocol: for others the command ends with an error. Several
machines share the runs with --share, and --merge joins their files.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.metadata
import pathlib
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import corpus
from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.binary_path import binary_version, find_binary
from mallocmuzero_xla.budget import parse_duration
from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.compiler.store import write_atomically
from mallocmuzero_xla.environment import compiler_versions
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.progress import LoopProgress
from protocol_picture import picture
from protocol_plan import MODES, PROTOCOL, Form, Run, entries_of, longest_minutes, runs_of
from protocol_records import Record, RecordFile, merge, read_records
from protocol_runner import Runner, core_pairs, do_all
from protocol_table import tables, written_into

DOCS = corpus.ROOT / "docs"
WHOLE = DOCS / "results/protocol.jsonl"
REDUCED = DOCS / "results-reduced/protocol.jsonl"
TPU7X = DOCS / "results-tpu7x/protocol.jsonl"
THIRD_PARTY = DOCS / "results-third-party/protocol.jsonl"

# Folders of which neither the binary nor the package is made.
_NOT_BUILT = ("docs", "bench", "tools", "tests", "workloads*", "scripts", "deploy", "*.md")

# The packages that the programs of other projects are made of.
_THIRD_PARTY_PACKAGES = ("flax", "keras", "keras-hub")


def made_by(packages: Sequence[str] = ()) -> dict[str, Any]:
    """Returns what makes the records of this run: protocol, commit and versions.

    `packages` are those that programs are made of. Raises UsageError if one of them is missing, or
    if the sources or the binary are not those of the commit.
    """
    if _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs"):
        raise UsageError("there are changes that no commit has: commit them, or undo them, first")
    commit = _git("rev-parse", "HEAD")
    version, built_from = binary_version(find_binary())
    _check_binary(find_binary(), built_from)
    versions = {**compiler_versions(), "mallocmuzero": str(version)}
    versions |= {name: _package_version(name) for name in packages}
    return {"protocol": PROTOCOL, "commit": commit, "versions": versions}


def _package_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise UsageError(
            f"{name} is not installed: workloads_third_party/README.md says how to install it"
        ) from error


def _check_binary(binary: pathlib.Path, built_from: str | None) -> None:
    others = [f":!{name}" for name in _NOT_BUILT]
    try:
        changed = _git("diff", "--name-only", str(built_from), "HEAD", "--", ".", *others)
    except UsageError as error:
        raise UsageError(f"{binary} is from commit {built_from}: build it again") from error
    if changed:
        raise UsageError(
            f"{binary} is from commit {built_from}, and since then {changed.splitlines()[0]} has "
            f"changed: build it again"
        )


def _git(*words: str) -> str:
    line = ["git", "-C", str(corpus.ROOT), *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UsageError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def chosen_runs(arguments: argparse.Namespace) -> list[Run]:
    """Returns the runs that the flags choose, in order.

    Raises UsageError if there are none.
    """
    entries = entries_of(Binary().corpus(workloads_of(arguments)))
    form = Form(
        reduced=arguments.reduced,
        uncontended=arguments.uncontended,
        every_mode=arguments.every_mode,
        tpu7x=arguments.tpu7x,
        third_party=arguments.third_party,
    )
    runs = [
        run
        for run in runs_of(entries, form)
        if run.entry.chip in (arguments.chip or [run.entry.chip])
        and run.mode.name in (arguments.mode or [run.mode.name])
        and any(fnmatch.fnmatchcase(run.entry.program, glob) for glob in arguments.only or ["*"])
    ]
    if arguments.budget is not None:
        seconds = parse_duration(arguments.budget)
        other = [Run(run.entry, run.mode, run.seed, seconds) for run in runs if run.mode.searches]
        runs = list({run.key: run for run in other}.values())
    index, count = parse_share(arguments.share)
    runs = runs[index - 1 :: count]
    if not runs:
        raise UsageError("no run matches --chip, --mode, --only, --budget and --share")
    return runs


def workloads_of(arguments: argparse.Namespace) -> pathlib.Path:
    """Returns the folder with the programs and their registry."""
    third_party = corpus.ROOT / "workloads_third_party"
    return third_party if arguments.third_party else pathlib.Path(arguments.workloads)


def parse_share(text: str) -> tuple[int, int]:
    """Parses "2/3", the second of three machines."""
    try:
        index, count = (int(word) for word in text.split("/"))
    except ValueError:
        index, count = 0, 0
    if not 1 <= index <= count:
        raise UsageError(f"--share {text}: expected I/N, such as 1/2 for the first of two machines")
    return index, count


def make_records(arguments: argparse.Namespace, output: pathlib.Path) -> list[Record]:
    """Does the runs that have no record yet; returns all records of the file."""
    runs = chosen_runs(arguments)
    pairs = core_pairs(arguments.workers)
    progress = LoopProgress()
    packages = _THIRD_PARTY_PACKAGES if arguments.third_party else ()
    with RecordFile(output, made_by(packages)) as file:
        if arguments.retry_failures:
            file.drop_failures({run.key for run in runs})
        known = file.keys()
        missing = [run for run in runs if run.key not in known]
        done = len(runs) - len(missing)

        def take(run: Run, record: Record) -> None:
            nonlocal done
            done += 1
            file.append(record)
            progress.note(f"[{done}/{len(runs)}] {described(run)}: {in_words(record)}")

        do_all(missing, pairs, Runner(workloads_of(arguments)), take)
        return file.records


def described(run: Run) -> str:
    """Returns a run in words."""
    budget = f", {run.seconds / 60:g} min, seed {run.seed}" if run.mode.searches else ""
    return f"{run.entry.chip} {run.entry.program}, {run.mode.name}{budget}"


def in_words(record: Record) -> str:
    """Returns the outcome of a run in words."""
    if record["status"] != "ok":
        return f"failed: {record['error']}"
    took = f"{record['wall_seconds']:.0f} s"
    if not MODES[record["mode"]].searches:
        return f"{record['cycles'] / 1e6:,.3f} Mcycles in {took}"
    return f"{1 - record['cycles'] / record['default_cycles']:.2%} less in {took}"


def write_document(records: Sequence[Record], document: pathlib.Path) -> None:
    """Writes the tables into the document, and the picture beside it."""
    text = written_into(document.read_text(encoding="utf-8"), records, picture_of(document))
    write_atomically(document.parent / picture_of(document), picture(records).encode("utf-8"))
    write_atomically(document, text.encode("utf-8"))


def picture_of(document: pathlib.Path) -> str:
    """Returns the place of a document's picture, relative to the document."""
    return f"{document.stem}/gains.svg"


def list_runs(arguments: argparse.Namespace) -> None:
    """Prints the runs, and the longest time of each mode and of all."""
    runs = chosen_runs(arguments)
    for run in runs:
        print(described(run))
    minutes = longest_minutes(runs)
    for name, longest in minutes.items():
        count = sum(run.mode.name == name for run in runs)
        print(f"{name}: {count} runs, {longest:.0f} min of two cores at most")
    print(f"all: {len(runs)} runs, {sum(minutes.values()) / 60:.1f} h of two cores at most")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, 1 if a run failed, 2 on bad usage."""
    arguments = _parser().parse_args(argv)
    return run_command("protocol.py", lambda: _run(arguments))


def _usual_output(arguments: argparse.Namespace) -> pathlib.Path:
    if arguments.third_party:
        return THIRD_PARTY
    if arguments.tpu7x:
        return TPU7X
    return REDUCED if arguments.reduced else WHOLE


def _run(arguments: argparse.Namespace) -> int:
    usual = _usual_output(arguments)
    output = arguments.output or usual
    document = arguments.document or DOCS / f"{usual.parent.name}.md"
    if arguments.list:
        list_runs(arguments)
        return 0
    if arguments.merge:
        records = merge(arguments.merge, output)
    elif arguments.table:
        if not output.is_file():
            raise UsageError(f"{output}: no such file of records")
        records = read_records(output)
    else:
        records = make_records(arguments, output)
    if arguments.write:
        write_document(records, document)
    elif arguments.table:
        print(tables(records, picture_of(document)))
    failed = [record for record in records if record["status"] != "ok"]
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    corpus.add_workloads(parser)
    add = parser.add_argument
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--reduced", action="store_true", help="12 programs, in an hour on two cores")
    form.add_argument(
        "--tpu7x", action="store_true", help="6 programs for TPU7x, in half an hour on two cores"
    )
    form.add_argument(
        "--third-party",
        action="store_true",
        help="test split of workloads_third_party, in three hours on two cores",
    )
    add("--uncontended", action="store_true", help="also programs that are not short of memory")
    add("--every-mode", action="store_true", help="all programs in all modes")
    add("--chip", action="append", default=[], help="only this chip; repeatable")
    add("--only", action="append", default=[], metavar="GLOB", help="only these programs")
    add("--mode", action="append", default=[], choices=MODES, help="only this mode; repeatable")
    add("--budget", metavar="TIME", help="another budget, for trying the command out")
    add("--output", type=pathlib.Path, metavar="FILE", help="the records; default: docs/results/")
    add("--workers", type=int, default=1, metavar="N", help="runs at once, two cores each")
    add("--share", default="1/1", metavar="I/N", help="the runs of machine I of N")
    add("--retry-failures", action="store_true", help="run chosen runs again that have failed")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="print the runs, and do none")
    what.add_argument("--merge", nargs="+", type=pathlib.Path, metavar="FILE", help="join files")
    what.add_argument("--table", action="store_true", help="print the tables, and do no run")
    add("--write", action="store_true", help="write tables and picture into the document")
    add("--document", type=pathlib.Path, metavar="FILE", help="default: a document of docs/")
    return parser


if __name__ == "__main__":
    sys.exit(main())
