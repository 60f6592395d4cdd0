"""Docstrings write mathematics in plain characters, not in markup.

``|w|`` is a norm and ``coef_`` an attribute. reStructuredText would take the first for a substitution and the second
for a link; neither is used here, so both are text. Formulas stand apart, indented: what reStructuredText would take for
a quotation, and fill, is shown as it is.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx


def _as_text(inliner: Inliner, match: Any, lineno: int) -> tuple[str, list[nodes.Node], str, list[nodes.Node]]:
    """The matched characters as they are; what follows them is looked at again."""
    start, end = match.span("whole") if match.group("refend") else match.span("start")
    return match.string[:start], [nodes.Text(match.string[start:end])], match.string[end:], []


def formulas_as_they_are(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Say of indented blocks after a paragraph that they are text."""
    for i in reversed(range(len(lines) - 2)):
        line, gap, block = lines[i : i + 3]
        if (
            not line.strip()
            or gap.strip()
            or line.lstrip().startswith(("* ", "- ", "..", ">>>"))
            or line.endswith("::")
        ):
            continue
        indent = len(line) - len(line.lstrip())
        if block.strip() and len(block) - len(block.lstrip()) >= indent + 4:
            lines[i + 1 : i + 2] = ["", " " * indent + ".. code-block:: text", ""]


def setup(app: Sphinx) -> dict[str, bool]:
    Inliner.dispatch = {**Inliner.dispatch, "|": _as_text, "_": _as_text}
    app.connect("autodoc-process-docstring", formulas_as_they_are, priority=100)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
