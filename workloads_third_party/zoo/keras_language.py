"""Language models of keras-hub."""

from __future__ import annotations

from functools import partial
from typing import Any

from .keras_models import decode, forward, models, text, tokens, train

_CAUSAL = "causal_language_model"
_GROUPED = "grouped_query_language_model"
_MASKED = "masked_language_model"
_TRANSLATION = "encoder_decoder"
_EXPERTS = "mixture_of_experts"
_MASK = ("token_ids", "padding_mask")
_SEGMENTS = ("token_ids", "segment_ids")
_ALL = (*_SEGMENTS, "padding_mask")
_BOTH = tuple(f"{side}_{name}" for side in ("encoder", "decoder") for name in _MASK)


def _backbone(kind: str, layers: int, width: int, **options: Any) -> Any:
    """A backbone whose MLP is four times as wide as the model, without dropout."""
    sizes = {"vocabulary_size": 16384, "hidden_dim": width, "intermediate_dim": 4 * width}
    make = getattr(models(), f"{kind}Backbone")
    return make(num_layers=layers, **{**sizes, "dropout": 0.0, **options})


def _language_model(kind: str, layers: int, width: int, **options: Any) -> Any:
    """The backbone with the head that predicts the next token."""
    make = getattr(models(), f"{kind}CausalLM")
    return make(backbone=_backbone(kind, layers, width, **options), compile=False)


def _classifier(kind: str, layers: int, width: int, **options: Any) -> Any:
    """The backbone with a head that tells two classes of texts apart."""
    make = getattr(models(), f"{kind}TextClassifier")
    backbone = _backbone(kind, layers, width, **options)
    return make(backbone=backbone, num_classes=2, dropout=0.0, compile=False)


def _falcon(layers: int, width: int) -> Any:
    return models().FalconBackbone(
        vocabulary_size=16384,
        num_layers=layers,
        num_attention_heads=width // 64,
        hidden_dim=width,
        intermediate_dim=4 * width,
    )


def _rwkv(layers: int, width: int) -> Any:
    return models().RWKV7Backbone(
        vocabulary_size=16384,
        num_layers=layers,
        hidden_size=width,
        head_size=64,
        intermediate_dim=4 * width,
    )


_GROUPS = {"num_query_heads": 16, "num_key_value_heads": 4}
_QWEN3 = {**_GROUPS, "head_dim": 128}

PROGRAMS = (
    decode(
        "keras_hub_gpt2_decode_4x1024_b16x1024",
        _CAUSAL,
        "keras_hub.models.GPT2CausalLM",
        partial(_language_model, "GPT2", 4, 1024, num_heads=16),
        16,
        (4, 2, 1024, 16, 64),
    ),
    forward(
        "keras_hub_gpt2_2x1024_b16x512",
        _CAUSAL,
        "keras_hub.models.GPT2CausalLM",
        partial(_language_model, "GPT2", 2, 1024, num_heads=16),
        text(16, 512, *_MASK),
    ),
    forward(
        "keras_hub_bloom_2x1024_b16x512",
        _CAUSAL,
        "keras_hub.models.BloomBackbone",
        partial(_backbone, "Bloom", 2, 1024, num_heads=16),
        text(16, 512, *_MASK),
    ),
    forward(
        "keras_hub_falcon_2x1024_b16x512",
        _CAUSAL,
        "keras_hub.models.FalconBackbone",
        partial(_falcon, 2, 1024),
        text(16, 512, *_MASK),
    ),
    train(
        "keras_hub_opt_2x768_train_b8x256",
        _CAUSAL,
        "keras_hub.models.OPTCausalLM",
        partial(_language_model, "OPT", 2, 768, num_heads=12),
        text(8, 256, *_MASK),
        tokens(8, 256),
    ),
    forward(
        "keras_hub_qwen3_2x2048_b8x512",
        _GROUPED,
        "keras_hub.models.Qwen3Backbone",
        partial(_backbone, "Qwen3", 2, 2048, **_QWEN3),
        text(8, 512, *_MASK),
    ),
    decode(
        "keras_hub_qwen3_decode_4x2048_b16x1024",
        _GROUPED,
        "keras_hub.models.Qwen3CausalLM",
        partial(_language_model, "Qwen3", 4, 2048, **_QWEN3),
        16,
        (4, 2, 1024, 4, 128),
    ),
    forward(
        "keras_hub_phi3_2x2048_b8x512",
        _GROUPED,
        "keras_hub.models.Phi3Backbone",
        partial(_backbone, "Phi3", 2, 2048, **_GROUPS),
        text(8, 512, *_MASK),
    ),
    forward(
        "keras_hub_rwkv7_2x1024_b16x256",
        "state_space",
        "keras_hub.models.RWKV7Backbone",
        partial(_rwkv, 2, 1024),
        text(16, 256, *_MASK),
    ),
    forward(
        "keras_hub_bert_2x1024_b32x256",
        _MASKED,
        "keras_hub.models.BertBackbone",
        partial(_backbone, "Bert", 2, 1024, num_heads=16),
        text(32, 256, *_ALL),
    ),
    train(
        "keras_hub_albert_3x768_train_b16x256",
        _MASKED,
        "keras_hub.models.AlbertTextClassifier",
        partial(_classifier, "Albert", 3, 768, num_heads=12, embedding_dim=128),
        text(16, 256, *_ALL),
        tokens(16, 1),
    ),
    forward(
        "keras_hub_deberta_v3_2x768_b32x256",
        _MASKED,
        "keras_hub.models.DebertaV3Backbone",
        partial(_backbone, "DebertaV3", 2, 768, num_heads=12),
        text(32, 256, *_MASK),
    ),
    forward(
        "keras_hub_f_net_3x768_b64x256",
        _MASKED,
        "keras_hub.models.FNetBackbone",
        partial(_backbone, "FNet", 3, 768),
        text(64, 256, *_SEGMENTS),
    ),
    forward(
        "keras_hub_xlnet_2x768_b16x256",
        "permuted_language_model",
        "keras_hub.models.XLNetBackbone",
        partial(_backbone, "XLNet", 2, 768, num_heads=12),
        text(16, 256, *_ALL),
    ),
    forward(
        "keras_hub_t5_2x1024_b16x256",
        _TRANSLATION,
        "keras_hub.models.T5Backbone",
        partial(_backbone, "T5", 2, 1024, num_heads=16),
        text(16, 256, *_BOTH),
    ),
    forward(
        "keras_hub_bart_2x1024_b32x256",
        _TRANSLATION,
        "keras_hub.models.BartBackbone",
        partial(_backbone, "Bart", 2, 1024, num_heads=16),
        text(32, 256, *_BOTH),
    ),
    forward(
        "keras_hub_qwen_moe_1x1024_e8_b8x256",
        _EXPERTS,
        "keras_hub.models.QwenMoeBackbone",
        partial(
            _backbone,
            "QwenMoe",
            1,
            1024,
            **_GROUPS,
            moe_intermediate_dim=2048,
            shared_expert_intermediate_dim=2048,
            num_experts=8,
            top_k=2,
        ),
        text(8, 256, *_MASK),
    ),
    forward(
        "keras_hub_gpt_oss_1x1024_e8_b8x256",
        _EXPERTS,
        "keras_hub.models.GptOssBackbone",
        partial(
            _backbone,
            "GptOss",
            1,
            1024,
            **_GROUPS,
            head_dim=64,
            num_experts=8,
            top_k=2,
            intermediate_dim=1024,
        ),
        text(8, 256, *_MASK),
    ),
)
