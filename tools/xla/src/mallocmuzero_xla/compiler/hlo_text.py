"""Removes source locations from HLO text: they hold paths of the machine that captured it."""

from __future__ import annotations

import re

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")

# A table runs from its title line to the next blank line.
_TABLE = re.compile(rf"^(?:{'|'.join(_TABLES)})\n(?:[^\n]+\n)*\n*", re.MULTILINE)

_STRING = r'"(?:[^"\\]|\\.)*"'

# Metadata holds strings, plain attributes and at most one level of braces.
_METADATA = re.compile(rf'(?:, )?metadata=\{{((?:[^"{{}}]|{_STRING}|\{{[^{{}}]*\}})*)\}}')

# A location to remove, or a string, whose content stays.
_LOCATION_OR_STRING = re.compile(
    rf"\s*\b(?:source_file={_STRING}"
    r"|(?:source_line|source_end_line|source_column|source_end_column|stack_frame_id)=\d+)"
    rf"|{_STRING}"
)


def strip_source_locations(text: str) -> str:
    """Returns `text` without stack-frame tables and without source attributes in metadata.

    op_name and everything else stays, and the result is still HLO text.
    """
    return _METADATA.sub(_strip_metadata, _TABLE.sub("", text))


def _strip_metadata(match: re.Match[str]) -> str:
    kept = _LOCATION_OR_STRING.sub(_keep_string, match.group(1)).strip()
    if not kept:
        return ""
    comma = ", " if match.group(0).startswith(", ") else ""
    return f"{comma}metadata={{{kept}}}"


def _keep_string(match: re.Match[str]) -> str:
    return match.group(0) if match.group(0).startswith('"') else ""
