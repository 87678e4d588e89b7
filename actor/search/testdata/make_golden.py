"""Writes mctx_golden.json: searches of mctx on small made-up models, for search_golden_test.cc.

Needs mctx 0.0.71 and jax 0.10.2 (pip install mctx==0.0.71 jax==0.10.2), on a CPU:
  python actor/search/testdata/make_golden.py > actor/search/testdata/mctx_golden.json

A model's latent state is a 32-bit hash; values, rewards and logits are cut from hashes of it, with
few bits, so that every implementation computes the same floats. testing/hash_model.h is the same
model in C++.
"""

import functools
import json
import os
import sys
from dataclasses import asdict, dataclass, field

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import chex
import jax
import jax.numpy as jnp
import mctx
import numpy as np


@dataclass(frozen=True)
class Model:
    """Numbers are scale * k / 2^(bits - 1) for an integer k in [-2^(bits - 1), 2^(bits - 1))."""

    bits: int = 12
    value_scale: float = 1
    reward_scale: float = 0.5
    reward_offset: float = 0
    logit_scale: float = 2


FINE = Model()
NEGATIVE = Model(value_scale=8, reward_scale=0.5, reward_offset=-0.5)
PEAKED = Model(value_scale=0.125, reward_scale=0.0625, logit_scale=16)
COARSE = Model(bits=1, reward_scale=0, logit_scale=0)  # equal priors, two values: many ties
FLAT = Model(value_scale=0, reward_scale=0, logit_scale=0)  # nothing but ties


@dataclass(frozen=True)
class Config:
    """What the searches of a few roots have in common; the names are those of SearchConfig."""

    kind: str
    actions: int
    simulations: int
    discount: float = 1
    model: Model = field(default_factory=Model)
    max_considered_actions: int = 16
    maxvisit_init: float = 50
    value_scale: float = 0.1
    value_floor: float = 0
    temperature: float = 0
    gumbel_scale: float = 1


CONFIGS = [
    Config("gumbel", 3, 1),
    Config("gumbel", 3, 2, discount=0.97),
    Config("gumbel", 3, 7, model=NEGATIVE),
    Config("gumbel", 3, 16, discount=0.97),
    Config("gumbel", 3, 16, max_considered_actions=2, gumbel_scale=0),
    Config("gumbel", 3, 32, discount=0.97, model=NEGATIVE),
    Config("gumbel", 3, 64),
    Config("gumbel", 3, 24, model=PEAKED),
    Config("gumbel", 3, 32, model=COARSE),
    Config("gumbel", 3, 16, model=FLAT, gumbel_scale=0),
    Config("gumbel", 8, 1, model=NEGATIVE),
    Config("gumbel", 8, 5, discount=0.97),
    Config("gumbel", 8, 16, max_considered_actions=4),
    Config("gumbel", 8, 16, max_considered_actions=1, discount=0.97),
    Config("gumbel", 8, 50, discount=0.97, model=NEGATIVE),
    Config("gumbel", 8, 64, discount=0.97),
    Config("gumbel", 8, 32, maxvisit_init=10, value_scale=1),
    Config("gumbel", 8, 32, value_floor=4),
    Config("gumbel", 8, 24, model=COARSE, gumbel_scale=0),
    Config("gumbel", 8, 16, model=FLAT),
    Config("gumbel", 8, 40, model=PEAKED),
    Config("puct", 3, 1),
    Config("puct", 3, 16, discount=0.97),
    Config("puct", 3, 64, model=NEGATIVE, temperature=1),
    Config("puct", 3, 32, model=PEAKED),
    Config("puct", 8, 16, model=NEGATIVE, discount=0.97, temperature=0.5),
    Config("puct", 8, 50),
    Config("puct", 8, 64, discount=0.97, value_floor=4),
]
ROOTS = 4


def mix(bits: chex.Array) -> chex.Array:
    """The finaliser of MurmurHash3."""
    bits = (bits ^ (bits >> 16)) * jnp.uint32(0x85EBCA6B)
    bits = (bits ^ (bits >> 13)) * jnp.uint32(0xC2B2AE35)
    return bits ^ (bits >> 16)


def draw(model: Model, state: chex.Array, place: int) -> chex.Array:
    hashed = mix(state + jnp.uint32(place * 0x9E3779B9 & 0xFFFFFFFF))
    half = 1 << (model.bits - 1)
    number = (hashed >> (32 - model.bits)).astype(jnp.int32) - half
    return number.astype(jnp.float32) / half


def evaluate(config: Config, state: chex.Array) -> tuple[chex.Array, chex.Array, chex.Array]:
    """Values [batch], rewards [batch] and logits [batch, actions] of states [batch]."""
    model = config.model
    values = model.value_scale * draw(model, state, 1)
    rewards = model.reward_scale * draw(model, state, 2) + model.reward_offset
    logits = [model.logit_scale * draw(model, state, 3 + a) for a in range(config.actions)]
    return values, rewards, jnp.stack(logits, axis=-1)


