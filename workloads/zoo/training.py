"""Training steps: f32 master weights, bf16 forward and backward passes, a donated state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .layers import Params, declare

State = dict[str, Any]
Slots = dict[str, jax.Array]


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """`update(weight, gradient, slots, step)` returns a weight's new value and its new slots."""

    slots: tuple[str, ...]
    update: Callable[[jax.Array, jax.Array, Slots, jax.Array], tuple[jax.Array, Slots]]


def _adam(
    weight: jax.Array, gradient: jax.Array, slots: Slots, step: jax.Array
) -> tuple[jax.Array, Slots]:
    """Adam (arXiv 1412.6980)."""
    mean = 0.9 * slots["mean"] + 0.1 * gradient
    variance = 0.999 * slots["variance"] + 0.001 * gradient * gradient
    time = step.astype(jnp.float32)
    corrected = jnp.sqrt(1 - 0.999**time) / (1 - 0.9**time)
    weight = weight - 1e-4 * corrected * mean / (jnp.sqrt(variance) + 1e-8)
    return weight, {"mean": mean, "variance": variance}


def _momentum(
    weight: jax.Array, gradient: jax.Array, slots: Slots, step: jax.Array
) -> tuple[jax.Array, Slots]:
    """Stochastic gradient descent with Nesterov momentum and weight decay."""
    del step
    gradient = gradient + 1e-4 * weight
    momentum = 0.9 * slots["momentum"] + gradient
    return weight - 0.1 * (gradient + 0.9 * momentum), {"momentum": momentum}


ADAM = Optimizer(("mean", "variance"), _adam)
SGD = Optimizer(("momentum",), _momentum)


def apply_gradients(optimizer: Optimizer, state: State, gradients: dict[str, jax.Array]) -> State:
    """The state after one update of every weight."""
    step = state["step"] + 1
    new_state: State = {"step": step, "params": {}, **{slot: {} for slot in optimizer.slots}}
    for path, weight in state["params"].items():
        slots = {slot: state[slot][path] for slot in optimizer.slots}
        gradient = gradients[path].astype(jnp.float32)
        new_state["params"][path], slots = optimizer.update(weight, gradient, slots, step)
        for slot, value in slots.items():
            new_state[slot][path] = value
    return new_state


def abstract_state(loss: Callable[..., Any], batch: tuple[Any, ...], optimizer: Optimizer) -> State:
    """Shapes of a training state: the step, f32 master weights and the optimiser's slots."""
    masters = {
        path: jax.ShapeDtypeStruct(weight.shape, jnp.float32)
        for path, weight in declare(loss, *batch).items()
    }
    slots = {slot: dict(masters) for slot in optimizer.slots}
    return {"step": jax.ShapeDtypeStruct((), jnp.int32), "params": masters, **slots}


def gradients_of(
    loss: Callable[..., jax.Array], weights: dict[str, jax.Array], *batch: Any
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Loss and bf16 gradients, computed with bf16 copies of the master weights."""
    weights = {path: weight.astype(jnp.bfloat16) for path, weight in weights.items()}
    value, gradients = jax.value_and_grad(lambda w: loss(Params(w), *batch))(weights)
    return value, gradients


def train_step(
    loss: Callable[..., jax.Array], batch: tuple[Any, ...], optimizer: Optimizer
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`step(state, *batch) -> (state, loss)` and its abstract arguments."""

    def step(state: State, *args: Any) -> tuple[State, jax.Array]:
        value, gradients = gradients_of(loss, state["params"], *args)
        return apply_gradients(optimizer, state, gradients), value

    return step, (abstract_state(loss, batch, optimizer), *batch)
