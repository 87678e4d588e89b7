"""Captures JAX functions as compiled TPU programs, and makes them faster, on any CPU."""

from mallocmuzero_xla.artefacts.artefact import Artefact, load_artefact
from mallocmuzero_xla.artefacts.fitting import Registry
from mallocmuzero_xla.captures.capture import Captured, capture
from mallocmuzero_xla.chips import CHIPS, topology_devices
from mallocmuzero_xla.compiler.options_file import read_options
from mallocmuzero_xla.errors import (
    CaptureError,
    FallbackWarning,
    MissingCompilerError,
    PlacedError,
    UsageError,
)
from mallocmuzero_xla.placed.call import PlacedCall
from mallocmuzero_xla.placed.loading import load_placed
from mallocmuzero_xla.runtime.applying import AppliedFunction, apply, load_registry
from mallocmuzero_xla.runtime.measuring import Measured, measure
from mallocmuzero_xla.search.many import OptimizedMany, optimize_many
from mallocmuzero_xla.search.optimize import Optimized, load_options, optimize
from mallocmuzero_xla.search.placing import Placed, place
from mallocmuzero_xla.search.verifying import VerifiedMapping, verify

__all__ = [
    "CHIPS",
    "AppliedFunction",
    "Artefact",
    "CaptureError",
    "Captured",
    "FallbackWarning",
    "Measured",
    "MissingCompilerError",
    "Optimized",
    "OptimizedMany",
    "Placed",
    "PlacedCall",
    "PlacedError",
    "Registry",
    "UsageError",
    "VerifiedMapping",
    "apply",
    "capture",
    "load_artefact",
    "load_options",
    "load_placed",
    "load_registry",
    "measure",
    "optimize",
    "optimize_many",
    "place",
    "read_options",
    "topology_devices",
    "verify",
]