def recurrent(
    config: Config, _params: None, _key: chex.PRNGKey, action: chex.Array, state: chex.Array
) -> tuple[mctx.RecurrentFnOutput, chex.Array]:
    state = mix(state * jnp.uint32(31) + action.astype(jnp.uint32) + jnp.uint32(1))
    values, rewards, logits = evaluate(config, state)
    discount = jnp.full_like(values, config.discount)
    return mctx.RecurrentFnOutput(
        reward=rewards, discount=discount, prior_logits=logits, value=values
    ), state


def legal_masks(config: Config, number: int) -> list[int]:
    """All actions; all but one; a few; a single one."""
    every = (1 << config.actions) - 1
    return [every, every & ~(1 << number % config.actions), every & 0b01101101, 1 << number % 3]


def search(config: Config, number: int, noise_key: int) -> tuple[mctx.PolicyOutput, chex.Array]:
    """mctx's searches of ROOTS roots, and the Gumbel noise they used, unscaled."""
    states = mix(jnp.arange(ROOTS, dtype=jnp.uint32) + jnp.uint32(ROOTS * number + 1))
    values, _, logits = evaluate(config, states)
    root = mctx.RootFnOutput(prior_logits=logits, value=values, embedding=states)
    masks = np.array(legal_masks(config, number))[:, None]
    invalid = 1 - (masks >> np.arange(config.actions) & 1)
    common = {
        "params": None,
        "root": root,
        "recurrent_fn": functools.partial(recurrent, config),
        "num_simulations": config.simulations,
        "invalid_actions": jnp.asarray(invalid),
    }
    epsilon = max(config.value_floor, 1e-8)
    key = jax.random.PRNGKey(noise_key)
    shape = (ROOTS, config.actions)
    if config.kind == "gumbel":
        transform = functools.partial(
            mctx.qtransform_completed_by_mix_value,
            value_scale=config.value_scale,
            maxvisit_init=config.maxvisit_init,
            epsilon=epsilon,
        )
        output = mctx.gumbel_muzero_policy(
            rng_key=key,
            qtransform=transform,
            max_num_considered_actions=config.max_considered_actions,
            gumbel_scale=config.gumbel_scale,
            **common,
        )
        noise = jax.random.gumbel(jax.random.split(key)[1], shape)
        used = output.search_tree.extra_data.root_gumbel
        np.testing.assert_array_equal(used, config.gumbel_scale * noise)
        return output, noise
    output = mctx.muzero_policy(
        rng_key=key,
        qtransform=functools.partial(mctx.qtransform_by_parent_and_siblings, epsilon=epsilon),
        dirichlet_fraction=0.0,
        temperature=config.temperature,
        **common,
    )
    return output, jax.random.gumbel(jax.random.split(key, 3)[0], shape)


def rounded(numbers: chex.Array) -> list[float]:
    return [float(f"{number:.8g}") for number in np.asarray(numbers).tolist()]


def cases(config: Config, number: int) -> list[dict[str, object]]:
    """What the searches found, without those that only a tie decided."""
    run = functools.partial(search, config, number)
    output, noise = run(number)
    tree = output.search_tree
    decided: np.ndarray = np.ones(ROOTS, dtype=bool)
    if config.kind == "puct":
        # mctx breaks ties of PUCT by noise; where other noise gives another tree, there was one.
        other = run(number + 1000)[0].search_tree
        decided = np.all(tree.action_from_parent == other.action_from_parent, axis=1)
    summary = tree.summary()
    return [
        {
            "root": ROOTS * number + 1 + root,
            "legal": legal_masks(config, number)[root],
            "gumbel": rounded(noise[root]),
            "parents": np.asarray(tree.parents[root, 1:]).tolist(),
            "actions": np.asarray(tree.action_from_parent[root, 1:]).tolist(),
            "visits": np.asarray(tree.node_visits[root]).tolist(),
            "values": rounded(tree.node_values[root]),
            "action": int(output.action[root]),
            "weights": rounded(output.action_weights[root]),
            "root_visits": np.asarray(summary.visit_counts[root], dtype=int).tolist(),
        }
        for root in np.flatnonzero(decided).tolist()
    ]


def main() -> None:
    searches = []
    for number, config in enumerate(CONFIGS):
        print(f"{number + 1} of {len(CONFIGS)}", file=sys.stderr)
        searches.append({"config": asdict(config), "cases": cases(config, number)})
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in searches)
    print(f'{{"mctx":"{mctx.__version__}","searches":[\n{lines}\n]}}')


if __name__ == "__main__":
    main()
