"""Models after the examples of flax, made of the layers of flax.linen.

flax itself has layers and no models. Its examples (github.com/google/flax/tree/main/examples) have
the models; `origin` names the example that a model follows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .registry import Built, Program

Make = Callable[[], Any]
"""Returns a flax.linen.Module."""

_BF16 = jnp.bfloat16


def _floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, _BF16)


def _tokens(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def _forward(name: str, family: str, example: str, make: Make, *inputs: Any) -> Program:
    """`module.apply(weights, *inputs)` with weights in bf16."""
    build = functools.partial(_build_forward, make, inputs)
    return Program(name, family, f"flax examples/{example}", build)


def _train(
    name: str, family: str, example: str, make: Make, inputs: Any, labels: jax.ShapeDtypeStruct
) -> Program:
    """One step of optax's Adam on the cross entropy of logits and labels; weights in f32."""
    build = functools.partial(_build_train, make, inputs, labels)
    return Program(name, family, f"flax examples/{example}", build, donate_argnums=(0,))


def _weights(module: Any, inputs: tuple[Any, ...]) -> Any:
    return jax.eval_shape(module.init, jax.random.key(0), *inputs)


def _build_forward(make: Make, inputs: tuple[Any, ...]) -> Built:
    module = make()
    weights = jax.tree.map(lambda w: _floats(*w.shape), _weights(module, inputs))

    def forward(weights: Any, *inputs: Any) -> Any:
        return module.apply(weights, *inputs)

    return forward, (weights, *inputs)


def _build_train(make: Make, inputs: Any, labels: jax.ShapeDtypeStruct) -> Built:
    import optax

    module, optimizer = make(), optax.adam(1e-4)
    weights = _weights(module, (inputs,))

    def step(state: tuple[Any, Any], inputs: Any, labels: Any) -> tuple[tuple[Any, Any], jax.Array]:
        def mean_loss(weights: Any) -> jax.Array:
            logits = module.apply(weights, inputs).astype(jnp.float32)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            return losses.mean()

        weights, slots = state
        value, gradients = jax.value_and_grad(mean_loss)(weights)
        updates, slots = optimizer.update(gradients, slots, weights)
        return (optax.apply_updates(weights, updates), slots), value

    return step, ((weights, jax.eval_shape(optimizer.init, weights)), inputs, labels)


def _language_model(layers: int, width: int) -> Any:
    """A decoder with learned embeddings and normalisation before each part."""
    from flax import linen

    class Decoder(linen.Module):
        @linen.compact
        def __call__(self, ids: jax.Array) -> jax.Array:
            embed = linen.Embed(16384, width, dtype=_BF16)
            mask = linen.make_causal_mask(ids)
            x = embed(ids)
            for _ in range(layers):
                x = x + _attention(width)(linen.LayerNorm(dtype=_BF16)(x), mask=mask)
                x = x + _mlp(width)(linen.LayerNorm(dtype=_BF16)(x))
            return embed.attend(linen.LayerNorm(dtype=_BF16)(x))

    return Decoder()


def _translator(layers: int, width: int) -> Any:
    """An encoder and a decoder, which share the embedding."""
    from flax import linen

    class Translator(linen.Module):
        @linen.compact
        def __call__(self, source: jax.Array, target: jax.Array) -> jax.Array:
            embed = linen.Embed(16384, width, dtype=_BF16)
            x, encoded = embed(target), embed(source)
            here = linen.make_attention_mask(source > 0, source > 0)
            for _ in range(layers):
                normed = linen.LayerNorm(dtype=_BF16)(encoded)
                encoded = encoded + _attention(width)(normed, mask=here)
                encoded = encoded + _mlp(width)(linen.LayerNorm(dtype=_BF16)(encoded))
            encoded = linen.LayerNorm(dtype=_BF16)(encoded)
            across = linen.make_attention_mask(target > 0, source > 0)
            for _ in range(layers):
                normed = linen.LayerNorm(dtype=_BF16)(x)
                x = x + _attention(width)(normed, mask=linen.make_causal_mask(target))
                normed = linen.LayerNorm(dtype=_BF16)(x)
                x = x + _attention(width)(normed, encoded, mask=across)
                x = x + _mlp(width)(linen.LayerNorm(dtype=_BF16)(x))
            return embed.attend(linen.LayerNorm(dtype=_BF16)(x))

    return Translator()


