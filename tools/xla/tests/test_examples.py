"""The examples call `apply` with the function that their `build` hands to the search.

The models are small and run on the CPU. An artefact fits only if the function of the search and the
function of the loop lower to the same program. The long form searches with the TPU compiler.
"""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import runpy
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="the examples run on the CPU")

from cpu_artefacts import artefact_of, make_cpu_a_chip  # noqa: E402

from mallocmuzero_xla import optimize  # noqa: E402
from mallocmuzero_xla.artefacts.fitting import Registry  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"

# The packages of each example, beside jax.
NEEDS = {
    "keras_inference": ["keras"],
    "flax_training": ["flax", "optax"],
    "language_model_training": ["optax"],
    "serving_buckets": [],
}


def example(name: str) -> Any:
    """Imports an example; skips the test if a package of the example is missing."""
    missing = [package for package in NEEDS[name] if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed")
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module(name)


def keras_sizes(_: ModuleType) -> dict[str, Any]:
    return {"batch": 2, "width": 64, "depth": 1}


def flax_sizes(module: Any) -> dict[str, Any]:
    return {"size": module.Size(width=64, depth=2, batch=2)}


def language_model_sizes(module: Any) -> dict[str, Any]:
    config = module.Config(vocabulary=128, width=64, depth=2, head=32, batch=2, length=16)
    return {"config": config}


@pytest.mark.parametrize("name", list(NEEDS))
def test_example_without_its_arguments_says_how_it_is_called(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example(name)  # skips
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    # In this process, which has imported jax and keras.
    with pytest.raises(SystemExit, match=rf"^usage: python {name}\.py "):
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out == ""


Sizes = Callable[[Any], dict[str, Any]]
BUILDERS = [
    ("keras_inference", keras_sizes),
    ("flax_training", flax_sizes),
    ("language_model_training", language_model_sizes),
]


@pytest.mark.parametrize(("name", "sizes"), BUILDERS)
def test_artefact_of_the_search_fits_the_loop(
    name: str,
    sizes: Sizes,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_cpu_a_chip(monkeypatch)
    module = example(name)
    small = sizes(module)
    fn, args, *options = module.build(**small)
    artefact = artefact_of(fn, *args, **(options[0] if options else {}))
    fast = module.run(artefact, **small)
    assert (fast.artefact, fast.reason) == (artefact, "")
    # The loops print losses: numbers, the last of which is not above the first.
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert losses
    assert losses[-1] <= losses[0]


def test_server_takes_the_artefact_of_each_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cpu_a_chip(monkeypatch)
    module = example("serving_buckets")
    buckets = (8, 16)
    found = {
        name: artefact_of(fn, *args)
        for name, (fn, args) in module.functions(buckets, width=64).items()
    }
    server = module.Server(Registry(found.values()), buckets, width=64)
    alone = module.Server(Registry(), (16,), width=64)
    for length, bucket in ((3, "prefill_8"), (16, "prefill_16")):
        prompt = list(range(1, length + 1))
        token = server.next_token(prompt)
        assert server.prefill.artefact == found[bucket]
        assert token == alone.next_token(prompt)
    with pytest.raises(ValueError, match="a prompt of 17 tokens; expected 1 to 16"):
        server.next_token(list(range(17)))


@pytest.mark.compiler
@pytest.mark.parametrize(("name", "sizes"), BUILDERS)
def test_search_with_the_real_compiler_knows_the_default(
    name: str, sizes: Sizes, tmp_path: pathlib.Path
) -> None:
    module = example(name)
    fn, args, *options = module.build(**sizes(module))
    found = optimize(
        fn,
        *args,
        chip="tpu_v6e",
        budget="60s",
        samples=1,
        cache_dir=tmp_path,
        progress=False,
        **(options[0] if options else {}),
    )
    assert found.default_cycles is not None
    assert 0 < found.optimized_cycles <= found.default_cycles


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == NEEDS.keys()
