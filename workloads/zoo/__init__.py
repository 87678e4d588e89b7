"""Models in plain JAX whose compiled programs make up the corpus.

`PROGRAMS[name].build()` gives a function and its abstract arguments, ready for `jax.jit(fn).lower`.
"""

from __future__ import annotations

import importlib
import itertools

from .registry import Program

_MODULES = (
    "vision",
    "unet",
    "detection",
    "volumetric",
    "transformers",
    "encoder_decoder",
    "moe",
    "ssm",
    "speech",
    "recurrent",
    "recommenders",
    "graphs",
    "nerf",
    "attention2d",
    "gan",
    "sharded",
)


def _collect() -> dict[str, Program]:
    modules = (importlib.import_module(f".{name}", __name__) for name in _MODULES)
    programs = list(itertools.chain.from_iterable(module.PROGRAMS for module in modules))
    by_name = {program.name: program for program in programs}
    if len(by_name) != len(programs):
        raise ValueError("two programs of the zoo have the same name")
    return by_name


PROGRAMS: dict[str, Program] = _collect()

__all__ = ["PROGRAMS", "Program"]
