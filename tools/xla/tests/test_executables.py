"""Files of placed executables that a search keeps, on CPU devices."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import pytest
from placed_world import (
    HAS_JAX,
    REPORT,
    add,
    multiply,
    needs_jax,
    on_cpu,
    output_of,
    shape,
    shapes,
    threes,
)

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.lowering import trace
from mallocmuzero_xla.compiler.placed_payload import check_entry, module_of_text
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.placed.executables import Executables
from mallocmuzero_xla.placed.loading import load_placed
from mallocmuzero_xla.placed.place_search import Found

if HAS_JAX:
    import jax

pytestmark = needs_jax


@pytest.fixture(autouse=True)
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu(monkeypatch)


def executables_of(fn: Any, cache: pathlib.Path, *args: Any, **options: Any) -> Executables:
    chip = CHIPS["tpu_v6e"]
    return Executables(trace(fn, args, chip, options), chip, {}, cache)


def module_of(fn: Any, *args: Any) -> Found:
    return Found(REPORT, *output_of(fn, args))


def test_the_kept_file_runs_the_placed_executable(tmp_path: pathlib.Path) -> None:
    executables = executables_of(add, tmp_path, *shapes())
    executables.prepare({})
    path = executables.keep(module_of(multiply, *shapes()))
    assert path.parent == tmp_path / "placed" / "tpu_v6e"
    assert load_placed(path, add)(threes(), threes()).tolist() == [9.0] * 4
    # The same executable is the same file, and another is another.
    assert executables.keep(module_of(multiply, *shapes())) == path
    assert executables.keep(module_of(add, *shapes())) != path


def test_a_kept_file_is_of_use_for_what_is_called_as_the_function_was(
    tmp_path: pathlib.Path,
) -> None:
    executables = executables_of(add, tmp_path, *shapes())
    executables.prepare({})
    path = str(executables.keep(module_of(multiply, *shapes())))
    assert executables.takes(path)
    assert not executables.takes(path + ".missing")
    # The text of a program says little or nothing of these.
    x, y = shapes()
    pair: Any = lambda pair: pair["x"] + pair["y"]  # noqa: E731
    returned: Any = lambda x, y: (add(x, y), None)  # noqa: E731
    renamed: Any = lambda x, z: x + z  # noqa: E731
    for other, args in ((pair, ({"x": x, "y": y},)), (returned, (x, y)), (renamed, (x, y))):
        other.__name__ = "add"
        assert not executables_of(other, tmp_path, *args).takes(path)


def test_an_executable_with_other_arguments_is_refused(tmp_path: pathlib.Path) -> None:
    executables = executables_of(add, tmp_path, *shapes())
    executables.prepare({})
    with pytest.raises(CaptureError, match="the placed module is called otherwise"):
        executables.keep(module_of(add, shape(8), shape(8)))


def test_the_function_is_compiled_once_under_the_first_options(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    compile_it = jax.stages.Lowered.compile

    def spy(lowered: Any, compiler_options: dict[str, Any]) -> Any:
        asked.append(compiler_options)
        return compile_it(lowered)

    executables = executables_of(add, tmp_path, *shapes())
    monkeypatch.setattr(jax.stages.Lowered, "compile", spy)
    executables.prepare({"xla_a": "1"})
    executables.prepare({"xla_a": "2"})
    assert asked == [{"xla_a": "1"}]


def test_a_function_on_several_devices_takes_a_whole_compile(tmp_path: pathlib.Path) -> None:
    mesh = jax.make_mesh((4,), ("x",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    assert executables_of(add, tmp_path, *shapes(), in_shardings=(rows, rows)).compiles_whole
    assert not executables_of(add, tmp_path, *shapes()).compiles_whole


def test_what_jax_cannot_save_fails_each_time_for_the_same_reason(tmp_path: pathlib.Path) -> None:
    call: Any = lambda x, y, fn: fn(x, y)  # noqa: E731
    executables = executables_of(call, tmp_path, *shapes(), lambda x, y: x, static_argnums=2)
    for _ in range(2):
        with pytest.raises(CaptureError, match="cannot be pickled"):
            executables.prepare({})


def test_a_text_is_read_as_the_module_that_it_was() -> None:
    compiled = jax.jit(add).lower(*shapes()).compile()
    (module,) = compiled.runtime_executable().hlo_modules()
    again = module_of_text(module.to_string())
    assert b"add" in again
    with pytest.raises(CaptureError, match="jax cannot read the compiled module"):
        module_of_text("ENTRY %main {")


def test_a_text_without_the_values_of_constants_is_not_read_as_a_module() -> None:
    table = jax.numpy.sin(jax.numpy.arange(100.0))  # jaxlib would read 100 other numbers
    compiled = jax.jit(lambda x: x * table).lower(jax.numpy.ones(100)).compile()
    (module,) = compiled.runtime_executable().hlo_modules()
    with pytest.raises(CaptureError, match="leaves out the values of constants"):
        module_of_text(module.to_string())


# jaxlib 0.10.2 writes this before it raises an error.
TRACE = """E1127 14:34:22.920232    5920 status_macros.cc:58] INTERNAL: RET_CHECK failure (h.cc:390)
*** Begin stack trace ***
\t
\tPyObject_Vectorcall
*** End stack trace ***

"""


def test_a_module_that_jax_cannot_read_is_no_trace_on_stderr(
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Compiled:
        def runtime_executable(self) -> Compiled:
            return self

        def hlo_modules(self) -> Any:
            os.write(2, f"a line of another thread\n{TRACE}and one more\n".encode())
            raise RuntimeError("INTERNAL: RET_CHECK failure (hlo.cc:390)")

    check_entry(Compiled(), b"")
    os.write(2, b"afterwards\n")
    lines = capfd.readouterr().err.splitlines()
    assert lines == ["a line of another thread", "and one more", "afterwards"]
