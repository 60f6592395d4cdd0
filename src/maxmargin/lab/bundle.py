"""The page's modules and styles as one HTML file that needs no server and asks the network for nothing.

Browsers load no modules from a folder (file://), so that the modules become functions of one plain script, each called
once, in the order in which they import each other. The file's content security policy names its script and style by
their hashes and forbids everything else; data stand in an element of their own, with "<" as an escape of JSON.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import posixpath
import re
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parent / "static"
IMPORT = re.compile(r'^import (?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)";\n', re.MULTILINE)
LAZY = re.compile(r"import\(`(\.[^`$]*)\$\{(\w+)\}\.js`\)")  # of any module of a folder
EXPORT = re.compile(r"^export ((?:async )?(?:const|function\*?|class)) (\w+)", re.MULTILINE)


def script(entry: str, static: Path = STATIC) -> str:
    """A module with all that it imports, as one script."""
    modules: dict[str, str] = {}
    waiting: list[str] = []

    def add(name: str) -> None:
        if name in modules:
            return
        if name in waiting:
            raise ValueError(f"{name} imports itself by way of {', '.join(waiting)}: move what both need to a module.")
        waiting.append(name)
        modules[name] = _function(name, static, add)
        modules[name] = modules.pop(name)  # after those that it imports
        waiting.pop()

    add(entry)
    parts = "\n".join(f"modules[{json.dumps(name)}] = {text};" for name, text in modules.items())
    return f'"use strict";\n(() => {{\nconst modules = {{}};\n{parts}\n}})();\n'


def _function(name: str, static: Path, add: Any) -> str:
    """A module as a called function that returns what it exports."""
    folder, text = posixpath.dirname(name), (static / name).read_text(encoding="utf-8")

    def place(path: str) -> str:
        found = posixpath.normpath(posixpath.join(folder, path))
        add(found)
        return f"modules[{json.dumps(found)}]"

    def imported(match: re.Match[str]) -> str:
        names = match[2] or "{" + match[1].replace(" as ", ": ") + "}"
        return f"const {names} = {place(match[3])};\n"

    text = IMPORT.sub(imported, text)

    def any_of_folder(match: re.Match[str]) -> str:
        inside = posixpath.normpath(posixpath.join(folder, match[1]))
        for path in sorted((static / inside).glob("*.js")):
            add(f"{inside}/{path.name}")
        return f"Promise.resolve(modules[`{inside}/${{{match[2]}}}.js`])"

    text = LAZY.sub(any_of_folder, text)
    exported = ", ".join(match[2] for match in EXPORT.finditer(text))
    text = EXPORT.sub(r"\1 \2", text)
    return f"(() => {{\n{text}\nreturn {{ {exported} }};\n}})()"


def page(title: str, body: str, entry: str, data: Any, static: Path = STATIC) -> str:
    """An HTML file: the styles of the lab, a body, data in the element ``#data``, and a module."""
    style = "".join(path.read_text(encoding="utf-8") for path in style_sheets(static))
    code = script(entry, static).replace("</script", "<\\/script")
    policy = "; ".join(
        [
            "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; media-src blob:",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(code)}'",
        ]
    )
    return f"""<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{_json(data)}</script>
<script>{code}</script>
</body>
</html>
"""


def style_sheets(static: Path) -> list[Path]:
    """The files of styles: base.css first, then the controls and the workspace, then the tabs."""
    first = ["base", "controls", "workspace"]
    found = sorted((static / "css").glob("*.css"))
    return sorted(found, key=lambda path: first.index(path.stem) if path.stem in first else len(first))


def _json(data: Any) -> str:
    """JSON that can stand inside an element of HTML."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII: all else is escaped already
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    """What a content security policy names an inline element by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
