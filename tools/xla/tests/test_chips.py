"""The chip is the machine's own, and is never guessed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from placed_world import HAS_JAX, needs_jax, on_cpu

from mallocmuzero_xla import CHIPS, UsageError, topology_devices
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


def test_a_machine_whose_devices_jax_cannot_use_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def devices() -> None:
        raise RuntimeError("Unable to initialize backend 'tpu':\nThe TPU is already in use")

    on_cpu(monkeypatch)
    monkeypatch.setattr(jax, "devices", devices)
    expected = r"jax finds no device here \(RuntimeError: .* in use\): name the chip .*tpu_v6e"
    with pytest.raises(UsageError, match=expected):
        chip_here()


def test_topology_of_another_chip_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax.experimental import topologies

    devices = SimpleNamespace(devices=[Device("tpu", "TPU v5 lite")])
    monkeypatch.setattr("mallocmuzero_xla.chips.prepare_environment", lambda: None)
    monkeypatch.setattr(topologies, "get_topology_desc", lambda **_: devices)
    expected = "topology 'v5e:2x2' is of tpu_v5e, not of tpu_v6e: expected one such as 'v6e:1x1'"
    with pytest.raises(UsageError, match=expected):
        topology_devices("tpu_v6e", "v5e:2x2")
    assert topology_devices("tpu_v5e", "v5 lite:2x2") == devices.devices


@pytest.mark.compiler
@pytest.mark.parametrize("chip", sorted(CHIPS))
def test_compiler_names_its_chips_as_we_do(chip: str) -> None:
    assert {chip_of_kind(device.device_kind) for device in topology_devices(chip)} == {chip}
