"""Libraries that are preloaded into processes to make their surroundings fail."""

from __future__ import annotations

import pathlib
import subprocess


def compile_library(source: pathlib.Path, folder: pathlib.Path, compiler: str) -> pathlib.Path:
    """Compiles a source in C; returns the path of the library."""
    library = folder / source.with_suffix(".so").name
    flags = ["-std=gnu17", "-O2", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, source], check=True)
    return library


def environment_of(library: pathlib.Path) -> dict[str, str]:
    """Returns the environment variables of a process that loads the library."""
    return {
        "LD_PRELOAD": str(library),
        # AddressSanitizer accepts no library that is loaded before its own.
        "ASAN_OPTIONS": "verify_asan_link_order=0",
    }
