"""Every support vector machine as data: dual quadratic programs, their optimality conditions, scalings of C."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
