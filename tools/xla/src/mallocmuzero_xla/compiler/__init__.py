"""Compiles functions for a TPU on this machine: processes, phases, estimates, and texts."""
