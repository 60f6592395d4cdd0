"""Explicit features whose inner product approximates a kernel, and how far they are from it."""
