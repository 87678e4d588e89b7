"""Models of images and of other data than text in keras-hub."""

from __future__ import annotations

from functools import partial
from typing import Any

from .keras_models import floats, forward, hub, models, tokens

_IMAGES = "image_classification"
_RGB = 3


def _vgg(size: int, repeats: tuple[int, ...], filters: tuple[int, ...]) -> Any:
    return models().VGGBackbone(
        stackwise_num_repeats=list(repeats),
        stackwise_num_filters=list(filters),
        image_shape=(size, size, _RGB),
    )


def _cspnet(size: int, depth: tuple[int, ...], filters: tuple[int, ...]) -> Any:
    """A CSPDarkNet, whose stages halve the image."""
    return models().CSPNetBackbone(
        stem_filters=32,
        stem_kernel_size=3,
        stem_strides=2,
        stackwise_depth=list(depth),
        stackwise_strides=[2] * len(depth),
        stackwise_num_filters=list(filters),
        stage_type="dark",
        block_type="dark_block",
        image_shape=(size, size, _RGB),
    )


def _xception(size: int) -> Any:
    return models().XceptionBackbone(
        stackwise_conv_filters=[[32, 64], [128, 128], [256, 256], [512, 512]],
        stackwise_pooling=[False, True, True, False],
        image_shape=(size, size, _RGB),
    )


def _efficientnet(size: int) -> Any:
    """The first five stages of EfficientNet-B0, with one block each."""
    return models().EfficientNetBackbone(
        stackwise_width_coefficients=[1.0] * 5,
        stackwise_depth_coefficients=[1.0] * 5,
        stackwise_kernel_sizes=[3, 3, 5, 3, 5],
        stackwise_num_repeats=[1] * 5,
        stackwise_input_filters=[32, 16, 24, 40, 80],
        stackwise_output_filters=[16, 24, 40, 80, 112],
        stackwise_expansion_ratios=[1, 6, 6, 6, 6],
        stackwise_squeeze_and_excite_ratios=[0.25] * 5,
        stackwise_strides=[1, 2, 2, 2, 1],
        stackwise_block_types=["v1"] * 5,
        num_features=512,
        dropout=0.0,
        input_shape=(size, size, _RGB),
    )


def _mobilenet(size: int) -> Any:
    """A short MobileNetV3."""
    return models().MobileNetBackbone(
        stackwise_expansion=[[40, 56], [64, 144]],
        stackwise_num_blocks=[2, 2],
        stackwise_num_filters=[[16, 16], [24, 24]],
        stackwise_kernel_size=[[3, 3], [5, 5]],
        stackwise_num_strides=[[2, 1], [2, 1]],
        stackwise_se_ratio=[[None, None], [0.25, 0.25]],
        stackwise_activation=[["relu", "relu"], ["hard_swish", "hard_swish"]],
        stackwise_padding=[[1, 1], [2, 2]],
        output_num_filters=288,
        depthwise_filters=8,
        depthwise_stride=2,
        depthwise_residual=False,
        last_layer_filter=1024,
        squeeze_and_excite=0.5,
        image_shape=(size, size, _RGB),
    )


def _hgnet(size: int) -> Any:
    return models().HGNetV2Backbone(
        depths=[1, 1, 2],
        embedding_size=32,
        hidden_sizes=[64, 256, 512],
        stem_channels=[_RGB, 32, 48],
        hidden_act="relu",
        use_learnable_affine_block=False,
        stackwise_stage_filters=[
            (48, 48, 128, 1, 3, 3),
            (128, 96, 256, 1, 3, 3),
            (256, 96, 512, 2, 3, 3),
        ],
        apply_downsample=[False, True, True],
        use_lightweight_conv_block=[False, False, False],
        image_shape=(size, size, _RGB),
    )


def _swin(size: int) -> Any:
    return models().SwinTransformerBackbone(
        image_shape=(size, size, _RGB),
        embed_dim=128,
        depths=(2, 1),
        num_heads=(4, 8),
        window_size=7,
        drop_path=0.0,
    )


def _retinanet(size: int) -> Any:
    encoder = _cspnet(size, (1, 1, 1, 1), (64, 128, 256, 512))
    return models().RetinaNetBackbone(
        image_encoder=encoder,
        min_level=3,
        max_level=6,
        use_p5=False,
        image_shape=(size, size, _RGB),
    )


def _deeplab(size: int) -> Any:
    encoder = _cspnet(size, (1, 1, 1), (64, 128, 256))
    return models().DeepLabV3Backbone(
        image_encoder=encoder,
        spatial_pyramid_pooling_key="P4",
        low_level_feature_key="P2",
        upsampling_size=4,
        dilation_rates=[6, 12, 18],
        image_shape=(size, size, _RGB),
    )


def _clip(width: int, layers: int) -> Any:
    sizes = {
        "hidden_dim": width,
        "num_layers": layers,
        "num_heads": width // 64,
        "intermediate_dim": 4 * width,
    }
    vision = models().CLIPVisionEncoder(patch_size=16, image_shape=(224, 224, _RGB), **sizes)
    text = models().CLIPTextEncoder(vocabulary_size=16384, embedding_dim=width, **sizes)
    return models().CLIPBackbone(vision_encoder=vision, text_encoder=text, projection_dim=512)


