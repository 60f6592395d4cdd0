"""The source, to be read beside the documentation: one page a module, and links to its lines.

``{source}`solvers/smo.py``` in a page links to the module's page; ``address_of`` finds the line of a documented name.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent


def page_of(path: Path) -> str:
    """The name of a module's page."""
    return "source/" + path.relative_to(PACKAGE).with_suffix("").as_posix()


def address_of(module: str, name: str, up: int) -> str | None:
    """The line of a name, as seen from a page ``up`` folders deep; None if it has none of its own."""
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    value = inspect.unwrap(getattr(value, "fget", value) or value) if value is not None else None
    try:
        path = Path(inspect.getsourcefile(value) or "")
        line = inspect.getsourcelines(value)[1]
    except (TypeError, OSError):
        return None
    if not path.is_relative_to(PACKAGE):
        return None
    return f"{'../' * up}{page_of(path)}.html#line-{line}"


class Source(SphinxRole):
    """The role ``source``: a file of the package, by its path inside it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        path = PACKAGE / self.text
        if not path.is_file():
            message = self.inliner.reporter.error(f"the package has no file {self.text}", line=self.lineno)
            return [nodes.literal(self.text, self.text)], [message]
        address = "../" * self.env.docname.count("/") + page_of(path) + ".html"
        return [nodes.reference("", "", nodes.literal(self.text, self.text), refuri=address, internal=True)], []


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every module of the package, highlighted."""
    if app.builder.format != "html":
        return
    formatter = HtmlFormatter(linenos=False, lineanchors="line", anchorlinenos=False, wrapcode=True)
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        body = highlight(path.read_text("utf-8"), PythonLexer(), formatter)
        title = f"maxmargin/{name}"
        yield page_of(path), {"title": title, "body": f"<h1>{title}</h1>\n{body}"}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("source", Source())
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
