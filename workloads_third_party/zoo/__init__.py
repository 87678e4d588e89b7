"""Models of other projects: keras-hub's, and flax's examples.

`PROGRAMS[name].build()` gives a function and its abstract arguments, ready for `jax.jit(fn).lower`.
The libraries are imported by `build`, so that names and families can be read without them.
"""

from __future__ import annotations

import importlib
import itertools

from .registry import Program

_MODULES = ("keras_language", "keras_vision", "flax_examples")


def _collect() -> dict[str, Program]:
    modules = (importlib.import_module(f".{name}", __name__) for name in _MODULES)
    programs = list(itertools.chain.from_iterable(module.PROGRAMS for module in modules))
    by_name = {program.name: program for program in programs}
    if len(by_name) != len(programs):
        raise ValueError("two programs of the registry have the same name")
    return by_name


PROGRAMS: dict[str, Program] = _collect()

__all__ = ["PROGRAMS", "Program"]
