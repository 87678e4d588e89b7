"""apply() with placed executables of several functions or shapes."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="calls functions on the CPU")

import jax.numpy as jnp  # noqa: E402
from cpu_artefacts import artefact_of, make_cpu_a_chip, warnings_in  # noqa: E402
from placed_world import (  # noqa: E402
    add,
    multiply,
    on_cpu,
    shape,
    swapped,
    threes,
    with_header,
)

from mallocmuzero_xla.artefacts.artefact import load_artefact  # noqa: E402
from mallocmuzero_xla.commands import cli  # noqa: E402
from mallocmuzero_xla.compiler.builders import build_function  # noqa: E402
from mallocmuzero_xla.errors import UsageError  # noqa: E402
from mallocmuzero_xla.runtime.applying import apply, load_registry  # noqa: E402
from mallocmuzero_xla.runtime.measuring import measure  # noqa: E402
from mallocmuzero_xla.search.many import OptimizedMany  # noqa: E402
from mallocmuzero_xla.search.optimize import Optimized  # noqa: E402

SUM, PRODUCT = 6.0, 9.0  # of two threes


@pytest.fixture(autouse=True)
def cpu_is_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu(monkeypatch)
    make_cpu_a_chip(monkeypatch)


def placed_result(count: int, **jit_options: Any) -> Optimized:
    """Returns add for `count` numbers, placed with the executable of multiply."""
    artefact = artefact_of(add, threes(count), threes(count), options={})
    file = swapped(add, multiply, (shape(count), shape(count)), **jit_options)
    return Optimized({}, 1000.0, 900.0, 1.0, None, {}, artefact, fn=add, executable=file)


@pytest.fixture
def buckets() -> OptimizedMany:
    """Shapes of four and of eight numbers."""
    return OptimizedMany({"bucket_4": placed_result(4), "bucket_8": placed_result(8)}, {})


def test_artefact_does_not_take_the_place_of_its_executable(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match="its artefact into another file"):
        placed_result(4).save(tmp_path / "a.placed")
    assert list(tmp_path.iterdir()) == []


def test_executable_in_the_place_of_its_artefact_is_named(tmp_path: pathlib.Path) -> None:
    placed_result(4).save(tmp_path / "a.json")
    with pytest.raises(UsageError, match=r"a\.placed: a placed executable; expected its artefact"):
        load_artefact(tmp_path / "a.placed")
    fast = apply(add, tmp_path / "a.placed")
    assert results_of(fast, 4) == [SUM]
    assert "expected its artefact" in fast.reason


MODEL = """
import jax, jax.numpy as jnp
def noisy(key, x):
    return jax.random.normal(key, x.shape) + x, jax.random.split(key)
def build():
    key, x = jax.random.key(0), jax.ShapeDtypeStruct((4,), jnp.float32)
    return noisy, (jax.ShapeDtypeStruct((), key.dtype), x), {"donate_argnums": 1}
