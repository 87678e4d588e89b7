"""optimize() finds the best limit of scoped memory and reports it."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest
from conftest import World, lower_to

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.lowering import LoweredProgram
from mallocmuzero_xla.compiler.scoped_limit import OPTION, fast_memory_bytes, with_options
from mallocmuzero_xla.compiler.store import folder_of
from mallocmuzero_xla.compiler.variants import standard_variants
from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.search.optimize import Optimized, load_options, optimize
from mallocmuzero_xla.search.outcome import describe
from mallocmuzero_xla.search.search_capture import Resources, capture_for_search
from mallocmuzero_xla.search.step_runner import StepRunner
from mallocmuzero_xla.search.steps import Candidate
from mallocmuzero_xla.search.verified import Verified

MakeWorld = Callable[..., World]
OVERRIDES = {"xla_tpu_msa_tensor_overrides": "overrides { a }"}
EVERYTHING_IN_HBM = [f"all_hbm_under_{limit}" for limit in ("own", *range(1024, 131072, 1024))]
HARDWARE = pathlib.Path(__file__).resolve().parents[3] / "hardware"


def program(options: dict[str, Any] | None = None) -> LoweredProgram:
    return LoweredProgram("step", "v5e:1x1", (0,), b"", b"", options or {}, "1" * 64)


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A cache of the test's own, and functions that lower to `program`."""
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    lower_to(monkeypatch, program())
    return tmp_path / "cache"


def run(chip: str = "tpu_v5e", **options: Any) -> Optimized:
    return optimize(lambda: None, chip=chip, budget="10m", samples=1, progress=False, **options)


def limits_tried(cache: pathlib.Path, chip: str = "tpu_v5e") -> set[int]:
    """Returns the tried limits in MiB; 16 stands for the chip's own."""
    by_sha = {
        with_options(program(), {OPTION: str(mebibytes * 1024)}).sha256: mebibytes
        for mebibytes in range(1, 128)
    }
    folders = (cache / "captures" / chip).iterdir()
    return {by_sha.get(folder.name.partition("-")[0], 16) for folder in folders}


def test_default_whose_process_the_system_kills_is_not_given_up(make_world: MakeWorld) -> None:
    # Under another limit the result might be slower than the default.
    make_world(promised={}, cycles={"limit_24576": -100}, kills_default=True)
    with pytest.raises(CaptureError, match="the system killed the compile process"):
        run()


def test_a_better_limit_is_part_of_the_options(make_world: MakeWorld) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_24576": -100})
    result = run()
    assert result.compiler_options == {OPTION: "24576", **OVERRIDES}
    assert (result.default_cycles, result.optimized_cycles) == (1000, 860)
    assert result.report["limit_cycles"] == 900
    steps = result.report["tried"]
    assert steps[0]["why"] == "the default, which all gains are relative to"
    gained = [step for step in steps if step["gain"] > 0]
    assert [(step["step"], step["limit_kib"], round(step["gain"], 3)) for step in gained] == [
        ("compile", 24576, 0.1),
        ("overrides", 24576, round(40 / 900, 3)),
    ]
    words = describe(Verified.from_json(result.report))
    assert "14.00% less" in words
    assert "scoped memory up to 24 MiB (by itself 10.00% less), 1 override," in words


def test_a_better_limit_is_enough(make_world: MakeWorld) -> None:
    make_world(promised={"a": 40}, cycles={"a": 1, "limit_12288": -100})
    result = run()
    assert result.compiler_options == {OPTION: "12288"}
    assert (result.default_cycles, result.optimized_cycles) == (1000, 900)


def test_the_chips_own_limit_is_no_option(make_world: MakeWorld, cache: pathlib.Path) -> None:
    world = make_world(
        promised={"a": 40},
        cycles={"a": -40, "limit_12288": 500, "limit_24576": 500, "limit_20480": 500},
    )
    assert run().compiler_options == OVERRIDES
    assert limits_tried(cache) == {16, 24, 12, 20, 96}
    assert "trial a limit_24576" not in world.log()


