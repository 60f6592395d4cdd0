"""A solver's run as one HTML file that plays it anywhere: for slides, for a handout, without a server.

The file holds the frames of :func:`maxmargin.lab.traces.trace` as JSON and a player of its own, and asks the network
for nothing. Its content security policy names the player's script and style by their hashes and forbids everything
else, so that even a text that found its way out of the data could not run; and the data cannot leave its element, for
"<" is written as an escape of JSON.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from maxmargin.lab import requests
from maxmargin.lab.jobs import Run
from maxmargin.lab.requests import RequestError
from maxmargin.lab.traces import SOLVERS, resolved_kernel, trace
from maxmargin.lab.traces.answers import listed

LONGEST_TITLE = 120
SHOWN = ("iteration", "b", "chosen", "primal", "dual", "gap", "violation", "note")


def recording(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """A run as a file.

    Parameters
    ----------
    request : mapping
        ``tab`` (``"step"``); ``state``, what the tab asks :func:`~maxmargin.lab.traces.trace` for, with its ``view``;
        ``title``, optional. The run is computed again from the state: frames in the request are not looked at.
    control : Run, optional

    Returns
    -------
    dict
        ``html``, the file's text; ``name``, for saving it; ``frames``, their number.

    Examples
    --------
    >>> from maxmargin.lab.recording import recording
    >>> state = {"points": [[-1, 0, 0], [1, 0, 1]], "kernel": "linear", "C": 1, "solver": "smo"}
    >>> answer = recording({"tab": "step", "state": state, "title": "Two points"})
    >>> answer["name"], answer["frames"], "<title>Two points</title>" in answer["html"]
    ('maxmargin-smo.html', 2, True)
    """
    requests.choice(request, "tab", ("step", "trace"), "step")
    state = requests.part(request, "state")
    name = requests.choice(state, "solver", SOLVERS, "smo")
    title = request.get("title") or f"{SOLVERS[name].title}, step by step"
    if not isinstance(title, str) or len(title) > LONGEST_TITLE:
        raise RequestError(f"title must be a text of at most {LONGEST_TITLE} characters.", "title")
    run = trace(state, control)
    X, _ = requests.points(state)
    data = {
        "points": listed(X, 7),
        "signs": run["signs"],
        "kernel": resolved_kernel(state, X),
        "view": _view(state, X),
        "labels": _labels(name),
        "frames": [
            {**{key: frame[key] for key in SHOWN}, "alpha": listed(np.array(frame["alpha"]), 5)}
            for frame in run["frames"]
        ],
    }
    return {"html": page(title, data), "name": f"maxmargin-{name}.html", "frames": len(data["frames"])}


def page(title: str, data: Any) -> str:
    """The template with a title and data in it.

    Examples
    --------
    >>> from maxmargin.lab.recording import page
    >>> text = page("<script>", {"note": "</script><script>alert(1)</script>"})
    >>> "alert(1)</script>" in text, "<title>&lt;script&gt;</title>" in text
    (False, True)
    """
    template = resources.files("maxmargin.lab").joinpath("recording_template.html").read_text(encoding="utf-8")
    filled = {
        "title": html.escape(title),
        "data": _json(data),
        "style_hash": _hash(template, r"<style>(.*?)</style>"),
        "script_hash": _hash(template, r"<script>(.*?)</script>"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: filled[match[1]], template)


def _json(data: Any) -> str:
    """JSON that can stand inside an element of HTML."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII: all else is escaped already
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(template: str, pattern: str) -> str:
    """What a content security policy names an inline element by."""
    found = re.findall(pattern, template, re.DOTALL)
    digest = hashlib.sha256(found[0].encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _view(state: Mapping[str, Any], X: Any) -> dict[str, float]:
    """The view of the state, or a square around the points."""
    if state.get("view") is not None:
        xs, ys = requests.view({"view": state["view"], "grid": [2, 2]})
        return {"x0": float(xs[0]), "x1": float(xs[1]), "y0": float(ys[0]), "y1": float(ys[1])}
    middle = (X.min(axis=0) + X.max(axis=0)) / 2
    half = 0.6 * (float(np.ptp(X, axis=0).max()) or 2.0)
    x, y = (float(value) for value in middle)
    return {"x0": x - half, "x1": x + half, "y0": y - half, "y1": y + half}


def _labels(name: str) -> dict[str, str]:
    if name == "perceptron":
        return {"primal": "perceptron loss", "dual": "dual"}
    return {"primal": "primal objective", "dual": "dual objective"}