"""


@pytest.mark.parametrize("fits", [True, False])
def test_command_measures_an_executable_of_a_function_with_random_keys(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fits: bool,
) -> None:
    monkeypatch.setattr("mallocmuzero_xla.commands.cli.require_compiler", lambda: None)
    model = tmp_path / f"noisy_{fits}.py"
    model.write_text(MODEL, encoding="utf-8")
    built = build_function(f"{model}:build")
    fn, args, options = built.fn, built.args, built.jit_options

    def other(key: Any, x: Any) -> Any:
        return jax.random.normal(key, x.shape) - x, jax.random.split(key)

    file = swapped(fn, other, args, **options)
    file = file if fits else with_header(file, versions={"jax": "0"})
    artefact = artefact_of(fn, *args, options={}, **options)
    Optimized({}, 1e3, 900.0, 1.0, None, {}, artefact, executable=file).save(tmp_path / "a.json")
    code = cli.main(["measure", str(tmp_path / "a.json"), f"{model}:build", "--rounds", "5"])
    shown = capsys.readouterr().err
    assert code == (0 if fits else 1)
    assert ("nothing was compared: made with jax 0" in shown) != fits
    found = re.search(r"results differ by at most (\S+)", shown)
    assert (found is not None and float(found[1]) > 0) == fits


def results_of(fast: Any, *counts: int) -> list[float]:
    results = [fast(threes(count), threes(count)) for count in counts]
    assert [result.shape for result in results] == [(count,) for count in counts]
    return [float(result[0]) for result in results]


def test_each_shape_runs_its_executable_and_other_shapes_the_function(
    buckets: OptimizedMany, tmp_path: pathlib.Path
) -> None:
    buckets.save(tmp_path)
    assert (tmp_path / "bucket_4.placed").exists()
    fast = apply(add, tmp_path)
    assert results_of(fast, 4, 8, 5) == [PRODUCT, PRODUCT, SUM]
    assert "the function, its shapes" in fast.reason
    assert results_of(fast, 4) == [PRODUCT]


def test_function_that_returns_another_tree_does_not_run_the_executable(
    buckets: OptimizedMany,
) -> None:
    def changed(x: Any, y: Any) -> Any:
        return add(x, y), None

    changed.__name__ = "add"
    results = {
        name: dataclasses.replace(
            each,
            artefact=artefact_of(changed, threes(count), threes(count), options={}),
            executable=swapped(
                lambda x, y: (add(x, y),), lambda x, y: (multiply(x, y),), (shape(count),) * 2
            ),
        )
        for (name, each), count in zip(buckets.results.items(), (4, 8), strict=True)
    }
    fast = apply(changed, OptimizedMany(results, {}))
    assert fast(threes(4), threes(4))[1] is None
    assert "it returns its results in another tree" in fast.reason


def test_results_of_one_function_for_two_chips_do_not_mix() -> None:
    here = placed_result(4)
    elsewhere = dataclasses.replace(
        here,
        artefact=dataclasses.replace(here.artefact, chip="tpu_v5e", topology="v5e:1x1"),
        executable=with_header(swapped(add, add, (shape(4), shape(4))), chip="tpu_v5e"),
    )
    many = OptimizedMany({"here": here, "elsewhere": elsewhere}, {})
    assert results_of(apply(add, many), 4) == [PRODUCT]
    for each in many.results.values():
        assert many.registry.executable(each.artefact) is each.executable


def test_executables_of_two_buckets_with_a_dot_have_names_of_their_own(
    tmp_path: pathlib.Path,
) -> None:
    paths = [tmp_path / f"bucket.{count}" for count in (4, 8)]
    for count, path in zip((4, 8), paths, strict=True):
        placed_result(count).save(path)
    assert results_of(apply(add, paths), 4, 8) == [PRODUCT, PRODUCT]


def test_executable_of_another_artefact_is_not_replaced(tmp_path: pathlib.Path) -> None:
    placed_result(4).save(tmp_path / "step.placed.json")
    with pytest.raises(UsageError, match=r"step\.placed: the executable of .*step\.placed\.json"):
        placed_result(8).save(tmp_path / "step.json")
    assert not (tmp_path / "step.json").exists()
    assert results_of(apply(add, tmp_path), 4) == [PRODUCT]


def test_program_may_change_its_folder_before_the_first_call(
    buckets: OptimizedMany, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buckets.save(tmp_path / "artefacts")
    monkeypatch.chdir(tmp_path)
    fast, registry = apply(add, "artefacts"), load_registry("artefacts")
    monkeypatch.chdir("/")
    assert results_of(fast, 4) == [PRODUCT]
    assert results_of(apply(add, registry), 8) == [PRODUCT]


def test_missing_working_folder_ends_nothing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for artefacts in ("artefacts", ".", ["a.json"], []):
        fast = apply(add, artefacts)
        assert results_of(fast, 4) == [SUM]
        assert fast.reason


def test_results_in_memory_run_without_a_file(
    buckets: OptimizedMany, caplog: pytest.LogCaptureFixture
) -> None:
    for artefacts in (buckets, buckets.registry):
        assert results_of(apply(add, artefacts), 4, 8, 5) == [PRODUCT, PRODUCT, SUM]
    found = buckets.results["bucket_8"]
    measured = measure(add, (threes(8), threes(8)), found, rounds=5)
    assert (measured.used, measured.largest_difference) == (True, PRODUCT - SUM)
    call = apply(add, found)
    assert call.prepared((threes(8), threes(8)))().tolist() == [PRODUCT] * 8
    # The log has each reason once.
    before = len(warnings_in(caplog))
    for count in (5, 6, 5):
        assert call(threes(count), threes(count)).tolist() == [SUM] * count
    assert call.prepared((threes(5), threes(5)))().tolist() == [SUM] * 5
    lines = warnings_in(caplog)[before:]
    assert len(lines) == 2
    start = "add runs as jax.jit compiles it: called with what it was not placed for: "
    assert all(line.startswith(start) for line in lines)


def test_arguments_may_be_given_by_name(buckets: OptimizedMany) -> None:
    fast = apply(add, buckets.registry)
    assert float(fast(threes(), y=threes())[0]) == PRODUCT


def test_one_result_alone_is_a_placed_call(tmp_path: pathlib.Path) -> None:
    OptimizedMany({"only": placed_result(4)}, {}).save(tmp_path)
    fast = apply(add, load_registry(tmp_path))
    assert fast.compiled is not None
    assert results_of(fast, 4) == [PRODUCT]
    assert fast.artefact == load_artefact(tmp_path / "only.json")
    measured = measure(add, (threes(), threes()), tmp_path, rounds=5)
    assert measured.used
    assert measured.expected_gain == pytest.approx(0.1)
    assert measured.largest_difference == PRODUCT - SUM


def test_options_and_executables_may_share_a_folder(
    buckets: OptimizedMany, tmp_path: pathlib.Path
) -> None:
    buckets.save(tmp_path)
    artefact_of(add, threes(2), threes(2)).save(tmp_path / "bucket_2.json")
    fast = apply(add, tmp_path)
    assert results_of(fast, 2) == [SUM]
    assert fast.artefact.compiler_options
    assert results_of(fast, 8) == [PRODUCT]


@pytest.mark.parametrize("damage", ["missing", "of another search", "cut off"])
def test_executable_that_cannot_run_is_a_line_of_the_log(
    buckets: OptimizedMany, tmp_path: pathlib.Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    buckets.save(tmp_path)
    path = tmp_path / "bucket_4.placed"
    if damage == "missing":
        path.unlink()
    elif damage == "cut off":
        path.write_bytes(path.read_bytes()[:100])
    else:
        path.write_bytes((tmp_path / "bucket_8.placed").read_bytes())
    fast = apply(add, tmp_path)
    assert results_of(fast, 4, 8) == [SUM, PRODUCT]
    (line,) = warnings_in(caplog)
    assert "runs as jax.jit compiles it: its placed executable cannot run: " in line
    assert str(path) in line


def test_files_of_several_folders_are_taken_one_by_one(
    buckets: OptimizedMany, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, result in buckets.results.items():
        result.save(tmp_path / name / "add.json")
    paths = [tmp_path / name / "add.json" for name in (*buckets.results, "absent")]
    fast = apply(add, [str(paths[0]), *paths[1:]])
    assert results_of(fast, 4, 8, 5) == [PRODUCT, PRODUCT, SUM]
    lines = warnings_in(caplog)
    assert "absent/add.json: cannot be read: No such file" in lines[0]


def test_options_take_the_place_of_an_executable_that_cannot_run(
    buckets: OptimizedMany, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    buckets.save(tmp_path)
    slower = dataclasses.replace(artefact_of(add, threes(), threes()), expected_cycles=950.0)
    slower.save(tmp_path / "options.json")
    assert results_of(apply(add, tmp_path), 4) == [PRODUCT]
    (tmp_path / "bucket_4.placed").unlink()
    fast = apply(add, tmp_path)
    assert results_of(fast, 4, 4) == [SUM, SUM]
    assert (fast.artefact, fast.reason) == (slower, "")
    (line,) = warnings_in(caplog)
    assert line.startswith("add runs with an artefact that is not the best: its placed executable")
    # A framework that owns the calls of jax.jit has no use for an executable.
    lowered = jax.jit(add).lower(threes(), threes())
    assert load_registry(tmp_path).compiler_options(lowered) == slower.compiler_options


def test_ahead_of_time_compile_returns_the_executable(buckets: OptimizedMany) -> None:
    fast = apply(add, buckets.registry)
    lowered = fast.lower(threes(), threes())
    assert float(lowered.compile()(threes(), threes())[0]) == PRODUCT
    # Its own tree of arguments is the only one that it takes.
    by_name = fast.lower(threes(), y=threes()).compile()
    assert float(by_name(threes(), y=threes())[0]) == SUM
    assert fast.reason == "the executable takes its arguments in another tree"
    # An executable takes no further options.
    plain = lowered.compile(compiler_options={"xla_cpu_max_isa": "AVX2"})
    assert float(plain(threes(), threes())[0]) == SUM
    assert "compiled without the option xla_cpu_max_isa=AVX2" in fast.reason


def test_call_that_the_executable_does_not_take_is_no_use_of_the_artefact(
    buckets: OptimizedMany,
) -> None:
    fast = apply(add, buckets.registry)
    x = jax.device_put(threes(), jax.devices()[1])
    assert results_of(fast, 4) == [PRODUCT]
    assert fast(x, x).tolist() == [SUM] * 4
    assert fast.artefact is None
    assert fast.reason.startswith("called with what it was not placed for: ")
    measured = measure(add, (x, x), buckets.registry, rounds=5)
    assert (measured.used, measured.reason) == (False, fast.reason)


def test_default_is_measured_with_the_donation_of_the_executable() -> None:
    result = placed_result(4, donate_argnums=0)
    given: list[Any] = []

    def make() -> tuple[Any, Any]:
        given.append(threes())
        return given[-1], threes()

    measured = measure(add, make, result, rounds=5)
    assert measured.used
    assert all(array.is_deleted() for array in given)


@pytest.mark.parametrize("counts", [[4], [4, 8]])
@pytest.mark.parametrize(
    ("name", "value"), [("xla_cpu_max_isa", "AVX2"), ("exec_time_optimization_effort", 0.5)]
)
def test_executable_runs_only_with_the_options_that_it_was_compiled_with(
    counts: list[int], name: str, value: Any
) -> None:
    own = {"compiler_options": {name: value}}

    def applied(found_with: dict[str, Any], **jit_options: Any) -> Any:
        results = {str(count): placed_result(count, **found_with) for count in counts}
        return apply(add, OptimizedMany(results, {}).registry, **jit_options)

    plain = applied({}, **own)
    assert results_of(plain, 4) == [SUM]
    assert f"compiled without the option {name}={value}" in plain.reason
    assert results_of(applied(own, **own), 4) == [PRODUCT]
    # The options of the search need not be repeated.
    assert results_of(applied(own), 4) == [PRODUCT]


def test_gradient_is_taken_of_the_function(buckets: OptimizedMany) -> None:
    fast = apply(add, buckets.registry)
    gradient = jax.grad(lambda x: jnp.sum(fast(x, x)))(threes())
    assert gradient.tolist() == [2.0] * 4
