"""The closed loop keeps only options that really make the compiled program faster."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import World

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.captures.saved_capture import open_capture
from mallocmuzero_xla.captures.source import Source, lower_for
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.trial_compiler import TrialCompiler
from mallocmuzero_xla.errors import BudgetSpentError, CaptureError
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.search.closed_loop import Loop, Plan
from mallocmuzero_xla.search.trial import Placement
from mallocmuzero_xla.search.verified import Verified

MakeWorld = Callable[..., World]


def verify(
    world: World,
    solve: bool = False,
    budget: Budget | None = None,
    width: int = 1,
    is_final: bool = False,
) -> Verified:
    budget = budget or Budget(60.0)
    binary = Binary()
    capture = open_capture(world.capture)
    with TrialCompiler(CHIPS["tpu_v4i"], width=width) as compiler:
        lower_for(capture, Source("m:f"), compiler, budget)
        folder = world.program.parent
        plan = Plan(capture, world.program, world.mapping, folder, binary.solve if solve else None)
        loop = Loop(plan, compiler, binary, budget, LoopProgress(quiet=True))
        if is_final:
            loop.confirm()
        return loop.run()


def asked(options: dict[str, str]) -> str:
    return " ".join(sorted(options.get("xla_tpu_msa_tensor_overrides", "").split()[2::4]))


def without_settings(world: World) -> list[str]:
    """Returns the log without lists with settings, which this compiler does not have."""
    return [line for line in world.log() if "=" not in line]


def test_items_that_help_are_compiled_together(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 30, "b": 20}, cycles={"a": -30, "b": -20})
    result = verify(world)
    # 1000 - 30 - 20
    assert (result.default_cycles, result.predicted_cycles, result.optimized_cycles) == (
        1000,
        950,
        950,
    )
    assert asked(result.options) == "a b"
    assert result.gain == pytest.approx(0.05)
    assert [line for line in world.log() if line.startswith("compile")] == ["compile a b"]


def test_rounds_keep_no_list_after_the_last_compile(make_world: MakeWorld) -> None:
    """After Ctrl-C a round may still be running."""
    result = verify(make_world(promised={"a": 30}, cycles={"a": -30}), is_final=True)
    assert result.rounds[-1].compiled_cycles == 970
    assert (result.options, result.optimized_cycles, result.kept) == ({}, 1000, [])


def test_refused_item_is_dropped_by_its_name_and_the_rest_is_kept(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 30, "b": 20}, cycles={"a": -30, "b": -20}, refused=["b"])
    result = verify(world)
    assert asked(result.options) == "a"
    assert "Out of alternate memory" in result.dropped["keep_value b #b"]
    assert world.log()[:2] == ["trial a b", "trial a"]


@pytest.mark.parametrize("fault", ["aborts", "nameless"])
def test_item_behind_a_failure_that_names_none_is_found_by_halving(
    make_world: MakeWorld, fault: str
) -> None:
    promised = {name: 20 - rank for rank, name in enumerate("abcdefgh")}
    cycles = dict.fromkeys(promised, -10)
    world = make_world(promised=promised, cycles=cycles, **{fault: ["f"]})
    result = verify(world)
    assert list(result.dropped) == ["keep_value f #f"]
    assert asked(result.options) == "a b c d e g h"
    # All eight fail. Of the prefixes abcd, abcdef and abcde only abcdef fails, so f is dropped.
    assert world.log()[:5] == [
        "trial a b c d e f g h",
        "trial a b c d",
        "trial a b c d e f",
        "trial a b c d e",
        "trial a b c d e g h",
    ]


def test_item_that_hurts_is_left_out(make_world: MakeWorld) -> None:
    promised = {"a": 40, "b": 30, "c": 20, "d": 10}
    cycles = {"a": -40, "b": -30, "c": 60, "d": -10}
    result = verify(make_world(promised=promised, cycles=cycles))
    assert asked(result.options) == "a b d"
    assert result.optimized_cycles == 920


def test_items_that_only_hurt_each_other_are_not_both_kept(make_world: MakeWorld) -> None:
    promised = {"a": 40, "b": 30, "c": 20, "d": 10}
    cycles = {"a": -40, "b": -30, "c": -20, "d": -10}
    result = verify(make_world(promised=promised, cycles=cycles, together={"b c": 100}))
    assert asked(result.options) == "a b d"


def test_parallel_trial_compiles_find_the_same_as_single_ones(make_world: MakeWorld) -> None:
    promised = {name: 90 - 10 * rank for rank, name in enumerate("abcdefgh")}
    cycles = {name: -gain for name, gain in promised.items()} | {"c": 60, "f": 5}
    world = make_world(promised=promised, cycles=cycles, refused=["h"])
    alone = verify(world)
    # 1000 - 90 - 80 - 60 - 50 - 30
    assert (asked(alone.options), alone.optimized_cycles) == ("a b d e g", 690)
    for width in (2, 3, 8):
        together = verify(world, width=width)
        assert asked(together.options) == asked(alone.options)
        assert together.dropped == alone.dropped


def test_parallel_trial_compiles_keep_to_their_budget(make_world: MakeWorld) -> None:
    promised = {name: 20 - rank for rank, name in enumerate("abcdefgh")}
    cycles = {name: (-1) ** rank * gain for rank, (name, gain) in enumerate(promised.items())}
    world = make_world(promised=promised, cycles=cycles)
    result = verify(world, budget=Budget(60.0, trial_compiles=40, compiles=2), width=3)
    tried = [line for line in world.log() if line.startswith("trial")]
    assert len(tried) == result.trial_compiles <= 40
    assert result.optimized_cycles < result.default_cycles


def test_default_is_kept_where_every_item_hurts(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40, "b": 30}, cycles={"a": 1, "b": 2})
    result = verify(world)
    assert result.options == {}
    assert result.optimized_cycles == result.default_cycles == 1000
    assert result.compiles == 0


def test_prediction_that_fails_to_come_true_never_makes_it_slower(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40}, hidden={"a": 50})
    result = verify(world)
    assert result.rounds[0].predicted_cycles == 960
    assert result.rounds[0].compiled_cycles == 1010
    assert result.options == {}
    assert result.optimized_cycles == 1000


def test_loop_learns_from_a_compile_and_takes_the_next_best(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40, "b": 30}, cycles={"a": -40, "b": -30}, hidden={"a": 50})
    result = verify(world)
    # Together 1000 - 40 - 30 + 50 = 980. After the refit a adds 10, and b alone gives 970.
    assert [entry.compiled_cycles for entry in result.rounds] == [980, 970]
    assert asked(result.options) == "b"
    assert result.predicted_cycles == 970


def test_another_mapping_is_sought_once_the_table_has_learnt(make_world: MakeWorld) -> None:
    world = make_world(
        promised={"a": 40, "b": 30, "c": 20},
        items={"first": ["a"], "second": ["b", "c"]},
        cycles={"a": -40, "b": -30, "c": -20},
        hidden={"a": 50},
    )
    result = verify(world, solve=True)
    # a is predicted to save 40 but costs 10; the items of the second mapping save 50 without a.
    assert [entry.compiled_cycles for entry in result.rounds] == [1010, 950]
    assert asked(result.options) == "b c"
    assert result.mapping is not None
    assert result.mapping.endswith("refit_1.mapping")


def test_subset_that_only_fails_in_code_generation_gives_way_to_the_next(
    make_world: MakeWorld,
) -> None:
    world = make_world(promised={"a": 40, "b": 30}, cycles={"a": -40, "b": -30}, breaks=["a"])
    result = verify(world)
    assert asked(result.options) == "b"


def test_tensor_that_is_not_as_wanted_is_asked_for_itself(make_world: MakeWorld) -> None:
    world = make_world(
        promised={"a": 40, "b": 30},
        items={"first": ["a"]},
        moves={"all_fast": ["b"]},
        mismatched={"b": "b"},
        cycles={"a": -40, "b": -30},
    )
    result = verify(world)
    assert without_settings(world)[:2] == ["trial a", "trial a b"]
    assert asked(result.options) == "a b"


def test_tensor_that_is_not_as_wanted_though_asked_for_is_insisted_on(
    make_world: MakeWorld,
) -> None:
    world = make_world(
        promised={"a": 40, "b": 0},
        items={"first": ["a"]},
        moves={"all_fast": ["a"]},
        strict={"a": "overrides { b }"},
        mismatched={"a": "b"},
        cycles={"a": -4, "b": -30},
    )
    result = verify(world)
    assert without_settings(world)[:2] == ["trial a", "trial a b"]
    assert asked(result.options) == "a b"


def test_copies_that_are_waited_for_are_started_earlier(make_world: MakeWorld) -> None:
    world = make_world(
        promised={"a": 40, "b": 30},
        cycles={"a": -40, "b": -30, "too_early": 5},
        late={"a": ("start", 60)},
    )
    result = verify(world)
    # Both together are slower than the default because of the waits; b alone is faster.
    assert without_settings(world)[:4] == [
        "trial a b",
        "trial a",
        "trial a b too_early",
        "trial a b start",
    ]
    assert asked(result.options) == "a b start"
    assert result.kept[-1] == "start_copy user_0 #0"


def test_moves_that_no_mapping_asked_for_are_found_all_the_same(make_world: MakeWorld) -> None:
    world = make_world(
        promised={"a": 0, "b": 0},
        items={"first": []},
        moves={"all_hbm": ["a"], "all_fast": ["b"]},
        cycles={"a": 3, "b": -30},
    )
    assert asked(verify(world).options) == "b"


def test_same_list_gets_one_trial_compile(make_world: MakeWorld) -> None:
    promised = {"a": 40, "b": 30, "c": 20, "d": 10}
    world = make_world(
        promised=promised, cycles={"a": -4, "b": 3, "c": -2, "d": 1}, hidden={"a": 1}
    )
    result = verify(world)
    assert len(world.log()) == len(set(world.log())) == result.trial_compiles + result.compiles


@pytest.mark.parametrize("trial_compiles", [0, 1, 3])
def test_budget_of_trial_compiles_is_kept(make_world: MakeWorld, trial_compiles: int) -> None:
    promised = dict.fromkeys("abcdefgh", 1)
    world = make_world(promised=promised, cycles={"a": -10, "b": 20})
    result = verify(world, budget=Budget(60.0, trial_compiles=trial_compiles))
    assert result.trial_compiles == trial_compiles
    assert result.optimized_cycles <= 1000


def test_budget_of_compiles_is_kept(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40, "b": 30}, cycles={"a": -40, "b": -30}, hidden={"a": 50})
    assert verify(world, budget=Budget(60.0, compiles=1)).compiles == 1


def test_time_limit_ends_a_trial_compile_that_hangs(
    make_world: MakeWorld, hangs: pathlib.Path
) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40}, hangs=["a"])
    result = verify(world, budget=Budget(60.0))
    assert hangs.exists()
    assert result.options == {}
    assert result.out_of_budget


def test_compile_begun_within_the_budget_may_end_after_it(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40}, slow_compiles=1.0)
    options = {"xla_tpu_msa_tensor_overrides": "overrides { a }"}
    with TrialCompiler(CHIPS["tpu_v4i"]) as compiler:
        lower_for(open_capture(world.capture), Source("m:f"), compiler, Budget(60.0))
        assert "compiled" in compiler.compile(options, Budget(0.5), grace=60.0)
        with pytest.raises(BudgetSpentError):
            compiler.compile(options, Budget(0.5))


def test_interrupt_keeps_the_best_so_far(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(promised={"a": 40, "b": 30}, cycles={"a": -40, "b": -30}, hidden={"a": 50})
    compile_once = TrialCompiler.compile

    def interrupted(compiler: TrialCompiler, *arguments: Any) -> str:
        if compiler.compiles == 1:
            raise KeyboardInterrupt
        return compile_once(compiler, *arguments)

    monkeypatch.setattr(TrialCompiler, "compile", interrupted)
    result = verify(world)
    assert result.interrupted
    assert asked(result.options) == "a b"
    assert result.optimized_cycles == 980


def test_report_survives_json(make_world: MakeWorld) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40}, refused=["a"])
    result = verify(world)
    assert Verified.from_json(result.to_json()) == result
    assert math.isclose(result.to_json()["gain"], 0.0)


SLICES = "xla_tpu_sliced_prefetch_max_slices"


def test_setting_that_helps_is_among_the_options(make_world: MakeWorld) -> None:
    world = make_world(
        promised={"a": 30, "b": 20},
        cycles={"a": -30, "b": 5, "eight": -100},
        settings={"eight": f"{SLICES}=8"},
    )
    result = verify(world)
    # 1000 - 30 - 100
    assert result.optimized_cycles == 870
    assert asked(result.options) == "a"
    assert result.options[SLICES] == "8"
    assert f"{SLICES}=8" in result.kept


def test_option_that_the_compiler_does_not_have_is_asked_for_once(make_world: MakeWorld) -> None:
    promised = {name: 20 - rank for rank, name in enumerate("abcd")}
    world = make_world(promised=promised, cycles=dict.fromkeys(promised, -10) | {"b": 10})
    result = verify(world)
    assert asked(result.options) == "a c d"
    option = "xla_tpu_prefetch_interval_picker_size_override"
    assert [line for line in world.log() if option in line] == [f"trial {option}=0"]


def test_failure_after_a_compile_keeps_what_was_compiled(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40}, hidden={"a": 10})

    def failed(*_: Any) -> None:
        raise CaptureError("mallocmuzero import failed (-9): no message")

    monkeypatch.setattr("mallocmuzero_xla.search.closed_loop.Loop._refit", failed)
    result = verify(world)
    assert result.optimized_cycles == 970
    assert asked(result.options) == "a"


def test_failure_before_any_compile_is_raised(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(promised={"a": 40}, cycles={"a": -40})

    def failed(*_: Any) -> None:
        raise CaptureError("mallocmuzero overrides failed (1): no message")

    monkeypatch.setattr("mallocmuzero_xla.search.closed_loop.Loop._items", failed)
    with pytest.raises(CaptureError, match="overrides failed"):
        verify(world)


def test_placement_that_cannot_be_priced_is_passed_over(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(promised={"a": 40, "b": 30}, cycles={"a": -40, "b": -30})
    priced = Loop._price

    def price(self: Loop, text: str) -> Placement:
        if '"a", "b"' in text or '"b", "a"' in text:
            raise CaptureError("mallocmuzero readback failed (-9): no message")
        return priced(self, text)

    monkeypatch.setattr(Loop, "_price", price)
    assert verify(world).optimized_cycles == 960
