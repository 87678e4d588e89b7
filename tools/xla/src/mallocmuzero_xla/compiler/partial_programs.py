"""Reads and writes the few protobuf messages of compiles in phases, without a protobuf library.

The messages are PjRtPartialProgramProto, which a phase takes and returns, the messages inside, and
CompileOptionsProto, to which compiler options are added.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator, Mapping

import zstandard

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}

# Fields of PjRtPartialProgramProto.
_PROGRAM, _FORMAT, _CONSUMERS, _NAME = 1, 2, 4, 6

# CompileOptionsProto.env_option_overrides, a map to OptionOverrideProto.
_OVERRIDES = 7
_KEY, _VALUE = 1, 2
_STRING, _BOOL, _INTEGER, _DOUBLE = 1, 2, 3, 4

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


@dataclasses.dataclass(frozen=True)
class PartialProgram:
    """What a phase returned.

    Attributes:
        kind: what it is, such as "dedup_hlo"; empty if the phase does not say.
        name: its name, such as "opt_hlo"; "isolated_hlo.KIND.HASH" for an instruction alone.
        body: the program without compression.
        serialized: all of it, for the next phase.
    """

    kind: str
    name: str
    body: bytes
    serialized: bytes

    @staticmethod
    def parse(serialized: bytes) -> PartialProgram:
        """Raises ValueError if the bytes are no such message."""
        found = {number: value for number, value in fields(serialized) if isinstance(value, bytes)}
        body = found.get(_PROGRAM, b"")
        if body.startswith(_ZSTD_MAGIC):
            body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        kind, name = (found.get(number, b"").decode() for number in (_FORMAT, _NAME))
        return PartialProgram(kind, name, body, serialized)


def first_program(module: bytes, phase: str) -> bytes:
    """Returns StableHLO as the program that `phase`, the first one, takes."""
    return _bytes_field(_PROGRAM, module) + _bytes_field(_CONSUMERS, phase.encode())


def message_in(message: bytes, number: int) -> bytes:
    """Returns a field of bytes; raises ValueError if there is none."""
    for found, value in fields(message):
        if found == number and isinstance(value, bytes):
            return value
    raise ValueError(f"the message has no field {number}")


def with_options(compile_options: bytes, options: Mapping[str, bool | int | float | str]) -> bytes:
    """Returns a serialized CompileOptionsProto with further compiler options."""
    entries = (
        _bytes_field(_KEY, name.encode()) + _bytes_field(_VALUE, _option(value))
        for name, value in options.items()
    )
    return compile_options + b"".join(_bytes_field(_OVERRIDES, entry) for entry in entries)


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields number and value of each field; raises ValueError where the message is damaged."""
    place = 0
    while place < len(message):
        key, place = _read_varint(message, place)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, place = _read_varint(message, place)
            yield number, value
            continue
        if wire == _BYTES:
            size, place = _read_varint(message, place)
        elif wire in _FIXED_BYTES:
            size = _FIXED_BYTES[wire]
        else:
            raise ValueError(f"field {number} has the unknown wire type {wire}")
        if place + size > len(message):
            raise ValueError(f"field {number} ends after the message")
        yield number, message[place : place + size]
        place += size


def _option(value: bool | int | float | str) -> bytes:
    if isinstance(value, bool):
        return _varint(_BOOL << 3) + _varint(value)
    if isinstance(value, int):
        return _varint(_INTEGER << 3) + _varint(value & (1 << 64) - 1)
    if isinstance(value, float):
        return _varint(_DOUBLE << 3 | _FIXED64) + struct.pack("<d", value)
    return _bytes_field(_STRING, value.encode())


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _read_varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if place >= len(message):
            raise ValueError("a number ends after the message")
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