def _attention(width: int) -> Any:
    from flax import linen

    return linen.MultiHeadDotProductAttention(num_heads=width // 64, dtype=_BF16, use_bias=False)


def _mlp(width: int) -> Any:
    from flax import linen

    return linen.Sequential(
        [linen.Dense(4 * width, dtype=_BF16), linen.relu, linen.Dense(width, dtype=_BF16)]
    )


def _lstm_translator(width: int) -> Any:
    """One LSTM encodes the source; another begins with its state and reads the target."""
    from flax import linen

    class Translator(linen.Module):
        @linen.compact
        def __call__(self, source: jax.Array, target: jax.Array) -> jax.Array:
            embed = linen.Embed(8192, width, dtype=_BF16)
            encoder = linen.RNN(linen.LSTMCell(width, dtype=_BF16), return_carry=True)
            decoder = linen.RNN(linen.LSTMCell(width, dtype=_BF16))
            state, _ = encoder(embed(source))
            outputs = decoder(embed(target), initial_carry=state)
            return linen.Dense(8192, dtype=_BF16)(outputs)

    return Translator()


def _sentiment(width: int) -> Any:
    """An LSTM in both directions, and attention over its outputs."""
    from flax import linen

    class Classifier(linen.Module):
        @linen.compact
        def __call__(self, ids: jax.Array) -> jax.Array:
            x = linen.Embed(16384, width, dtype=_BF16)(ids)
            ahead = linen.RNN(linen.OptimizedLSTMCell(width, dtype=_BF16))
            back = linen.RNN(
                linen.OptimizedLSTMCell(width, dtype=_BF16), reverse=True, keep_order=True
            )
            x = linen.Bidirectional(ahead, back)(x)
            scores = linen.Dense(1, dtype=_BF16)(linen.tanh(linen.Dense(width, dtype=_BF16)(x)))
            summary = jnp.sum(linen.softmax(scores, axis=1) * x, axis=1)
            hidden = linen.tanh(linen.Dense(width, dtype=_BF16)(summary))
            return linen.Dense(2, dtype=_BF16)(hidden)

    return Classifier()


def _digits() -> Any:
    """Two convolutions with pooling, and two dense layers."""
    from flax import linen

    class Digits(linen.Module):
        @linen.compact
        def __call__(self, x: jax.Array) -> jax.Array:
            for features in (32, 64):
                x = linen.relu(linen.Conv(features, (3, 3), dtype=_BF16)(x))
                x = linen.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
            x = x.reshape((x.shape[0], -1))
            x = linen.relu(linen.Dense(256, dtype=_BF16)(x))
            return linen.Dense(10, dtype=_BF16)(x)

    return Digits()


def _actor_critic(actions: int) -> Any:
    """The network of Atari games (Nature 518), with a head for the policy and one for the value."""
    from flax import linen

    class ActorCritic(linen.Module):
        @linen.compact
        def __call__(self, frames: jax.Array) -> tuple[jax.Array, jax.Array]:
            x = frames / 255
            for features, size, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
                convolution = linen.Conv(features, (size, size), (stride, stride), dtype=_BF16)
                x = linen.relu(convolution(x))
            x = x.reshape((x.shape[0], -1))
            x = linen.relu(linen.Dense(512, dtype=_BF16)(x))
            policy = linen.log_softmax(linen.Dense(actions, dtype=_BF16)(x))
            return policy, linen.Dense(1, dtype=_BF16)(x)

    return ActorCritic()


PROGRAMS = (
    _train(
        "flax_lm1b_2x512_train_b8x256",
        "causal_language_model",
        "lm1b",
        functools.partial(_language_model, 2, 512),
        _tokens(8, 256),
        _tokens(8, 256),
    ),
    _train(
        "flax_mnist_train_b4096",
        "image_classification",
        "mnist",
        _digits,
        _floats(4096, 28, 28, 1),
        _tokens(4096),
    ),
    _forward(
        "flax_seq2seq_1024_b64x64",
        "recurrent",
        "seq2seq",
        functools.partial(_lstm_translator, 1024),
        _tokens(64, 64),
        _tokens(64, 64),
    ),
    _train(
        "flax_sst2_512_train_b64x64",
        "recurrent",
        "sst2",
        functools.partial(_sentiment, 512),
        _tokens(64, 64),
        _tokens(64),
    ),
    _forward(
        "flax_wmt_2x1024_b16x256",
        "encoder_decoder",
        "wmt",
        functools.partial(_translator, 2, 1024),
        _tokens(16, 256),
        _tokens(16, 256),
    ),
    _forward(
        "flax_ppo_actor_critic_b1024",
        "reinforcement_learning",
        "ppo",
        functools.partial(_actor_critic, 18),
        _floats(1024, 84, 84, 4),
    ),
)
