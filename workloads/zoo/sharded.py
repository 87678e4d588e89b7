"""Language models over eight devices, and one with a Pallas kernel.

The models are those of transformers.py. Only the shardings of the arguments differ; the compiler
partitions the rest.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from .layers import Params, dense, feed_forward, layer_norm, split_heads, tokens
from .registry import Architecture, Sharding
from .transformers import caches, llama_decode, llama_loss

_CHIPS = ("tpu_v5e", "tpu_v6e", "tpu7x")
_EIGHT = {"tpu_v5e": "v5e:2x4", "tpu_v6e": "v6e:2x4", "tpu7x": "tpu7x:2x2x1"}

# The last layers of each pair of a tensor-parallel model: their rows are split, because the columns
# of the layers before are.
_ROWS = ("out/kernel", "down/kernel", "tokens/table")


def fully_sharded(path: str, leaf: jax.ShapeDtypeStruct) -> PartitionSpec:
    """FSDP: every weight and its slots are split by rows, and the batch by examples."""
    del path
    return PartitionSpec("x") if leaf.ndim >= 2 else PartitionSpec()


def tensor_parallel(path: str, leaf: jax.ShapeDtypeStruct) -> PartitionSpec:
    """Megatron (arXiv 1909.08053): matrices are split by columns or rows; the batch is whole."""
    if leaf.ndim == 5:  # a cache [2, batch, time, kv_heads, depth]
        return PartitionSpec(None, None, None, "x")
    if leaf.ndim != 2 or not jnp.issubdtype(leaf.dtype, jnp.floating):
        return PartitionSpec()
    return PartitionSpec("x") if path.endswith(_ROWS) else PartitionSpec(None, "x")


def flash_gpt(p: Params, ids: jax.Array, *, layers: int, width: int, heads: int) -> jax.Array:
    """The layers of GPT-2 with jax's flash attention (arXiv 2205.14135), a Pallas kernel."""
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

    x = p.weight("tokens", 8192, width)[ids]
    depth = width // heads
    for i in range(layers):
        h = dense(p / i / "qkv", layer_norm(p / i / "norm1", x), 3 * width)
        q, k, v = (split_heads(a, heads).transpose(0, 2, 1, 3) for a in jnp.split(h, 3, axis=-1))
        h = flash_attention(q, k, v, causal=True, sm_scale=depth**-0.5)
        x = x + dense(p / i / "out", h.transpose(0, 2, 1, 3).reshape(x.shape), width)
        x = x + feed_forward(p / i / "mlp", layer_norm(p / i / "norm2", x))
    return x


_SHARDED = Architecture("sharded_llama", "sharded_language_model")
_FLASH = Architecture("flash_gpt", "flash_attention")

PROGRAMS = (
    _SHARDED.train(
        "fsdp_llama_2x1024_train_b16x512",
        partial(llama_loss, layers=2, width=1024, heads=8, kv_heads=8),
        tokens(16, 512),
        chips=_CHIPS,
        sharding=Sharding(_EIGHT, fully_sharded),
    ),
    _SHARDED.train(
        "tensor_parallel_llama_2x2048_train_b4x512",
        partial(llama_loss, layers=2, width=2048, heads=16, kv_heads=8),
        tokens(4, 512),
        chips=_CHIPS,
        sharding=Sharding(_EIGHT, tensor_parallel),
    ),
    _SHARDED.forward(
        "sharded_decode_llama_4x4096_b32x2048",
        partial(llama_decode, width=4096, heads=32, kv_heads=8),
        caches(4, 32, 2048, 8, 128),
        tokens(32),
        tokens(),
        donate_argnums=(1,),
        chips=_CHIPS,
        sharding=Sharding(_EIGHT, tensor_parallel),
    ),
    _FLASH.forward(
        "flash_attention_gpt_4x1024_b8x1024",
        partial(flash_gpt, layers=4, width=1024, heads=8),
        tokens(8, 1024),
        chips=_CHIPS,
    ),
)
