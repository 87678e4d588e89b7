"""Removes source locations from HLO text: they name the paths of whoever captured it."""

from __future__ import annotations

import re

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")

# A table runs from its title line to the next blank line.
_TABLE = re.compile(rf"^(?:{'|'.join(_TABLES)})\n(?:[^\n]+\n)*\n*", re.MULTILINE)

# Metadata holds strings, plain attributes and at most one level of braces.
_METADATA = re.compile(r'metadata=\{((?:[^"{}]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*)\}')

_LOCATION = re.compile(
    r'\s*\b(?:source_file="(?:[^"\\]|\\.)*"'
    r"|(?:source_line|source_end_line|source_column|source_end_column|stack_frame_id)=\d+)"
)


def strip_source_locations(text: str) -> str:
    """Returns `text` without stack-frame tables and without source attributes in metadata.

    op_name and all else stays; the result is still HLO text.
    """
    return _METADATA.sub(_strip_metadata, _TABLE.sub("", text))


def _strip_metadata(match: re.Match[str]) -> str:
    return f"metadata={{{_LOCATION.sub('', match.group(1)).strip()}}}"
