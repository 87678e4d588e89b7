"""place() and optimize(placed=True) with the real binary and the real compiler, for no TPU."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from placed_world import HAS_JAX, needs_jax

from mallocmuzero_xla import FallbackWarning, UsageError, load_placed, optimize, place
from mallocmuzero_xla.artefacts.placed_file import PlacedFile
from mallocmuzero_xla.runtime.applying import apply

if HAS_JAX:
    import jax
    import jax.numpy as jnp

pytestmark = [needs_jax, pytest.mark.compiler]


@pytest.fixture(autouse=True)
def binary_with_optimize() -> None:
    """Skips where no binary has an `optimize` that accepts the arguments of place()."""
    import subprocess

    from mallocmuzero_xla.binary_path import find_binary

    try:
        binary = find_binary()
    except UsageError:
        pytest.skip("no mallocmuzero")
    line = [str(binary), "optimize", "--help"]
    shown = subprocess.run(line, capture_output=True, text=True, check=False)
    if "--placed" not in shown.stdout:
        pytest.skip("no mallocmuzero with the command optimize")


def mlp(weights: Any, x: Any) -> dict[str, Any]:
    return {"weights": weights * 0.9, "out": jax.nn.gelu(x @ weights)}


def test_real_binary_places_for_a_tpu_that_is_not_there(tmp_path: pathlib.Path) -> None:
    args = [jax.ShapeDtypeStruct(pair, jnp.bfloat16) for pair in ((512, 1024), (256, 512))]
    placed = place(
        mlp,
        *args,
        chip="tpu_v6e",
        budget="30s",
        rounds=1,
        donate_argnums=0,
        cache_dir=tmp_path / "cache",
        progress=False,
    )
    assert placed.default_cycles is not None
    assert 0 < placed.optimized_cycles <= placed.default_cycles
    path = tmp_path / "mlp.placed"
    placed.save(path)
    header = PlacedFile.read(path).header
    assert (header.platform, header.device_kind) == ("tpu", "TPU v6 lite")
    assert header.build.startswith("cl/")
    assert header.versions.keys() == {"jax", "jaxlib", "libtpu"}
    with pytest.warns(FallbackWarning, match="mlp: no tpu here"):
        call = load_placed(path, mlp)
    assert call(jnp.ones((512, 1024)), jnp.ones((256, 512)))["out"].shape == (256, 1024)


def attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v)


def test_placed_modules_are_steps_of_a_search_by_the_real_compiler(tmp_path: pathlib.Path) -> None:
    heads = jax.ShapeDtypeStruct((4, 512, 8, 128), jnp.bfloat16)
    found = optimize(
        attention,
        *(heads, heads, heads),
        chip="tpu_v6e",
        budget="3m",
        samples=1,
        scoped_limit=False,
        placed=True,
        cache_dir=tmp_path / "cache",
        progress=False,
    )
    placed = [step for step in found.report["tried"] if step["step"] == "placed"]
    assert placed
    assert [step["error"] for step in placed] == [None] * len(placed)
    assert found.default_cycles is not None
    assert found.optimized_cycles == min(
        float(step["cycles"])
        for step in found.report["tried"]
        if step["cycles"] is not None and step["step"] in ("compile", "overrides", "placed")
    )
    if found.executable is None:
        return
    found.save(tmp_path / "f.json")
    call = apply(attention, tmp_path / "f.json")
    assert call.reason.startswith("no tpu here")
    ones = jnp.ones(heads.shape, heads.dtype)
    assert call(ones, ones, ones).shape == heads.shape
