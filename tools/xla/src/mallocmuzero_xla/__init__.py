"""Captures JAX functions as compiled TPU programs, on any CPU."""

from mallocmuzero_xla.capture import Captured, capture
from mallocmuzero_xla.chips import CHIPS, topology_devices
from mallocmuzero_xla.errors import CaptureError, MissingCompilerError, UsageError

__all__ = [
    "CHIPS",
    "CaptureError",
    "Captured",
    "MissingCompilerError",
    "UsageError",
    "capture",
    "topology_devices",
]
