"""maxmargin: support vector machines and kernel methods, exact, certified and fast.

``__init__.pyi`` is the table of public names. Each is loaded when it is first used, so that ``import maxmargin`` costs
next to nothing.
"""

from importlib.util import find_spec

__version__ = "0.1.0"

if find_spec("maxmargin._native") is None:
    raise ImportError(
        "maxmargin._native, the compiled core, is missing for this Python. Install the package (pip install maxmargin, "
        "or pip install . in a source tree, which compiles it), or build it in place with 'make native-dev'."
    )

from maxmargin.runtime.exports import attach  # after the check: its message is the first

_public, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name):
    if name in __all__ or name.startswith("_"):
        return _public(name)
    import difflib

    near = difflib.get_close_matches(name.lower(), [known.lower() for known in __all__], n=1, cutoff=0.8)
    hint = next((f". Did you mean {known!r}?" for known in __all__ if [known.lower()] == near), "")
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}{hint}", name=name)
