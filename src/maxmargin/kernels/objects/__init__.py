"""Kernels of things that are not vectors: strings and sets."""
