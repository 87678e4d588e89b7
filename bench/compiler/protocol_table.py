"""Writes the records of the protocol into a document, between two marks."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from mallocmuzero_xla.errors import UsageError
from protocol_gains import Gain, Gains, Program, mean_of, median_of, program_of
from protocol_plan import BUDGETS, CHIPS, EVERYTHING, MODES, SHARED_MEMORY, TEN, Mode
from protocol_records import Record

BEGIN = "<!-- tables of bench/compiler/protocol.py: begin -->"
END = "<!-- tables of bench/compiler/protocol.py: end -->"


def written_into(document: str, records: Sequence[Record], picture: str) -> str:
    """Returns the document with the tables of the records between its marks.

    `picture` is the place of the picture of the gains, as the document names it.
    """
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise UsageError(f"expected one line {BEGIN} and one line {END} in the document")
    before, rest = document.split(BEGIN)
    return f"{before}{BEGIN}\n{tables(records, picture)}\n{END}{rest.split(END)[1]}"


def tables(records: Sequence[Record], picture: str) -> str:
    """Returns all tables as Markdown, and a link to the picture of the gains."""
    if not records:
        return "There are no records yet."
    gains = Gains(records)
    parts = [
        _made_by(gains),
        "### Gains by chip",
        _headlines(gains),
        f"![Mean gains by chip and mode]({picture})",
        *_compared(gains),
        *_by_budget(gains),
        *_programs(gains),
        *_failures(gains),
    ]
    return "\n\n".join(part for part in parts if part)


def _made_by(gains: Gains) -> str:
    first = gains.records[0]
    versions = ", ".join(f"{name} {value}" for name, value in sorted(first["versions"].items()))
    wall = sum(float(record["wall_seconds"]) for record in gains.records) / 3600
    busy = sum(float(record["processor_seconds"]) for record in gains.records) / 3600
    loads = [float(record["load"]) for record in gains.records]
    # The oldest records do not name it.
    processors = sorted({record.get("processor", "not recorded") for record in gains.records})
    lines = [
        f"- protocol {first['protocol']}, commit {first['commit'][:12]}, {versions}",
        f"- {len(gains.records)} runs took {wall:.1f} h, and {busy:.1f} h of processor time; the "
        f"median load of the machine before a run was {statistics.median(loads):.1f}",
        f"- processors: {', '.join(processors)}",
        f"- slower than the default: {len(gains.slower())}; failed: {len(gains.failures)}",
    ]
    return "\n".join(lines)


def _headlines(gains: Gains) -> str:
    columns = ["chip", "split", "programs", "gain", "median", "range", "estimates", "copies"]
    rows = []
    for chip in CHIPS:
        for split, test in (("train and validation", False), ("test", True)):
            mine = [
                median_of(gains.of(program, EVERYTHING))
                for program in gains.programs()
                if program[0] == chip and _is_test(gains, program) == test
            ]
            mine = [gain for gain in mine if gain.record["contended"]]
            if mine:
                rows.append([chip, split, str(len(mine)), *_headline(mine)])
    return _table([*columns, "roofline, not in the gain"], rows)


def _headline(mine: Sequence[Gain]) -> list[str]:
    known = [gain.known for gain in mine]
    means = [_percent(mean_of(mine, part)) for part in ("estimates", "copies", "roofline")]
    median = _percent(statistics.median(known))
    return [f"**{_percent(mean_of(mine, 'known'))}**", median, _range(known), *means]


def _is_test(gains: Gains, program: Program) -> bool:
    return str(gains.of(program, EVERYTHING)[0].record["split"]) == "test"


def _compared(gains: Gains) -> Iterable[str]:
    """Yields the table of all modes side by side, and their means by chip."""
    modes = [mode for mode in MODES.values() if any(mode in gains.modes(chip) for chip in CHIPS)]
    if len(modes) < 2:
        return
    rows = []
    for chip in CHIPS:
        programs = gains.compared(chip)
        for program in programs:
            cells = [_compared_cell(gains, program, mode) for mode in modes]
            rows.append([chip, program[1], _split(gains, program), *cells])
        if programs:
            means = []
            for mode in modes:
                mine = [median_of(found) for each in programs if (found := gains.of(each, mode))]
                means.append(_mean_cell(mine, len(programs)))
            rows.append([chip, "mean", "", *means])
    yield "### Baselines side by side"
    yield _table(["chip", "program", "split", *(mode.title for mode in modes)], rows)


def _mean_cell(mine: Sequence[Gain], programs: int) -> str:
    """Returns a mean, with its number of programs if some of them have failed."""
    if not mine:
        return ""
    mean = f"**{_percent(mean_of(mine, 'known'))}**"
    return mean if len(mine) == programs else f"{mean} of {len(mine)}"


def _compared_cell(gains: Gains, program: Program, mode: Mode) -> str:
    found = gains.of(program, mode)
    if found:
        return _percent(median_of(found).known)
    return "fails" if gains.failed(program, mode) else ""


def _by_budget(gains: Gains) -> Iterable[str]:
    budgets = [
        seconds
        for seconds in BUDGETS
        if all(gains.of(program, EVERYTHING, seconds) for program in TEN)
    ]
    if len(budgets) < 2:
        return
    rows = []
    for program in TEN:
        found = [gains.of(program, EVERYTHING, seconds)[0] for seconds in budgets]
        rows.append([*program, *(_percent(gain.known) for gain in found)])
    means = [
        mean_of([gains.of(program, EVERYTHING, seconds)[0] for program in TEN], "known")
        for seconds in budgets
    ]
    rows.append(["", "mean", *(f"**{_percent(mean)}**" for mean in means)])
    yield "### Gains against budget"
    yield _table(["chip", "program", *(f"{each / 60:g} min" for each in budgets)], rows)


def _programs(gains: Gains) -> Iterable[str]:
    columns = ["program", "split", "contended", "default, Mcycles", "gain", "range", "estimates"]
    columns += ["copies", "roofline", "result", "seconds", "processor seconds"]
    for chip in CHIPS:
        rows = [
            _program_row(gains.of(program, EVERYTHING))
            for program in gains.programs()
            if program[0] == chip
        ]
        if rows:
            yield f"### All programs on {chip}, {gains.budget / 60:g} minutes"
            yield _table(columns, rows)


def _program_row(found: Sequence[Gain]) -> list[str]:
    middle = median_of(found)
    record = middle.record
    known = [gain.known for gain in found]
    default = f"{record['default_cycles'] / 1e6:,.3f}{' †' if record['default_error'] else ''}"
    return [
        record["program"],
        record["split"],
        "yes" if record["contended"] else "no",
        default,
        _percent(middle.known),
        _range(known) if len(found) > 1 else "",
        *(_percent(share) for share in (middle.estimates, middle.copies, middle.roofline)),
        _result(record),
        f"{record['wall_seconds']:.0f}",
        f"{record['processor_seconds']:.0f}",
    ]


def _result(record: Record) -> str:
    if record["executable"] and record["chip"] not in SHARED_MEMORY:
        return "placed"
    if record["executable"]:
        return f"placed under {record['executable_limit_kib'] / 1024:g} MiB"
    options = record["options"]
    if not options:
        return "default"
    limit = options.get("xla_tpu_scoped_vmem_limit_kib")
    others = len(options) - (limit is not None)
    words = [f"{int(limit) / 1024:g} MiB"] if limit is not None else []
    words += [f"{others} other option{'s' * (others > 1)}"] if others else []
    return ", ".join(words)


def _failures(gains: Gains) -> Iterable[str]:
    lines = [f"- {_named(record)}: {record['error']}" for record in gains.failures]
    lines += [
        f"- {_named(record)}: no other run says what the default is"
        for record in gains.without_default
    ]
    if lines:
        yield "### Runs without a gain"
        yield "\n".join(lines)


def _named(record: Record) -> str:
    return f"{' '.join(program_of(record))}, {record['mode']}, seed {record['seed']}"


def _split(gains: Gains, program: Program) -> str:
    return str(gains.of(program, EVERYTHING)[0].record["split"])


def _range(values: Sequence[float]) -> str:
    return f"{_percent(min(values))} to {_percent(max(values))}"


def _percent(value: float) -> str:
    return f"{100.0 * value:z.2f} %"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---" if index < 1 else "---:" for index in range(len(columns))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [columns, rule, *rows])
