"""The kernel trick elsewhere: ridge regression, PCA, neighbours, k-means, discriminant analysis, a two-sample test."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
