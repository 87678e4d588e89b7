"""Renders tables of solvers and recompiled mappings from the records of results.py."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

_HEAD = """# Results

What the solvers gain over XLA's own placement, by the simulator and after recompiling with the real
compiler. `bench/compiler/results.py` made this file.

All cycles are estimates of the TPU compiler (libtpu) and of a model of its copies
([cost-model.md](cost-model.md)), not measurements on a chip.

| column | meaning |
| --- | --- |
| default | Mcycles of the module that the compiler prints by default, by `simulate --hlo` |
| a solver | share of the default's cycles that its mapping saves by the simulator |
| recompiled | share saved by the module compiled with the overrides and settings of the best one |
| prediction | how far the cycles predicted before that compile were from what it gave |
| followed | share of the accessed bytes that the compiled module has where the mapping wants them |
| overrides | those given to the compiler, with settings, of these and those it refused |
| trial compiles, compiles | compiles that end once the placement is known; whole compiles |
| † | another mapping was recompiled: it saves 0.1 % more or less by the simulator |
"""

_OTHER = " †"

# Mappings whose predicted gains differ by less are alike.
_OTHER_GAIN = 1e-3

# The followed share says little below this predicted gain: the mapping then asks for almost
# nothing.
_LEAST_GAIN = 0.01


def render_results(records: Sequence[dict[str, Any]], earlier: str = _HEAD) -> str:
    """Returns the Markdown of all records: a summary and a table for each chip.

    `earlier` is the present document. Its sections of chips without a record, and all that is above
    and below the chips, are kept.
    """
    good = [record for record in records if "error" not in record]
    above, sections, below = "", dict[str, str](), ""
    for section in re.split(r"^(?=## )", earlier, flags=re.MULTILINE):
        title = section.partition("\n")[0].removeprefix("## ")
        if title.startswith("tpu"):
            sections[title] = section.rstrip()
        elif sections:
            below += section
        else:
            above += section
    for chip in {record["chip"] for record in good}:
        of_chip = [record for record in good if record["chip"] == chip]
        sections[chip] = _render_chip(chip, of_chip).rstrip()
    parts = [above.rstrip(), *(sections[chip] for chip in sorted(sections)), below.rstrip()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _render_chip(chip: str, records: list[dict[str, Any]]) -> str:
    solves = [record for record in records if record["kind"] == "solve"]
    verifies = [record for record in records if record["kind"] == "verify"]
    winners: dict[str, dict[str, Any]] = {}
    # A later run with fewer solvers marks a winner, too: the best of them comes last and counts.
    for record in sorted(verifies, key=lambda entry: float(entry["total_cycles"]), reverse=True):
        if record["winner"]:
            winners[record["program"]] = record
    solvers = list(dict.fromkeys(record["solver"] for record in solves))
    by_program: dict[str, dict[str, Any]] = {}
    for record in solves:
        by_program.setdefault(record["program"], {})[record["solver"]] = record
    rows = [
        _row(program, solved, solvers, winners.get(program))
        for program, solved in sorted(by_program.items())
    ]
    columns = ["program", "family", "split", "contended", "default", *solvers, "recompiled"]
    columns += ["prediction", "followed", "overrides", "trial compiles", "compiles"]
    contended = {program for program, solved in by_program.items() if _is_contended(solved)}
    text = f"## {chip}\n\n{_summary(winners, contended)}\n{_table(columns, rows)}"
    compared = [record for record in verifies if _has_rivals(record, verifies)]
    return text + (_render_every_solver(compared) if compared else "")


def _is_contended(solved: dict[str, dict[str, Any]]) -> bool:
    """Returns whether a program is contended, by the records of its solvers.

    Those of a recompile may be of an older import of the program.
    """
    return bool(next(iter(solved.values()))["contended"])


def _summary(by_program: dict[str, dict[str, Any]], contended_programs: set[str]) -> str:
    """Returns the figures over all programs that went through the compiler, by program."""
    winners = list(by_program.values())
    contended = [
        _gain(record) for program, record in by_program.items() if program in contended_programs
    ]
    everything = [_gain(record) for record in winners]
    compiles = [entry for record in winners for entry in record["verified"]["rounds"]]
    errors = [entry["predicted_cycles"] / entry["compiled_cycles"] - 1 for entry in compiles]
    worth = [
        _followed_share(record["verified"])
        for record in winners
        if record["verified"]["options"] and _predicted_gain(record) >= _LEAST_GAIN
    ]
    fallbacks = sum(not record["verified"]["options"] for record in winners)
    lines = [
        f"{len(winners)} programs recompiled, {len(contended)} of them contended.",
        f"- recompiled gain over the contended programs: mean {_percent(_mean(contended))}, "
        f"over all: mean {_percent(_mean(everything))}; best "
        f"{_percent(max(everything, default=0.0))}",
        f"- slower than the default: {sum(gain < 0 for gain in everything)}; "
        f"fallbacks to the default: {fallbacks}",
        f"- followed share of the {len(worth)} programs with {_LEAST_GAIN:.0%} or more "
        f"predicted gain: median {_percent(_median(worth))}",
        f"- prediction against compile, {len(errors)} compiles: median error "
        f"{_percent(_median([abs(error) for error in errors]))}",
    ]
    return "\n".join(lines) + "\n"


def _row(
    program: str,
    solved: dict[str, dict[str, Any]],
    solvers: list[str],
    winner: dict[str, Any] | None,
) -> list[str]:
    any_record = next(iter(solved.values()))
    gains = [_percent(_simulated_gain(solved[name])) if name in solved else "" for name in solvers]
    head = [program, any_record["family"], any_record["split"]]
    head += ["yes" if _is_contended(solved) else "no"]
    if winner is None:
        return [*head, _mega(any_record["default_cycles"]), *gains, *[""] * 6]
    recompiled, *others = _outcome(winner)
    recompiled += "" if _is_of(winner, solved.get(winner["solver"])) else _OTHER
    return [*head, _mega(winner["verified"]["default_cycles"]), *gains, recompiled, *others]


def _is_of(verify: dict[str, Any], solve: dict[str, Any] | None) -> bool:
    """Returns whether a recompiled mapping is as good, by the simulator, as the solver's."""
    return solve is not None and abs(_simulated_gain(verify) - _simulated_gain(solve)) < _OTHER_GAIN


