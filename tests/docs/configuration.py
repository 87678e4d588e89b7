"""Writes docs/configuration.md: every field of the configurations, from the comments of proto/.

configuration.py prints the document; --write writes it. Run it after a change of a configuration.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto/mallocmuzero/v1"
OUTPUT = ROOT / "docs/configuration.md"

# The messages that users write, with their readers. Messages within these follow by themselves.
ROOTS = (
    (
        "ClusterConfig",
        "`up`, `replay`, `learner`, `actor`, `status`, `shards`, `bench actors`, `launch slurm`, "
        "`dashboard`: `--config`",
    ),
    ("TrainConfig", "`train`: `--config`"),
    ("ServeConfig", "`serve`: `--config`"),
    ("SlurmSite", "`launch slurm`: `--site`"),
)

HEAD = """# Configurations

A configuration is a text protobuf file. This document lists every field. It is made from the
comments in [proto/](../proto/mallocmuzero/v1) by

    python3 tests/docs/configuration.py --write

A field that is missing has a default; only in a `TrainConfig` it is 0 or false. These documents
have the defaults, and explain what to set and when: [running a
cluster](operations.md#configuration), [training](training.md#every-setting) and
[Slurm](slurm.md#the-site-file). The defaults of [a server](serve.md#configure-it) are
[below](#serveconfig). A row without a meaning is described by the row above, or by its name.
"""

_FIELD = re.compile(
    r"(?P<label>repeated |optional )?(?P<type>[\w.]+) (?P<name>\w+) = \d+;(?:\s*// (?P<note>.*))?"
)
_VALUE = re.compile(r"(?P<name>[A-Z]\w*) = \d+;(?:\s*// (?P<note>.*))?")


@dataclasses.dataclass
class Entry:
    """A field of a message, or a value of an enum; `kind` is the field's type."""

    name: str
    kind: str
    comment: str
    repeated: bool = False


@dataclasses.dataclass
class Block:
    """A message or an enum."""

    name: str
    comment: str
    entries: list[Entry] = dataclasses.field(default_factory=list)
    is_enum: bool = False


def blocks_of(text: str) -> Iterator[Block]:
    """Yields the messages and enums of a proto file; a nested one comes before its message."""
    comment: list[str] = []
    stack: list[Block] = []
    for line in text.splitlines():
        line = line.strip()
        opening = re.fullmatch(r"(message|enum) (\w+) \{(\})?", line)
        if line.startswith("//"):
            comment.append(line.removeprefix("//").strip())
            continue
        if opening:
            stack.append(Block(opening[2], " ".join(comment), is_enum=opening[1] == "enum"))
            if opening[3]:
                yield stack.pop()
        elif line == "}" and stack:
            yield stack.pop()
        elif stack:
            entry = _entry(line, stack[-1].is_enum, " ".join(comment))
            if entry is not None:
                stack[-1].entries.append(entry)
        comment = []


def _entry(line: str, is_enum: bool, comment: str) -> Entry | None:
    match = (_VALUE if is_enum else _FIELD).match(line)
    if match is None:
        return None
    words = " ".join(part for part in (comment, match["note"]) if part)
    if is_enum:
        return Entry(match["name"], "", words)
    return Entry(match["name"], match["type"], words, match["label"] == "repeated ")


def all_blocks() -> dict[str, Block]:
    """Returns every message and enum of proto/ by name."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(PROTO.glob("*.proto")))
    return {block.name: block for text in texts for block in blocks_of(text)}


def document() -> str:
    """Returns the text of docs/configuration.md."""
    known = all_blocks()
    parts = [HEAD]
    done: set[str] = set()
    for root, readers in ROOTS:
        parts.append(f"\n## {root}\n\nRead by {readers}.\n")
        todo = [root]
        while todo:
            name = todo.pop(0)
            if name in done:
                continue
            done.add(name)
            block = known[name]
            if name != root:
                parts.append(f"\n### {name}\n")
            parts.append(_section(block, known))
            todo += [entry.kind for entry in block.entries if _is_message(entry, known)]
    return "".join(parts)


def _is_message(entry: Entry, known: dict[str, Block]) -> bool:
    return entry.kind in known and not known[entry.kind].is_enum


def _section(block: Block, known: dict[str, Block]) -> str:
    lines = [f"\n{block.comment}\n"] if block.comment else []
    lines.append("\n| field | type | meaning |\n| --- | --- | --- |\n")
    for entry in block.entries:
        lines.append(f"| `{entry.name}` | {_type(entry, known)} | {_meaning(entry, known)} |\n")
    return "".join(lines)


def _type(entry: Entry, known: dict[str, Block]) -> str:
    kind = entry.kind
    if _is_message(entry, known):
        kind = f"[{kind}](#{kind.lower()})"
    elif kind in known:
        kind = "name"
    return f"{kind}, repeated" if entry.repeated else kind


def _meaning(entry: Entry, known: dict[str, Block]) -> str:
    words = entry.comment
    if entry.kind in known and known[entry.kind].is_enum:
        for value in known[entry.kind].entries:
            if not value.name.endswith("_UNSPECIFIED"):
                explained = f": {value.comment}" if value.comment else ""
                words += f"{'<br>' if words else ''}`{value.name}`{explained}"
    return words.replace("|", "\\|")


def main() -> None:
    """Prints or writes the document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.relative_to(ROOT)}")
    if parser.parse_args().write:
        OUTPUT.write_text(document(), encoding="utf-8")
    else:
        print(document(), end="")


if __name__ == "__main__":
    main()
