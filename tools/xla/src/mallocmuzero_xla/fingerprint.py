"""Identifies a lowered function, whichever machine lowers it."""

from __future__ import annotations

import hashlib
import re

# Attributes that say that an argument or a result is on the only device. A function has them if an
# argument is committed to a device, as in a search, where all arguments are on a topology's device.
_ON_ONE_DEVICE = re.compile(
    r"(?:sdy\.sharding = #sdy\.sharding<@empty_mesh, \[[{}?, ]*\]>"
    r'|mhlo\.sharding = "\{(?:replicated|maximal device=0)\}")(?:, )?'
)
_MESH = re.compile(r"^ *sdy\.mesh @empty_mesh = .*\n", re.MULTILINE)
_NO_ATTRIBUTES = re.compile(r",? ?\{\}")


def fingerprint(text: str, devices: int) -> str:
    """Returns the SHA-256 of StableHLO text that has no source locations.

    For a function of one device, texts that differ only in whether arguments and results are
    committed to the device have the same fingerprint.
    """
    if devices == 1:
        text = _NO_ATTRIBUTES.sub("", _ON_ONE_DEVICE.sub("", _MESH.sub("", text)))
        text = text.replace(", }", "}")
    return hashlib.sha256(text.encode()).hexdigest()
