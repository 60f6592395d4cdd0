"""Every script of the gallery runs without a window system, saves its picture and says what it shows."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))
PNG = b"\x89PNG\r\n\x1a\n"


def load(path):
    """The script as a module, without running its last lines."""
    specification = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def size_of(picture):
    """Width and height of a PNG, from its header."""
    head = picture.read_bytes()[:24]
    assert head[:8] == PNG
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def test_there_is_a_gallery():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_draws(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # nothing is written but what was asked for
    picture = tmp_path / "x.png"
    figure = load(path).main(picture)
    width, height = size_of(picture)
    assert 600 <= width <= 3000
    assert 400 <= height <= 3000
    assert picture.stat().st_size > 10_000  # not an empty sheet
    assert sorted(tmp_path.iterdir()) == [picture]
    assert any(ax.has_data() for ax in figure.axes)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_says_what_it_shows(path):
    tree = ast.parse(path.read_text())
    text = ast.get_docstring(tree)
    assert text is not None
    assert len(re.findall(r"[.:!?](?:\s|$)", text)) >= 2
    assert text.splitlines()[0].endswith((".", "?", "!"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert "main" in functions


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_needs_no_window_and_no_other_library(path):
    libraries = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            libraries |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            libraries.add(node.module)
    assert not any(name.startswith("matplotlib.pyplot") for name in libraries)
    known = {"maxmargin", "numpy", "scipy", "sklearn", "matplotlib", *sys.stdlib_module_names}
    assert {name.split(".")[0] for name in libraries} <= known
