"""Compiles a program to text, also where jax cannot print the compiled module.

jax's parser of modules refuses some that the compiler makes, such as asynchronous gathers on v6e.
The binary compiles such a program through the compiler's C API, and prints its module itself.
"""

from __future__ import annotations

import pathlib
import subprocess
import tempfile

from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.chips import Chip, chip_devices
from mallocmuzero_xla.environment import compiler_library
from mallocmuzero_xla.errors import CompileError, UnprintableError, UsageError
from mallocmuzero_xla.lowering import LoweredProgram, compile_to_text, option_text

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
    return _text_by_binary(program, chip, options)


def _text_by_binary(program: LoweredProgram, chip: Chip, options: dict[str, str]) -> str:
    with tempfile.TemporaryDirectory(prefix="mallocmuzero-xla-") as name:
        folder = pathlib.Path(name)
        module, settings, text = folder / "f.mlir", folder / "options.pb", folder / "f.hlo"
        module.write_bytes(program.module)
        settings.write_bytes(program.compile_options)
        line = [find_binary(), "compile", "--hlo", module, "--compile-options", settings]
        line += ["--chip", chip.name, "--topology", program.topology_name]
        line += ["--libtpu", compiler_library(), "--text", text]
        for name, value in {**program.base_options, **options}.items():
            line += ["--option", f"{name}={option_text(value)}"]
        result = subprocess.run(
            [str(word) for word in line], capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            words = (result.stderr.strip().splitlines() or ["no message"])[-1]
            raise CompileError(words.removeprefix("mallocmuzero: "))
        return text.read_text(encoding="utf-8")
