"""Placed executables: their search, their files, and their calls."""
