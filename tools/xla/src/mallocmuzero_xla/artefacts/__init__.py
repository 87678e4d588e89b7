"""The files that a search writes, and whether they fit a function on this machine."""
