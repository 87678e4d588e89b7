"""The commands of docs/operations.md, which the walks run as they stand there."""

from __future__ import annotations

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks_of(heading: str) -> list[str]:
    """Returns the code blocks of a section."""
    text = (ROOT / "docs/operations.md").read_text()
    _, found, rest = text.partition(f"\n{heading}\n")
    if not found:
        raise LookupError(f"docs/operations.md: no heading {heading!r}")
    level = heading.split()[0]
    blocks: list[str] = []
    inside = False
    for line in rest.splitlines():
        if line.startswith("```"):
            inside = not inside
            if inside:
                blocks.append("")
        elif inside:
            blocks[-1] += line + "\n"
        elif line.startswith("#") and len(line.split()[0]) <= len(level):
            break
    return blocks
