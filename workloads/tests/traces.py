"""Builds and traces each program of the zoo once for all tests: large ones take seconds."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import sys
from typing import Any

import jax
from jax.interpreters import partial_eval

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from zoo import PROGRAMS


@dataclasses.dataclass(frozen=True)
class Trace:
    """What the tests ask of a traced program."""

    args: tuple[Any, ...]
    outputs: Any  # a tree of shapes
    unused: list[str]  # paths of arguments


@functools.cache
def trace_of(name: str) -> Trace:
    """Returns the trace of a program."""
    fn, args = PROGRAMS[name].build()
    closed, outputs = jax.make_jaxpr(fn, return_shape=True)(*args)
    _, used = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(args)]
    unused = [path for path, is_used in zip(paths, used, strict=True) if not is_used]
    return Trace(args, outputs, unused)
