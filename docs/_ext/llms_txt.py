"""``llms.txt``: what the documentation holds, as one list for programs that read it."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

SECTIONS = (("Guides", ("start", "guide/", "choosing", "report", "approximation", "scaling", "moving")),)
SECTIONS += (("Course", ("coverage", "course/")), ("Reference", ("api/",)))


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the list when the pages are there."""
    if exception or app.builder.format != "html":
        return
    lines = ["# maxmargin", "", f"> {app.config.project}: support vector machines and kernel methods for Python.", ""]
    left = sorted(app.env.titles)
    for section, prefixes in (*SECTIONS, ("More", ("",))):
        pages = [page for page in left if page.startswith(prefixes) and not page.startswith("api/generated/module")]
        left = [page for page in left if page not in pages]
        lines += [f"## {section}", "", *(f"- [{app.env.titles[p].astext()}]({p}.html)" for p in pages), ""]
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
