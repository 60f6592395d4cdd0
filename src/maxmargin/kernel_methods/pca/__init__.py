"""The kernel trick for principal components."""

from maxmargin.kernel_methods.pca.kernel_pca import KernelPCA

__all__ = ["KernelPCA"]
