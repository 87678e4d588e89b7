"""Captures JAX functions as compiled TPU programs, and makes them faster, on any CPU."""

from mallocmuzero_xla.capture import Captured, capture
from mallocmuzero_xla.chips import CHIPS, topology_devices
from mallocmuzero_xla.errors import CaptureError, MissingCompilerError, UsageError
from mallocmuzero_xla.optimize import Optimized, load_options, optimize
from mallocmuzero_xla.options_file import read_options

__all__ = [
    "CHIPS",
    "CaptureError",
    "Captured",
    "MissingCompilerError",
    "Optimized",
    "UsageError",
    "capture",
    "load_options",
    "optimize",
    "read_options",
    "topology_devices",
]
