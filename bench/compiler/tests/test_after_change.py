"""Which models of the zoo can have another layer."""

from __future__ import annotations

import pytest
from after_change import layers_of
from mallocmuzero_xla.errors import UsageError


def test_a_forward_pass_has_layers() -> None:
    assert layers_of("dit_4x1024_b48x256") == 4


@pytest.mark.parametrize(
    "name", ["gpt_7x512_train_b4x256", "llama_decode_4x2048_b16x2048", "ssd_lite_b16x320"]
)
def test_training_steps_and_models_without_layers_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: expected the forward pass"):
        layers_of(name)
