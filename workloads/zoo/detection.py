"""Detection: dense heads on the features of a backbone."""

from __future__ import annotations

from functools import partial

import jax

from .layers import (
    Params,
    conv,
    dense,
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


_RETINA_NET = Architecture("retina_net", FAMILY)
_SSD = Architecture("ssd_lite", FAMILY)

PROGRAMS = (
    _RETINA_NET.forward(
        "retina_net_b8x384", partial(retina_net, stages=(1, 2, 2, 1), depth=2), images(8, 384)
    ),
    _SSD.forward("ssd_lite_b16x320", ssd_lite, images(16, 320)),
)
