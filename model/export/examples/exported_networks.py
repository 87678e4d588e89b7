"""The networks of an export, in the runtime of its format: onnxruntime or torch.

    networks = load_export("export")
    latent = networks.run("representation", observation=rows)["latent"]

It needs numpy, and onnxruntime or torch; it needs nothing of mallocmuzero.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Arrays = dict[str, "np.ndarray[Any, Any]"]


class Networks(Protocol):
    """Three networks that take and return arrays by name."""

    manifest: dict[str, Any]

    def run(self, network: str, **inputs: np.ndarray[Any, Any]) -> Arrays:
        """Returns all outputs of "representation", "dynamics" or "prediction"."""


class OnnxNetworks:
    """The networks of an ONNX export."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        import onnxruntime

        self.manifest = manifest
        self._sessions = {
            network["name"]: onnxruntime.InferenceSession(
                folder / network["file"], providers=["CPUExecutionProvider"]
            )
            for network in manifest["networks"]
        }

    def run(self, network: str, **inputs: np.ndarray[Any, Any]) -> Arrays:
        """Returns all outputs of a network."""
        session = self._sessions[network]
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs), strict=True))


class TorchScriptNetworks:
    """The networks of a TorchScript export."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        import torch

        self.manifest = manifest
        self._entries = {network["name"]: network for network in manifest["networks"]}
        self._modules = {
            name: torch.jit.load(str(folder / network["file"]))
            for name, network in self._entries.items()
        }

    def run(self, network: str, **inputs: np.ndarray[Any, Any]) -> Arrays:
        """Returns all outputs of a network."""
        import torch

        # A module takes its inputs, and returns its outputs, in the order of the manifest.
        entry = self._entries[network]
        tensors = [torch.from_numpy(inputs[tensor["name"]]) for tensor in entry["inputs"]]
        with torch.no_grad():
            outputs = self._modules[network](*tensors)
        names = [tensor["name"] for tensor in entry["outputs"]]
        return {name: output.numpy() for name, output in zip(names, outputs, strict=True)}


def load_export(folder: str | Path) -> Networks:
    """Loads the networks of a folder that `mallocmuzero export` wrote."""
    path = Path(folder)
    if not (path / "manifest.json").is_file():
        raise SystemExit(f"{path}: a folder that `mallocmuzero export` wrote expected")
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    if manifest["format"] == "onnx":
        return OnnxNetworks(path, manifest)
    return TorchScriptNetworks(path, manifest)
