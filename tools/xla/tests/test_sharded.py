"""Functions over several devices: their artefacts, and their searches with the real compiler."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import cpu_artefacts
import numpy as np
import pytest
from conftest import World, lower_to
from placed_world import HAS_JAX, needs_jax

from mallocmuzero_xla.artefacts.artefact import load_artefact
from mallocmuzero_xla.binary_path import find_binary
from mallocmuzero_xla.captures.capture import capture
from mallocmuzero_xla.chips import CHIPS, Chip, known_topology, topology_devices
from mallocmuzero_xla.commands.measure_cli import filled
from mallocmuzero_xla.compiler.lowering import LoweredProgram, lower
from mallocmuzero_xla.errors import UsageError
from mallocmuzero_xla.runtime.applying import apply
from mallocmuzero_xla.search.optimize import optimize
from mallocmuzero_xla.search.placing import Placed, place

if HAS_JAX:
    import jax
    import jax.numpy as jnp

    Spec = jax.sharding.PartitionSpec


def mesh_of(devices: Any, axis: str = "x") -> Any:
    return jax.sharding.Mesh(np.array(devices), (axis,))


def rows(mesh: Any) -> Any:
    return jax.sharding.NamedSharding(mesh, Spec(mesh.axis_names[0]))


def columns(mesh: Any) -> Any:
    return jax.sharding.NamedSharding(mesh, Spec(None, mesh.axis_names[0]))


def step(weights: Any, x: Any) -> Any:
    return jnp.tanh(x @ weights)


def shapes(*shardings: Any) -> list[Any]:
    return [jax.ShapeDtypeStruct((8, 8), jnp.float32, sharding=each) for each in shardings]


def arrays(*shardings: Any) -> list[Any]:
    return [jax.device_put(jnp.ones((8, 8)), each) for each in shardings]


@pytest.fixture
def cpu_is_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu_artefacts.make_cpu_a_chip(monkeypatch)


@needs_jax
@pytest.mark.usefixtures("cpu_is_a_chip")
def test_artefact_of_shapes_fits_arrays_on_the_same_mesh() -> None:
    mesh = mesh_of(jax.devices()[:4])
    artefact = cpu_artefacts.artefact_of(step, *shapes(columns(mesh), rows(mesh)))
    assert artefact.devices == 4
    fast = apply(step, artefact)
    result = fast(*arrays(columns(mesh), rows(mesh)))
    assert fast.artefact == artefact, fast.reason
    assert jnp.allclose(result, jnp.tanh(8.0))


@needs_jax
@pytest.mark.usefixtures("cpu_is_a_chip")
def test_artefact_fits_the_same_mesh_of_other_devices() -> None:
    mesh, other = mesh_of(jax.devices()[:2]), mesh_of(jax.devices()[2:4])
    artefact = cpu_artefacts.artefact_of(step, *shapes(columns(mesh), rows(mesh)))
    fast = apply(step, artefact)
    fast(*arrays(columns(other), rows(other)))
    assert fast.artefact == artefact, fast.reason


@needs_jax
@pytest.mark.usefixtures("cpu_is_a_chip")
@pytest.mark.parametrize("change", ["devices", "axis", "sharding"])
def test_artefact_fits_no_other_mesh_or_sharding(change: str) -> None:
    mesh = mesh_of(jax.devices()[:4])
    fast = apply(step, cpu_artefacts.artefact_of(step, *shapes(columns(mesh), rows(mesh))))
    if change == "devices":
        mesh = mesh_of(jax.devices()[:2])
    if change == "axis":
        mesh = mesh_of(jax.devices()[:4], axis="y")
    first = rows(mesh) if change == "sharding" else columns(mesh)
    assert jnp.allclose(fast(*arrays(first, rows(mesh))), jnp.tanh(8.0))
    assert fast.artefact is None
    assert "are not those of the search" in fast.reason


@needs_jax
def test_measured_arrays_have_the_shardings_of_their_shapes() -> None:
    mesh = mesh_of(jax.devices()[:4])
    integers = jax.ShapeDtypeStruct((8,), jnp.int32, sharding=rows(mesh))
    for _ in range(2):
        made = filled((*shapes(columns(mesh), rows(mesh)), integers))
        assert [leaf.sharding for leaf in made] == [columns(mesh), rows(mesh), rows(mesh)]
        assert made[0].addressable_shards[3].data.shape == (8, 2)
        assert made[2].tolist() == [0] * 8
    (plain,) = filled((jax.ShapeDtypeStruct((8, 8), jnp.float32),))
    assert jnp.array_equal(made[0], plain)
    assert jnp.allclose(step(*made[:2]), jnp.tanh(made[1] @ made[0]))


@needs_jax
def test_shape_over_devices_of_a_topology_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = mesh_of(jax.devices()[:2])
    monkeypatch.setattr(
        "mallocmuzero_xla.commands.measure_cli.compile_only_sharding", lambda leaf: mesh
    )
    with pytest.raises(UsageError, match=r"of a topology.*build its mesh from jax\.devices"):
        filled(tuple(shapes(rows(mesh))))


@pytest.fixture
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chip of one device, which is a CPU's."""
    monkeypatch.setattr("mallocmuzero_xla.compiler.lowering.prepare_environment", lambda: None)
    monkeypatch.setattr(
        "mallocmuzero_xla.compiler.lowering.chip_devices", lambda _: jax.devices()[:1]
    )


