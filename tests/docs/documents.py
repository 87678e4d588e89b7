"""Reads commands and code blocks from the documents, for the tests beside this file."""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The first word of a command that a test can check.
_FIRST = re.compile(
    r"(?:build/bin/)?mallocmuzero(?:-agent|-xla)?|scripts/[\w-]+|workloads/[\w-]+|cmake|\S*python3?"
)
# Arrows and columns of a diagram that names commands.
_ARROW = re.compile(r"-{4,}|->|\S {8,}[^#\s]")
_SEPARATORS = {"&&", "||", "|", ";", "&"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*")
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_SHELL_LANGUAGES = {"", "sh", "bash", "console"}
_MARK = re.compile(r'<!-- runs(?:: (\S+))?(?:, with "([^"]+)" for "([^"]+)")? -->')


def tracked_files() -> set[str]:
    """The paths of all tracked files, relative to the root of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {line for line in listed.splitlines() if (ROOT / line).exists()}


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced code block.

    Attributes:
        document, line: where the block begins.
        language: the word after the fence; may be empty.
        text: the lines between the fences.
        runs: whether a test runs the block in whole: the line before says `<!-- runs -->`.
        name: NAME of `<!-- runs: NAME -->`, the file that the block is for; empty without one.
        as_run: the text after the replacement that `<!-- runs, with "SHORT" for "LONG" -->` names.
    """

    document: str
    line: int
    language: str
    text: str
    runs: bool = False
    name: str = ""
    as_run: str = ""


@dataclasses.dataclass(frozen=True)
class Command:
    """A command in a document: its words, and whether it stands within a sentence."""

    document: str
    line: int
    words: tuple[str, ...]
    inline: bool = False

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: {' '.join(self.words)}"


def blocks(document: str) -> Iterator[Block]:
    """Yields the fenced code blocks of a document."""
    lines = (ROOT / document).read_text(encoding="utf-8").splitlines()
    start: int | None = None
    language = before = ""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith("```"):
            continue
        if start is None:
            start, language = number, line.strip().removeprefix("```")
            before = lines[number - 1] if number else ""
            continue
        mark = _MARK.fullmatch(before)
        text = "\n".join(lines[start + 1 : number]) + "\n"
        name, short, long = mark.groups("") if mark else ("", "", "")
        as_run = text.replace(long, short) if long else text
        yield Block(document, start + 1, language, text, mark is not None, name, as_run)
        start = None


def commands(document: str) -> Iterator[Command]:
    """Yields every command of a document that this repository could check."""
    for number, line, inline in _lines(document):
        if _ARROW.search(line):
            continue
        for words in split_commands(line):
            if _FIRST.fullmatch(words[0]):
                yield Command(document, number, words, inline)


def _lines(document: str) -> Iterator[tuple[int, str, bool]]:
    """Yields number, text and whether the text is within a sentence; joins continued lines."""
    fence: str | None = None
    lines = (ROOT / document).read_text(encoding="utf-8").splitlines()
    continued = ""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("```"):
            fence = None if fence is not None else text.removeprefix("```")
            continue
        if fence is None and not line.startswith("    ") and not continued:
            for code in _INLINE.findall(line):
                yield number, code, True
        elif fence is None or fence in _SHELL_LANGUAGES:
            if text.endswith("\\"):
                continued += text[:-1]
            else:
                yield number, continued + text, False
                continued = ""


def split_commands(line: str) -> Iterator[tuple[str, ...]]:
    """Yields the words of each command of a line, without prompt, variables and redirections."""
    lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|;&<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        words = list(lexer)
    except ValueError:  # an open quotation mark
        words = line.split()
    command: list[str] = []
    skip = False
    for word in [*words, ";"]:
        if word in _SEPARATORS:
            if command:
                yield tuple(command)
            command = []
        elif word in {">", "<", ">>"}:
            skip = True  # the file of a redirection
        elif skip:
            skip = False
        elif command or not _ASSIGNMENT.fullmatch(word):
            command.append(word)
