"""Optimizes the zoo's programs that are sharded or have a Pallas kernel.

python bench/compiler/sharded.py --chip tpu_v6e --budget 10m --placed

Prints one row for each program: cycles by default and with the best options or placed module, by
the compiler's estimates and the model of collectives, and the part of the default's cycles that is
for collectives.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Sequence

from capture_zoo import chip_of
from mallocmuzero_xla.chips import find_chip
from mallocmuzero_xla.commands.command import run_command
from mallocmuzero_xla.compiler.builders import build_registered, load_registry
from mallocmuzero_xla.compiler.lowering import lower
from mallocmuzero_xla.compiler.store import folder_of, read_text
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.search.optimize import optimize
from placed import run_binary

_REGISTRY = pathlib.Path(__file__).resolve().parents[2] / "workloads" / "zoo"
_FAMILIES = ("sharded_language_model", "flash_attention")


@dataclasses.dataclass(frozen=True)
class Row:
    """One program; cycles of one device."""

    program: str
    default_cycles: float
    optimized_cycles: float
    collective_cycles: float

    def text(self) -> str:
        """Returns the row of a Markdown table."""
        gain = 1 - self.optimized_cycles / self.default_cycles
        rest = self.default_cycles - self.collective_cycles
        of_rest = (self.default_cycles - self.optimized_cycles) / rest
        return (
            f"| {self.program} | {self.default_cycles / 1e6:.3f} "
            f"| {self.collective_cycles / self.default_cycles:.1%} "
            f"| {self.optimized_cycles / 1e6:.3f} | {gain:z.2%} | {of_rest:z.2%} |"
        )


def collective_cycles(text: str, chip: str) -> float:
    """Returns the cycles that a compiled module spends on collectives."""
    with tempfile.NamedTemporaryFile("w", suffix=".hlo", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        shown = run_binary("simulate", "--hlo", file.name, "--hardware", chip, "--json")
    return float(json.loads(shown)["collective_cycles"])


def measure(name: str, chip_name: str, budget: str, placed: bool, cache: pathlib.Path) -> Row:
    """Optimizes one program; the compiler's texts are kept in a folder of its own in `cache`.

    In one folder, the search for a program would start from what others of the same name found.
    """
    cache = cache / name
    for results in ("options", "placed"):  # of an earlier search, maybe by another version
        shutil.rmtree(cache / results, ignore_errors=True)
    chip = chip_of(load_registry(str(_REGISTRY))[name], find_chip(chip_name))
    built = build_registered(str(_REGISTRY), name, chip)
    found = optimize(
        built.fn,
        *built.args,
        chip=chip.name,
        topology=chip.topology_name,
        budget=budget,
        placed=placed,
        cache_dir=cache,
        **built.jit_options,
    )
    assert found.default_cycles is not None
    program = lower(built.fn, built.args, chip, built.jit_options)
    texts = folder_of(cache / "captures" / chip.name, program)
    links = collective_cycles(read_text(texts / "default.hlo.zst"), chip.name)
    return Row(name, found.default_cycles, found.optimized_cycles, links)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, or 2 on bad usage."""
    command = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    command.add_argument("--chip", default="tpu_v6e")
    command.add_argument("--budget", default="10m", help="for each program")
    command.add_argument("--placed", action="store_true", help="also try placed modules")
    command.add_argument("--only", default="*", metavar="GLOB", help="names of programs")
    command.add_argument("--cache", type=pathlib.Path, default=pathlib.Path("sharded-cache"))
    arguments = command.parse_args(argv)

    def run() -> int:
        names = [
            name
            for name, program in load_registry(str(_REGISTRY)).items()
            if program.family in _FAMILIES
            and fnmatch.fnmatchcase(name, arguments.only)
            and arguments.chip in program.chips
        ]
        if not names:
            raise UsageError(f"no program is for {arguments.chip} and matches {arguments.only}")
        for name in names:
            cache = arguments.cache.resolve()
            row = measure(name, arguments.chip, arguments.budget, arguments.placed, cache)
            print(row.text(), flush=True)
        return 0

    return run_command("sharded.py", run)


if __name__ == "__main__":
    sys.exit(main())
