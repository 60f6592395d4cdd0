"""Names of other libraries link to their documentation, by the rule that each project's addresses follow.

An inventory would have to be downloaded, or kept and renewed. The four projects that docstrings refer to have one page
per public name (Python: one per module), so the name is the address. Other libraries' names stay plain text.
"""

from __future__ import annotations

import importlib
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PAGES = {
    "numpy": "https://numpy.org/doc/stable/reference/generated/{name}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{name}.html",
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{name}.html",
}
STANDARD_LIBRARY = "https://docs.python.org/3/library/{module}.html#{name}"
PLAIN = {"dask", "distributed", "matplotlib", "pandas", "polars"}


def address_of(name: str) -> str | None:
    """The page of a name, or None where no rule is known."""
    package = name.partition(".")[0]
    if package in PAGES:
        return PAGES[package].format(name=name)
    for module in ("logging", "os", "pathlib", "pickle"):
        if name == module or name.startswith(f"{module}."):
            importlib.import_module(module)
            return STANDARD_LIBRARY.format(module=module, name=name)
    if hasattr(__builtins__, name) or (isinstance(__builtins__, dict) and name in __builtins__):
        module = "exceptions" if name.endswith(("Error", "Warning", "Interrupt", "Exception")) else "functions"
        return STANDARD_LIBRARY.format(module=module, name=name)
    return None


def resolve(app: Sphinx, env: Any, node: Any, contnode: nodes.Element) -> nodes.Element | None:
    """A link to the other library's page."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"]
    address = address_of(name)
    if address:
        return nodes.reference("", "", contnode, refuri=address, internal=False, reftitle=name)
    return contnode if name.partition(".")[0] in PLAIN else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("missing-reference", resolve, priority=900)  # after our own names
    return {"parallel_read_safe": True, "parallel_write_safe": True}
