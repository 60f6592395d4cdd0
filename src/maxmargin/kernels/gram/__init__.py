"""Kernel values as an operator: computed on demand, in fused tiles, shared by binary problems, or precomputed."""
