"""Understanding a fitted model: margins, explanations, compression, and how solvers and representations compare."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
