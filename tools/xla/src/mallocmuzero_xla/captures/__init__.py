"""Captures: one program, compiled under several placements, and read again."""
