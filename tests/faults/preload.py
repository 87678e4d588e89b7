"""Libraries that are preloaded into processes to make their surroundings fail."""

from __future__ import annotations

import pathlib
import subprocess

from roles import Role


def compile_library(source: pathlib.Path, folder: pathlib.Path, compiler: str) -> pathlib.Path:
    """Compiles a source in C; returns the path of the library."""
    library = folder / source.with_suffix(".so").name
    flags = ["-std=gnu17", "-O2", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, source], check=True)
    return library


def environment_of(library: pathlib.Path) -> dict[str, str]:
    """Returns the environment variables of a process that loads the library."""
    if " " in str(library) or ":" in str(library):
        raise ValueError(f"{library}: LD_PRELOAD takes no path with spaces or colons")
    return {
        "LD_PRELOAD": str(library),
        # AddressSanitizer accepts no library that is loaded before its own.
        "ASAN_OPTIONS": "verify_asan_link_order=0",
    }


def check_loaded(role: Role, library: pathlib.Path) -> None:
    """Notes a failure of the role if its process does without the library.

    The loader goes on without a library that it cannot load, and no fault of the library happens.
    """
    if not role.has_loaded(library):
        role.unexpected.append(f"{role.name} has not loaded {library.name}")
