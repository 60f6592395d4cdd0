"""The names of a package, from its stub: each is imported when it is first used.

    from .base import Kernel      a name
    from . import calibration     a module
    from .svm import *            ``__all__`` of a package's stub; of a module, what ``tables`` lists

An estimator is thus named in the stub of its package alone, and a kernel in the registry alone; type checkers and
editors read the same stub.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from pathlib import Path

import lazy_loader  # type: ignore[import-untyped]


def attach(
    package: str, file: str, tables: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    package, file: ``__name__`` and ``__file__`` of the package; the stub is beside the file
    tables: further names as ``"module:name"``, with the full name of the module
    """
    stub = Path(file).with_suffix(".pyi")
    names, modules = stub_names(stub)
    for place in tables:
        module, _, name = place.partition(":")
        names.setdefault(module.removeprefix(f"{package}."), []).append(name)
    return lazy_loader.attach(package, modules, names)


def stub_names(stub: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Names by their module, and submodules."""
    names: dict[str, list[str]] = {}
    modules: list[str] = []
    for node in ast.parse(stub.read_text("utf-8")).body:
        if not isinstance(node, ast.ImportFrom):
            continue
        listed = [alias.name for alias in node.names]
        if node.module is None:
            modules += listed
        elif listed != ["*"]:
            names.setdefault(node.module, []).extend(listed)
        elif (inner := stub.parent / node.module / "__init__.pyi").exists():
            names.setdefault(node.module, []).extend(_starred(inner))
    return names, modules


def _starred(stub: Path) -> list[str]:
    """``__all__`` of a stub."""
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []
