"""No line begins with the punctuation that follows a formula: a word joiner keeps the two together."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

WORD_JOINER = "\N{WORD JOINER}"


class JoinPunctuation(SphinxPostTransform):
    """Put a word joiner between an inline formula and a mark after it."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for formula in list(self.document.findall(nodes.math)):
            after = formula.next_node(descend=False, siblings=True)
            if isinstance(after, nodes.Text) and after.astext()[:1] in tuple(".,;:)?!"):
                after.parent.replace(after, nodes.Text(WORD_JOINER + after.astext()))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(JoinPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
