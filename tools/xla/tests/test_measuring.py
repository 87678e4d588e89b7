"""measure() compares the default and an artefact, on the CPU."""

from __future__ import annotations

import errno
import json
import math
import pathlib
from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="calls functions on the CPU")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from cpu_artefacts import artefact_of, inputs, make_cpu_a_chip, step  # noqa: E402

from mallocmuzero_xla.artefacts.artefact import load_artefact  # noqa: E402
from mallocmuzero_xla.commands import cli  # noqa: E402
from mallocmuzero_xla.commands.measure_cli import filled  # noqa: E402
from mallocmuzero_xla.errors import UsageError  # noqa: E402
from mallocmuzero_xla.runtime import measuring  # noqa: E402
from mallocmuzero_xla.runtime.applying import AppliedFunction, apply  # noqa: E402
from mallocmuzero_xla.runtime.measuring import Measured, measure  # noqa: E402

MODEL = """
import jax, jax.numpy as jnp
def step(weights, x):
    return jnp.tanh(x @ weights)
def build():
    return step, (jax.ShapeDtypeStruct((8, 8), jnp.float32), jnp.ones((4, 8)))
"""


@pytest.fixture(autouse=True)
def cpu_is_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cpu_a_chip(monkeypatch)


def test_artefact_and_default_are_timed_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def seconds(function: Any, make: Any, calls: int) -> float:
        plain = type(function).__name__ != "AppliedFunction"
        called.append("default" if plain else "artefact")
        return 0.010 if plain else 0.008

    monkeypatch.setattr(measuring, "_seconds", seconds)
    measured = measure(step, inputs(), artefact_of(step, *inputs()), rounds=6)
    assert measured.used
    assert measured.gain == pytest.approx(0.2)
    assert (measured.gain_low, measured.gain_high) == pytest.approx((0.2, 0.2))
    assert measured.expected_gain == pytest.approx(0.1)
    assert measured.largest_difference == 0
    # Each round times both; every other round begins with the other one.
    rounds = [tuple(called[index : index + 2]) for index in range(0, 12, 2)]
    assert rounds == [("artefact", "default"), ("default", "artefact")] * 3


def test_a_loss_of_almost_nothing_has_no_minus_sign() -> None:
    measured = Measured(
        default_seconds=(1.0,),
        artefact_seconds=(1.00001,),
        default_median=1.0,
        artefact_median=1.00001,
        gain=-0.00001,
        gain_low=-0.00002,
        gain_high=0.00001,
        expected_gain=-0.00001,
        used=True,
        reason="",
        largest_difference=0.0,
        device="tpu",
        versions={},
        environment={},
    )
    told = "0.00% less, 95 % interval 0.00% to 0.00%, expected 0.00%;"
    assert told in measured.summary()
    assert "-0.00" not in measured.summary()


def test_interval_holds_the_gain_and_grows_with_noise() -> None:
    default = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0]
    low, high = measuring._interval(default, [0.8 * seconds for seconds in default])
    assert low == pytest.approx(0.2)
    assert high == pytest.approx(0.2)
    low, high = measuring._interval(default, [0.9, 0.7, 0.8, 1.0, 0.6, 0.8])
    assert low < measuring._gain(default, [0.9, 0.7, 0.8, 1.0, 0.6, 0.8]) < high


