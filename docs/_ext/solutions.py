"""Exercises have solutions that a reader opens: a directive whose content is folded.

:::{solution}
Text, formulas and blocks of code.
:::
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Solution(SphinxDirective):
    """The directive ``solution``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        opening = nodes.raw("", '<details class="solution"><summary>Solution</summary>', format="html")
        return [opening, *self.parse_content_to_nodes(), nodes.raw("", "</details>", format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("solution", Solution)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