def _outcome(record: dict[str, Any]) -> list[str]:
    verified = record["verified"]
    tried = len(verified["kept"]) + len(verified["dropped"])
    counts = [str(verified["looks"]), str(verified["compiles"])]
    if not verified["options"]:
        return ["default kept", "", _percent(_followed_share(verified)), f"0 of {tried}", *counts]
    error = verified["predicted_cycles"] / verified["optimized_cycles"] - 1
    kept = f"{len(verified['kept'])} of {tried}"
    followed = _percent(_followed_share(verified))
    return [_percent(_gain(record)), _percent(abs(error)), followed, kept, *counts]


def _followed_share(verified: dict[str, Any]) -> float:
    """Returns the share of the accessed bytes where the mapping wants them."""
    share = verified.get("followed_share")
    return float(verified["honoured_share"] if share is None else share)  # older records


def _has_rivals(record: dict[str, Any], verifies: list[dict[str, Any]]) -> bool:
    return len([other for other in verifies if other["program"] == record["program"]]) > 1


def _render_every_solver(verifies: list[dict[str, Any]]) -> str:
    """Returns the table of programs on which every solver's mapping was recompiled."""
    solvers = list(dict.fromkeys(record["solver"] for record in verifies))
    by_program: dict[str, dict[str, Any]] = {}
    for record in verifies:
        by_program.setdefault(record["program"], {})[record["solver"]] = record
    rows = [
        [program, *(_percent(_gain(found[name])) if name in found else "" for name in solvers)]
        for program, found in sorted(by_program.items())
    ]
    return f"\nRecompiled gain of every solver's mapping:\n\n{_table(['program', *solvers], rows)}"


def _gain(record: dict[str, Any]) -> float:
    verified = record["verified"]
    return 1.0 - float(verified["optimized_cycles"]) / float(verified["default_cycles"])


def _predicted_gain(record: dict[str, Any]) -> float:
    verified = record["verified"]
    return 1.0 - float(verified["predicted_cycles"]) / float(verified["default_cycles"])


def _simulated_gain(record: dict[str, Any]) -> float:
    return 1.0 - float(record["total_cycles"]) / float(record["default_cycles"])


def _mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100.0 * value:z.2f} %"


def _mega(cycles: float) -> str:
    return f"{cycles / 1e6:,.3f}"


def _table(columns: list[str], rows: Iterable[list[str]]) -> str:
    rule = ["---" if index < 1 else "---:" for index in range(len(columns))]
    lines = [columns, rule, *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
