"""``llms.txt``: the pages of the documentation, each with its first sentence, for programs that read it.

The form is that of llmstxt.org.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

GUIDES = ("start", "guide/", "choosing", "report", "approximation", "scaling", "moving", "command-line", "lab")
SECTIONS = (("Guides", GUIDES), ("Course", ("coverage", "course/")), ("Reference", ("api/",)))


def summary(document: nodes.document) -> str:
    """The first sentence of a page, with a colon before it; nothing if the page has no text."""
    places = (nodes.section, addnodes.desc_content)  # not lists, notes and tables
    found = (each for each in document.findall(nodes.paragraph) if isinstance(each.parent, places))
    text = next((paragraph.astext() for paragraph in found), "")
    sentence = re.split(r"(?<=[.?!])\s", " ".join(text.split()), maxsplit=1)[0]
    sentence = re.sub(r"\\([A-Za-z]+)", r"\1", sentence)  # Phi, not \Phi
    return f": {sentence}" if sentence else ""


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the list when the pages are there."""
    if exception or app.builder.format != "html":
        return
    lines = ["# maxmargin", "", f"> {app.config.project}: support vector machines and kernel methods for Python.", ""]
    left = sorted(app.env.titles)
    for section, prefixes in (*SECTIONS, ("More", ("",))):
        pages = [page for page in left if page.startswith(prefixes) and not page.startswith("api/generated/module")]
        left = [page for page in left if page not in pages]
        lines += [f"## {section}", ""]
        for page in pages:
            title = app.env.titles[page].astext()
            lines.append(f"- [{title}]({page}.html){summary(app.env.get_doctree(page))}")
        lines.append("")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