@pytest.mark.parametrize("count", [3, 4])
def test_times_leave_out_the_choice_of_the_artefact(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    def times(x: Any, count: int) -> Any:
        return x * count

    x = jnp.ones(4)
    fast = apply(times, artefact_of(times, x, 3, static_argnums=1), static_argnums=1)
    assert fast.prepared((x, count))().tolist() == [float(count)] * 4  # chooses
    assert (fast.artefact is not None) == (count == 3)
    monkeypatch.setattr(AppliedFunction, "__call__", None)
    assert measuring._prepared(fast, (x, count))().tolist() == [float(count)] * 4


def test_donated_arguments_are_made_for_each_call() -> None:
    artefact = artefact_of(step, *inputs(), donate_argnums=1)
    measured = measure(step, inputs, artefact, rounds=5, calls=2, donate_argnums=1)
    assert measured.used
    assert len(measured.default_seconds) == len(measured.artefact_seconds) == 5
    assert all(seconds > 0 for seconds in measured.artefact_seconds)


@pytest.mark.parametrize("warm_up", [1, 2])
@pytest.mark.parametrize("made", [True, False])
def test_arrays_that_the_function_deletes_are_refused(warm_up: int, made: bool) -> None:
    args = [jnp.ones(8)]
    given: Any = (lambda: args) if made else args
    with pytest.raises(UsageError, match="donates its arguments: give a function that makes new"):
        measure(lambda x: x + 1, given, [], rounds=5, warm_up=warm_up, donate_argnums=0)


@pytest.mark.parametrize("made", [True, False])
def test_array_is_not_taken_for_a_tuple_of_arguments(made: bool) -> None:
    array = jnp.ones(1)
    with pytest.raises(UsageError, match="must be a tuple, not Array"):
        measure(lambda x: x + 1, (lambda: array) if made else array, [], rounds=5)


@pytest.mark.parametrize("options", [{}, {"donate_argnums": 1}, {"donate_argnames": "x"}])
def test_arguments_are_copied_only_for_a_function_that_may_delete_them(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    copies: list[Any] = []

    def copied(args: Any) -> Any:
        copies.append(jax.tree.map(jnp.copy, args))
        return copies[-1]

    monkeypatch.setattr(measuring, "_copied", copied)
    artefact = artefact_of(step, *inputs(), **options)
    assert measure(step, inputs, artefact, rounds=5, warm_up=2, **options).used
    assert len(copies) == (2 if options else 0)


def test_results_of_the_same_arguments_are_compared() -> None:
    numbers = np.random.default_rng(0)

    def make() -> tuple[Any, Any]:
        weights, x = inputs()
        return weights, jnp.asarray(numbers.normal(size=x.shape), jnp.float32)

    artefact = artefact_of(step, *inputs(), donate_argnums=1)
    measured = measure(step, make, artefact, rounds=5, warm_up=1, donate_argnums=1)
    assert measured.used
    assert measured.largest_difference < 1e-4


def test_the_largest_difference_is_that_of_all_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    for differences, largest in (([3.0, 1.0], 3.0), ([math.nan, 0.0], math.nan)):
        each = iter(differences)
        monkeypatch.setattr(measuring, "_difference_of_calls", lambda *_, each=each: next(each))
        measured = measure(step, inputs(), artefact_of(step, *inputs()), rounds=5, warm_up=2)
        assert measured.largest_difference == pytest.approx(largest, nan_ok=True)


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ([1.0, 2.0], [1.5, 2.0], 0.5),
        ([1.0, 2.0], [0.0, math.nan], math.nan),
        ([math.nan, 2.0], [math.nan, 3.0], 1.0),
        ([math.inf, -math.inf], [math.inf, -math.inf], 0.0),
        ([math.inf], [1.0], math.inf),
        ([1j], [-1j], 2.0),
        ([True], [False], 1.0),
        ([], [], 0.0),
    ],
)
def test_largest_difference_is_that_of_any_numbers(
    first: list[Any], second: list[Any], difference: float
) -> None:
    trees = [{"a": jnp.ones(2), "b": jnp.asarray(leaf)} for leaf in (first, second)]
    assert measuring._largest_difference(*trees) == pytest.approx(difference, nan_ok=True)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "int4", "uint4"])
def test_numbers_of_few_bits_are_compared(dtype: str) -> None:
    first, second = (jnp.array([1, last], jnp.dtype(dtype)) for last in (2, 4))
    assert measuring._largest_difference(first, second) == 2


@pytest.mark.parametrize(
    ("dtype", "first", "second", "difference"),
    [
        ("int32", 16777217, 16777216, 1),
        ("int32", -(2**31), 2**31 - 1, 2**32 - 1),
        ("uint32", 0, 2**32 - 1, 2**32 - 1),
        ("int8", -128, 127, 255),
    ],
)
def test_difference_of_integers_is_exact(
    dtype: str, first: int, second: int, difference: int
) -> None:
    for pair in ((first, second), (second, first)):
        leaves = (jnp.array([0, number], jnp.dtype(dtype)) for number in pair)
        assert measuring._largest_difference(*leaves) == difference


def test_results_may_have_random_keys() -> None:
    keys = [jax.random.key(seed) for seed in (1, 1, 2)]
    assert measuring._largest_difference(keys[0], keys[1]) == 0
    assert measuring._largest_difference(keys[0], keys[2]) > 0


