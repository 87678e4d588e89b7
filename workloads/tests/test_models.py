"""The models compute what their names say: checked on small sizes, in f32 on the processor."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from traces import trace_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from zoo import PROGRAMS, Program
from zoo.encoder_decoder import t5
from zoo.layers import Params, declare
from zoo.moe import switch_transformer
from zoo.recurrent import lstm_language_model
from zoo.speech import wavenet
from zoo.ssm import chunked_retention, mamba, mamba_decode, retnet
from zoo.training import gradients_of, train_step
from zoo.transformers import (
    bert,
    gpt,
    gpt_decode,
    llama,
    llama_decode,
    llama_decode_scanned,
)

Weights = dict[str, jax.Array]
LENGTH, WIDTH, WORDS = 16, 16, 50
IDS = jnp.asarray(np.random.default_rng(1).integers(0, WORDS, (2, LENGTH)), jnp.int32)
SIGNAL = jnp.asarray(np.random.default_rng(2).normal(size=(2, LENGTH, 1)), jnp.float32)

# The last residual of the wavenet has no layer after it.
UNUSED = {"wavenet_10_b16x8192": ["[0]['9/residual/bias']", "[0]['9/residual/kernel']"]}


def random_weights(model: Callable[..., Any], *inputs: jax.Array) -> Weights:
    random = np.random.default_rng(0)
    # Models declare weights for inputs as they are in the corpus: bf16, or integers.
    kinds = [jnp.bfloat16 if jnp.issubdtype(a.dtype, jnp.floating) else a.dtype for a in inputs]
    given = [jax.ShapeDtypeStruct(a.shape, kind) for a, kind in zip(inputs, kinds, strict=True)]
    shapes = declare(model, *given)
    return {
        path: jnp.asarray(0.3 * random.normal(size=weight.shape), jnp.float32)
        for path, weight in shapes.items()
    }


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_every_argument_is_used(program: Program) -> None:
    assert trace_of(program.name).unused == UNUSED.get(program.name, [])


TRAINED = [program for program in PROGRAMS.values() if program.build.func is train_step]


@pytest.mark.parametrize("program", TRAINED, ids=lambda program: program.name)
def test_every_weight_has_a_gradient(program: Program) -> None:
    loss, batch, _ = program.build.args
    weights = program.build()[1][0]["params"]
    traced = jax.make_jaxpr(lambda w, *b: gradients_of(loss, w, *b)[1])(weights, *batch).jaxpr
    depends = set(traced.invars)
    for equation in traced.eqns:
        if any(isinstance(v, type(traced.invars[0])) and v in depends for v in equation.invars):
            depends.update(equation.outvars)
    for path, gradient in zip(sorted(weights), traced.outvars, strict=True):
        assert isinstance(gradient, type(traced.invars[0])), path
        assert gradient in depends, path


def plain_llama(p: Params, ids: jax.Array) -> jax.Array:
    return llama(p, ids, layers=2, width=WIDTH, heads=4, kv_heads=2)[0]


def decoded_t5(p: Params, ids: jax.Array) -> jax.Array:
    return t5(p, IDS[:, ::-1], ids, layers=1, width=WIDTH, heads=2)


CAUSAL: dict[str, tuple[Callable[..., jax.Array], jax.Array]] = {
    "gpt": (partial(gpt, layers=2, width=WIDTH, heads=2), IDS),
    "gpt in a loop": (partial(gpt, layers=2, width=WIDTH, heads=2, scanned=True), IDS),
    "llama": (plain_llama, IDS),
    "switch": (partial(switch_transformer, layers=2, width=WIDTH, heads=2, experts=4), IDS),
    "mamba": (partial(mamba, layers=2, width=32), IDS),
    "mamba in a loop": (partial(mamba, layers=2, width=32, sequential=True), IDS),
    "retnet": (partial(retnet, layers=2, width=WIDTH, heads=2, chunk=4), IDS),
    "lstm": (partial(lstm_language_model, layers=2, width=WIDTH), IDS),
    "t5's decoder": (decoded_t5, IDS),
    "wavenet": (partial(wavenet, layers=4, residual=8, skip=8), SIGNAL),
}


def changed_later(model: Callable[..., jax.Array], inputs: jax.Array) -> tuple[float, float]:
    """How much outputs move before and after the place from which inputs are changed."""
    weights = Params(random_weights(model, inputs))
    half = LENGTH // 2
    moved = jnp.abs(model(weights, inputs.at[:, half:].add(1)) - model(weights, inputs))
    return float(moved[:, :half].max()), float(moved[:, half:].max())


@pytest.mark.parametrize("name", CAUSAL)
def test_a_causal_model_sees_nothing_of_later_positions(name: str) -> None:
    before, after = changed_later(*CAUSAL[name])
    assert before == 0
    assert after > 0


def test_bert_sees_both_directions() -> None:
    def model(p: Params, ids: jax.Array) -> jax.Array:
        return bert(p, ids, jnp.zeros_like(ids), layers=1, width=WIDTH, heads=2)

    assert changed_later(model, IDS)[0] > 0


def decoded(step: Callable[..., Any], weights: Weights, *state: Any) -> jax.Array:
    """The logits of one decoding step after the other: [batch, time, words]."""
    logits = []
    for time in range(LENGTH):
        *state, out = step(Params(weights), *state, time)
        logits.append(out.reshape(IDS.shape[0], -1))
    return jnp.stack(logits, 1)


def assert_decodes(model: Callable[..., jax.Array], weights: Weights, found: jax.Array) -> None:
    np.testing.assert_allclose(found, model(Params(weights), IDS), atol=1e-5)


def caches(kv_heads: int, depth: int) -> list[jax.Array]:
    return [jnp.zeros((2, IDS.shape[0], LENGTH, kv_heads, depth))] * 2


def test_llama_decodes_as_it_reads() -> None:
    weights = random_weights(plain_llama, IDS)

    def step(p: Params, state: Any, time: int) -> Any:
        return llama_decode(p, state, IDS[:, time], jnp.int32(time), width=16, heads=4, kv_heads=2)

    assert_decodes(plain_llama, weights, decoded(step, weights, caches(2, 4)))


def test_llama_decodes_in_a_loop_as_it_reads() -> None:
    weights = random_weights(plain_llama, IDS)
    stacked = {path: value for path, value in weights.items() if not path[0].isdigit()}
    for path in (path[2:] for path in weights if path.startswith("0/")):
        stacked[f"layers/{path}"] = jnp.stack([weights[f"{layer}/{path}"] for layer in (0, 1)])

    def step(p: Params, state: Any, time: int) -> Any:
        position = jnp.int32(time)
        return llama_decode_scanned(p, state, IDS[:, time], position, width=16, heads=4, kv_heads=2)

    found = decoded(step, stacked, jnp.stack(caches(2, 4)))
    assert_decodes(plain_llama, weights, found)


def test_gpt_decodes_as_it_reads_without_positions() -> None:
    model = partial(gpt, layers=2, width=WIDTH, heads=2)
    weights = random_weights(model, IDS)
    weights["positions"] = jnp.zeros_like(weights["positions"])  # gpt_decode adds none
    flat = {path.replace("attention/", ""): value for path, value in weights.items()}

    def step(p: Params, state: Any, time: int) -> Any:
        return gpt_decode(p, state, IDS[:, time], jnp.int32(time), width=WIDTH, heads=2)

    assert_decodes(model, weights, decoded(step, flat, caches(2, 8)))


def test_mamba_decodes_as_it_reads() -> None:
    model = partial(mamba, layers=2, width=32)
    weights = random_weights(model, IDS)
    flat = {
        path.removesuffix("/kernel") if path.endswith("conv/kernel") else path: (
            value.reshape(4, -1) if path.endswith("conv/kernel") else value
        )
        for path, value in weights.items()
    }

    def step(p: Params, states: Any, windows: Any, time: int) -> Any:
        return mamba_decode(p, states, windows, IDS[:, time], width=32)

    start = [jnp.zeros((2, 64, 16))] * 2, [jnp.zeros((2, 4, 64))] * 2
    assert_decodes(model, weights, decoded(step, flat, *start))


def test_retention_in_chunks_is_retention() -> None:
    random = np.random.default_rng(0)
    q, k, v = (random.normal(size=(2, LENGTH, 2, 4)).astype(np.float32) for _ in range(3))
    decay = np.array([-0.3, -0.9], np.float32)
    distance = np.subtract.outer(np.arange(LENGTH), np.arange(LENGTH))
    weight = np.where(distance >= 0, np.exp(distance * decay[:, None, None]), 0)
    whole = np.einsum("bthd,bshd,hts,bshe->bthe", q, k, weight, v).reshape(2, LENGTH, 8)
    found = chunked_retention(*map(jnp.asarray, (q, k, v, decay)), 4)
    np.testing.assert_allclose(found, whole, atol=1e-5)
