"""The reference: a page for every public name, made from the library's own lists.

``maxmargin/__init__.pyi`` is the table of what is public: objects, with the modules they come from, and modules, which
have lists of their own and may list further modules. The pages of ``docs/api/generated`` follow from these; nothing is
listed by hand. Each object has one page, under its shortest name. References in docstrings may use any name that leads
to it.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

import maxmargin
from maxmargin.runtime.exports import stub_names

TITLES = {  # of names by their package; one that is not here is its own title
    "svm": "Support vector machines",
    "model_selection": "Tuning hyperparameters",
    "large_scale": "Large data",
    "kernel_methods": "Kernel methods",
    "inspection": "Understanding and compressing a model",
    "data": "Data and model files",
    "io": "Data and model files",
    "kernels": "Kernels",
    "problems": "Separability and regularisation",
    "solvers": "Separability and regularisation",
    "runtime": "History and interrupts",
}


def public_objects() -> dict[str, str]:
    """The public objects of the package by name, and the package each comes from."""
    stub = Path(maxmargin.__file__).with_suffix(".pyi")
    return {name: module.split(".")[0] for module, names in stub_names(stub)[0].items() for name in names}


def modules() -> list[str]:
    """The public modules, with those that they list: "svm", "svm.calibration", ..."""
    objects = public_objects()
    found = [name for name in maxmargin.__all__ if name not in objects]
    for module in found:  # grows on the way
        where = importlib.import_module(f"maxmargin.{module}")
        found += [f"{module}.{name}" for name in _listed(where) if isinstance(getattr(where, name), ModuleType)]
    return found


def _listed(where: ModuleType) -> list[str]:
    if hasattr(where, "__all__"):
        return list(where.__all__)
    mine = [name for name, value in vars(where).items() if getattr(value, "__module__", None) == where.__name__]
    return [name for name in mine if not name.startswith("_")]


def names_of(module: str) -> list[str]:
    """The public objects of a public module."""
    where = importlib.import_module(f"maxmargin.{module}")
    return [name for name in _listed(where) if not isinstance(getattr(where, name), ModuleType)]


def documented() -> dict[str, Any]:
    """Every public object by the name its page has."""
    found = {f"maxmargin.{name}": getattr(maxmargin, name) for name in public_objects()}
    seen = {id(value) for value in found.values()}
    for module in modules():
        where = importlib.import_module(f"maxmargin.{module}")
        for name in names_of(module):
            value = getattr(where, name)
            if id(value) not in seen:
                found[f"maxmargin.{module}.{name}"] = value
                seen.add(id(value))
    return found


def _heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def _table(names: list[str]) -> str:
    lines = [".. autosummary::", "   :toctree:", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]
    return "\n".join(lines)


def _registry(name: str, value: dict[str, Any]) -> str:
    """A list by name, such as KERNELS."""
    lines = [f".. py:data:: {name}", "", "   What may be asked for by name:", ""]
    for key, entry in value.items():
        kind = entry if inspect.isclass(entry) else type(entry)
        lines.append(f"   * ``{key!r}``: :class:`~{kind.__module__}.{kind.__qualname__}`")
    return "\n".join(lines) + "\n"


def _module_page(module: str, home: dict[int, str]) -> str:
    where = importlib.import_module(f"maxmargin.{module}")
    first, _, rest = inspect.cleandoc(where.__doc__ or "").partition("\n\n")
    parts = [_heading(f"maxmargin.{module}"), f".. module:: maxmargin.{module}\n", first + "\n"]
    if rest:
        parts.append(".. code-block:: text\n\n" + textwrap.indent(rest, "   ") + "\n")
    tables: list[str] = []
    lists: list[str] = []
    elsewhere: list[str] = []
    for name in names_of(module):
        value, full = getattr(where, name), f"maxmargin.{module}.{name}"
        if home[id(value)] != full:
            elsewhere.append(f":obj:`~{home[id(value)]}`")
        elif isinstance(value, dict):
            lists.append(_registry(full, value))
        else:
            tables.append(name)
    if tables:
        parts.append(_table(tables))
    if elsewhere:
        parts.append("Also here: " + ", ".join(elsewhere) + ".\n")
    return "\n".join(parts + lists)


def _index_page() -> str:
    groups: dict[str, list[str]] = {}
    for name, module in public_objects().items():
        groups.setdefault(TITLES.get(module, f"maxmargin.{module}"), []).append(name)
    parts = [
        _heading("maxmargin: names by task"),
        "All of these are attributes of ``maxmargin``, loaded when they are first used.\n",
        ".. module:: maxmargin\n",
    ]
    order = list(dict.fromkeys(TITLES.values()))
    for title in sorted(groups, key=lambda title: order.index(title) if title in order else len(order)):
        names = groups[title]
        parts += [_heading(title, "-"), _table(names)]
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """The lists of names: files and their texts."""
    home = {id(value): name for name, value in documented().items()}
    lists = {f"module-{module}.rst": _module_page(module, home) for module in modules()}
    return {"names.rst": _index_page(), **lists}


def write_pages(app: Sphinx, config: Any) -> None:
    """Write the lists; autosummary then writes the page of each name."""
    folder = Path(app.srcdir) / "api" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    kept = {f"{name}.rst" for name, value in documented().items() if not isinstance(value, dict)} | set(wanted)
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def ours(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Members that come from scikit-learn or Python are theirs to describe."""
    target = getattr(obj, "fget", None) or getattr(obj, "func", None) or getattr(obj, "__func__", obj)
    module = getattr(inspect.unwrap(target) if callable(target) else target, "__module__", None)
    return True if isinstance(module, str) and not module.startswith("maxmargin") else None


def _lookup(target: str) -> Any:
    """The object a dotted name leads to."""
    parts = target.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return value
    raise AttributeError(target)


def resolve(app: Sphinx, env: Any, node: Any, contnode: nodes.Element) -> nodes.Element | None:
    """A name of the library that has no page under this spelling: the page of the same object, or plain text where it
    has none. A name that leads nowhere stays an error."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not target.startswith("maxmargin"):
        return None
    try:
        value = _lookup(target)
    except (AttributeError, ImportError):
        return None
    for name, known in documented().items():
        if known is value:
            page = f"api/generated/{name}"
            if isinstance(value, dict):
                page = f"api/generated/module-{name.rpartition('.')[0].removeprefix('maxmargin.')}"
            return make_refnode(app.builder, node["refdoc"], page, name, contnode, name)
    return contnode


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", write_pages, priority=1)
    app.connect("autodoc-skip-member", ours)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
