"""The results command makes each record once, and its tables agree with the records."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import VERSIONS, World
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.progress import LoopProgress
from results import Records, ResultsRequest, run_results, selected_programs
from results_table import render_results

MakeWorld = Callable[..., World]


@pytest.fixture(autouse=True)
def versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("results.compiler_versions", lambda: VERSIONS)


def request(world: World, **options: Any) -> ResultsRequest:
    """A corpus of one program, f on tpu_v4i, in the world's folder."""
    root = world.capture.parent
    workloads, captures = root / "workloads" / "tpu_v4i", root / "captures" / "tpu_v4i"
    if not workloads.exists():
        workloads.mkdir(parents=True)
        captures.mkdir(parents=True)
        (workloads / "f.program").write_text("[]", encoding="utf-8")
        world.capture.rename(captures / "f")
    return ResultsRequest(
        workloads=workloads.parent,
        captures=captures.parent,
        registry=root,
        **{
            "output": root / "results.jsonl",
            "solvers": ("greedy", "local_search"),
            "verify_seconds": 60.0,
            **options,
        },
    )


def run(world: World, **options: Any) -> list[dict[str, Any]]:
    records, _ = run_results(request(world, **options), LoopProgress(quiet=True))
    return records.all()


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world(
        promised={"a": 40},
        cycles={"a": -40},
        solved={"greedy": 990, "local_search": 970},
        corpus=["f"],
    )


def test_every_solver_is_run_and_the_best_mapping_recompiled(world: World) -> None:
    records = run(world)
    assert [(entry["kind"], entry["solver"]) for entry in records] == [
        ("solve", "greedy"),
        ("solve", "local_search"),
        ("verify", "local_search"),
    ]
    assert records[1]["total_cycles"] == 970
    assert records[2]["verified"]["optimized_cycles"] == 960
    assert records[1]["budget"] == {"seconds": 60}
    assert records[2]["budget"] == {"seconds": 60, "looks": 400, "compiles": 6}
    assert records[2]["versions"] == VERSIONS
    # Records must not contain paths of one machine.
    assert str(world.capture.parent) not in json.dumps(records)


def test_second_run_makes_nothing_anew(world: World) -> None:
    first = run(world)
    lines = world.log()
    assert run(world) == first
    assert world.log() == lines


def test_run_that_was_killed_within_a_line_repeats_that_record_only(world: World) -> None:
    run(world)
    output = world.capture.parent / "results.jsonl"
    content = output.read_text(encoding="utf-8")
    output.write_text(content[:-20], encoding="utf-8")
    assert len(run(world)) == 3
    lines = output.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4
    assert json.loads(lines[3])["kind"] == "verify"


def test_changed_program_is_run_again(world: World) -> None:
    run(world)
    changed = world.capture.parent / "workloads" / "tpu_v4i" / "f.program"
    changed.write_text("[ ]", encoding="utf-8")
    run(world)
    output = world.capture.parent / "results.jsonl"
    assert len(output.read_text(encoding="utf-8").splitlines()) == 6


def test_failure_is_recorded_and_tried_again(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40}, cycles={}, solved={"greedy": 990}, corpus=["f"])
    records = run(world)
    assert records[1]["solver"] == "local_search"
    assert "no such solver" in records[1]["error"]
    assert records[2]["solver"] == "greedy"
    run(world)
    output = world.capture.parent / "results.jsonl"
    assert output.read_text(encoding="utf-8").count("no such solver") == 2


def test_function_that_is_not_the_one_captured_is_an_error_of_its_record(
    make_world: MakeWorld,
) -> None:
    world = make_world(promised={}, cycles={}, solved={"greedy": 1}, corpus=["f"], sha256="9" * 64)
    (record,) = (entry for entry in run(world, solvers=("greedy",)) if entry["kind"] == "verify")
    assert "capture it anew" in record["error"]


def test_each_solvers_mapping_is_recompiled_where_asked(world: World) -> None:
    records = run(world, every_solver=("f*",))
    verified = {entry["solver"]: entry["winner"] for entry in records if entry["kind"] == "verify"}
    assert verified == {"greedy": False, "local_search": True}


def test_what_the_loops_of_two_solvers_learn_is_kept_apart(make_world: MakeWorld) -> None:
    # The first compile has 30 cycles that no trial compile shows, so the loop refits and makes
    # another mapping.
    world = make_world(
        promised={"a": 40, "b": 5},
        cycles={"a": -40, "b": -5},
        hidden={"a": 30},
        items={"first": ["a"], "second": ["b"]},
        solved={"greedy": 990, "local_search": 970},
        corpus=["f"],
    )
    records = run(world, every_solver=("f*",))
    folder = world.capture.parent / "results/tpu_v4i/f"
    for solver in ("greedy", "local_search"):
        left = {path.name for path in (folder / solver).iterdir()}
        assert {"refit_1.mapping", "refit_1.program"} <= left
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == [
        "greedy.mapping",
        "local_search.mapping",
    ]
    for record in records:
        if record["kind"] == "verify":
            assert record["verified"]["mapping"] == f"{record['solver']}/refit_1.mapping"
            assert (folder / record["verified"]["program"]).is_file()


