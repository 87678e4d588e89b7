"""Makes pure functions of keras models, without values for the weights.

A model is built in a scope of keras that leaves every weight uninitialised. So a model of any size
takes no memory, and its weights are arguments of the function.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from .registry import Built, Program

if TYPE_CHECKING:
    import keras

Inputs = Any
"""What the model takes: an array, a list or a dictionary of `jax.ShapeDtypeStruct`."""

Make = Callable[[], "keras.Model"]


def hub() -> Any:
    """Returns keras_hub, with keras on jax.

    Raises ImportError if keras is already in use with another backend.
    """
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras
    import keras_hub

    if keras.backend.backend() != "jax":
        raise ImportError("keras runs on another backend: set KERAS_BACKEND=jax")
    return keras_hub


def models() -> Any:
    """Returns keras_hub.models."""
    return hub().models


def tokens(batch: int, length: int) -> jax.ShapeDtypeStruct:
    """Token ids, segment ids or masks."""
    return jax.ShapeDtypeStruct((batch, length), jnp.int32)


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    """An array of bf16, such as images of shape (batch, height, width, channels)."""
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def text(batch: int, length: int, *names: str) -> dict[str, jax.ShapeDtypeStruct]:
    """The inputs of a language model that have these names, all of shape (batch, length)."""
    return {name: tokens(batch, length) for name in names}


def forward(name: str, family: str, origin: str, make: Make, inputs: Inputs) -> Program:
    """`model(inputs)` in bf16."""
    return Program(
        name,
        family,
        origin,
        functools.partial(_build_forward, make, inputs),
        functools.partial(_layers, make),
    )


def train(
    name: str,
    family: str,
    origin: str,
    make: Make,
    inputs: Inputs,
    labels: jax.ShapeDtypeStruct,
) -> Program:
    """One step of keras' AdamW in mixed precision, on the cross entropy of logits and labels."""
    return Program(
        name,
        family,
        origin,
        functools.partial(_build_train, make, inputs, labels),
        functools.partial(_layers, make),
        donate_argnums=(0,),
    )


def decode(
    name: str, family: str, origin: str, make: Make, batch: int, cache: Sequence[int]
) -> Program:
    """One token of each sequence by a CausalLM's `call_with_cache`, with the cache donated.

    `cache` is the shape behind the batch: layers, keys and values, length, heads, width of a head.
    """
    return Program(
        name,
        family,
        origin,
        functools.partial(_build_decode, make, batch, tuple(cache)),
        functools.partial(_layers, make),
        donate_argnums=(2,),
    )


@contextlib.contextmanager
def _uninitialised() -> Iterator[None]:
    """Variables that are made in this scope never get a value.

    keras keeps a list of variables without a value, and gives them one when the next scope ends.
    That would be within the function that is traced, so the list is forgotten here.
    """
    import keras

    policy = keras.config.dtype_policy()
    try:
        with keras.StatelessScope(initialize_variables=False):
            yield
    finally:
        keras.utils.clear_session()
        keras.config.set_dtype_policy(policy)


def _abstract_model(make: Make, policy: str) -> keras.Model:
    """The model of `make` with uninitialised weights, in the dtype policy `policy` of keras."""
    hub()
    import keras

    with _uninitialised():
        keras.config.set_dtype_policy(policy)
        return make()


def _abstract(variables: Sequence[Any]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(v.shape, jnp.dtype(v.dtype)) for v in variables]


def _weights(model: keras.Model) -> tuple[list[jax.ShapeDtypeStruct], list[jax.ShapeDtypeStruct]]:
    return _abstract(model.trainable_variables), _abstract(model.non_trainable_variables)


def _build_forward(make: Make, inputs: Inputs) -> Built:
    model = _abstract_model(make, "bfloat16")

    def forward(weights: Any, other: Any, inputs: Any) -> Any:
        return model.stateless_call(weights, other, inputs, training=False)[0]

    return forward, (*_weights(model), inputs)


def _build_train(make: Make, inputs: Inputs, labels: jax.ShapeDtypeStruct) -> Built:
    model = _abstract_model(make, "mixed_bfloat16")
    import keras

    cross_entropy = functools.partial(
        keras.losses.sparse_categorical_crossentropy, from_logits=True
    )
    optimizer = keras.optimizers.AdamW(1e-4)
    with _uninitialised():
        optimizer.build(model.trainable_variables)

    def step(state: Mapping[str, Any], inputs: Any, labels: Any) -> tuple[dict[str, Any], Any]:
        def mean_loss(weights: Any) -> tuple[jax.Array, Any]:
            logits, other = model.stateless_call(weights, state["other"], inputs, training=True)
            return jnp.mean(cross_entropy(labels, logits.astype(jnp.float32))), other

        (value, other), gradients = jax.value_and_grad(mean_loss, has_aux=True)(state["weights"])
        weights, slots = optimizer.stateless_apply(state["slots"], gradients, state["weights"])
        return {"weights": weights, "other": other, "slots": slots}, value

    weights, other = _weights(model)
    state = {"weights": weights, "other": other, "slots": _abstract(optimizer.variables)}
    return step, (state, inputs, labels)


def _build_decode(make: Make, batch: int, cache: tuple[int, ...]) -> Built:
    model = _abstract_model(make, "bfloat16")
    import keras

    def decode(weights: Any, ids: Any, cache: Any, position: Any) -> tuple[Any, Any]:
        mapping = zip(model.variables, weights, strict=True)
        with keras.StatelessScope(mapping):
            logits, _, cache = model.call_with_cache(ids, cache, position)
        return cache, logits

    arguments = (tokens(batch, 1), floats(batch, *cache), jax.ShapeDtypeStruct((), jnp.int32))
    return decode, (_abstract(model.variables), *arguments)


def _layers(make: Make) -> set[str]:
    model = _abstract_model(make, "bfloat16")
    return {type(layer).__module__ for layer in model._flatten_layers()}
