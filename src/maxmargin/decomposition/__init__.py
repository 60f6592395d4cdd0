"""The kernel trick for principal components."""

from maxmargin.decomposition.kernel_pca import KernelPCA

__all__ = ["KernelPCA"]
