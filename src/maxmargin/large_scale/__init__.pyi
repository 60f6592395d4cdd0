from . import dask as dask
from .classification import NystroemSVC
from .features.nystroem import Nystroem
from .features.random_features import RandomFeatures
from .forecast import forecast_approximation as forecast_approximation
from .regression import NystroemRidge, NystroemSVR
from .streaming import StreamingKernelSVC

__all__ = [
    "Nystroem",
    "NystroemRidge",
    "NystroemSVC",
    "NystroemSVR",
    "RandomFeatures",
    "StreamingKernelSVC",
]
