"""Benchmarks: what a fit costs, beside the libraries people use today. See ``benchmarks/README.md``."""
