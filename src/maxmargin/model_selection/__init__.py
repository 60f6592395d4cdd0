"""Grid searches that share computations: estimators with built-in cross-validation.

A module is loaded when one of its names is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
