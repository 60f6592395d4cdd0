"""Public names: what the stubs say to type checkers is what exists, and a name is listed in one place."""

import ast
import importlib
import inspect
import sys
from pathlib import Path

import pytest

import maxmargin
from maxmargin import kernels
from maxmargin.kernels.registry import CLASSES, KERNELS
from maxmargin.runtime.exports import attach, stub_names

ROOT = Path(maxmargin.__file__).parent
STUBS = [path.parent for path in sorted(ROOT.rglob("__init__.pyi"))]


@pytest.mark.parametrize("folder", STUBS, ids=lambda path: path.name)
def test_every_name_of_a_stub_exists(folder):
    package = importlib.import_module(".".join(("maxmargin", *folder.relative_to(ROOT).parts)))
    names, modules = stub_names(folder / "__init__.pyi")
    listed = {*modules, *(name for part in names.values() for name in part)}
    assert listed <= set(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize("folder", STUBS, ids=lambda path: path.name)
def test_stars_of_modules_say_what_the_registry_says(folder):
    """A type checker reads ``__all__`` of the module, and the program reads the registry."""
    for node in ast.parse((folder / "__init__.pyi").read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and folder != ROOT:
            module = f"maxmargin.{folder.relative_to(ROOT).as_posix()}.{node.module}"
            starred = set(importlib.import_module(module).__all__)
            assert starred == {place.split(":")[1] for place in CLASSES.values() if place.split(":")[0] == module}


def test_all_kernels_by_name_are_exported():
    for kind in KERNELS.values():
        if inspect.getmodule(kind).__name__.startswith("maxmargin."):
            assert getattr(kernels, kind.__name__) is kind


def test_stars_and_tables(tmp_path, monkeypatch):
    package = tmp_path / "somewhere"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.pyi").write_text("from .inner import *\nfrom .one import First as First\nfrom .two import *\n")
    (package / "inner" / "__init__.pyi").write_text(
        "from . import deep as deep\nfrom .deep import Other as Other, Within\n__all__ = ['Within']\n"
    )
    (package / "inner" / "__init__.py").write_text("from somewhere.inner.deep import Within\n")
    (package / "inner" / "deep.py").write_text("class Within: ...\n")
    (package / "one.py").write_text("class First: ...\n")
    (package / "two.py").write_text("class Second: ...\n")
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    get, listed, names = attach("somewhere", str(package / "__init__.py"), ["somewhere.two:Second"])
    assert names == listed() == ["First", "Second", "Within"]  # a star takes what __all__ has
    assert [get(name).__name__ for name in names] == names
    for module in [name for name in sys.modules if name.split(".")[0] == "somewhere"]:
        monkeypatch.delitem(sys.modules, module)
