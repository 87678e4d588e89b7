"""Where the files of the package are: in an installed wheel, or in a checkout of the sources."""

from __future__ import annotations

import pathlib

_PACKAGE = pathlib.Path(__file__).resolve().parent
_PACKAGED = _PACKAGE / "data"
_CHECKOUT = _PACKAGE.parents[3]


def extension_folder() -> pathlib.Path | None:
    """Returns the folder of the extension in a checkout; None if it is in the package itself."""
    if any(_PACKAGE.glob("_game.*.so")):
        return None
    return _CHECKOUT / "build" / "python" / "mallocmuzero_gym"


def workloads_folder() -> pathlib.Path:
    """Returns the folder of the corpus: split.csv, best_known.csv, and a folder for each chip."""
    return _folder(_PACKAGED / "workloads", _CHECKOUT / "workloads", "split.csv")


def results_folder() -> pathlib.Path:
    """Returns the folder of the recorded trials, in JSON Lines."""
    return _folder(_PACKAGED / "results", _CHECKOUT / "docs" / "results", "placed.jsonl")


def _folder(packaged: pathlib.Path, in_checkout: pathlib.Path, has: str) -> pathlib.Path:
    for folder in (packaged, in_checkout):
        if (folder / has).is_file():
            return folder
    raise FileNotFoundError(f"{packaged / has}: no such file; install the wheel again")
