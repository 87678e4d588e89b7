"""The searches of optimize, place and verify."""
