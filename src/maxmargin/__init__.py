"""maxmargin: support vector machines and kernel methods, exact, certified and fast.

``__init__.pyi`` is the table of public names. Each is loaded when it is first used, so that ``import maxmargin`` costs
next to nothing.
"""

from importlib import import_module
from importlib.util import find_spec

__version__ = "0.1.0"

if find_spec("maxmargin._native") is None:
    raise ImportError(
        "maxmargin._native, the compiled core, is missing for this Python. Install the package (pip install maxmargin, "
        "or pip install . in a source tree, which compiles it), or build it in place with 'make native-dev'."
    )

from maxmargin.runtime.exports import attach  # after the check: its message is the first

_public, __dir__, __all__ = attach(__name__, __file__)


# Imported before our own modules, which need them. Where imports nest deeply, the frames of the interpreter's stack go
# past the end of one of its blocks again and again, each time with a new block from the system (CPython 3.11): in this
# order that happens some hundred times and not 13,000 times, which takes a tenth of the time of the first import.
_IMPORTED_FIRST = ("numpy", "scipy.linalg", "scipy.special", "scipy.stats", "sklearn.base")


def __getattr__(name):
    if name in __all__ or name.startswith("_"):
        for module in _IMPORTED_FIRST:
            import_module(module)
        return _public(name)
    import difflib

    near = difflib.get_close_matches(name.lower(), [known.lower() for known in __all__], n=1, cutoff=0.8)
    hint = next((f". Did you mean {known!r}?" for known in __all__ if [known.lower()] == near), "")
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}{hint}", name=name)