@needs_jax
@pytest.mark.usefixtures("one_device")
def test_arguments_over_devices_of_this_machine_are_refused_before_a_search() -> None:
    mesh = mesh_of(jax.devices()[:4])
    message = r"over 4 devices of this machine.*topology_devices\('tpu_v6e', TOPOLOGY\)"
    with pytest.raises(UsageError, match=message):
        lower(step, arrays(columns(mesh), rows(mesh)), CHIPS["tpu_v6e"])
    # Any array of one device will do: its values and its device do not matter.
    assert lower(step, arrays(jax.devices()[1], None), CHIPS["tpu_v6e"]).device_ids == (0,)


@needs_jax
@pytest.mark.usefixtures("one_device")
def test_function_over_devices_of_this_machine_is_refused_before_a_search() -> None:
    both = rows(mesh_of(jax.devices()[1:3]))
    with pytest.raises(UsageError, match=r"build its mesh from topology_devices\('tpu_v6e'\)"):
        lower(step, arrays(None, None), CHIPS["tpu_v6e"], {"in_shardings": (both, both)})


def test_artefact_names_the_topology_and_its_devices(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("MALLOCMUZERO_CACHE", str(tmp_path / "cache"))
    lower_to(
        monkeypatch,
        LoweredProgram("step", "v6e:2x4", tuple(range(8)), b"", b"", {}, "2" * 64),
    )
    make_world(promised={"a": 40}, cycles={"a": -40})
    found = optimize(step, budget="60s", chip="tpu_v6e", topology="v6e:2x4", progress=False)
    found.save(tmp_path / "step.json")
    artefact = load_artefact(tmp_path / "step.json")
    assert (artefact.chip, artefact.topology, artefact.devices) == ("tpu_v6e", "v6e:2x4", 8)
    assert artefact.compiler_options


def test_devices_are_known_by_their_topology(monkeypatch: pytest.MonkeyPatch) -> None:
    chip = dataclasses.replace(CHIPS["tpu_v6e"], topology_name="v6e:2x4")
    known: dict[Any, Chip] = {"one of them": chip}
    monkeypatch.setattr("mallocmuzero_xla.chips._topology_of_device", known)
    found: Any = known_topology("one of them")
    assert found.topology_name == "v6e:2x4"
    assert known_topology("another") is None


def tensor_parallel(chip: str, topology: str) -> tuple[Any, list[Any]]:
    """A pair of layers whose partial sums eight devices add up."""
    mesh = mesh_of(topology_devices(chip, topology))
    whole = jax.sharding.NamedSharding(mesh, Spec())

    def layers(up: Any, down: Any, x: Any) -> Any:
        y = jax.nn.gelu(x @ up) @ down
        return jax.lax.with_sharding_constraint(y, whole)

    return layers, [
        jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=sharding)
        for shape, sharding in (
            ((512, 2048), columns(mesh)),
            ((2048, 512), rows(mesh)),
            ((1024, 512), whole),
        )
    ]


@pytest.mark.compiler
def test_forgotten_topology_is_named() -> None:
    fn, args = tensor_parallel("tpu_v6e", "v6e:2x4")
    with pytest.raises(UsageError, match="'v6e:1x1' does not have: give topology='v6e:2x4'"):
        capture(fn, *args, chip="tpu_v6e", progress=False)


