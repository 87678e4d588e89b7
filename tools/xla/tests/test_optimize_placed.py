"""optimize(placed=True): placed modules are steps of the search for options."""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import VERSIONS, World
from test_scoped_limit import EVERYTHING_IN_HBM

from mallocmuzero_xla.artefacts.artefact import load_artefact
from mallocmuzero_xla.artefacts.placed_file import PlacedFile, PlacedHeader
from mallocmuzero_xla.budget import parse_duration
from mallocmuzero_xla.compiler.lowering import LoweredProgram, Traced
from mallocmuzero_xla.compiler.scoped_limit import OPTION
from mallocmuzero_xla.errors import CaptureError
from mallocmuzero_xla.placed.place_search import Found
from mallocmuzero_xla.search.joint_search import JointSearch
from mallocmuzero_xla.search.many import optimize_many
from mallocmuzero_xla.search.optimize import Optimized, load_options, optimize
from mallocmuzero_xla.search.placed_rounds import PlacedRounds

MakeWorld = Callable[..., World]
OVERRIDES = {"xla_tpu_msa_tensor_overrides": "overrides { a }"}


class FakeExecutables:
    """Executables whose files hold the bytes of the fake binary.

    Attributes:
        prepared: the options of each compile in this process.
        unpackable, unfit: why jax cannot save this function's executables, or not this one.
        other_trees: whether the function is called otherwise than when executables were kept.
    """

    prepared: list[dict[str, str]]
    compiles_whole = False
    unpackable = ""
    unfit = ""
    other_trees = False

    def __init__(self, traced: Traced, chip: Any, options: Any, cache: pathlib.Path) -> None:
        self._folder: pathlib.Path = cache / "placed" / chip.name
        self.refused = False
        FakeExecutables.prepared = []

    @property
    def savable(self) -> bool:
        return not self.refused

    def prepare(self, options: dict[str, str]) -> None:
        self.refused = bool(self.unpackable)
        if self.unpackable:
            raise CaptureError(self.unpackable)
        self.prepared.append(options)

    def takes(self, path: str) -> bool:
        return pathlib.Path(path).exists() and not self.other_trees

    def keep(self, found: Found) -> pathlib.Path:
        if self.unfit:
            raise CaptureError(self.unfit)
        path = self._folder / f"{found.cycles}.placed"
        names = [field.name for field in dataclasses.fields(PlacedHeader)]
        header = PlacedHeader(**dict.fromkeys(names))  # type: ignore[arg-type]
        PlacedFile(header, found.executable).write(path)
        return path


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A cache of the test's own, and functions that are traced to one program."""
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    program = LoweredProgram("step", "v5e:1x1", (0,), b"", b"", {}, "1" * 64)
    traced = Traced(program, None, None, (), frozenset())
    monkeypatch.setattr("mallocmuzero_xla.search.optimize.trace", lambda *_: traced)
    monkeypatch.setattr("mallocmuzero_xla.search.optimize.lower", lambda *_: program)
    monkeypatch.setattr("mallocmuzero_xla.search.optimize.compiler_versions", lambda: VERSIONS)
    monkeypatch.setattr("mallocmuzero_xla.search.optimize.Executables", FakeExecutables)
    monkeypatch.setattr(FakeExecutables, "unpackable", "")
    monkeypatch.setattr(FakeExecutables, "unfit", "")
    rounds = "mallocmuzero_xla.search.placed_rounds"
    monkeypatch.setattr(f"{rounds}.readable_module", lambda *_: b"module")
    monkeypatch.setattr(f"{rounds}.compiler_library", lambda: pathlib.Path("libtpu.so"))
    return tmp_path / "cache"


def run(chip: str = "tpu_v5e", **options: Any) -> Optimized:
    given = {"budget": "60s", "samples": 1, "progress": False, "placed": True, **options}
    return optimize(lambda: None, chip=chip, **given)


def steps(found: Optimized, kind: str) -> list[dict[str, Any]]:
    return [step for step in found.report["tried"] if step["step"] == kind]


