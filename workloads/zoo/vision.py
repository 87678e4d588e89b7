"""Image classifiers."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .layers import (
    Params,
    batch_norm,
    conv,
    cross_entropy,
    dense,
    depthwise_conv,
    feed_forward,
    floats,
    layer_norm,
    max_pool,
    mean_pool,
    mlp,
    patches,
    scan_layers,
    tokens,
    transformer_layer,
)
from .registry import ALL_CHIPS, Architecture
from .training import SGD

FAMILY = "image_classification"


def conv_norm(
    p: Params, x: jax.Array, features: int, kernel: int, *, stride: int = 1, train: bool = False
) -> jax.Array:
    """Convolution and batch normalisation."""
    x = conv(p / "conv", x, features, kernel, stride=stride)
    return batch_norm(p / "norm", x, train=train)


def bottleneck(p: Params, x: jax.Array, width: int, stride: int, *, train: bool) -> jax.Array:
    """ResNet's 1x1, 3x3, 1x1 block with a projected shortcut where shapes change."""
    h = jax.nn.relu(conv_norm(p / "reduce", x, width, 1, train=train))
    h = jax.nn.relu(conv_norm(p / "conv", h, width, 3, stride=stride, train=train))
    h = conv_norm(p / "expand", h, 4 * width, 1, train=train)
    if x.shape != h.shape:
        x = conv_norm(p / "shortcut", x, 4 * width, 1, stride=stride, train=train)
    return jax.nn.relu(x + h)


def resnet_features(
    p: Params, images: jax.Array, *, stages: tuple[int, ...], train: bool = False
) -> list[jax.Array]:
    """Bottleneck ResNet (arXiv 1512.03385) without its head: the features after each stage."""
    x = jax.nn.relu(conv_norm(p / "stem", images, 64, 7, stride=2, train=train))
    x = max_pool(x, 3, 2)
    features = []
    for stage, blocks in enumerate(stages):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            x = bottleneck(p / f"stage{stage}" / block, x, 64 << stage, stride, train=train)
        features.append(x)
    return features


def resnet(
    p: Params, images: jax.Array, *, stages: tuple[int, ...], train: bool = False
) -> jax.Array:
    """Bottleneck ResNet (arXiv 1512.03385)."""
    x = resnet_features(p, images, stages=stages, train=train)[-1]
    return dense(p / "head", mean_pool(x), 1000)


def resnet_loss(
    p: Params, images: jax.Array, labels: jax.Array, *, stages: tuple[int, ...]
) -> jax.Array:
    """Classification loss with batch statistics."""
    return cross_entropy(resnet(p, images, stages=stages, train=True), labels)


def squeeze_excite(p: Params, x: jax.Array, reduced: int) -> jax.Array:
    """Channel gates from globally pooled features (arXiv 1709.01507)."""
    gates = mlp(p, mean_pool(x), (reduced, x.shape[-1]), jax.nn.silu)
    return x * jax.nn.sigmoid(gates)[:, None, None, :]


