"""A module that jax cannot print is compiled and printed by the binary."""

from __future__ import annotations

import itertools
import json
import pathlib
import sys
import types

import pytest
from asynchronous_gather import arguments, embed

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.captures.capture import capture
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler import readable
from mallocmuzero_xla.compiler.lowering import LoweredProgram, lower
from mallocmuzero_xla.compiler.variants import ALL_HBM, Variant
from mallocmuzero_xla.errors import CompileError, UnprintableError

REASON = "async-update instruction should have 1 operands but sees 3"

# Writes its arguments into the text, or fails for a module that says so.
BINARY = f"""#!{sys.executable}
import json, pathlib, sys
flags = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if pathlib.Path(flags["--hlo"]).read_bytes() == b"refuse":
    print("mallocmuzero: f.mlir: out of memory", file=sys.stderr)
    sys.exit(1)
options = [b for a, b in zip(sys.argv, sys.argv[1:]) if a == "--option"]
words = [sys.argv[1], options, *(flags[name] for name in ("--timeout",) if name in flags)]
output = flags.get("--text") or flags["--module"]
pathlib.Path(output).write_text("HloModule " + json.dumps(words))
"""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> list[str]:
    """jax's compiles, none of which it can print; the binary of BINARY."""
    compiles: list[str] = []

    def compile_to_text(program: LoweredProgram, *_: object) -> str:
        compiles.append(program.function)
        raise UnprintableError(REASON)

    monkeypatch.setattr(readable, "compile_to_text", compile_to_text)
    monkeypatch.setattr(readable, "chip_devices", lambda _: [])
    monkeypatch.setattr(readable, "compiler_library", lambda: pathlib.Path("libtpu.so"))
    monkeypatch.setattr(readable, "unprintable", set())
    binary = tmp_path / "mallocmuzero"
    binary.write_text(BINARY, encoding="utf-8")
    binary.chmod(0o755)
    monkeypatch.setenv("MALLOCMUZERO_BINARY", str(binary))
    return compiles


def program(module: bytes = b"") -> LoweredProgram:
    return LoweredProgram("f", "v6e:1x1", (0,), module, b"", {"xla_own": True}, "0" * 64)


def test_binary_prints_what_jax_cannot(compiled: list[str]) -> None:
    text = readable.readable_text(program(), CHIPS["tpu_v6e"], {"xla_more": "a=b"}).text
    assert text.startswith("HloModule ")
    assert json.loads(text.removeprefix("HloModule ")) == [
        "compile",
        ["xla_own=true", "xla_more=a=b"],
    ]


def test_jax_is_asked_once(compiled: list[str]) -> None:
    for _ in range(3):
        readable.readable_text(program(), CHIPS["tpu_v6e"], {})
    assert compiled == ["f"]


def test_time_of_a_compile_that_jax_could_not_print_does_not_count(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(step=10.0)
    time = types.SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr(readable, "time", time)
    # The clock is read before jax's compile, and before and after that of the binary.
    assert readable.readable_text(program(), CHIPS["tpu_v6e"], {}).seconds == 10.0


def test_failure_of_the_binary_is_a_sentence(compiled: list[str]) -> None:
    with pytest.raises(CompileError, match=r"^f\.mlir: out of memory$"):
        readable.readable_text(program(b"refuse"), CHIPS["tpu_v6e"], {})


def test_without_a_binary_the_reason_and_the_remedy_are_said(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOCMUZERO_BINARY", "/absent")
    with pytest.raises(CompileError, match=r"cannot print .*sees 3\), and .*no such executable"):
        readable.readable_text(program(), CHIPS["tpu_v6e"], {})


def test_binary_compiles_a_module_that_jax_cannot_read(compiled: list[str]) -> None:
    pytest.importorskip("jaxlib")
    module = readable.readable_module(program(), CHIPS["tpu_v6e"], {"xla_more": "a=b"}, "?", 9.6)
    assert json.loads(module.removeprefix(b"HloModule ")) == [
        "compile",
        ["xla_own=true", "xla_more=a=b"],
        "10s",
    ]


@pytest.mark.parametrize("values", ["{...}", "{1, 2}"])
def test_binary_compiles_a_module_whose_text_leaves_out_constants(
    compiled: list[str], values: str
) -> None:
    pytest.importorskip("jaxlib")
    entry = f"ENTRY %main () -> s32[2] {{\n  ROOT %c = s32[2]{{0}} constant({values})\n}}"
    text = f"HloModule f, entry_computation_layout={{()->s32[2]{{0}}}}\n\n{entry}\n"
    module = readable.readable_module(program(), CHIPS["tpu_v6e"], {}, text, 9.6)
    assert module.startswith(b"HloModule ") == (values == "{...}")  # what the binary prints


PRINTING_BINARY = f"""#!{sys.executable}
import pathlib, sys
assert sys.argv[1] == "module-text"
for module, text in zip(sys.argv[2::2], sys.argv[3::2]):
    pathlib.Path(text).write_bytes(b"HloModule " + pathlib.Path(module).read_bytes())
"""


@pytest.fixture
def printing(compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """A jaxlib that prints all modules but "gather", and the binary of PRINTING_BINARY."""

    def printed(module: bytes) -> str:
        if module == b"gather":
            raise RuntimeError(REASON)
        return f"HloModule jax_{module.decode()}"

    monkeypatch.setattr(readable, "_printed_by_jaxlib", printed)
    (tmp_path / "mallocmuzero").write_text(PRINTING_BINARY, encoding="utf-8")


@pytest.mark.usefixtures("printing")
def test_modules_are_printed_by_jaxlib_and_all_by_the_binary_if_jaxlib_cannot_print_one() -> None:
    assert readable.module_texts([b"a", b"b"]) == ["HloModule jax_a", "HloModule jax_b"]
    assert readable.module_texts([b"a", b"gather"]) == ["HloModule a", "HloModule gather"]


@pytest.mark.usefixtures("printing")
def test_modules_that_nothing_prints_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOCMUZERO_BINARY", "/absent")
    with pytest.raises(CompileError, match=r"cannot print .*sees 3\), and .*no such executable"):
        readable.module_texts([b"gather"])


@pytest.mark.compiler
def test_module_with_an_asynchronous_gather_is_captured_and_priced() -> None:
    captured = capture(embed, *arguments(), chip="tpu_v6e", samples=0, progress=False)
    assert "custom-call-update(" in captured.hlo["default"]
    assert Binary().module_cycles(captured.hlo["default"], "tpu_v6e") > 0


@pytest.mark.compiler
def test_constants_of_a_real_module_have_the_values_of_the_function() -> None:
    import jax
    import numpy as np

    table, chip = np.sin(np.arange(1024, dtype=np.float32)), CHIPS["tpu_v6e"]
    lowered = lower(lambda x: x * table, [jax.ShapeDtypeStruct((1024,), np.float32)], chip)
    options = Variant(ALL_HBM).options(chip)
    text = readable.readable_text(lowered, chip, options).text
    assert "constant({...})" in text
    assert table.tobytes() in readable.readable_module(lowered, chip, options, text, 60.0)
