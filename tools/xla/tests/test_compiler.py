"""Captures by the real compiler: needs jax and libtpu, no TPU."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest

from mallocmuzero_xla.captures.capture import capture
from mallocmuzero_xla.chips import CHIPS, topology_devices
from mallocmuzero_xla.commands import cli
from mallocmuzero_xla.compiler.hlo_text import strip_source_locations
from mallocmuzero_xla.compiler.lowering import lower
from mallocmuzero_xla.compiler.variants import Variant
from mallocmuzero_xla.errors import CaptureError, UsageError

if importlib.util.find_spec("jax") is not None:
    import jax
    import jax.numpy as jnp

pytestmark = pytest.mark.compiler

BUILDER = """
import os
import jax, jax.numpy as jnp
def f(x, y):
    return jnp.tanh(x @ y), y + 1
def build():
    a = jax.ShapeDtypeStruct((256, 256), jnp.float32)
    return f, (a, a), {"donate_argnums": 1}
def aborts():
    os.abort()
"""


def mlp(weights: Any, x: Any) -> tuple[Any, Any]:
    """One step of a layer that is updated in place."""
    return weights * 0.9, jax.nn.gelu(x @ weights)


def shapes(*dimensions: tuple[int, int], sharding: Any = None) -> list[Any]:
    return [jax.ShapeDtypeStruct(pair, jnp.bfloat16, sharding=sharding) for pair in dimensions]


def test_texts_are_those_of_a_plain_compile() -> None:
    args = shapes((512, 1024), (256, 512))
    captured = capture(mlp, *args, samples=1, donate_argnums=0, progress=False)
    one = jax.sharding.SingleDeviceSharding(topology_devices("tpu_v4i")[0])
    placed = shapes((512, 1024), (256, 512), sharding=one)
    lowered = jax.jit(mlp, donate_argnums=0).lower(*placed)
    for variant in ("all_hbm", "default", "sample_0"):
        options = Variant(variant).options(CHIPS["tpu_v4i"])
        plain = lowered.compile(compiler_options=options).as_text()
        assert captured.hlo[variant] == strip_source_locations(plain)
    assert captured.name == "mlp"
    assert "S(3)" in captured.hlo["default"]
    assert "S(3)" not in captured.hlo["all_hbm"]


def test_donated_argument_is_aliased_to_the_output_and_no_path_is_left() -> None:
    args = shapes((512, 1024), (256, 512))
    text = capture(mlp, *args, samples=0, donate_argnums=0, progress=False).hlo["default"]
    assert "input_output_alias={ {0}: (0, {}, may-alias) }" in text
    assert pathlib.Path(__file__).name not in text
    assert "stack_frame_id" not in text
    assert 'op_name="jit(mlp)/dot_general"' in text


def test_values_of_arguments_do_not_matter() -> None:
    arrays = (jnp.ones((128, 128)), {"scale": 2.0})
    fn = lambda x, options: x * options["scale"]  # noqa: E731 (a closure cannot be pickled)
    captured = capture(fn, *arrays, samples=0, progress=False, chip="tpu_v5e")
    assert "f32[128,128]" in captured.hlo["default"]


@pytest.mark.parametrize("way", ["arguments", "jit", "inside"])
def test_function_over_several_devices_is_partitioned(way: str) -> None:
    import numpy as np

    devices = topology_devices("tpu_v4")
    mesh = jax.sharding.Mesh(np.array(devices), ("x",))
    spec = jax.sharding.PartitionSpec("x")
    rows = jax.sharding.NamedSharding(mesh, spec)
    fn: Any = lambda a, b: (a.T @ b).sum()  # noqa: E731
    options: dict[str, Any] = {}
    args = shapes((512, 256), (512, 256), sharding=rows if way == "arguments" else None)
    if way == "jit":
        options["in_shardings"] = (rows, rows)
    if way == "inside":
        whole = jax.sharding.PartitionSpec()
        fn = jax.shard_map(
            lambda a, b: jax.lax.psum(a.T @ b, "x"),
            mesh=mesh,
            in_specs=(spec, spec),
            out_specs=whole,
        )
    text = capture(fn, *args, chip="tpu_v4", samples=0, progress=False, **options).hlo["default"]
    assert f"num_partitions={len(devices)}" in text
    assert "all-reduce" in text
    assert re.search(r"bf16\[64,256\]\S* parameter\(0\)", text)


def test_mesh_of_another_topology_is_a_usage_error() -> None:
    import numpy as np

    mesh = jax.sharding.Mesh(np.array(topology_devices("tpu_v4")), ("x",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    with pytest.raises(UsageError, match="devices that 'v5e:1x1' does not have"):
        capture(jnp.sum, *shapes((512, 256), sharding=rows), chip="tpu_v5e")


def test_unknown_topology_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="does not accept topology 'v4 lite:9x9'"):
        topology_devices("tpu_v4i", "v4 lite:9x9")


@pytest.fixture
def model(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "shell_model.py"
    path.write_text(BUILDER, encoding="utf-8")
    return path


def test_shell_captures_a_builder(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    output = tmp_path / "out"
    assert cli.main(["capture", f"{model}:build", "--samples", "1", "--output", str(output)]) == 0
    assert sorted(path.name for path in output.iterdir()) == [
        "all_hbm.hlo.zst",
        "capture.json",
        "default.hlo.zst",
        "sample_0.hlo.zst",
    ]
    record = json.loads((output / "capture.json").read_text(encoding="utf-8"))
    assert (record["program"], record["function"]) == ("build", "f")


def test_builder_that_ends_the_process_exits_1(
    model: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["capture", f"{model}:aborts", "--output", str(tmp_path / "out")]) == 1
    assert "the compile process ended (status -6)" in capsys.readouterr().err


def test_builder_that_is_missing_exits_2(
    model: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["capture", f"{model}:absent", "--output", str(tmp_path / "out")]) == 2
    assert "has no function 'absent'" in capsys.readouterr().err


def test_compiler_options_reach_every_variant() -> None:
    options = {CHIPS["tpu_v4i"].msa_option: False, "exec_time_optimization_effort": -1.0}
    args = shapes((512, 1024), (256, 512))
    captured = capture(mlp, *args, samples=0, progress=False, compiler_options=options)
    assert "S(3)" not in captured.hlo["default"]


def test_compiler_option_that_does_not_exist_is_named() -> None:
    options = {"xla_no_such_option": "true"}
    with pytest.raises(CaptureError, match=r"all_hbm: .*xla_no_such_option"):
        capture(jnp.sum, *shapes((8, 8)), samples=0, progress=False, compiler_options=options)


def scaled(x: Any, by: int, mode: str) -> Any:
    """Needs all arguments but the first as they are, not as arrays."""
    return x * by if mode == "times" and by > 2 else x


@pytest.mark.parametrize(
    "options", [{"static_argnums": (1, -1)}, {"static_argnames": ("by", "mode")}]
)
@pytest.mark.parametrize("ready", [True, False])
def test_static_arguments_stay_as_they_are(options: dict[str, Any], ready: bool) -> None:
    args = (*shapes((8, 128)), 3, "times")
    fn: Any = jax.jit(scaled, **options) if ready else scaled
    captured = capture(fn, *args, samples=0, progress=False, **({} if ready else options))
    assert "multiply" in captured.hlo["default"]


@pytest.mark.parametrize("chip", ["tpu_v5e", "tpu_v4"])
def test_function_without_arguments_is_lowered_for_the_chip(chip: str) -> None:
    program = lower(lambda: jnp.zeros((3,)), (), CHIPS[chip])
    assert program.device_ids == (topology_devices(chip)[0].id,)


def test_nothing_is_said_of_the_machines_own_tpu() -> None:
    code = "from mallocmuzero_xla import topology_devices; topology_devices('tpu_v4i')"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stderr == ""


def test_option_that_jit_does_not_know_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="jit with donate_argnum: TypeError: "):
        lower(mlp, shapes((8, 8), (8, 8)), CHIPS["tpu_v4i"], {"donate_argnum": 0})


def test_function_that_cannot_be_traced_is_one_line() -> None:
    with pytest.raises(CaptureError, match=r"^mlp cannot be traced: \w+: .+") as raised:
        capture(mlp, *shapes((8, 8), (3, 5)), samples=0, progress=False)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("how", ["option", "setting"])
def test_overrides_of_the_users_own_are_not_lost_without_a_word(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    options = {"xla_tpu_msa_tensor_overrides": ""} if how == "option" else {}
    if how == "setting":
        monkeypatch.setenv("LIBTPU_INIT_ARGS", "--xla_tpu_msa_tensor_overrides=")
    with pytest.raises(UsageError, match="xla_tpu_msa_tensor_overrides is set"):
        capture(jnp.sum, *shapes((8, 8)), samples=0, progress=False, compiler_options=options)