def _mmdit(width: int, layers: int) -> Any:
    hub()
    from keras_hub.src.models.stable_diffusion_3.mmdit import MMDiT

    return MMDiT(
        patch_size=2,
        hidden_dim=width,
        num_layers=layers,
        num_heads=width // 64,
        position_size=32,
        latent_shape=(32, 32, 16),
        context_shape=(77, 1024),
        pooled_projection_shape=(768,),
        qk_norm="rms_norm",
    )


def _flux(width: int) -> Any:
    return models().FluxBackbone(
        input_channels=64,
        hidden_size=width,
        mlp_ratio=4.0,
        num_heads=width // 64,
        depth=1,
        depth_single_blocks=1,
        axes_dim=[16, 24, 24],
        theta=10_000,
        use_bias=True,
        image_shape=(256, 64),
        text_shape=(128, 1024),
        image_ids_shape=(256, 3),
        text_ids_shape=(128, 3),
        y_shape=(768,),
    )


def _vae() -> Any:
    hub()
    from keras_hub.src.models.vae.vae_backbone import VAEBackbone

    filters = [64, 128, 128]
    blocks = [1, 1, 1]
    return VAEBackbone(
        encoder_num_filters=filters,
        encoder_num_blocks=blocks,
        decoder_num_filters=filters[::-1],
        decoder_num_blocks=blocks,
        sampler_method="mode",
    )


PROGRAMS = (
    forward(
        "keras_hub_vgg_2_2_2_b32x128",
        _IMAGES,
        "keras_hub.models.VGGBackbone",
        partial(_vgg, 128, (2, 2, 2), (64, 128, 256)),
        floats(32, 128, 128, _RGB),
    ),
    forward(
        "keras_hub_csp_dark_net_1_2_2_b32x256",
        _IMAGES,
        "keras_hub.models.CSPNetBackbone",
        partial(_cspnet, 256, (1, 2, 2), (64, 128, 256)),
        floats(32, 256, 256, _RGB),
    ),
    forward(
        "keras_hub_xception_4_b32x192",
        _IMAGES,
        "keras_hub.models.XceptionBackbone",
        partial(_xception, 192),
        floats(32, 192, 192, _RGB),
    ),
    forward(
        "keras_hub_efficientnet_5_b64x160",
        _IMAGES,
        "keras_hub.models.EfficientNetBackbone",
        partial(_efficientnet, 160),
        floats(64, 160, 160, _RGB),
    ),
    forward(
        "keras_hub_mobilenet_v3_4_b64x192",
        _IMAGES,
        "keras_hub.models.MobileNetBackbone",
        partial(_mobilenet, 192),
        floats(64, 192, 192, _RGB),
    ),
    forward(
        "keras_hub_hgnet_v2_3_b32x224",
        _IMAGES,
        "keras_hub.models.HGNetV2Backbone",
        partial(_hgnet, 224),
        floats(32, 224, 224, _RGB),
    ),
    forward(
        "keras_hub_swin_2_1_b32x224",
        _IMAGES,
        "keras_hub.models.SwinTransformerBackbone",
        partial(_swin, 224),
        floats(32, 224, 224, _RGB),
    ),
    forward(
        "keras_hub_retinanet_b32x256",
        "detection",
        "keras_hub.models.RetinaNetBackbone",
        partial(_retinanet, 256),
        floats(32, 256, 256, _RGB),
    ),
    forward(
        "keras_hub_deeplab_v3_b4x256",
        "segmentation",
        "keras_hub.models.DeepLabV3Backbone",
        partial(_deeplab, 256),
        floats(4, 256, 256, _RGB),
    ),
    forward(
        "keras_hub_mmdit_2x1024_b16x256",
        "diffusion",
        "keras_hub.src.models.stable_diffusion_3.mmdit.MMDiT",
        partial(_mmdit, 1024, 2),
        {
            "latent": floats(16, 32, 32, 16),
            "context": floats(16, 77, 1024),
            "pooled_projection": floats(16, 768),
            "timestep": floats(16, 1),
        },
    ),
    forward(
        "keras_hub_flux_2x1024_b16x256",
        "diffusion",
        "keras_hub.models.FluxBackbone",
        partial(_flux, 1024),
        {
            "image": floats(16, 256, 64),
            "image_ids": floats(16, 256, 3),
            "text": floats(16, 128, 1024),
            "text_ids": floats(16, 128, 3),
            "y": floats(16, 768),
            "timesteps": floats(16),
            "guidance": floats(16),
        },
    ),
    forward(
        "keras_hub_clip_2x768_b32",
        "image_and_text",
        "keras_hub.models.CLIPBackbone",
        partial(_clip, 768, 2),
        {"images": floats(32, 224, 224, _RGB), "token_ids": tokens(32, 77)},
    ),
    forward(
        "keras_hub_vae_3_b16x128",
        "autoencoder",
        "keras_hub.src.models.vae.vae_backbone.VAEBackbone",
        _vae,
        floats(16, 128, 128, _RGB),
    ),
)
