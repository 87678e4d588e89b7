"""Messages of compiles in phases are written and read as protobuf says."""

from __future__ import annotations

import pytest
import zstandard

from mallocmuzero_xla.compiler.partial_programs import (
    PartialProgram,
    fields,
    first_program,
    message_in,
    with_options,
)


def test_options_are_entries_of_the_map_of_overrides() -> None:
    # Field 7 with 2 bytes of length 10: key "a" is 0a 01 61, and the value is 12 with its length.
    assert (
        with_options(b"\x08\x01", {"a": "xy"})
        == b"\x08\x01" + b"\x3a\x09\x0a\x01a\x12\x04\x0a\x02xy"
    )
    assert with_options(b"", {"a": True}) == b"\x3a\x07\x0a\x01a\x12\x02\x10\x01"
    # 300 = 2 * 128 + 44: ac 02.
    assert with_options(b"", {"a": 300}) == b"\x3a\x08\x0a\x01a\x12\x03\x18\xac\x02"
    # A negative integer has ten bytes: 64 bits in groups of seven.
    assert with_options(b"", {"a": -1}) == b"\x3a\x10\x0a\x01a\x12\x0b\x18" + b"\xff" * 9 + b"\x01"
    # 1.0 is 3f f0 and six zeros, the last byte first.
    assert (
        with_options(b"", {"a": 1.0}) == b"\x3a\x0e\x0a\x01a\x12\x09\x21" + bytes(6) + b"\xf0\x3f"
    )


def test_first_program_names_its_phase() -> None:
    assert list(fields(first_program(b"module", "one"))) == [(1, b"module"), (4, b"one")]


def test_programs_are_read_with_and_without_compression() -> None:
    for body in (b"HloModule", zstandard.compress(b"HloModule")):
        serialized = b"\x0a%c%s\x12\x01k\x32\x02nm\x1a\x00" % (len(body), body)
        found = PartialProgram.parse(serialized)
        assert found == PartialProgram("k", "nm", b"HloModule", serialized)


def test_fields_of_fixed_size_are_passed_over() -> None:
    message = b"\x09" + bytes(8) + b"\x15" + bytes(4) + b"\x1a\x01x"
    assert [number for number, _ in fields(message)] == [1, 2, 3]
    assert message_in(message, 3) == b"x"
    with pytest.raises(ValueError, match="no field 4"):
        message_in(message, 4)


@pytest.mark.parametrize("message", [b"\x0a\x05abc", b"\x0a", b"\x80", b"\x09\x00", b"\x0b"])
def test_a_damaged_message_is_an_error(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"field 1 |ends after the message"):
        list(fields(message))
