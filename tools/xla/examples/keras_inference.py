"""Runs a keras model with a better placement.

Search on any machine, then run on the machine with the TPU:

    mallocmuzero-xla optimize tools/xla/examples/keras_inference.py:build --chip tpu_v6e \
        --output keras.json
    python tools/xla/examples/keras_inference.py keras.json

`stateless_call` makes a pure function of a keras model. A model of your own takes the place of
`make_model`; everything else stays.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"  # before keras is imported

import jax
import jax.numpy as jnp
import keras

from mallocmuzero_xla import apply


def make_model(width: int = 1024, depth: int = 4) -> Any:
    """Returns a transformer encoder over sequences of vectors, in bfloat16."""
    keras.config.set_dtype_policy("bfloat16")
    inputs = x = keras.Input((256, width))
    for _ in range(depth):
        attention = keras.layers.MultiHeadAttention(num_heads=width // 64, key_dim=64)
        x = keras.layers.LayerNormalization()(x + attention(x, x))
        hidden = keras.layers.Dense(4 * width, activation="gelu")(x)
        x = keras.layers.LayerNormalization()(x + keras.layers.Dense(width)(hidden))
    return keras.Model(inputs, x)


def pure(model: Any) -> tuple[Callable[..., Any], list[Any], list[Any]]:
    """Returns a pure function of the model, its trainable and its other variables."""

    def predict(trainable: list[Any], others: list[Any], x: Any) -> Any:
        return model.stateless_call(trainable, others, x, training=False)[0]

    trainable = [variable.value for variable in model.trainable_variables]
    return predict, trainable, [variable.value for variable in model.non_trainable_variables]


def build(batch: int = 32, **size: int) -> tuple[Any, tuple[Any, ...]]:
    """Returns the function and the shapes for `mallocmuzero-xla optimize`."""
    model = make_model(**size)
    predict, trainable, others = pure(model)
    return predict, (trainable, others, batch_shape(model, batch))


def batch_shape(model: Any, batch: int) -> Any:
    """Returns the shape and type of a batch of inputs."""
    return jax.ShapeDtypeStruct((batch, *model.input_shape[1:]), jnp.bfloat16)


def run(artefact: Any, batch: int = 32, **size: int) -> Any:
    """Predicts one batch; returns the function, which knows whether the artefact fits."""
    model = make_model(**size)
    predict, trainable, others = pure(model)
    fast = apply(predict, artefact)
    shape = batch_shape(model, batch)
    print(fast(trainable, others, jnp.ones(shape.shape, shape.dtype)).mean())
    return fast


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python keras_inference.py ARTEFACT")
    run(sys.argv[1])