def test_a_placed_executable_that_is_faster_than_all_options_is_the_result(
    make_world: MakeWorld, tmp_path: pathlib.Path
) -> None:
    make_world(
        promised={"a": 40}, cycles={"a": -40, "limit_24576": -100}, placed={"24576": [850, 800]}
    )
    found = run()
    assert (found.default_cycles, found.optimized_cycles) == (1000, 800)
    assert found.compiler_options == {}
    assert found.report["executable_limit_kib"] == 24576
    assert "20.00% less" in found.summary()
    assert "a placed executable under 24 MiB of scoped memory" in found.summary()
    assert found.executable is not None
    assert found.executable.call == b"executable of 800"
    # A child process has compiled the default to the end, so it does not abort this one.
    assert FakeExecutables.prepared[0] == {}
    found.save(tmp_path / "step.json")
    artefact = load_artefact(tmp_path / "step.json")
    assert artefact.compiler_options == {}
    assert artefact.executable is not None
    beside = tmp_path / artefact.executable.file
    assert beside.name == "step.placed"
    assert artefact.executable.sha256 == hashlib.sha256(beside.read_bytes()).hexdigest()
    assert PlacedFile.read(beside).call == b"executable of 800"


def test_a_default_that_does_not_compile_is_not_compiled_in_this_process(
    make_world: MakeWorld,
) -> None:
    make_world(promised={}, cycles={}, placed={"24576": [850]}, default_fails="no")
    assert run().optimized_cycles == 850
    assert FakeExecutables.prepared[0] == {OPTION: "24576"}


def test_options_that_are_faster_than_placed_modules_are_the_result(make_world: MakeWorld) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [970, 965]})
    found = run("tpu_v4i")
    assert found.compiler_options == OVERRIDES
    assert (found.optimized_cycles, found.executable) == (960, None)
    assert [step["cycles"] for step in steps(found, "placed")][:2] == [970, 965]


def test_placed_modules_and_overrides_share_limits_and_captures(make_world: MakeWorld) -> None:
    world = make_world(
        promised={"a": 40}, cycles={"a": -40, "limit_24576": -100}, placed={"24576": [850]}
    )
    found = run()
    # Under each limit: the default, everything in HBM and one sample, for both searches.
    assert world.log().count("compile limit_24576") == 3
    prepared = [step["limit_kib"] for step in steps(found, "prepare")]
    assert len(set(prepared)) == len(prepared)
    assert {step["step"] for step in found.report["tried"]} >= {"overrides", "placed", "trial"}


def test_a_step_goes_on_from_the_placed_modules_before_it_until_nothing_helps(
    make_world: MakeWorld,
) -> None:
    world = make_world(promised={}, cycles={}, placed={"own": [950, 900, 900, 100]})
    assert run("tpu_v4i").optimized_cycles == 900
    placed = [line.partition(" by ")[0] for line in world.log() if line.startswith("placed")]
    assert placed == ["placed own after 0", "placed own after 1", "placed own after 2"]


def test_the_binary_knows_beforehand_how_long_a_compile_takes(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={}, cycles={}, placed={"own": [900]})
    run_once, told = PlacedRounds._run, []

    def listening(self: Any, line: list[str]) -> Any:
        told.append(line[line.index("--compile-time") + 1])
        return run_once(self, line)

    monkeypatch.setattr(PlacedRounds, "_run", listening)
    run("tpu_v4i")
    assert told
    assert all(parse_duration(each) > 0 for each in told)


def test_a_program_whose_executables_jax_cannot_save_gets_options(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeExecutables, "unpackable", "it closes over arrays")
    world = make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [500]})
    found = run("tpu_v4i", progress=True)
    assert found.compiler_options == OVERRIDES
    assert not any(line.startswith("placed") for line in world.log())
    (step,) = steps(found, "placed")
    assert step["error"] == "it closes over arrays"
    assert "no placed executables under" in capsys.readouterr().err


def test_a_search_without_savable_executables_prepares_no_further_limit(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeExecutables, "unpackable", "it closes over arrays")
    make_world(cycles={"limit_24576": -100, "limit_49152": -90}, placed={"24576": [500]})
    found = run(assignment=False)
    assert found.compiler_options == {OPTION: "24576"}
    assert len(steps(found, "prepare")) == 1
    (step,) = steps(found, "placed")
    assert step["error"] == "it closes over arrays"


def test_modules_that_the_compiler_refuses_leave_the_options(make_world: MakeWorld) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": ["Exceeded vmem capacity"]})
    found = run("tpu_v4i")
    assert found.compiler_options == OVERRIDES
    assert [step["error"] for step in steps(found, "placed")] == ["Exceeded vmem capacity"]


def test_an_executable_that_is_not_of_the_function_gives_way_to_the_best_options(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeExecutables, "unfit", "called otherwise")
    make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [900]})
    found = run("tpu_v4i", progress=True)
    assert (found.compiler_options, found.optimized_cycles) == (OVERRIDES, 960)
    assert "the best placed executable is of no use: called otherwise" in capsys.readouterr().err