def inverted_residual(
    p: Params,
    x: jax.Array,
    features: int,
    *,
    expansion: int,
    kernel: int,
    stride: int,
    squeeze: bool,
) -> jax.Array:
    """Expand, filter depthwise, project (arXiv 1801.04381), gated as in EfficientNet if asked."""
    activation = jax.nn.silu if squeeze else jax.nn.relu6
    h = x
    if expansion > 1:
        expanded = expansion * x.shape[-1]
        h = activation(conv_norm(p / "expand", h, expanded, 1))
    h = depthwise_conv(p / "depthwise", h, kernel, stride=stride)
    h = activation(batch_norm(p / "norm", h, train=False))
    if squeeze:
        h = squeeze_excite(p / "squeeze", h, max(1, x.shape[-1] // 4))
    h = conv_norm(p / "project", h, features, 1)
    return x + h if x.shape == h.shape else h


# (expansion, features, blocks, stride, kernel) of each stage.
MOBILENET_V2 = (
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3),
    (6, 96, 3, 1, 3), (6, 160, 3, 2, 3), (6, 320, 1, 1, 3),
)  # fmt: skip
EFFICIENTNET = (
    (1, 16, 1, 1, 3), (6, 24, 1, 2, 3), (6, 40, 1, 2, 5), (6, 80, 1, 2, 3),
    (6, 112, 1, 1, 5), (6, 192, 1, 2, 5), (6, 320, 1, 1, 3),
)  # fmt: skip


def mobile_stages(
    p: Params,
    images: jax.Array,
    *,
    stages: tuple[tuple[int, int, int, int, int], ...],
    squeeze: bool,
) -> list[jax.Array]:
    """The features after each stage of a network of inverted residuals."""
    x = jax.nn.relu6(conv_norm(p / "stem", images, 32, 3, stride=2))
    outputs = []
    for stage, (expansion, features, blocks, stride, kernel) in enumerate(stages):
        for block in range(blocks):
            x = inverted_residual(
                p / f"stage{stage}" / block,
                x,
                features,
                expansion=expansion,
                kernel=kernel,
                stride=stride if block == 0 else 1,
                squeeze=squeeze,
            )
        outputs.append(x)
    return outputs


def mobilenet_v2(p: Params, images: jax.Array) -> jax.Array:
    """MobileNetV2 (arXiv 1801.04381)."""
    x = mobile_stages(p, images, stages=MOBILENET_V2, squeeze=False)[-1]
    x = jax.nn.relu6(conv_norm(p / "top", x, 1280, 1))
    return dense(p / "head", mean_pool(x), 1000)


def efficientnet(p: Params, images: jax.Array) -> jax.Array:
    """EfficientNet (arXiv 1905.11946), B0's widths with one block in each of the seven stages."""
    x = mobile_stages(p, images, stages=EFFICIENTNET, squeeze=True)[-1]
    x = jax.nn.silu(conv_norm(p / "top", x, 1280, 1))
    return dense(p / "head", mean_pool(x), 1000)


def densenet(
    p: Params, images: jax.Array, *, blocks: tuple[int, ...], growth: int = 32
) -> jax.Array:
    """DenseNet-BC (arXiv 1608.06993): every layer reads all earlier ones of its block."""
    x = jax.nn.relu(conv_norm(p / "stem", images, 2 * growth, 7, stride=2))
    x = max_pool(x, 3, 2)
    for index, layers in enumerate(blocks):
        for layer in range(layers):
            q = p / f"block{index}" / layer
            h = jax.nn.relu(batch_norm(q / "norm", x, train=False))
            h = jax.nn.relu(conv_norm(q / "reduce", h, 4 * growth, 1))
            x = jnp.concatenate([x, conv(q / "conv", h, growth, 3)], -1)
        if index + 1 < len(blocks):
            q = p / f"transition{index}"
            h = conv(q, jax.nn.relu(batch_norm(q / "norm", x, train=False)), x.shape[-1] // 2, 1)
            x = (h[:, ::2, ::2] + h[:, 1::2, ::2] + h[:, ::2, 1::2] + h[:, 1::2, 1::2]) / 4
    return dense(p / "head", mean_pool(x), 1000)


def vit(
    p: Params, images: jax.Array, *, layers: int, width: int, heads: int, patch: int = 16
) -> jax.Array:
    """Vision transformer (arXiv 2010.11929), pooled by the mean."""
    x = patches(p / "patches", images, patch, width)
    x = x + p.weight("positions", x.shape[1], width)
    for i in range(layers):
        x = transformer_layer(p / i, x, heads)
    return dense(p / "head", layer_norm(p / "norm", x).mean(1), 1000)


def vit_scanned(
    p: Params, images: jax.Array, *, layers: int, width: int, heads: int, patch: int = 16
) -> jax.Array:
    """Vision transformer (arXiv 2010.11929) as one loop over stacked layers."""
    x = patches(p / "patches", images, patch, width)
    x = x + p.weight("positions", x.shape[1], width)
    x, _ = scan_layers(p / "layers", layers, lambda q, h: (transformer_layer(q, h, heads), None), x)
    return dense(p / "head", layer_norm(p / "norm", x).mean(1), 1000)


def mixer(p: Params, images: jax.Array, *, layers: int, width: int, patch: int = 16) -> jax.Array:
    """MLP-Mixer (arXiv 2105.01601): perceptrons over patches and over channels in turn."""
    x = patches(p / "patches", images, patch, width)
    for i in range(layers):
        h = layer_norm(p / i / "norm1", x).swapaxes(1, 2)
        x = x + feed_forward(p / i / "patches", h, 2).swapaxes(1, 2)
        x = x + feed_forward(p / i / "channels", layer_norm(p / i / "norm2", x))
    return dense(p / "head", layer_norm(p / "norm", x).mean(1), 1000)


def images(batch: int, size: int = 224) -> jax.ShapeDtypeStruct:
    """A batch of RGB images."""
    return floats(batch, size, size, 3)


_RESNET = Architecture("resnet", FAMILY)
_MOBILENET = Architecture("mobilenet_v2", FAMILY)
_EFFICIENTNET = Architecture("efficientnet", FAMILY)
_DENSENET = Architecture("densenet", FAMILY)
_VIT = Architecture("vit", FAMILY)
_MIXER = Architecture("mixer", FAMILY)

RESNET50 = (3, 4, 6, 3)

PROGRAMS = (
    _RESNET.forward("resnet50_b64", partial(resnet, stages=RESNET50), images(64)),
    _RESNET.train(
        "resnet14_train_b32",
        partial(resnet_loss, stages=(1, 1, 1, 1)),
        images(32),
        tokens(32),
        optimizer=SGD,
    ),
    _MOBILENET.forward("mobilenet_v2_b128", mobilenet_v2, images(128)),
    _EFFICIENTNET.forward("efficientnet_7_b256", efficientnet, images(256)),
    _DENSENET.forward("densenet_4_6_4_b64", partial(densenet, blocks=(4, 6, 4)), images(64)),
    _VIT.forward(
        "vit_6x384_b128", partial(vit, layers=6, width=384, heads=6), images(128), chips=ALL_CHIPS
    ),
    _VIT.forward(
        "vit_scan_12x768_b32", partial(vit_scanned, layers=12, width=768, heads=12), images(32)
    ),
    _MIXER.forward(
        "mixer_4x512_b256", partial(mixer, layers=4, width=512), images(256), chips=ALL_CHIPS
    ),
)
