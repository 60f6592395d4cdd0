"""maxmargin: support vector machines and kernel methods, exact, certified and fast.

``__init__.pyi`` is the table of public names. Each is loaded when it is first used, so that ``import maxmargin`` costs
next to nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
