"""Compiles a program to text or to a module, also where jax cannot print or read the module.

jax's parser of modules refuses some that the compiler makes, such as asynchronous gathers on v6e
and all collectives on TPU7x. The binary compiles such a program through the compiler's C API, and
prints its module itself. It also compiles a program that has constant arrays: no text has their
values.
"""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Sequence

from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.chips import Chip, chip_devices
from mallocmuzero_xla.compiler.lowering import LoweredProgram, compile_to_text, option_text
from mallocmuzero_xla.compiler.placed_payload import module_of_text
from mallocmuzero_xla.environment import compiler_library
from mallocmuzero_xla.errors import CaptureError, CompileError, UnprintableError, UsageError
from mallocmuzero_xla.processes import run_with_this_process

# The programs, by `sha256`, that jax could not print. Compiling them with jax again is useless.
_unprintable: set[str] = set()


def readable_text(program: LoweredProgram, chip: Chip, options: dict[str, str]) -> str:
    """Returns the scheduled HLO text of `program` under further options; see compile_to_text.

    Raises CompileError if the binary does not compile the program, or is missing.
    """
    if program.sha256 not in _unprintable:
        try:
            return compile_to_text(program, chip_devices(chip), options)
        except UnprintableError as error:
            reason = str(error)
        _unprintable.add(program.sha256)
        try:
            find_binary()
        except UsageError as error:
            raise CompileError(
                f"jax cannot print the compiled module ({reason}), and {error}"
            ) from error
    return _compiled_by_binary(program, chip, options, "--text").decode("utf-8")


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
        result = run_with_this_process([str(word) for word in line])
        if result.returncode != 0:
            words = (result.stderr.strip().splitlines() or ["no message"])[-1]
            raise CompileError(words.removeprefix("mallocmuzero: "))
        return output.read_bytes()
