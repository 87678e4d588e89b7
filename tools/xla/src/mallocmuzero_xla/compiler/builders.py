"""Finds the function that a shell user names: MODULE:FUNCTION, or a program of a registry."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import pathlib
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from mallocmuzero_xla.chips import Chip, chip_devices
from mallocmuzero_xla.errors import UsageError, in_one_line


@dataclasses.dataclass(frozen=True)
class BuiltFunction:
    """A function, the arguments to lower it with, and keyword arguments for jax.jit."""

    fn: Any
    args: tuple[Any, ...]
    jit_options: dict[str, Any]


def build_function(reference: str) -> BuiltFunction:
    """Calls the zero-argument builder named by MODULE:FUNCTION.

    MODULE is importable, or a path to a .py file. The builder returns (fn, args) or
    (fn, args, jit_options).
    """
    module_name, separator, function_name = reference.rpartition(":")
    if not separator or not module_name or not function_name:
        raise UsageError(f"{reference!r}: expected MODULE:FUNCTION, for example model.py:build")
    module = _import_module(module_name)
    builder = getattr(module, function_name, None)
    if builder is None and hasattr(module, "__path__") and module.__file__ is None:
        # Python imports any folder as a package.
        raise UsageError(f"{module_name}: a folder; expected a file such as model.py, or a module")
    if not callable(builder):
        raise UsageError(f"{module_name} has no function {function_name!r}")
    with _errors_of(reference):
        built = builder()
    return _checked(built, reference)


def build_registered(registry: str, name: str, chip: Chip) -> BuiltFunction:
    """Builds program `name` of the registry package at path `registry`, for `chip`.

    A program with a `sharding` is built over all devices of the chip's topology.
    """
    program = load_registry(registry).get(name)
    if program is None:
        raise UsageError(f"{registry}: no program {name!r}")
    sharded = getattr(program, "sharding", None) is not None
    devices = chip_devices(chip) if sharded else []
    with _errors_of(f"{registry}:{name}"):
        built = program.build_over(devices) if sharded else program.build()
    built = _checked(built, f"{registry}:{name}")
    donated = tuple(program.donate_argnums)
    jit_options = {**({"donate_argnums": donated} if donated else {}), **built.jit_options}
    return dataclasses.replace(built, jit_options=jit_options)


def load_registry(registry: str) -> dict[str, Any]:
    """Imports the package at path `registry` and returns its PROGRAMS, by name.

    A program has `name`, `chips` (the chips it is for), `donate_argnums` and `build`, a function
    that returns (fn, args) or (fn, args, jit_options). A program of several devices also has
    `sharding`, whose `topologies` name a topology for each chip, and `build_over`, a function of
    the devices that returns the same.
    """
    path = pathlib.Path(registry).resolve()
    if not (path / "__init__.py").is_file():
        raise UsageError(f"{registry}: expected the folder of a Python package with PROGRAMS")
    _prepend_to_path(path.parent)
    programs = getattr(_imported(path.name), "PROGRAMS", None)
    if not isinstance(programs, dict):
        raise UsageError(f"{registry}: the package has no dictionary PROGRAMS")
    return programs


def _import_module(name: str) -> ModuleType:
    if name.endswith(".py"):
        return _import_file(pathlib.Path(name))
    _prepend_to_path(pathlib.Path.cwd())
    return _imported(name)


def _imported(name: str) -> ModuleType:
    with _errors_of(f"cannot import {name!r}"):
        return importlib.import_module(name)


def _import_file(path: pathlib.Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    if path.stem in sys.modules and path.stem in sys.stdlib_module_names:
        # The file would take the place of this module for all others.
        raise UsageError(f"{path}: Python has a module {path.stem}: rename the file")
    _prepend_to_path(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python source file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    with _errors_of(str(path)):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _errors_of(source: str) -> Iterator[None]:
    """Raises UsageError, which begins with `source`, for what the user's code raises."""
    try:
        yield
    except SystemExit as error:  # a script; the command would end as if it had done its work
        raise UsageError(
            f"{source}: ends the process (sys.exit({error.code!r})): guard what a script does by "
            f'`if __name__ == "__main__":`'
        ) from error
    except Exception as error:
        raise UsageError(f"{source}: {in_one_line(error)}") from error


def _prepend_to_path(folder: pathlib.Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _checked(result: Any, source: str) -> BuiltFunction:
    if not isinstance(result, tuple) or len(result) not in (2, 3) or not callable(result[0]):
        raise UsageError(f"{source} must return (fn, args) or (fn, args, jit_options)")
    fn, args, *rest = result
    if not isinstance(args, tuple | list):
        raise UsageError(f"{source}: args must be a tuple, not {type(args).__name__}")
    options = rest[0] if rest else {}
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise UsageError(
            f"{source}: jit_options must be a dictionary of keyword arguments of jax.jit, such as "
            f"{{'donate_argnums': 0}}, not {options!r:.100}"
        )
    return BuiltFunction(fn, tuple(args), dict(options))
