"""Serves prompts in buckets of lengths, each with a placement of its own.

Search on any machine, which writes an artefact for each bucket, then serve on the machine with the
TPU:

    python tools/xla/examples/serving_buckets.py search artefacts 30m
    python tools/xla/examples/serving_buckets.py serve artefacts

A prompt is padded to the next bucket. `apply` takes the artefact of each shape from the folder, so
the loop that serves does not change when a bucket is added.
"""

import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mallocmuzero_xla import apply, optimize_many

BUCKETS = (128, 512, 2048)
VOCABULARY, WIDTH, DEPTH = 32000, 1024, 4


def make_weights(width: int = WIDTH) -> Any:
    """Returns random weights of a small language model."""
    keys = iter(jax.random.split(jax.random.key(0), 4 * DEPTH + 1))

    def drawn(*shape: int) -> Any:
        return (0.02 * jax.random.normal(next(keys), shape)).astype(jnp.bfloat16)

    sizes = ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))
    layers = [[drawn(*size) for size in sizes] for _ in range(DEPTH)]
    return {"embedding": drawn(VOCABULARY, width), "layers": layers}


def prefill(weights: Any, tokens: Any, length: Any) -> Any:
    """Returns the most likely token after the first `length` of `tokens`, an array of (bucket,)."""
    x = weights["embedding"][tokens]
    for qkv, out, up, down in weights["layers"]:
        heads = (len(tokens), x.shape[1] // 64, 64)
        q, k, v = (part.reshape(heads) for part in jnp.split(x @ qkv, 3, -1))
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ out
        x = x + jax.nn.gelu(x @ up) @ down
    last = jax.lax.dynamic_index_in_dim(x, length - 1, keepdims=False)
    return jnp.argmax(last @ weights["embedding"].T)


def functions(buckets: Sequence[int] = BUCKETS, width: int = WIDTH) -> dict[str, Any]:
    """Returns the function and the shapes of each bucket, as `optimize_many` takes them."""
    weights = jax.eval_shape(lambda: make_weights(width))
    length = jax.ShapeDtypeStruct((), jnp.int32)
    tokens = {bucket: jax.ShapeDtypeStruct((bucket,), jnp.int32) for bucket in buckets}
    return {f"prefill_{n}": (prefill, (weights, tokens[n], length)) for n in buckets}


class Server:
    """Answers prompts, one after the other."""

    def __init__(
        self, artefacts: Any, buckets: Sequence[int] = BUCKETS, width: int = WIDTH
    ) -> None:
        """`artefacts` is a folder of artefacts, or a Registry."""
        self.prefill = apply(prefill, artefacts)
        self._weights = make_weights(width)
        self._buckets = sorted(buckets)

    def next_token(self, prompt: Sequence[int]) -> int:
        """Returns the most likely token after the prompt; raises ValueError if it is too long."""
        bucket = next((size for size in self._buckets if size >= len(prompt)), None)
        if bucket is None or not prompt:
            raise ValueError(f"a prompt of {len(prompt)} tokens; expected 1 to {self._buckets[-1]}")
        padded = jnp.array([*prompt, *[0] * (bucket - len(prompt))], jnp.int32)
        return int(self.prefill(self._weights, padded, jnp.int32(len(prompt))))


def main(command: str, folder: str, budget: str = "30m") -> None:
    """Searches for artefacts, or answers three prompts with them."""
    if command == "search":
        found = optimize_many(functions(), budget, chip="tpu_v6e")
        found.save(folder)
        print(found.summary())
    else:
        server = Server(folder)
        for length in (5, 100, 1000):
            print(server.next_token(list(range(1, length + 1))))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("search", "serve"):
        sys.exit("usage: python serving_buckets.py search FOLDER [BUDGET], or serve FOLDER")
    main(*sys.argv[1:])
