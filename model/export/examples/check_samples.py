"""Checks the runtime of this machine against the samples of an export.

    python check_samples.py EXPORT [--batch 1,7,64]

For each batch size, the networks evaluate all samples in batches of that size. The largest
differences from what LibTorch gave are printed as JSON. Exits 1 if one is above 0.0001.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from exported_networks import Arrays, Networks, load_export

TOLERANCE = 1e-4


def read_samples(folder: Path, manifest: dict[str, Any]) -> Arrays:
    """Returns the recorded inputs and outputs by name."""
    return {
        sample["tensor"]: np.load(folder / sample["file"]) for sample in manifest.get("samples", [])
    }


def evaluate(networks: Networks, samples: Arrays, rows: slice) -> Arrays:
    """Returns all outputs for some rows of the samples."""
    latent = networks.run("representation", observation=samples["observation"][rows])
    prediction = networks.run("prediction", latent=latent["latent"])
    dynamics = networks.run("dynamics", latent=latent["latent"], action=samples["action"][rows])
    return latent | prediction | dynamics


def differences(networks: Networks, samples: Arrays, batch: int) -> dict[str, float]:
    """Returns, for each output, the largest difference from the samples."""
    largest: dict[str, float] = {}
    for begin in range(0, len(samples["action"]), batch):
        rows = slice(begin, begin + batch)
        for name, output in evaluate(networks, samples, rows).items():
            expected = samples[name][rows]
            if output.shape != expected.shape:
                raise SystemExit(f"{name}: shape {output.shape}, expected {expected.shape}")
            difference = np.max(np.abs(output - expected))
            # Python's max would lose a NaN.
            largest[name] = float(np.maximum(largest.get(name, 0.0), difference))
    return largest


def main() -> None:
    """Prints a JSON object with the differences of each batch size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", help="the folder that `mallocmuzero export` wrote")
    parser.add_argument("--batch", default="1,7,64", help="sizes of batches, such as 1,7,64")
    flags = parser.parse_args()
    networks = load_export(flags.export)
    samples = read_samples(Path(flags.export), networks.manifest)
    if not samples:
        raise SystemExit(f"{flags.export}: no samples; export with --sample-programs")
    report = {batch: differences(networks, samples, int(batch)) for batch in flags.batch.split(",")}
    print(json.dumps({"samples": len(samples["action"]), "differences": report}))
    if not all(d <= TOLERANCE for outputs in report.values() for d in outputs.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
