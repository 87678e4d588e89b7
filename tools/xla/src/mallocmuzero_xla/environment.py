"""Environment variables that must be set before jax and libtpu are loaded."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import pathlib
import re

from mallocmuzero_xla.errors import MissingCompilerError

# libtpu prints warnings and takes a machine-wide lock. A process that only compiles needs neither.
_LIBTPU_SETTINGS = {"ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}

# libtpu queries a TPU host's metadata service and warns if there is none. On a TPU host
# jax.distributed.initialize() asks that service, or the host names, for the program's other hosts.
_LONE_HOST = {"TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost"}

# Without this variable libtpu prints that it "may not properly initialize". Any value will do for
# compiles, whose result is the same byte for byte. On a TPU host the value is left to the user.
_HOST_TYPE = {"TPU_ACCELERATOR_TYPE": "v4-8"}
_TPU_DEVICES = ("accel[0-9]*", "vfio/[0-9]*")
_DEVICES = pathlib.Path("/dev")

# Variables by which a user changes the compiler or takes another one. Compile processes inherit
# them; captures record them.
_RECORDED = ("LIBTPU_INIT_ARGS", "XLA_FLAGS")
_LIBRARY = "TPU_LIBRARY_PATH"

# On a TPU host, jax adds this to LIBTPU_INIT_ARGS when it is imported.
_ADDED_BY_JAX = " --xla_tpu_use_enhanced_launch_barrier=true"

# Older versions lack names of jax that this package uses. pyproject.toml has the same version.
_OLDEST_JAX = (0, 10)

_FLAG = re.compile(r"--(no)?(xla_\w+)(?:=(\S*))?")


def require_compiler() -> None:
    """Raises MissingCompilerError unless libtpu and a new enough jax are installed."""
    missing = [name for name in ("jax", "libtpu") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingCompilerError(
            f"{' and '.join(missing)} not installed: run `pip install jax libtpu`"
        )
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # jax from its sources
        version = importlib.metadata.version("jax")
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST_JAX:
            raise MissingCompilerError(
                f"jax {version} is too old: run `pip install --upgrade jax libtpu` for "
                f"{'.'.join(map(str, _OLDEST_JAX))} or newer"
            )


def compiler_library() -> pathlib.Path:
    """Returns the libtpu.so that jax loads: TPU_LIBRARY_PATH, or the package's."""
    require_compiler()
    named = os.environ.get(_LIBRARY)
    if named:
        return pathlib.Path(named)
    library = _packaged_library()
    if library is None:
        raise MissingCompilerError("libtpu has no folder: run `pip install libtpu`")
    return library


def _packaged_library() -> pathlib.Path | None:
    spec = importlib.util.find_spec("libtpu")
    folders = spec.submodule_search_locations if spec else None
    return pathlib.Path(folders[0]) / "libtpu.so" if folders else None


def prepare_environment() -> None:
    """Prepares this process to load libtpu for ahead-of-time compiles; keeps what the user has set.

    The process may be one that trains, so variables about its own TPU stay as they are.
    """
    require_compiler()
    set_variables()


def set_variables() -> None:
    """Sets the variables of `prepare_environment`.

    A command calls this before it builds the user's function. That may make arrays, for which jax
    loads libtpu. On a machine without a TPU, libtpu prints errors about one unless they are set.
    """
    without_tpu = {} if _has_tpu() else {**_LONE_HOST, **_HOST_TYPE}
    for name, value in {**_LIBTPU_SETTINGS, **without_tpu}.items():
        os.environ.setdefault(name, value)


def _has_tpu() -> bool:
    return any(True for pattern in _TPU_DEVICES for _ in _DEVICES.glob(pattern))


def child_environment() -> dict[str, str]:
    """Returns the environment of a compile process, which uses no accelerator."""
    return {**_LIBTPU_SETTINGS, **_LONE_HOST, **os.environ, "JAX_PLATFORMS": "cpu"}


def compiler_versions() -> dict[str, str]:
    """Returns the versions of the packages that affect the result of a compile."""
    require_compiler()
    try:
        return {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "libtpu")}
    except importlib.metadata.PackageNotFoundError as error:  # as with a package of another name
        raise MissingCompilerError(
            f"{error.name} is not installed as a package of this name, so its version is unknown: "
            f"run `pip install {error.name}`"
        ) from error


def versions_of(platform: str) -> dict[str, str]:
    """Returns the versions that an executable for a platform of jax depends on.

    Packages that are not installed are left out.
    """
    names = ("jax", "jaxlib", *(("libtpu",) if platform == "tpu" else ()))
    versions = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def recorded_settings() -> dict[str, str]:
    """Returns the environment variables that reach the compiler, as the user has set them.

    jax and libtpu set some themselves once a process on a TPU host has loaded them.
    """
    found = {name: os.environ.get(name, "").removesuffix(_ADDED_BY_JAX) for name in _RECORDED}
    library = os.environ.get(_LIBRARY, "")
    if library != str(_packaged_library()):
        found[_LIBRARY] = library
    return {name: text for name, text in found.items() if text}


def recorded_options() -> dict[str, str]:
    """Returns the compiler options in these variables; the last of several equal names counts."""
    flags = (flag for text in recorded_settings().values() for flag in _FLAG.findall(text))
    return {name: value or ("false" if no else "true") for no, name, value in flags}
