"""Kernel methods for many rows: m features stand for the kernel, at a cost of n m^2 instead of n^2 or n^3.

``Nystroem`` takes them from m landmarks and any kernel, ``RandomFeatures`` from random waves and a kernel of x - z. The
estimators fit on landmarks and report the error of the approximation. A module is loaded when its name is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
