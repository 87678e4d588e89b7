"""Detection: pyramids over a backbone with dense heads, and set prediction."""

from __future__ import annotations

from functools import partial

import jax

from .layers import (
    Params,
    attention,
    conv,
    dense,
    feed_forward,
    layer_norm,
    mlp,
    transformer_layer,
    upsample,
)
from .registry import Architecture
from .vision import MOBILENET_V2, images, mobile_stages, resnet_features

FAMILY = "detection"


def feature_pyramid(p: Params, features: list[jax.Array], width: int) -> list[jax.Array]:
    """Feature pyramid (arXiv 1612.03144): coarse features added into finer ones."""
    levels: list[jax.Array] = []
    for i, x in reversed(list(enumerate(features))):
        h = dense(p / "lateral" / i, x, width)
        levels.insert(0, h + upsample(levels[0]) if levels else h)
    return [conv(p / "smooth" / i, x, width, 3, bias=True) for i, x in enumerate(levels)]


def retina_net(
    p: Params, pictures: jax.Array, *, stages: tuple[int, ...], depth: int, anchors: int = 9
) -> list[tuple[jax.Array, jax.Array]]:
    """RetinaNet (arXiv 1708.02002): classes and boxes at every anchor of three levels."""
    features = resnet_features(p / "backbone", pictures, stages=stages)[1:]
    outputs = []
    for x in feature_pyramid(p / "pyramid", features, 256):
        classes, boxes = x, x
        for i in range(depth):
            classes = jax.nn.relu(conv(p / "classes" / i, classes, 256, 3, bias=True))
            boxes = jax.nn.relu(conv(p / "boxes" / i, boxes, 256, 3, bias=True))
        outputs.append(
            (
                conv(p / "classes" / "out", classes, 20 * anchors, 3, bias=True),
                conv(p / "boxes" / "out", boxes, 4 * anchors, 3, bias=True),
            )
        )
    return outputs


def ssd_lite(p: Params, pictures: jax.Array) -> list[jax.Array]:
    """SSDLite on MobileNetV2 (arXiv 1801.04381): separable heads on three levels."""
    features = mobile_stages(p / "backbone", pictures, stages=MOBILENET_V2, squeeze=False)
    outputs = []
    for i, x in enumerate((features[2], features[4], features[6])):
        h = jax.nn.relu6(conv(p / i / "depthwise", x, x.shape[-1], 3, groups=x.shape[-1]))
        outputs.append(dense(p / i / "head", h, 6 * (20 + 4)))
    return outputs


def detr(
    p: Params,
    pictures: jax.Array,
    *,
    stages: tuple[int, ...],
    layers: int,
    width: int = 256,
    queries: int = 104,
) -> tuple[jax.Array, jax.Array]:
    """DETR (arXiv 2005.12872): a set of boxes from learned queries."""
    x = dense(p / "project", resnet_features(p / "backbone", pictures, stages=stages)[-1], width)
    memory = x.reshape(x.shape[0], -1, width)
    memory = memory + p.weight("positions", memory.shape[1], width)
    for i in range(layers):
        memory = transformer_layer(p / "encoder" / i, memory, 8)
    x = p.weight("queries", queries, width) + 0 * memory[:, :1]
    for i in range(layers):
        q = p / "decoder" / i
        x = x + attention(q / "self", layer_norm(q / "norm1", x), 8)
        x = x + attention(q / "cross", layer_norm(q / "norm2", x), 8, memory=memory)
        x = x + feed_forward(q / "mlp", layer_norm(q / "norm3", x))
    return dense(p / "classes", x, 92), jax.nn.sigmoid(mlp(p / "boxes", x, (width, width, 4)))


_RETINA_NET = Architecture("retina_net", FAMILY)
_SSD = Architecture("ssd_lite", FAMILY)
_DETR = Architecture("detr", FAMILY)

PROGRAMS = (
    _RETINA_NET.forward(
        "retina_net_b8x384", partial(retina_net, stages=(1, 2, 2, 1), depth=2), images(8, 384)
    ),
    _SSD.forward("ssd_lite_b16x320", ssd_lite, images(16, 320)),
    _DETR.forward("detr_2_b8x512", partial(detr, stages=(1, 2, 2, 1), layers=2), images(8, 512)),
)