def test_program_whose_default_was_kept_is_verified_again_where_asked(
    make_world: MakeWorld,
) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": 40}, solved={"greedy": 990}, corpus=["f"])
    first = run(world, solvers=("greedy",))[-1]
    assert first["verified"]["options"] == {}
    output = world.capture.parent / "results.jsonl"
    run(world, solvers=("greedy",))
    assert len(output.read_text(encoding="utf-8").splitlines()) == 2
    run(world, solvers=("greedy",), retry_fallbacks=True)
    lines = output.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["solve", "verify", "verify"]


def test_program_that_gained_is_not_verified_again(world: World) -> None:
    run(world)
    run(world, retry_fallbacks=True)
    output = world.capture.parent / "results.jsonl"
    assert len(output.read_text(encoding="utf-8").splitlines()) == 3


def test_programs_come_by_chip_contended_and_held_out_first() -> None:
    def entry(name: str, chip: str, split: str, contended: bool) -> dict[str, Any]:
        report = {"program": name, "hardware": chip}
        return {"family": "x", "split": split, "contended": contended, "report": report}

    corpus = [
        entry("a", "tpu_v5e", "test", True),
        entry("b", "tpu_v4i", "test", False),
        entry("c", "tpu_v4i", "train", True),
        entry("d", "tpu_v4i", "test", True),
    ]
    folder = pathlib.Path("x")
    everything = ResultsRequest(folder, folder, folder, folder)
    names = [item["program"] for item in selected_programs(corpus, everything)]
    assert names == ["d", "c", "b", "a"]
    only = ResultsRequest(folder, folder, folder, folder, only=("[cd]",), chips=("tpu_v4i",))
    assert [item["program"] for item in selected_programs(corpus, only)] == ["d", "c"]
    nothing = ResultsRequest(folder, folder, folder, folder, only=("z*",))
    with pytest.raises(UsageError, match="matches --only and --chip"):
        selected_programs(corpus, nothing)


def solve(program: str, solver: str, cycles: float) -> dict[str, Any]:
    head = {"chip": "tpu_v4i", "family": "x", "split": "test", "contended": True}
    found = {"solver": solver, "total_cycles": cycles, "default_cycles": 1e6}
    return {**head, "kind": "solve", "program": program, "program_sha256": "", **found}


def verify(
    program: str, optimized: float, predicted: float, followed: float, total: float = 1e6
) -> dict[str, Any]:
    rounds = [{"predicted_cycles": predicted, "compiled_cycles": optimized, "items": 2}]
    verified = {
        "default_cycles": 1e6,
        "optimized_cycles": optimized,
        "predicted_cycles": predicted,
        "followed_share": followed,
        "options": {"o": "v"} if optimized < 1e6 else {},
        "kept": ["k1", "k2"] if optimized < 1e6 else [],
        "dropped": {"d": "r"},
        "rounds": rounds if optimized < 1e6 else [],
        "looks": 7,
        "compiles": 1,
    }
    record = {**solve(program, "greedy", total), "kind": "verify", "winner": True}
    return {**record, "verified": verified}


def test_tables_state_gains_errors_and_summary() -> None:
    records = [
        solve("p", "greedy", 0.95e6),
        solve("q", "greedy", 1e6),
        solve("r", "greedy", 0.99e6),
        verify("p", 0.96e6, 0.9504e6, 0.9, 0.95e6),
        verify("q", 1e6, 1e6, 1.0),
    ]
    lines = render_results(records).splitlines()
    # 1 - 0.96 = 4 %; 0.9504 / 0.96 is 1 % off; k1 and k2 of three items.
    assert (
        "| p | x | test | yes | 1.000 | 5.00 % | 4.00 % | 1.00 % | 90.00 % | 2 of 3 | 7 | 1 |"
        in lines
    )
    assert (
        "| q | x | test | yes | 1.000 | 0.00 % | default kept |  | 100.00 % | 0 of 1 | 7 | 1 |"
        in lines
    )
    assert "| r | x | test | yes | 1.000 | 1.00 % |  |  |  |  |  |  |" in lines
    assert "2 programs recompiled, 2 of them contended." in lines
    # (4 % + 0 %) / 2
    assert any("contended programs: mean 2.00 %" in line for line in lines)
    assert "- slower than the default: 0; fallbacks to the default: 1" in lines
    assert any(
        "1 programs with 1% or more predicted gain: median 90.00 %" in line for line in lines
    )
    assert "- prediction against compile, 1 compiles: median error 1.00 %" in lines


def test_summary_takes_the_contended_programs_of_the_table() -> None:
    # A recompile may be older than the program, and so than the figures that decide this.
    older = {**verify("p", 0.96e6, 0.96e6, 1.0), "contended": False}
    other = {**verify("q", 0.98e6, 0.98e6, 1.0), "contended": True}
    records = [solve("p", "greedy", 0.9e6), {**solve("q", "greedy", 1e6), "contended": False}]
    lines = render_results([*records, older, other]).splitlines()
    assert "2 programs recompiled, 1 of them contended." in lines
    assert any("contended programs: mean 4.00 %, over all: mean 3.00 %" in line for line in lines)