def test_options_in_the_place_of_an_unfit_executable_are_compiled_to_the_end(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(
        phases="exact", promised={}, cycles={"limit_24576": -100}, placed={"own": [850]}
    )
    monkeypatch.setattr(FakeExecutables, "unfit", "called otherwise")
    found = run(assignment=False)
    assert found.compiler_options == {OPTION: "24576"}
    assert found.optimized_cycles == 900
    assert "compile limit_24576" in world.log()
    assert "called otherwise" in {step["error"] for step in steps(found, "placed")}
    assert all(step["cycles"] is None for step in steps(found, "placed"))


def test_a_program_that_does_not_compile_in_hbm_alone_has_no_placed_module(
    make_world: MakeWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    make_world(
        promised={"a": 40},
        cycles={"limit_24576": -100},
        aborts=EVERYTHING_IN_HBM,
        placed={"24576": [500]},
    )
    found = run(progress=True)
    assert found.compiler_options == {OPTION: "24576"}
    assert steps(found, "placed") == []
    assert "no overrides of single tensors or placed executables" in capsys.readouterr().err


def test_the_cache_has_results_with_and_without_executables(
    make_world: MakeWorld, cache: pathlib.Path
) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [900]})
    assert run("tpu_v4i").optimized_cycles == 900
    assert run("tpu_v4i", placed=False).compiler_options == OVERRIDES
    lines = world.log()
    again = run("tpu_v4i")
    assert (again.from_cache, again.optimized_cycles) == (True, 900)
    assert again.executable is not None
    assert world.log() == lines
    # Without its file, the entry is of no use.
    (kept,) = (cache / "placed").rglob("*.placed")
    kept.unlink()
    again = run("tpu_v4i")
    assert (again.from_cache, again.optimized_cycles) == (False, 900)
    assert again.executable is not None


def test_the_cache_gives_no_executable_that_is_called_otherwise(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [900]})
    assert run("tpu_v4i").optimized_cycles == 900
    monkeypatch.setattr(FakeExecutables, "other_trees", True)
    again = run("tpu_v4i", budget="1s")
    assert not again.from_cache
    monkeypatch.setattr(FakeExecutables, "other_trees", False)
    assert run("tpu_v4i", budget="1s").from_cache


def test_better_result_of_a_search_that_ended_in_the_meantime_is_kept(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [900]})
    searches = JointSearch.run

    def run_beside_another(search: JointSearch) -> Any:
        monkeypatch.setattr(JointSearch, "run", searches)
        found = searches(search)
        assert run("tpu_v4i", budget="120s").optimized_cycles == 900
        return dataclasses.replace(found, optimized_cycles=950.0)

    monkeypatch.setattr(JointSearch, "run", run_beside_another)
    found = run("tpu_v4i")
    assert (found.from_cache, found.optimized_cycles) == (True, 900)
    # The entry is still an answer for the larger budget.
    again = run("tpu_v4i", budget="120s")
    assert (again.from_cache, again.optimized_cycles) == (True, 900)


@pytest.mark.parametrize(("cycles", "options"), [(970, OVERRIDES), (900, {})])
def test_options_of_a_search_with_executables_are_loaded(
    make_world: MakeWorld, capsys: pytest.CaptureFixture[str], cycles: int, options: dict[str, str]
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [cycles]})
    assert run("tpu_v4i").compiler_options == options
    capsys.readouterr()
    assert load_options(lambda: None, chip="tpu_v4i", placed=True) == options
    told = "step: the result is a placed executable, which `optimize` returns" in (
        capsys.readouterr().err
    )
    assert told == (not options)
    assert load_options(lambda: None, chip="tpu_v4i") == {}


def test_interrupted_among_placed_modules_leaves_the_best_so_far(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={}, cycles={}, placed={"own": [900, 800]})
    run_once = PlacedRounds._run

    def interrupted(self: Any, line: list[str]) -> Any:
        if "--placed" in line:
            raise KeyboardInterrupt
        return run_once(self, line)

    monkeypatch.setattr(PlacedRounds, "_run", interrupted)
    found = run("tpu_v4i")
    assert found.report["interrupted"]
    assert found.optimized_cycles == 900
    assert found.executable is not None


def test_several_functions_get_executables_within_one_budget(
    make_world: MakeWorld, tmp_path: pathlib.Path
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40}, placed={"own": [900]})
    many = optimize_many(
        {"step": (lambda: None, ())},
        "60s",
        chip="tpu_v4i",
        samples=1,
        progress=False,
        placed=True,
    )
    many.save(tmp_path)
    artefact = load_artefact(tmp_path / "step.json")
    assert artefact.executable is not None
    assert (tmp_path / artefact.executable.file).exists()
    assert many.registry.executable(many.results["step"].artefact) is not None
