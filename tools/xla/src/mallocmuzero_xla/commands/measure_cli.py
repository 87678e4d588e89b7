"""Shell command measure: times a function with and without an artefact."""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

from mallocmuzero_xla.artefacts.artefact import is_folder, load_artefact
from mallocmuzero_xla.commands.command import (
    add_artefact,
    add_function,
    add_json,
    require_jit_options,
    whole_number,
)
from mallocmuzero_xla.compiler.builders import build_function
from mallocmuzero_xla.compiler.options_file import check_output, other_file_error
from mallocmuzero_xla.compiler.shardings import compile_only_sharding
from mallocmuzero_xla.compiler.store import read_json, takes_bytes_only
from mallocmuzero_xla.errors import CaptureError, UsageError, in_one_line
from mallocmuzero_xla.runtime.applying import registry_in
from mallocmuzero_xla.runtime.measuring import measure


def add_measure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command measure."""
    command = commands.add_parser(
        "measure",
        help="time a function with and without an artefact, on this machine's devices",
        description="Times the default and the artefact on this machine's devices, in turns.",
        epilog="Exit status: 0 if both were timed, 1 if the artefact did not fit or the function "
        "failed, 2 for wrong usage.",
    )
    add_artefact(command)
    add_function(command)
    command.add_argument(
        "--rounds",
        type=whole_number,
        default=30,
        metavar="N",
        help="The number of times of each, 5 or more. The default is 30.",
    )
    command.add_argument(
        "--warm-up",
        type=whole_number,
        default=3,
        metavar="N",
        help="The number of calls of each before that, 1 or more. The default is 3.",
    )
    command.add_argument(
        "--calls",
        type=whole_number,
        default=1,
        metavar="N",
        help="The number of calls for one time. A function of microseconds needs 20 or more. The "
        "default is 1.",
    )
    add_json(command)
    command.add_argument(
        "--output",
        type=pathlib.Path,
        metavar="FILE",
        help="Writes all times to this file, as JSON.",
    )
    command.set_defaults(run=_run_measure)


def _run_measure(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        _check_output(arguments.output)
    _check_artefact(arguments.artefact)
    built = build_function(arguments.function)
    require_jit_options(built.jit_options, measure)
    try:
        measured = measure(
            built.fn,
            lambda: filled(built.args, built.jit_options.get("static_argnums", ())),
            arguments.artefact,
            rounds=arguments.rounds,
            warm_up=arguments.warm_up,
            calls=arguments.calls,
            **built.jit_options,
        )
    except CaptureError:
        raise
    except Exception as error:  # of the function, of jax.jit, or of the device, such as no memory
        raise CaptureError(f"{arguments.function} does not run: {in_one_line(error)}") from error
    try:
        if arguments.output is not None:
            measured.save(arguments.output)
    finally:  # the times took long, also if they cannot be saved
        if arguments.json:
            print(json.dumps(measured.to_json()), flush=True)
        else:
            print(f"mallocmuzero-xla: {measured.summary()}", file=sys.stderr)
    return 0 if measured.used else 1


def _check_output(path: pathlib.Path) -> None:
    """Raises UsageError if times must not be written to `path`, which may be the artefact."""
    check_output(path)
    if takes_bytes_only(path) or not path.is_file() or not path.stat().st_size:
        return
    try:
        known = "default_seconds" in read_json(path)
    except (OSError, ValueError, TypeError):
        known = False
    if not known:
        raise other_file_error(path, "a file of times")


def _check_artefact(path: pathlib.Path) -> None:
    """Raises UsageError where `path` is no artefact: `apply`, in a program, only logs that."""
    if not is_folder(path):
        load_artefact(path)
    elif not len(registry_in(path)):
        raise UsageError(f"{path}: there is no artefact in this folder")


def filled(args: tuple[Any, ...], static: int | tuple[int, ...] = ()) -> tuple[Any, ...]:
    """Returns the arguments with arrays in the place of shapes, and copies of arrays.

    Floating-point values are normal random numbers, or 0.5 if their type is weak; all others are 0.
    Arrays have the shardings of their shapes. Raises UsageError if a shape is sharded over devices
    that only compile.
    """
    import jax
    import jax.numpy as jnp

    def fill(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return jnp.copy(leaf) if isinstance(leaf, jax.Array) else leaf
        if compile_only_sharding(leaf) is not None:
            raise UsageError(
                "an argument is sharded over devices of a topology, which only compile: build its "
                "mesh from jax.devices() to measure"
            )
        return _maker(leaf.shape, leaf.dtype, leaf.weak_type, leaf.sharding)()

    kept = {static} if isinstance(static, int) else set(static)
    return tuple(
        arg if index in kept else jax.tree.map(fill, arg) for index, arg in enumerate(args)
    )


@functools.cache
def _maker(shape: tuple[int, ...], dtype: Any, weak: bool, sharding: Any) -> Callable[[], Any]:
    """Returns a function that makes an array, each part on its own device if it is sharded."""
    import jax
    import jax.numpy as jnp

    def make() -> Any:
        floating = jnp.issubdtype(dtype, jnp.floating)
        if weak:  # as that of a Python number; with a strong type it would be another program
            zero = 0j if jnp.issubdtype(dtype, jnp.complexfloating) else 0
            return jnp.broadcast_to(0.5 if floating else zero, shape)
        if floating:
            return jax.random.normal(jax.random.key(0), shape, dtype)
        return jnp.zeros(shape, dtype)

    return make if sharding is None else jax.jit(make, out_shardings=sharding)
