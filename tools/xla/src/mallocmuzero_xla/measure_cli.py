"""Shell command measure: times a function with and without an artefact."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys
from typing import Any

from mallocmuzero_xla.builders import build_function
from mallocmuzero_xla.command import add_json
from mallocmuzero_xla.measuring import measure
from mallocmuzero_xla.options_file import check_output


def add_measure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command measure."""
    command = commands.add_parser(
        "measure",
        help="time a function with and without an artefact, on this machine's devices",
        description="Exit status: 0 if both were timed, 1 if the artefact did not fit, 2 for wrong "
        "usage.",
    )
    command.add_argument("artefact", type=pathlib.Path, metavar="FILE", help="written by optimize")
    command.add_argument("function", metavar="MODULE:FUNCTION", help="as for capture")
    command.add_argument("--rounds", type=int, default=30, metavar="N", help="default: 30")
    command.add_argument("--warm-up", type=int, default=3, metavar="N", help="default: 3")
    add_json(command)
    command.add_argument("--output", type=pathlib.Path, metavar="FILE", help="times, as JSON")
    command.set_defaults(run=_run_measure)


def _run_measure(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        check_output(arguments.output)
    built = build_function(arguments.function)
    measured = measure(
        built.fn,
        lambda: filled(built.args, built.jit_options.get("static_argnums", ())),
        arguments.artefact,
        rounds=arguments.rounds,
        warm_up=arguments.warm_up,
        **built.jit_options,
    )
    if arguments.output is not None:
        measured.save(arguments.output)
    if arguments.json:
        print(json.dumps(dataclasses.asdict(measured)), flush=True)
    else:
        print(f"mallocmuzero-xla: {measured.summary()}", file=sys.stderr)
    return 0 if measured.used else 1


def filled(args: tuple[Any, ...], static: int | tuple[int, ...] = ()) -> tuple[Any, ...]:
    """Returns the arguments with arrays in the place of shapes, and copies of arrays.

    Floating-point values are normal random numbers; all others are 0.
    """
    import jax
    import jax.numpy as jnp

    def fill(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return jnp.copy(leaf) if isinstance(leaf, jax.Array) else leaf
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            return jax.random.normal(jax.random.key(0), leaf.shape, leaf.dtype)
        return jnp.zeros(leaf.shape, leaf.dtype)

    kept = {static} if isinstance(static, int) else set(static)
    return tuple(
        arg if index in kept else jax.tree.map(fill, arg) for index, arg in enumerate(args)
    )
