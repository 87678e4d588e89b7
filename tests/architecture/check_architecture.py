"""Checks that the sources include what docs/architecture.md says, and nothing else.

check_architecture.py prints one line for each include that the table of rooms does not list, for
each listed one that no source has, for each room without a row, and for a cycle of rooms. It exits
with 1 if there is any. --write writes the includes into the table; new rooms come last.
"""

from __future__ import annotations

import argparse
import sys

from rooms import (
    DOCUMENT,
    Rooms,
    find_cycle,
    is_test_support,
    read_includes,
    read_table,
    write_table,
)


def compare(table: Rooms, includes: Rooms) -> list[str]:
    """Returns the differences between the table and the sources, one line each."""
    problems = [f"{room}: has no row" for room in sorted(includes.keys() - table.keys())]
    problems += [f"{room}: has a row, but no sources" for room in table if room not in includes]
    for room in table.keys() & includes.keys():
        new, gone = includes[room] - table[room], table[room] - includes[room]
        problems += [f"{room}: includes {name}, which its row does not list" for name in new]
        problems += [f"{room}: lists {name}, which no source includes" for name in gone]
    for room, names in table.items():
        unknown = {name for name in names if name not in table and not is_test_support(name)}
        problems += [f"{room}: lists {name}, which has no row" for name in unknown]
    cycle = find_cycle(includes)
    if cycle:
        problems.append(f"cycle: {' -> '.join(cycle)}")
    return sorted(problems)


def main() -> int:
    """Checks the table or writes it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the includes into the table")
    arguments = parser.parse_args()
    text = DOCUMENT.read_text("utf-8")
    table, includes = read_table(text), read_includes()
    if arguments.write:
        order = [room for room in table if room in includes]
        order += sorted(includes.keys() - table.keys())
        table = {room: includes[room] for room in order}
        DOCUMENT.write_text(write_table(text, table), "utf-8")
    problems = compare(table, includes)
    for problem in problems:
        print(f"architecture: {problem}", file=sys.stderr)
    if problems:
        print("architecture: see docs/architecture.md, or run with --write", file=sys.stderr)
        return 1
    print(f"architecture: {len(table)} rooms include what docs/architecture.md lists")
    return 0


if __name__ == "__main__":
    sys.exit(main())
