"""Solvers: one file, one algorithm; ``SOLVERS`` is the list that estimators, tests and documentation go by.

A module is loaded when one of its names is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
