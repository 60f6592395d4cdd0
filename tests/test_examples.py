"""Every script of the gallery runs without a window system, draws a figure and says what it shows; notebooks too."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))


@pytest.fixture
def plt(monkeypatch):
    """pyplot without windows and without figures of others; what a script changes or leaves open ends with its test."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    monkeypatch.setattr(plt, "show", lambda: None)
    with matplotlib.rc_context():
        yield plt
    plt.close("all")


def size_of(figure, path):
    figure.savefig(path, dpi=60)
    head = path.read_bytes()[:24]
    assert path.stat().st_size > 5_000  # not an empty sheet
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def test_there_is_a_gallery():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_notebook_draws(path, plt, tmp_path, monkeypatch):
    """The cells of the notebook that the gallery offers, one after the other: the same code as the script's."""
    monkeypatch.chdir(tmp_path)
    notebook_module = pytest.importorskip("sphinx_gallery.notebook")
    from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
    from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    _, blocks = split_code_and_text_blocks(path)
    made = json.loads(json.dumps(notebook_module.jupyter_notebook(blocks, DEFAULT_GALLERY_CONF, str(path.parent))))
    codes = ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "code"]
    codes = [code for code in codes if not code.startswith("%")]
    scope = {"__name__": "__main__"}
    for k, code in enumerate(codes):
        exec(compile(code, f"{path.name}, cell {k}", "exec"), scope)
        if k < len(codes) - 1:
            assert not plt.get_fignums(), "a figure is shown at the end of its cell: it must be drawn there too"
    (number,) = plt.get_fignums()
    figure = plt.figure(number)
    width, height = size_of(figure, tmp_path / "x.png")
    assert 300 <= width <= 1500
    assert 200 <= height <= 1500
    assert any(ax.has_data() for ax in figure.axes)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_says_what_it_shows(path):
    text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    title, line, _ = text.split("\n", 2)
    assert line == "=" * len(title)
    assert len(re.findall(r"[.:!?](?:\s|$)", text)) >= 2
    assert "# %%\n# " in path.read_text("utf-8"), "text between the cells"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_uses_public_names_only(path):
    imports = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imports |= {alias.name: [] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imports[node.module] = [alias.name for alias in node.names]
    known = {"maxmargin", "numpy", "scipy", "sklearn", "matplotlib", *sys.stdlib_module_names}
    assert {module.split(".")[0] for module in imports} <= known
    for module, names in imports.items():
        assert not any(part.startswith("_") for part in (*module.split("."), *names)), module
