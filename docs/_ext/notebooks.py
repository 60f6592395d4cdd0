"""Pages of the course as notebooks: each page with code in ``course/`` is converted and offered for download.

A notebook has the page's text and its code; the output that the page prints is left to the reader's own run. Solutions
follow their exercises. Roles and links become plain text, since a notebook is read outside the documentation.
"""

from __future__ import annotations

import ast
import doctest
import json
import re
import textwrap
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FENCE = re.compile(r"^(?P<fence>```+|:::+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$\n?", re.M | re.S)
ROLE = re.compile(r"\{\w+\}`~?([^`<]+?)(?: <[^`>]+>)?`")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)")
SHORT = re.compile(r"`maxmargin\.([\w.]+)`")


def _markdown(text: str) -> dict[str, Any] | None:
    text = SHORT.sub(r"`\1`", ROLE.sub(r"`\1`", LINK.sub(r"\1", text))).strip()
    text = re.sub(r"^\([\w-]+\)=$", "", text, flags=re.M).strip()  # targets of links
    return {"cell_type": "markdown", "metadata": {}, "source": text} if text else None


def _code(text: str) -> dict[str, Any]:
    source = text.strip()
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": source}


def _statements(body: str) -> str:
    """The code of an interactive session, without prompts and output."""
    return "".join(example.source for example in doctest.DocTestParser().get_examples(body))


def cells(text: str) -> list[dict[str, Any]]:
    """The cells of a page."""
    found: list[dict[str, Any] | None] = []
    end = 0
    for block in FENCE.finditer(text):
        found.append(_markdown(text[end : block.start()]))
        end = block.end()
        info, body = block["info"].strip(), block["body"]
        if info == "pycon":
            found.append(_code(_statements(body)))
        elif info == "python":
            found.append(_code(body))
        elif info.startswith("{picture}"):
            found.append(_markdown("*" + info.removeprefix("{picture}").strip() + "*"))
            found.append(_code("def picture():\n" + textwrap.indent(body, "    ") + "    return figure\n\n\npicture()"))
        elif info == "{solution}":
            found += [_markdown("**Solution**"), *cells(body)]
        elif info.startswith("{"):
            continue  # navigation
        else:
            found.append(_markdown(block.group()))
    found.append(_markdown(text[end:]))
    return [cell for cell in found if cell]


def notebook(text: str) -> dict[str, Any]:
    """The page as a notebook, in the format's version 4.5."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    numbered = [{"id": f"cell-{k}", **cell} for k, cell in enumerate(cells(text))]
    return {"cells": numbered, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def has_code(page: Path) -> bool:
    return any(info in ("python", "pycon") for info in re.findall(r"^```(\w+)$", page.read_text("utf-8"), re.M))


def sources(folder: Path) -> list[Path]:
    """The pages that are also notebooks."""
    return [page for page in sorted((folder / "course").glob("*.md")) if has_code(page)]


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the notebooks beside the pages."""
    if exception or app.builder.format != "html":
        return
    for page in sources(Path(app.srcdir)):
        text = json.dumps(notebook(page.read_text("utf-8")), indent=1, ensure_ascii=False)
        for cell in json.loads(text)["cells"]:
            if cell["cell_type"] == "code":
                ast.parse(cell["source"])
        (Path(app.outdir) / "course" / f"{page.stem}.ipynb").write_text(text, "utf-8")


def link(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Tell the page's template which notebook there is."""
    page = Path(app.srcdir) / f"{pagename}.md"
    if page in sources(Path(app.srcdir)):
        context["notebook"] = f"{page.stem}.ipynb"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", link)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
