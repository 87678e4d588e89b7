"""The binary gives the same result for a module's protobuf as for its text."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
import zstandard

hlo = pytest.importorskip("jaxlib._hlo", reason="jaxlib makes messages of texts")

CAPTURES = pathlib.Path(__file__).parents[3] / "workloads" / "captures"
# Loops, gathers, convolutions in two and three dimensions, scatters, asynchronous copies, slices.
# In some others jaxlib's parser renames instructions: those with the name of one that it makes for
# an asynchronous slice.
MODULES = [
    f"{chip}/{program}/{variant}"
    for chip, program in (
        ("tpu_v4i", "lstm_2x2048_b64x128"),
        ("tpu_v4i", "c3d_32_b8x16x64"),
        ("tpu_v4i", "mamba_sequential_2x768_b8x256"),
        ("tpu_v5e", "mesh_graph_net_4x128_n16384"),
        ("tpu_v5e", "wavenet_10_b16x8192"),
        ("tpu_v6e", "gpt_scan_12x1024_b8x512"),
    )
    for variant in ("all_hbm", "default")
]


def price(path: pathlib.Path, chip: str) -> str:
    """Returns what `simulate --hlo` says of the file."""
    command = [os.environ["MALLOCMUZERO_BINARY"], "simulate", "--hlo", str(path)]
    done = subprocess.run(
        [*command, "--hardware", chip, "--json"], check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.mark.skipif("MALLOCMUZERO_BINARY" not in os.environ, reason="needs the built binary")
@pytest.mark.parametrize("module", MODULES)
def test_message_is_priced_as_its_text(module: str, tmp_path: pathlib.Path) -> None:
    text = CAPTURES / f"{module}.hlo.zst"
    parsed = hlo.hlo_module_from_text(zstandard.decompress(text.read_bytes()).decode())
    message = tmp_path / text.name
    message.write_bytes(zstandard.compress(parsed.as_serialized_hlo_module_proto()))
    chip = module.partition("/")[0]
    assert price(message, chip) == price(text, chip)
