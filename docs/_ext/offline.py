"""A page that is read fetches nothing from elsewhere: the build fails where one would.

Links to other sites are fine, a reader follows them or not. Scripts, styles, fonts, pictures and frames are fetched by
the browser itself, so these must be files of ours.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\ssrc=[\"'](?:https?:)?//"
    r"|<link\b(?=[^>]*rel=[\"'](?:stylesheet|preload|icon|preconnect)[\"'])[^>]*href=[\"'](?:https?:)?//"
    r"|@import\s+url\(\s*[\"']?(?:https?:)?//"
    r"|url\(\s*[\"']?(?:https?:)?//",
    re.I,
)


def fetched(folder: Path) -> list[str]:
    """The places in pages and styles where a browser would fetch something from another site."""
    found = []
    for path in sorted([*folder.rglob("*.html"), *folder.rglob("*.css")]):
        for match in FETCHED.finditer(path.read_text("utf-8")):
            found.append(f"{path.relative_to(folder)}: {match.group()[:80]}")
    return found


def check(app: Sphinx, exception: Exception | None) -> None:
    """Check what was built."""
    if exception is None and app.builder.format == "html":
        found = fetched(Path(app.outdir))
        if found:
            raise ExtensionError("pages would fetch from other sites:\n" + "\n".join(found[:20]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
