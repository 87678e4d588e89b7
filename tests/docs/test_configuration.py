"""docs/configuration.md lists the fields that the protos have."""

from __future__ import annotations

from configuration import OUTPUT, ROOTS, all_blocks, blocks_of, document

PROTO = """
// A place.
message Place {
  enum Kind {
    KIND_UNSPECIFIED = 0;
    // Near.
    NEAR = 1;
  }
  Kind kind = 1;

  // Two names,
  // in one line.
  string first = 2;
  repeated string second = 3;

  uint32 size = 4;  // bytes
}
"""


def test_document_is_that_of_the_protos() -> None:
    assert OUTPUT.read_text(encoding="utf-8") == document(), (
        "run python3 tests/docs/configuration.py --write"
    )


def test_fields_values_and_comments_are_read() -> None:
    kind, place = blocks_of(PROTO)
    assert (kind.name, kind.is_enum) == ("Kind", True)
    assert [(entry.name, entry.comment) for entry in kind.entries] == [
        ("KIND_UNSPECIFIED", ""),
        ("NEAR", "Near."),
    ]
    assert place.comment == "A place."
    assert [(one.name, one.kind, one.comment, one.repeated) for one in place.entries] == [
        ("kind", "Kind", "", False),
        ("first", "string", "Two names, in one line.", False),
        ("second", "string", "", True),
        ("size", "uint32", "bytes", False),
    ]


def test_every_configuration_has_fields() -> None:
    known = all_blocks()
    for name, _ in ROOTS:
        assert known[name].entries, name
