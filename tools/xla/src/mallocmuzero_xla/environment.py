"""What has to be in place before jax and libtpu are loaded."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re

from mallocmuzero_xla.errors import MissingCompilerError

# libtpu looks for a TPU host's metadata service, warns when it finds none, and takes a machine-wide
# lock; a compile-only process needs none of that.
_LIBTPU_SETTINGS = {
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}

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


def prepare_environment() -> None:
    """Makes this process fit to load libtpu for ahead-of-time compiles; keeps what is set."""
    require_compiler()
    for name, value in _LIBTPU_SETTINGS.items():
        os.environ.setdefault(name, value)


def child_environment() -> dict[str, str]:
    """Returns the environment of a compile process: no accelerator is looked for or touched."""
    return {**_LIBTPU_SETTINGS, **os.environ, "JAX_PLATFORMS": "cpu"}


def compiler_versions() -> dict[str, str]:
    """Returns the versions that decide what the compiler makes of a program."""
    require_compiler()
    return {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "libtpu")}


def recorded_settings() -> dict[str, str]:
    """Returns the environment variables in force that reach the compiler."""
    return {name: os.environ[name] for name in _RECORDED if os.environ.get(name)}


def recorded_options() -> dict[str, str]:
    """Returns the compiler options that those variables set, by name; the last of a name counts."""
    flags = (flag for text in recorded_settings().values() for flag in _FLAG.findall(text))
    return {name: value or ("false" if no else "true") for no, name, value in flags}
