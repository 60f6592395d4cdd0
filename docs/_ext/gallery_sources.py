"""The gallery's sources: the scripts of ``examples``, with a heading, and the pictures that they write.

A script of ``examples`` draws on a figure of its own, without pyplot, and saves it to the file that its first argument
names. Sphinx-Gallery wants a heading above each script's text, a text above all of them, and to be told where pictures
are. So the scripts are copied with a line drawn under their titles, each is run with the name of a file as its
argument, and what it wrote is taken from there.
"""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx_gallery.scrapers import figure_rst

EXAMPLES = Path(__file__).parents[2] / "examples"
HEADER = """Gallery
=======

Every picture of the courses, drawn by the library. A script runs by itself, without a window:
``python examples/plot_svr.py`` writes ``plot_svr.png``; its first argument is another name for the file.
"""


def with_heading(source: str) -> str:
    """The script with its title underlined, so that its text is a page."""
    text = ast.get_docstring(ast.parse(source), clean=False) or ""
    title = text.strip().splitlines()[0]
    heading = title.rstrip(".")
    return source.replace(title, f"{heading}\n{'=' * len(heading)}", 1)


def prepare(app: Sphinx, config: Any) -> None:
    """Copy the scripts to ``_gallery``; those that did not change keep their time, and are not run again."""
    folder = Path(app.srcdir) / "_gallery"
    folder.mkdir(exist_ok=True)
    wanted = {"GALLERY_HEADER.rst": HEADER}
    wanted |= {path.name: with_heading(path.read_text("utf-8")) for path in EXAMPLES.glob("plot_*.py")}
    for path in folder.iterdir():
        if path.name not in wanted and path.is_file():
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def _picture(script: str | Path) -> Path:
    script = Path(script)
    return script.parent / "pictures" / f"{script.stem}.png"


def argument(gallery_conf: dict[str, Any], script_vars: dict[str, Any]) -> list[str]:
    """What a script is called with: the file to write."""
    path = _picture(script_vars["src_file"])
    path.parent.mkdir(exist_ok=True)
    return [str(path)]


def collect_picture(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any], **kwargs: Any) -> str:
    """Hand the written picture to the gallery."""
    path = _picture(block_vars["src_file"])
    if not path.exists():
        return ""
    target = next(block_vars["image_path_iterator"])
    shutil.move(path, target)
    return str(figure_rst([target], gallery_conf["src_dir"]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", prepare, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
