"""Support vector machines with any kernel, and linear ones for large data, with scikit-learn's names and meanings.

A module is loaded when one of its names is first used: a program that uses ``SVC`` does not wait for the others.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