def test_limits_are_tried_while_they_help_and_then_beside_the_best(
    make_world: MakeWorld, cache: pathlib.Path
) -> None:
    make_world(
        promised={"a": 1},
        cycles={
            "limit_24576": 1,
            "limit_32768": -50,
            "limit_49152": -20,
            "limit_28672": -60,
            "limit_36864": -20,
        },
    )
    assert run().compiler_options[OPTION] == str(28 * 1024)
    # 36 MiB is compiled beside 28 MiB if the machine has room for two compiles at once.
    assert limits_tried(cache) | {36} == {16, 24, 32, 48, 12, 8, 4, 28, 36, 96}


def test_program_whose_default_does_not_compile_gets_options_under_which_it_does(
    make_world: MakeWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "RESOURCE_EXHAUSTED: 16.25M and limit 16.00M"
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_32768": -10}, default_fails=message)
    result = optimize(lambda: None, chip="tpu_v5e", budget="60s", samples=1)
    assert result.default_cycles is None
    assert result.gain is None
    # 24 MiB is the first limit that works, with 1000 cycles; 32 MiB and the override are faster.
    assert result.compiler_options == {OPTION: "32768", **OVERRIDES}
    assert result.optimized_cycles == 950
    assert f"the default does not compile ({message}); trying other" in capsys.readouterr().err
    assert f"the default does not compile ({message}), and these options do" in result.summary()


def test_program_that_compiles_under_no_limit_is_one_sentence(make_world: MakeWorld) -> None:
    kib = [int(16 * 1024 * share) for share in (1.5, 2, 3, 4, 0.75, 0.5, 0.25)]
    make_world(promised={}, cycles={}, default_fails="no", nameless=[f"limit_{n}" for n in kib])
    words = (
        r"^step does not compile for tpu_v5e as it is, nor under 7 other limits .*: make .*\(no\)$"
    )
    with pytest.raises(CaptureError, match=words):
        optimize(lambda: None, chip="tpu_v5e", budget="60s", samples=1, progress=False)


def test_a_limit_that_does_not_compile_is_passed_over(
    make_world: MakeWorld, cache: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_world(
        promised={"a": 1},
        cycles={"limit_32768": -10, "limit_49152": -5},
        nameless=["limit_24576"],
    )
    result = optimize(lambda: None, chip="tpu_v5e", budget="60s", samples=1)
    assert result.compiler_options[OPTION] == str(32 * 1024)
    # 36 MiB is beside 32 MiB, which is the best limit until the compile under 28 MiB has ended.
    assert limits_tried(cache) - {36} == {16, 24, 32, 48, 12, 8, 4, 28, 96}
    assert "scoped memory up to 24 MiB: JaxRuntimeError" in capsys.readouterr().err


def test_a_limit_that_cannot_be_captured_is_returned_by_itself_if_it_is_best(
    make_world: MakeWorld,
) -> None:
    make_world(
        promised={"a": 40},
        cycles={"a": -40, "limit_24576": -100},
        nameless=["all_hbm_under_24576"],
    )
    result = run()
    assert result.compiler_options == {OPTION: "24576"}
    assert (result.default_cycles, result.optimized_cycles) == (1000, 900)
    assert result.mapping is None


def test_a_limit_that_cannot_be_captured_gives_way_to_a_better_placement(
    make_world: MakeWorld,
) -> None:
    make_world(
        promised={"a": 40},
        cycles={"a": -40, "limit_24576": -10},
        nameless=["all_hbm_under_24576"],
    )
    result = run()
    assert result.compiler_options == OVERRIDES
    assert (result.default_cycles, result.optimized_cycles) == (1000, 960)


@pytest.mark.parametrize("how", ["aborts", "nameless"])
def test_a_program_that_never_compiles_in_hbm_alone_keeps_the_gain_of_its_limit(
    make_world: MakeWorld, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    setting = "xla_tpu_async_copy_bandwidth_scaling_factor=2"
    world = make_world(
        promised={"a": 40},
        cycles={"a": -40, "fast": -30, "limit_24576": -100},
        settings={"fast": setting},
        **{how: EVERYTHING_IN_HBM},
    )
    result = optimize(lambda: None, chip="tpu_v5e", budget="60s", samples=1)
    name, _, value = setting.partition("=")
    assert result.compiler_options == {OPTION: "24576", name: value}
    assert (result.default_cycles, result.optimized_cycles) == (1000, 870)
    assert not Verified.from_json(result.report).undecided
    failed = [step for step in result.report["tried"] if step["error"] is not None]
    prepared = [step["limit_kib"] for step in failed if step["step"] == "prepare"]
    assert prepared[0] == 24576
    lines = capsys.readouterr().err.splitlines()
    words = next(line for line in lines if "no overrides of single tensors" in line)
    assert "does not compile with everything in HBM" in words
    assert "limits and settings are searched all the same" in words
    # The compiler is deterministic: another attempt would end as the first did.
    assert sum(line == "compile limit_24576" for line in world.log()) == 2


def test_a_wrong_request_in_the_middle_of_a_search_keeps_what_was_found(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_24576": -100})

    def refused(*_: Any) -> None:
        raise UsageError("--server: nobody answers")

    monkeypatch.setattr("mallocmuzero_xla.binary.Binary.solve", refused)
    result = run()
    assert result.compiler_options == {OPTION: "24576"}
    errors = {step["error"] for step in result.report["tried"] if step["step"] == "prepare"}
    assert errors == {"--server: nobody answers"}


def test_where_tensors_have_cmem_there_is_nothing_to_trade(
    make_world: MakeWorld, cache: pathlib.Path
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_12288": -100, "limit_24576": -100})
    assert run("tpu_v4i").compiler_options == OVERRIDES
    assert limits_tried(cache, "tpu_v4i") == {16}


def test_texts_of_limits_are_compiled_once(make_world: MakeWorld, cache: pathlib.Path) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": 1, "limit_24576": -100})
    run()
    (entry,) = (cache / "options" / "tpu_v5e").glob("step-*.json")
    entry.unlink()
    before = [line for line in world.log() if line.startswith("compile limit")]
    assert before
    run()
    assert [line for line in world.log() if line.startswith("compile limit")] == before


@pytest.mark.parametrize("how", ["argument", "option", "setting"])
def test_a_limit_that_the_user_sets_stays(
    make_world: MakeWorld, cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_24576": -100})
    if how == "option":
        lower_to(monkeypatch, program({OPTION: 20480}))
    elif how == "setting":
        monkeypatch.setenv("LIBTPU_INIT_ARGS", f"--xla_x=1 --{OPTION}=20480")
    result = run(scoped_limit=how != "argument")
    assert result.compiler_options == OVERRIDES
    assert result.report["limit_cycles"] is None
    assert len(list((cache / "captures" / "tpu_v5e").iterdir())) == 1


def test_keeping_the_limit_has_a_cache_entry_of_its_own(make_world: MakeWorld) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_24576": -100})
    with_limit = {OPTION: "24576", **OVERRIDES}
    assert run().compiler_options == with_limit
    assert run(scoped_limit=False).compiler_options == OVERRIDES
    assert run().compiler_options == with_limit
    assert load_options(lambda: None, chip="tpu_v5e") == with_limit
    assert load_options(lambda: None, chip="tpu_v5e", scoped_limit=False) == OVERRIDES


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ({"breaks": ["limit_24576"]}, r"^step: default: .*Check failed: made up"),
        (
            {"nameless": ["all_hbm_under_24576"]},
            r"^it does not compile with everything in HBM \(.*something is wrong",
        ),
    ],
)
def test_compile_that_a_mapping_lacks_is_named(
    make_world: MakeWorld, tmp_path: pathlib.Path, world: dict[str, Any], message: str
) -> None:
    make_world(promised={}, cycles={}, **world)
    progress = LoopProgress(quiet=True)
    resources = Resources(CHIPS["tpu_v5e"], tmp_path, Binary(), Budget(60), progress)
    limited = with_options(program(), {OPTION: "24576"})
    with pytest.raises(CaptureError, match=message):
        capture_for_search(limited, resources, standard_variants(0))


def test_interrupted_among_the_limits_leaves_the_best_of_them(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_24576": -100})
    compile_under = StepRunner.compile

    def interrupted(self: StepRunner, candidate: Candidate, in_budget: bool) -> tuple[float, float]:
        if candidate.limit == 32768:
            raise KeyboardInterrupt
        return compile_under(self, candidate, in_budget)

    monkeypatch.setattr(StepRunner, "compile", interrupted)
    result = run()
    assert result.compiler_options == {OPTION: "24576"}
    assert (result.default_cycles, result.optimized_cycles) == (1000, 900)
    assert result.report["interrupted"]
    assert load_options(lambda: None, chip="tpu_v5e") == {}


def test_interrupted_before_the_loop_leaves_the_best_limit(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_24576": -100})

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mallocmuzero_xla.binary.Binary.solve", interrupted)
    result = run()
    assert result.compiler_options == {OPTION: "24576"}
    assert (result.default_cycles, result.optimized_cycles) == (1000, 900)
    assert result.report["interrupted"]


def test_budget_that_ends_with_the_default_tries_no_limit_and_gives_no_verdict(
    make_world: MakeWorld, cache: pathlib.Path
) -> None:
    make_world(promised={"a": 40}, cycles={"a": -40, "limit_24576": -100})
    result = optimize(lambda: None, chip="tpu_v5e", budget="0.01s", progress=False)
    assert limits_tried(cache) == {16}
    assert Verified.from_json(result.report).undecided
    assert not (cache / "options").exists()


def test_a_limit_that_is_no_number_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=f"{OPTION}=much: expected a number of KiB"):
        fast_memory_bytes(CHIPS["tpu_v5e"], {OPTION: "much"})


def test_tensors_get_what_the_limit_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    v5e, v4i = CHIPS["tpu_v5e"], CHIPS["tpu_v4i"]
    assert fast_memory_bytes(v5e, {}) is None
    assert fast_memory_bytes(v5e, {OPTION: 24576}) == 104 << 20
    assert fast_memory_bytes(v4i, {OPTION: 24576}) is None
    monkeypatch.setenv("LIBTPU_INIT_ARGS", f"--{OPTION}=1024 --{OPTION}=8192")
    assert fast_memory_bytes(v5e, {}) == 120 << 20
    assert fast_memory_bytes(v5e, {OPTION: "24576"}) == 104 << 20


def test_the_capture_says_what_tensors_get(make_world: MakeWorld, cache: pathlib.Path) -> None:
    make_world(promised={"a": 40}, cycles={"a": 1, "limit_24576": -100})
    run()
    best = with_options(program(), {OPTION: "24576"})
    folder = folder_of(cache / "captures" / "tpu_v5e", best)
    record = json.loads((folder / "capture.json").read_text(encoding="utf-8"))
    assert record["fast_memory_bytes"] == 104 << 20
    assert set(record["variants"]) == {"all_hbm", "default", "sample_0"}


@pytest.mark.parametrize("name", [name for name, chip in CHIPS.items() if chip.shared_vmem_kib])
def test_chips_leave_as_much_as_their_hardware_files_say(name: str) -> None:
    chip = CHIPS[name]
    text = (HARDWARE / f"{name}.textproto").read_text(encoding="utf-8")
    (found,) = re.findall(r"^fast_memory_bytes: (\d+)$", text, re.MULTILINE)
    assert chip.shared_vmem_kib is not None
    assert (chip.shared_vmem_kib - chip.scoped_vmem_kib) * 1024 == int(found)