@pytest.mark.parametrize("difference", [math.nan, math.inf])
def test_difference_that_is_no_number_is_null_in_json(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, difference: float
) -> None:
    monkeypatch.setattr(measuring, "_largest_difference", lambda *_: difference)
    measured = measure(step, inputs(), artefact_of(step, *inputs()), rounds=5)
    measured.save(tmp_path / "m.json")
    for fields in (measured.to_json(), json.loads((tmp_path / "m.json").read_text("utf-8"))):
        assert fields["largest_difference"] is None
    assert str(difference) in measured.summary()


def test_artefact_that_does_not_fit_is_said_and_saved(tmp_path: pathlib.Path) -> None:
    measured = measure(step, inputs(5), artefact_of(step, *inputs()), rounds=5)
    assert not measured.used
    assert "nothing was compared: the function, its shapes" in measured.summary()
    measured.save(tmp_path / "m.json")
    fields = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert fields["reason"] == measured.reason
    assert len(fields["default_seconds"]) == 5


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"rounds": 4}, "rounds is 4: expected 5 or more"),
        ({"warm_up": 0}, "warm_up is 0: expected 1 or more"),
        ({"calls": 0}, "calls is 0: expected 1 or more"),
    ],
)
def test_too_few_rounds_are_refused(numbers: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        measure(step, inputs(), artefact_of(step, *inputs()), **numbers)


def test_command_fills_shapes_and_writes_times(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    model = tmp_path / "measured_model.py"
    model.write_text(MODEL, encoding="utf-8")
    artefact_of(step, *inputs()).save(tmp_path / "a.json")
    output = tmp_path / "times.json"
    line = ["measure", str(tmp_path / "a.json"), f"{model}:build", "--rounds", "5", "--calls", "2"]
    assert cli.main([*line, "--output", str(output)]) == 1  # an artefact of another step
    assert "nothing was compared" in capsys.readouterr().err
    assert cli.main([*line, "--output", str(output)]) == 1  # over the earlier times
    capsys.readouterr()
    assert cli.main([*line, "--output", str(tmp_path / "a.json")]) == 2
    assert "a.json: a file of something else is there" in capsys.readouterr().err
    assert load_artefact(tmp_path / "a.json").compiler_options
    assert len(json.loads(output.read_text(encoding="utf-8"))["default_seconds"]) == 5
    # The times took long, so they are printed where they cannot be saved.
    monkeypatch.setattr(Measured, "save", no_space)
    assert cli.main([*line, "--json", "--output", str(output)]) == 2
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)["default_seconds"]) == 5
    assert "No space left on device" in captured.err


def no_space(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_function_that_fails_is_one_line(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    model = tmp_path / "failing_model.py"
    model.write_text("def build():\n    return (lambda x: x.absent), (1.0,)\n", encoding="utf-8")
    artefact_of(step, *inputs()).save(tmp_path / "a.json")
    assert cli.main(["measure", str(tmp_path / "a.json"), f"{model}:build"]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"mallocmuzero-xla: {model}:build does not run: AttributeError: ")


def test_shapes_become_arrays_and_static_arguments_stay() -> None:
    shapes = (jax.ShapeDtypeStruct((3,), jnp.bfloat16), jax.ShapeDtypeStruct((2,), jnp.int32), "a")
    first, second, static = filled(shapes, 2)
    assert (first.dtype, first.shape) == (jnp.bfloat16, (3,))
    assert second.tolist() == [0, 0]
    assert static == "a"


@pytest.mark.parametrize("value", [1.5, 2, 1j])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_filled_shapes_have_weak_types_as_they_say(value: Any, shape: tuple[int, ...]) -> None:
    wanted = jax.eval_shape(lambda: jnp.broadcast_to(value, shape))
    (found,) = filled((wanted,))
    assert jax.typeof(found) == jax.typeof(jnp.broadcast_to(value, shape))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.json", "absent.json: cannot be read: No such file or directory"),
        ("empty.json", "empty.json: not an artefact: not JSON"),
        ("folder", "folder: there is no artefact in this folder"),
    ],
)
def test_command_refuses_what_is_no_artefact_before_it_measures(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    message: str,
) -> None:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    (tmp_path / "empty.json").touch()
    (tmp_path / "folder").mkdir()
    output = tmp_path / "times.json"
    line = ["measure", str(tmp_path / name), "absent:build", "--output", str(output)]
    assert cli.main(line) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert message in error
    assert not output.exists()
