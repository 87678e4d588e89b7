"""What has to be in place before jax and libtpu are loaded."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import pathlib
import re

from mallocmuzero_xla.errors import MissingCompilerError

# libtpu warns of what nobody asked, and takes a machine-wide lock; a compile-only process needs
# neither.
_LIBTPU_SETTINGS = {"ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}

# libtpu looks for a TPU host's metadata service, and warns when it finds none. Where there is one,
# jax.distributed.initialize() asks it, or the host names, for the other hosts of the program.
_LONE_HOST = {"TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost"}

# Without it libtpu prints that it "may not properly initialize". Any will do where nothing is
# compiled for the host's own TPU (what is compiled is the same, byte for byte); where there is one,
# it is not for us to say which.
_HOST_TYPE = {"TPU_ACCELERATOR_TYPE": "v4-8"}
_TPU_DEVICES = ("accel[0-9]*", "vfio/[0-9]*")
_DEVICES = pathlib.Path("/dev")

# User settings that change what the compiler does: inherited by the compile processes and recorded.
_RECORDED = ("LIBTPU_INIT_ARGS", "XLA_FLAGS")

_FLAG = re.compile(r"--(no)?(xla_\w+)(?:=(\S*))?")


def require_compiler() -> None:
    """Raises MissingCompilerError unless jax and libtpu are installed (imports neither)."""
    missing = [name for name in ("jax", "libtpu") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingCompilerError(
            f"{' and '.join(missing)} not installed: run `pip install jax libtpu`"
        )


def compiler_library() -> pathlib.Path:
    """Returns the libtpu.so that jax loads: TPU_LIBRARY_PATH, or the package's."""
    require_compiler()
    named = os.environ.get("TPU_LIBRARY_PATH")
    if named:
        return pathlib.Path(named)
    spec = importlib.util.find_spec("libtpu")
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise MissingCompilerError("libtpu has no folder: run `pip install libtpu`")
    return pathlib.Path(folders[0]) / "libtpu.so"


def prepare_environment() -> None:
    """Makes this process fit to load libtpu for ahead-of-time compiles; keeps what is set.

    It may be the one that trains: what it has to know of its own TPU is left alone.
    """
    require_compiler()
    without_tpu = {} if _has_tpu() else {**_LONE_HOST, **_HOST_TYPE}
    for name, value in {**_LIBTPU_SETTINGS, **without_tpu}.items():
        os.environ.setdefault(name, value)


def _has_tpu() -> bool:
    return any(True for pattern in _TPU_DEVICES for _ in _DEVICES.glob(pattern))


def child_environment() -> dict[str, str]:
    """Returns the environment of a compile process: no accelerator is looked for or touched."""
    return {**_LIBTPU_SETTINGS, **_LONE_HOST, **os.environ, "JAX_PLATFORMS": "cpu"}


def compiler_versions() -> dict[str, str]:
    """Returns the versions that decide what the compiler makes of a program."""
    require_compiler()
    return {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "libtpu")}


def versions_of(platform: str) -> dict[str, str]:
    """Returns the versions that an executable for a platform of jax's depends on.

    What is not installed is left out.
    """
    names = ("jax", "jaxlib", *(("libtpu",) if platform == "tpu" else ()))
    versions = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def recorded_settings() -> dict[str, str]:
    """Returns the environment variables in force that reach the compiler."""
    return {name: os.environ[name] for name in _RECORDED if os.environ.get(name)}


def recorded_options() -> dict[str, str]:
    """Returns the compiler options that those variables set, by name; the last of a name counts."""
    flags = (flag for text in recorded_settings().values() for flag in _FLAG.findall(text))
    return {name: value or ("false" if no else "true") for no, name, value in flags}
