from .linear import LinearSVC
from .nystroem import NystroemRidge, NystroemSVC, NystroemSVR

__all__ = ["LinearSVC", "NystroemRidge", "NystroemSVC", "NystroemSVR"]
