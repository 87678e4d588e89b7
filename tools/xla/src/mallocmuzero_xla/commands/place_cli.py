"""Shell command place: writes a file with a placed executable of a function."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any

from mallocmuzero_xla.artefacts.artefact import SUFFIX
from mallocmuzero_xla.artefacts.placed_file import check_placed_output
from mallocmuzero_xla.budget import parse_duration
from mallocmuzero_xla.commands.command import (
    add_chip,
    add_function,
    add_json,
    add_keep_scoped_limit,
    add_topology,
    require_jit_options,
    whole_number,
)
from mallocmuzero_xla.commands.loop_cli import Commands, add_budget, check_artefact_output
from mallocmuzero_xla.compiler.builders import build_function
from mallocmuzero_xla.compiler.options_file import check_output
from mallocmuzero_xla.search.placing import place


def add_place(commands: Commands) -> None:
    """Adds the command place."""
    command = commands.add_parser(
        "place",
        help="make a placed executable of a function",
        description="Searches for a placement of the function's tensors, and makes an executable "
        "that has exactly this placement. It is for one version of jax and libtpu. The search "
        "needs no TPU.",
        epilog="Exit status: 0 if the file is written, even if it has the compiler's own "
        "placement; 1 a failure; 2 wrong usage.",
    )
    add_function(command)
    add_chip(command)
    add_topology(command)
    add_budget(command)
    command.add_argument(
        "--rounds",
        type=whole_number,
        metavar="N",
        help="The largest number of placed modules to compile. The default is 12.",
    )
    command.add_argument(
        "--threads",
        type=whole_number,
        metavar="N",
        help="The number of threads of the search. The default is one thread per core.",
    )
    add_keep_scoped_limit(command)
    add_json(command)
    command.add_argument(
        "--output",
        required=True,
        type=pathlib.Path,
        metavar="FILE",
        help="The file for `load_placed`. Its artefact, for `apply`, goes beside it, as FILE.json.",
    )
    command.set_defaults(run=_run_place)


def _run_place(arguments: argparse.Namespace) -> int:
    # Check the output before minutes of searching.
    check_output(arguments.output)
    artefact = arguments.output.with_name(arguments.output.name + SUFFIX)
    check_placed_output(arguments.output, artefact)
    check_artefact_output(artefact)
    parse_duration(arguments.budget)
    built = build_function(arguments.function)
    require_jit_options(built.jit_options, place)
    placed = place(
        built.fn,
        *built.args,
        chip=arguments.chip,
        budget=arguments.budget,
        topology=arguments.topology,
        rounds=arguments.rounds,
        threads=arguments.threads,
        scoped_limit=not arguments.keep_scoped_limit,
        **built.jit_options,
    )
    placed.save(arguments.output)
    if arguments.json:
        print(json.dumps(placed.report), flush=True)
    else:
        print(describe_placed(placed.report), file=sys.stderr)
        print(f"mallocmuzero-xla: wrote {arguments.output}", file=sys.stderr)
    return 0


def describe_placed(report: dict[str, Any]) -> str:
    """Returns an OptimizeReport as a table; all cycles are the compiler's estimates."""
    default, optimized = report.get("default_cycles"), float(report["optimized_cycles"])
    best = report.get("best_round")
    if default is None:
        rows = [("default", f"not compiled: {report.get('default_error') or 'no reason given'}")]
    else:
        rows = [("default", f"{float(default) / 1e6:,.3f} Mcycles")]
    rows.append(("placed", f"{optimized / 1e6:,.3f} Mcycles"))
    limit = float(report.get("best_scoped_limit_bytes", 0)) / (1 << 20)
    if limit:
        alone = " alone" if best is None else ""
        rows.append(("scoped memory", f"{limit:g} MiB{alone}"))
    if best is None and not limit:
        rows.append(("gain", "none: the compiler's own is kept"))
    elif default:
        rows.append(("gain", f"{1 - optimized / float(default):z.2%}"))
    for entry in report.get("rounds", []):
        number = entry.get("number", 0)
        mark = ", the best" if number == best else ""
        kind = "sample" if entry.get("is_sample") else "round"
        rows.append((f"{kind} {number}", f"{_round(entry)}{mark}"))
    if report.get("interrupted"):
        rows.append(("ended", "by an interrupt: the best so far"))
    if report.get("from_cache"):
        rows.append(("found", "earlier: from the cache; a larger budget searches again"))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def _round(entry: dict[str, Any]) -> str:
    limit = float(entry.get("scoped_limit_bytes", 0)) / (1 << 20)
    under = f"{limit:g} MiB of scoped memory: " if limit else ""
    promised = f"{under}promised {float(entry.get('promised_cycles', 0)) / 1e6:,.3f}"
    compiled = entry.get("compiled_cycles")
    if compiled is None:
        return f"{promised}, not compiled: {entry.get('error') or 'no reason given'}"
    return f"{promised}, compiled {float(compiled) / 1e6:,.3f} Mcycles"
