"""Captures JAX functions as compiled TPU programs, and makes them faster, on any CPU."""

from mallocmuzero_xla.capture import Captured, capture
from mallocmuzero_xla.chips import CHIPS, topology_devices
from mallocmuzero_xla.errors import (
    CaptureError,
    FallbackWarning,
    MissingCompilerError,
    PlacedError,
    UsageError,
)
from mallocmuzero_xla.optimize import Optimized, load_options, optimize
from mallocmuzero_xla.options_file import read_options
from mallocmuzero_xla.placed_call import PlacedCall
from mallocmuzero_xla.placed_loading import load_placed
from mallocmuzero_xla.placing import Placed, place

__all__ = [
    "CHIPS",
    "CaptureError",
    "Captured",
    "FallbackWarning",
    "MissingCompilerError",
    "Optimized",
    "Placed",
    "PlacedCall",
    "PlacedError",
    "UsageError",
    "capture",
    "load_options",
    "load_placed",
    "optimize",
    "place",
    "read_options",
    "topology_devices",
]
