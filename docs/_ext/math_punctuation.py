"""No line begins with the punctuation that follows a formula: the two stand in an element that is not broken."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

MARKS = ".,;:)?!"


class JoinPunctuation(SphinxPostTransform):
    """Put an inline formula and the marks after it into one element of class ``unbroken``."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for formula in list(self.document.findall(nodes.math)):
            after = formula.next_node(descend=False, siblings=True)
            if not isinstance(after, nodes.Text) or after.astext()[:1] not in tuple(MARKS):
                continue
            text = after.astext()
            rest = text.lstrip(MARKS)
            after.parent.replace(after, nodes.Text(rest))
            marks = nodes.Text(text[: len(text) - len(rest)])
            formula.replace_self(nodes.inline("", "", formula.deepcopy(), marks, classes=["unbroken"]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(JoinPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
