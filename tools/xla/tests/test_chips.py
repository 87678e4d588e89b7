"""The chip is the machine's own, and is never guessed."""

from __future__ import annotations

import pytest
from placed_world import HAS_JAX, needs_jax, on_cpu

from mallocmuzero_xla import CHIPS, UsageError
from mallocmuzero_xla.chips import chip_here, chip_of_kind

if HAS_JAX:
    import jax

pytestmark = needs_jax


class Device:
    """A device of a machine that is not this one."""

    def __init__(self, platform: str, kind: str) -> None:
        self.platform, self.device_kind = platform, kind


@pytest.mark.parametrize(
    ("kind", "chip"),
    [
        ("TPU v4 lite", "tpu_v4i"),
        ("TPU v4", "tpu_v4"),
        ("TPU v5 lite", "tpu_v5e"),
        ("TPU v5e", "tpu_v5e"),
        ("TPU v5", "tpu_v5p"),
        ("TPU v5p", "tpu_v5p"),
        ("TPU v6 lite", "tpu_v6e"),
        ("TPU v6e", "tpu_v6e"),
        ("TPU7x", "tpu7x"),
    ],
)
def test_chip_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch, kind: str, chip: str) -> None:
    on_cpu(monkeypatch)
    monkeypatch.setattr(jax, "devices", lambda: [Device("tpu", kind)])
    assert chip_here() == chip


@pytest.mark.parametrize(("platform", "kind"), [("tpu", "TPU v9"), ("gpu", "NVIDIA H100")])
def test_chip_is_not_guessed(monkeypatch: pytest.MonkeyPatch, platform: str, kind: str) -> None:
    on_cpu(monkeypatch)
    monkeypatch.setattr(jax, "devices", lambda: [Device(platform, kind)])
    with pytest.raises(UsageError, match=f"jax runs on '{kind}' here: name the chip .*tpu_v6e"):
        chip_here()


@pytest.mark.compiler
@pytest.mark.parametrize("chip", sorted(CHIPS))
def test_compiler_names_its_chips_as_we_do(chip: str) -> None:
    from mallocmuzero_xla import topology_devices

    assert {chip_of_kind(device.device_kind) for device in topology_devices(chip)} == {chip}