@pytest.mark.compiler
def test_real_search_over_eight_devices_is_applied_to_the_same_mesh(
    tmp_path: pathlib.Path,
) -> None:
    fn, args = tensor_parallel("tpu_v6e", "v6e:2x4")
    found = optimize(
        fn,
        *args,
        chip="tpu_v6e",
        topology="v6e:2x4",
        budget="60s",
        samples=1,
        cache_dir=tmp_path,
        progress=False,
    )
    assert found.default_cycles is not None
    assert found.optimized_cycles <= found.default_cycles
    assert (found.artefact.topology, found.artefact.devices) == ("v6e:2x4", 8)
    # 2 x 7/8 of 1 MiB pass each device. The links take that long whatever the search finds.
    assert found.optimized_cycles > 2 * 7 / 8 * 2**20 / 102.9
    compiled = found.jit().lower(*args).compile().as_text()
    assert "all-reduce" in compiled


def placed_once(fn: Any, args: list[Any], chip: str, topology: str, cache: pathlib.Path) -> Placed:
    """Places a function in one round, and checks that all accesses are where they should be."""
    found = place(
        fn,
        *args,
        chip=chip,
        topology=topology,
        budget="60s",
        rounds=1,
        scoped_limit=False,
        cache_dir=cache,
        progress=False,
    )
    rounds = [each for each in found.report["rounds"] if not each["error"]]
    assert rounds
    assert all(each["accesses_elsewhere"] == 0 for each in rounds)
    return found


@pytest.mark.compiler
def test_real_placed_module_over_eight_devices_is_as_promised(tmp_path: pathlib.Path) -> None:
    fn, args = tensor_parallel("tpu_v6e", "v6e:2x4")
    placed_once(fn, args, "tpu_v6e", "v6e:2x4", tmp_path)


def fully_sharded(chip: str, topology: str) -> tuple[Any, list[Any]]:
    """Layers whose weights eight devices gather, some of them while other instructions run."""
    split = rows(mesh_of(topology_devices(chip, topology)))

    def layers(weights: list[Any], x: Any) -> Any:
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return x

    weight = jax.ShapeDtypeStruct((1024, 1024), jnp.bfloat16, sharding=split)
    batch = jax.ShapeDtypeStruct((4096, 1024), jnp.bfloat16, sharding=split)
    return layers, [[weight] * 4, batch]


@pytest.mark.compiler
def test_real_placed_module_has_arrays_of_a_gather_in_flight_in_vmem(
    tmp_path: pathlib.Path,
) -> None:
    fn, args = fully_sharded("tpu_v5e", "v5e:2x4")
    found = placed_once(fn, args, "tpu_v5e", "v5e:2x4", tmp_path)
    assert found.default_cycles is not None
    assert found.optimized_cycles <= found.default_cycles


@pytest.mark.compiler
def test_real_pallas_kernel_is_placed(tmp_path: pathlib.Path) -> None:
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

    heads = jax.ShapeDtypeStruct((2, 4, 512, 128), jnp.bfloat16)
    found = place(
        lambda q, k, v: jnp.tanh(flash_attention(q, k, v, causal=True)),
        *(heads, heads, heads),
        chip="tpu_v6e",
        budget="60s",
        rounds=1,
        scoped_limit=False,
        cache_dir=tmp_path,
        progress=False,
    )
    assert found.default_cycles is not None
    assert found.optimized_cycles <= found.default_cycles


@pytest.mark.compiler
def test_real_collective_is_priced_by_its_bytes(tmp_path: pathlib.Path) -> None:
    fn, args = tensor_parallel("tpu_v6e", "v6e:2x4")
    captured = capture(fn, *args, chip="tpu_v6e", topology="v6e:2x4", samples=0, progress=False)
    text = tmp_path / "default.hlo"
    text.write_text(captured.hlo["default"], encoding="utf-8")
    line = [find_binary(), "simulate", "--hlo", text, "--hardware", "tpu_v6e", "--json"]
    shown = subprocess.run([str(word) for word in line], capture_output=True, check=True)
    report = json.loads(shown.stdout)
    assert report["collective_cycles"] == pytest.approx(2 * 7 / 8 * 2**20 / 102.857143)
