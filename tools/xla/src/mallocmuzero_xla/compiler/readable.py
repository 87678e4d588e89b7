"""Compiles a program to text or to a module, also where jax cannot print or read the module.

jax's parser of modules refuses some that the compiler makes, such as asynchronous gathers on v6e
and all collectives on TPU7x. The binary compiles such a program through the compiler's C API, and
prints its module itself. It also compiles a program that has constant arrays: no text has their
values.
"""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import tempfile
import time
from collections.abc import Sequence

from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.chips import Chip, chip_devices
from mallocmuzero_xla.compiler.hlo_text import strip_source_locations
from mallocmuzero_xla.compiler.lowering import LoweredProgram, compile_to_text, option_text
from mallocmuzero_xla.compiler.placed_payload import module_of_text
from mallocmuzero_xla.environment import compiler_library
from mallocmuzero_xla.errors import (
    CaptureError,
    CompileError,
    UnprintableError,
    UsageError,
    in_one_line,
)
from mallocmuzero_xla.processes import run_with_this_process

# Programs that jax could not print under some options, by the SHA-256 of what it lowered them to.
# Compiling them with jax again is useless. Processes tell each other of these (worker.py).
unprintable: set[str] = set()


@dataclasses.dataclass(frozen=True)
class Readable:
    """The scheduled HLO text of a compiled program.

    Attributes:
        text: the text.
        seconds: of the compile that gave it, without one before it that jax could not print.
    """

    text: str
    seconds: float


def readable_text(program: LoweredProgram, chip: Chip, options: dict[str, str]) -> Readable:
    """Compiles `program` under further options; see compile_to_text.

    Raises CompileError if the binary does not compile the program, or is missing.
    """
    started = time.monotonic()
    identity = hashlib.sha256(program.module).hexdigest()
    if identity not in unprintable:
        try:
            text = compile_to_text(program, chip_devices(chip), options)
            return Readable(text, time.monotonic() - started)
        except UnprintableError as error:
            _require_binary(str(error))
        unprintable.add(identity)
        started = time.monotonic()
    text = _compiled_by_binary(program, chip, options, "--text").decode("utf-8")
    return Readable(text, time.monotonic() - started)


def readable_module(
    program: LoweredProgram, chip: Chip, options: dict[str, str], text: str, seconds: float
) -> bytes:
    """Returns the HloModuleProto of a compile whose text is known.

    Where jax cannot read the text, or the text leaves out the values of constants, the binary
    compiles the program again, for at most `seconds`.
    Raises CompileError if that fails.
    """
    try:
        return module_of_text(text)
    except CaptureError:
        limit = ["--timeout", f"{max(1, round(seconds))}s"]
        return _compiled_by_binary(program, chip, options, "--module", limit)


def module_texts(modules: Sequence[bytes]) -> list[str]:
    """Returns the HLO texts of HloModuleProtos, without source locations.

    If jaxlib cannot print one of them, the binary prints all: its texts have another form. Raises
    CompileError if the binary cannot either, or is missing.
    """
    try:
        texts = [_printed_by_jaxlib(module) for module in modules]
    except Exception as error:  # jaxlib raises several unrelated types
        _require_binary(in_one_line(error))
        texts = _printed_by_binary(modules)
    return [strip_source_locations(text) for text in texts]


def _printed_by_jaxlib(module: bytes) -> str:
    from jaxlib import _hlo

    return str(_hlo.HloModule.from_serialized_hlo_module_proto(module).to_string())


def _printed_by_binary(modules: Sequence[bytes]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as name:
        texts = []
        line = [str(find_binary()), "module-text"]
        for number, module in enumerate(modules):
            path = pathlib.Path(name) / f"{number}.pb"
            path.write_bytes(module)
            texts.append(path.with_suffix(".hlo"))
            line += [str(path), str(texts[-1])]
        _run(line)
        return [text.read_text(encoding="utf-8") for text in texts]


def _require_binary(reason: str) -> None:
    """Raises CompileError, with the reason why jax cannot print a module, without the binary."""
    try:
        find_binary()
    except UsageError as error:
        raise CompileError(
            f"jax cannot print the compiled module ({reason}), and {error}"
        ) from error


def _run(line: Sequence[str]) -> None:
    """Runs the binary; raises CompileError with its last line if it fails."""
    result = run_with_this_process(line)
    if result.returncode != 0:
        words = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise CompileError(words.removeprefix("mallocmuzero: "))


def _compiled_by_binary(
    program: LoweredProgram,
    chip: Chip,
    options: dict[str, str],
    form: str,
    further: Sequence[str] = (),
) -> bytes:
    """Returns the content of the file that the flag `form` of the binary's `compile` writes."""
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as name:
        folder = pathlib.Path(name)
        module, settings, output = folder / "f.mlir", folder / "options.pb", folder / "output"
        module.write_bytes(program.module)
        settings.write_bytes(program.compile_options)
        line = [find_binary(), "compile", "--hlo", module, "--compile-options", settings]
        line += ["--chip", chip.name, "--topology", program.topology_name]
        line += ["--libtpu", compiler_library(), form, output, *further]
        for name, value in {**program.base_options, **options}.items():
            line += ["--option", f"{name}={option_text(value)}"]
        _run([str(word) for word in line])
        return output.read_bytes()
