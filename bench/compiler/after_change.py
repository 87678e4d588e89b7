"""Measures what a search gains by starting from one that was made before the model changed.

    python bench/compiler/after_change.py dit_4x1024_b48x256 bert_3x1024_b64x256 --chip tpu_v6e

The change is another layer. The model of the zoo is searched with the budget --before. The changed
model is searched twice with the budget --after: with an empty cache, and from the artefact of the
search before. Prints one row for each model.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.compiler.builders import load_registry
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.search.optimize import Optimized, optimize

_REGISTRY = pathlib.Path(__file__).resolve().parents[2] / "workloads" / "zoo"

Built = tuple[Callable[..., Any], tuple[Any, ...]]


def layers_of(name: str) -> int:
    """Returns the number of layers of a program of the zoo.

    Raises UsageError if there is no such program, or it is no forward pass with layers.
    """
    program = load_registry(str(_REGISTRY)).get(name)
    if program is None:
        raise UsageError(f"{_REGISTRY}: no program {name!r}")
    model, *inputs = program.build.args
    # A training step has a loss, a batch and an optimiser.
    forward = len(inputs) == 1 and isinstance(model, functools.partial)
    if not forward or "layers" not in model.keywords:
        raise UsageError(f"{name}: expected the forward pass of a model with `layers`")
    return int(model.keywords["layers"])


def with_layers(name: str, layers: int) -> Built:
    """Builds a program of the zoo with another number of layers."""
    build = load_registry(str(_REGISTRY))[name].build
    model, inputs = build.args
    built: Built = build.func(functools.partial(model, layers=layers), inputs)
    return built


def measure(name: str, chip: str, before: str, after: str) -> str:
    """Searches before and after the change; returns the row of a Markdown table."""
    layers = layers_of(name)

    def search(depth: int, budget: str, start_from: Any = None) -> Optimized:
        fn, args = with_layers(name, depth)
        with tempfile.TemporaryDirectory() as cache:
            return optimize(
                fn, *args, chip=chip, budget=budget, cache_dir=cache, start_from=start_from
            )

    first = search(layers, before)
    anew = search(layers + 1, after)
    started = search(layers + 1, after, first.artefact)
    gains = " | ".join(f"{found.gain or 0.0:.2%}" for found in (first, anew, started))
    steps = (step for step in started.report["tried"] if step["step"] == "start")
    cycles = next((step["cycles"] for step in steps), None)
    default = started.default_cycles
    alone = f"{1 - cycles / default:.2%}" if cycles and default else ""
    return f"| {name} | {layers} to {layers + 1} | {gains} | {alone} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, or 2 on bad usage."""
    command = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    command.add_argument("program", nargs="+", help="forward passes of the zoo")
    command.add_argument("--chip", default="tpu_v6e")
    command.add_argument("--before", default="5m", help="budget before the change")
    command.add_argument("--after", default="1m", help="budget after the change")
    arguments = command.parse_args(argv)

    def run() -> int:
        for name in arguments.program:
            layers_of(name)  # fail before a long search
        for name in arguments.program:
            print(measure(name, arguments.chip, arguments.before, arguments.after), flush=True)
        return 0

    return run_command("after_change.py", run)


if __name__ == "__main__":
    sys.exit(main())
