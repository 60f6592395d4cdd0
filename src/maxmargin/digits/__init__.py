"""The worked example: handwritten digits from the random split to the report, and pictures of one's own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
