"""Trial compiles by the real compiler: needs jax and libtpu, no TPU."""

from __future__ import annotations

import csv
import importlib.util
import io
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.lowering import lower
from mallocmuzero_xla.compiler.scoped_limit import OPTION, fast_memory_bytes
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.errors import CompileError
from mallocmuzero_xla.overrides import TENSOR_OVERRIDES, Item, named_item, options_of
from mallocmuzero_xla.search.settings import assignment_settings

if importlib.util.find_spec("jax") is not None:
    import jax
    import jax.numpy as jnp

pytestmark = pytest.mark.compiler

# What libtpu 0.0.51 makes of the first product.
FIRST = "convolution_tanh_fusion.1"
FIRST_REGEX = FIRST.replace(".", r"\\.")


def two_products(x: Any, y: Any) -> Any:
    """Two instructions and the value between them."""
    return jnp.tanh(jax.lax.optimization_barrier(jnp.tanh(x @ y)) @ y)


def place(chip: str, rows: int) -> TrialCompiler:
    """Returns a compiler of two_products with a value of `rows` times 2 KiB."""
    compiler = TrialCompiler(CHIPS[chip])
    shapes = [jax.ShapeDtypeStruct((length, 1024), jnp.bfloat16) for length in (rows, 1024)]
    lower(two_products, shapes, CHIPS[chip]).write(compiler.lowered)
    return compiler


@pytest.fixture(scope="module", params=["tpu_v4i", "tpu_v5e", "tpu_v6e"])
def compiler(request: pytest.FixtureRequest) -> Iterator[TrialCompiler]:
    with place(request.param, rows=1024) as made:
        yield made


def schedule(text: str) -> list[str]:
    """Returns the instructions with their layouts, less what only code generation knows."""
    lines = re.sub(r", backend_config=.*", "", text, flags=re.MULTILINE).splitlines()
    return [line for line in lines if " = " in line]


def in_fast_memory(text: str, name: str) -> bool:
    """Whether the output of instruction `name` is in CMEM or VMEM."""
    (line,) = (line for line in schedule(text) if f"%{name} = " in line)
    return re.search(r"S\([13]\)", line.partition(" fusion(")[0]) is not None


def test_trial_compile_has_the_placement_of_the_whole_compile(compiler: TrialCompiler) -> None:
    trial = compiler.compile_trial({}, Budget())
    compiled = compiler.compile({}, Budget())
    assert schedule(trial) == schedule(compiled)
    assert "estimated_cycles" in compiled
    assert "estimated_cycles" not in trial
    assert list(pathlib.Path(compiler.lowered).parent.glob("dump")) == []


def test_trial_compile_shows_an_override(compiler: TrialCompiler) -> None:
    matcher = f'hlo_position_matcher {{ instruction_name_regex: "^{FIRST_REGEX}$" }}'
    options = {TENSOR_OVERRIDES: f"overrides {{ {matcher} keep_in_default_memory {{}} }}"}
    default, kept = (compiler.compile_trial(chosen, Budget()) for chosen in ({}, options))
    assert in_fast_memory(default, FIRST)
    assert not in_fast_memory(kept, FIRST)


@pytest.mark.parametrize("chip", ["tpu_v4i", "tpu_v5e", "tpu_v6e"])
def test_what_cannot_be_done_is_refused_by_name(chip: str) -> None:
    matcher = f'hlo_position_matcher {{ instruction_name_regex: "^{FIRST_REGEX}$" }}'
    text = f"overrides {{ {matcher} pin_in_alternate_memory {{}} }}"
    item = Item("p", "assign_first", FIRST, 0.0, (text,), (), "", ())
    with (
        place(chip, rows=131072) as compiler,  # 256 MiB, and no chip has as much
        pytest.raises(CompileError, match="alternate memory") as refusal,
    ):
        compiler.compile_trial({TENSOR_OVERRIDES: text}, Budget())
    assert named_item(str(refusal.value), [item]) is item


def estimates(text: str) -> dict[str, str]:
    """Returns the estimated cycles of instructions by name and layouts."""
    lines = (line for line in text.splitlines() if "estimated_cycles" in line)
    pairs = (line.split(", backend_config=") for line in lines)
    return {head: re.findall(r'"estimated_cycles":"(\d+)"', tail)[0] for head, tail in pairs}


@pytest.mark.parametrize("chip", ["tpu_v4i", "tpu_v5e", "tpu_v6e"])
@pytest.mark.parametrize("last", [False, True])
def test_settings_are_known_and_leave_estimates_of_equal_placements_alone(
    chip: str, last: bool
) -> None:
    by_option = {}
    for item in assignment_settings(CHIPS[chip]):
        if last or item.place not in by_option:
            by_option[item.place] = item
    with place(chip, rows=1024) as compiler:
        default = estimates(compiler.compile({}, Budget()))
        found = estimates(compiler.compile(options_of(list(by_option.values())), Budget()))
    equal = default.keys() & found.keys()
    assert equal
    assert {name: found[name] for name in equal} == {name: default[name] for name in equal}


def test_option_that_the_compiler_does_not_have_is_refused_by_name(compiler: TrialCompiler) -> None:
    option = ("xla_tpu_no_such_thing", "1")
    item = Item("n", "n=1", "", 0.0, (), (), "", (), option)
    with pytest.raises(CompileError, match="No such compile option") as refusal:
        compiler.compile_trial(options_of([item]), Budget())
    assert named_item(str(refusal.value), [item]) is item


def stack(x: Any, weights: Any) -> Any:
    """Keeps twenty values for later, as a training step does."""
    kept = [x]
    for _ in range(20):
        kept.append(jnp.tanh(kept[-1] @ weights))
    for value in reversed(kept):
        x = jnp.tanh(x @ weights) * value
    return x


# A process of trial compiles that also keeps the compiler's table of what is where in fast memory.
KEEPS_TABLE = """
import pathlib, shutil, sys
from mallocmuzero_xla.compiler import trial_child

def read_dump(folder, read=trial_child._read_dump):
    (table,) = folder.glob("*-memory-space-assignment-allocinfo.txt")
    shutil.copyfile(table, sys.argv[1])
    return read(folder)

trial_child._read_dump = read_dump
*flags, passes = trial_child._DUMP_FLAGS
trial_child._DUMP_FLAGS = (*flags, f"{passes}|memory-space-assignment")
trial_child.main()
"""


def test_tensors_get_what_the_limit_of_scoped_memory_leaves(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "allocinfo.txt"
    command = (sys.executable, "-c", KEEPS_TABLE, str(table))
    monkeypatch.setattr("mallocmuzero_xla.compiler.worker.TRIAL_COMMAND", command)
    chip = CHIPS["tpu_v5e"]
    shape = jax.ShapeDtypeStruct((2048, 2048), jnp.bfloat16)
    tops = []
    with TrialCompiler(chip) as compiler:
        lower(stack, (shape, shape), chip).write(compiler.lowered)
        for kib in (chip.scoped_vmem_kib, 64 * 1024):
            options = {OPTION: str(kib)}
            compiler.compile_trial(options, Budget())
            rows = csv.DictReader(io.StringIO(table.read_text(encoding="utf-8")))
            tops.append(max(int(row["offset"]) + int(row["size"]) for row in rows))
            most = fast_memory_bytes(chip, options)
            assert most is not None
            assert tops[-1] <= most
    # The second one is short of memory.
    assert tops[0] > 64 << 20 >= tops[1]