def test_older_records_call_the_followed_share_honoured() -> None:
    record = verify("p", 0.96e6, 0.9504e6, 0.9, 0.95e6)
    text = render_results([solve("p", "greedy", 0.95e6), record])
    record["verified"]["honoured_share"] = record["verified"].pop("followed_share")
    assert render_results([solve("p", "greedy", 0.95e6), record]) == text
    assert "| 90.00 % | 2 of 3 |" in text


@pytest.mark.parametrize(
    ("change", "mark"),
    [
        ({}, ""),
        ({"program_sha256": "b"}, ""),  # imported again, with the same outcome
        ({"total_cycles": 0.94e6}, " †"),  # another mapping
        ({"solver": "xla_like"}, " †"),  # the solver recompiled has no column
    ],
)
def test_recompiled_gain_that_is_not_of_the_mapping_beside_it_is_marked(
    change: dict[str, Any], mark: str
) -> None:
    solved = {**solve("p", "greedy", 0.95e6), **change}
    text = render_results([solved, verify("p", 0.96e6, 0.96e6, 1.0, 0.95e6)])
    assert f"| 4.00 %{mark} | 0.00 % | 100.00 % |" in text
    assert "| † | another mapping was recompiled" in text.partition("## ")[0]


def test_records_that_do_not_say_what_they_were_made_with_are_taken_up(world: World) -> None:
    first = run(world)
    output = world.capture.parent / "results.jsonl"
    newer = ("budget", "versions")
    older = [{name: entry[name] for name in entry if name not in newer} for entry in first]
    output.write_text("".join(f"{json.dumps(entry)}\n" for entry in older), encoding="utf-8")
    assert run(world) == older
    assert "| 4.00 % |" in render_results(older)


def test_failed_records_are_not_in_the_tables(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "r.jsonl"
    records = Records(path)
    records.append({**solve("p", "greedy", 1.0), "error": "no"})
    assert "greedy" not in render_results(Records(path).all())


def test_text_above_the_tables_and_other_chips_are_kept() -> None:
    earlier = "# Results\n\nSaid by hand.\n\n## tpu_v4i\n\nold\n\n## tpu_v5e\n\nkept\n"
    text = render_results([solve("p", "greedy", 0.95e6)], earlier)
    assert text.startswith("# Results\n\nSaid by hand.\n\n## tpu_v4i\n\n0 programs recompiled")
    assert "old" not in text
    assert text.endswith("## tpu_v5e\n\nkept\n")
    assert render_results([solve("p", "greedy", 0.95e6)], text) == text


def test_sections_that_are_of_no_chip_keep_their_place() -> None:
    # Such as those of docs/results.md, which another command makes.
    earlier = "# Results\n\n## The protocol\n\none\n\n## Gains\n\ntwo\n"
    text = render_results([solve("p", "greedy", 0.95e6)], earlier)
    assert text.startswith(f"{earlier}\n## tpu_v4i\n")
    text += "\n## Notes\n\nthree\n"
    assert render_results([solve("p", "greedy", 0.95e6)], text) == text


def test_failures_are_those_of_this_run(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40}, cycles={}, solved={"greedy": 990}, corpus=["f"])
    _, failures = run_results(request(world), LoopProgress(quiet=True))
    assert [failure["solver"] for failure in failures] == ["local_search"]
    _, failures = run_results(request(world, solvers=("greedy",)), LoopProgress(quiet=True))
    assert failures == []


def test_what_the_binary_calls_bad_input_is_no_record(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(promised={"a": 40}, cycles={}, solved={"greedy": 990}, corpus=["f"])

    def refuse(*_: Any) -> None:
        raise UsageError("no such solver")

    monkeypatch.setattr("mallocmuzero_xla.binary.Binary.solve", refuse)
    with pytest.raises(UsageError, match="no such solver"):
        run(world)
    assert not (world.capture.parent / "results.jsonl").exists()


def test_output_without_a_suffix_has_a_folder_beside_it(world: World) -> None:
    output = world.capture.parent / "records"
    run(world, output=output)
    assert output.is_file()
    assert (world.capture.parent / "records.mappings/tpu_v4i/f/greedy.mapping").is_file()


def test_tables_show_the_winner_of_all_solvers_not_of_the_last_run() -> None:
    best = {**verify("p", 0.9e6, 0.9e6, 1.0), "solver": "local_search", "total_cycles": 0.9e6}
    later = {**verify("p", 0.97e6, 0.97e6, 1.0), "total_cycles": 0.97e6}
    records = [solve("p", "local_search", 0.9e6), solve("p", "greedy", 0.97e6), best, later]
    text = render_results(records)
    assert "contended programs: mean 10.00 %" in text
    assert "| 10.00 % | 3.00 % | 10.00 % |" in text
