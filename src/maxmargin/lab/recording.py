"""A solver's run as one HTML file that plays it anywhere: for slides, for a handout, without a server."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin.lab import bundle, requests
from maxmargin.lab.jobs import Run
from maxmargin.lab.requests import RequestError
from maxmargin.lab.traces import SOLVERS, resolved_kernel, trace

TITLE_MAX_LETTERS = 120


def recording(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """A run as a file.

    request: ``tab`` (``"step"``); ``state``, what the tab asks :func:`~maxmargin.lab.traces.trace` for, with its
        ``view``, and with ``second`` and ``sync`` if there is another solver beside the first; ``title``, optional. The
        runs are computed again from the state.
    Returns ``html``, the file's text; ``name``, for saving it; ``frames``, their number.
    """
    requests.choice(request, "tab", ("step", "trace"), "step")
    state = requests.part(request, "state")
    names = [requests.choice(state, "solver", SOLVERS, "smo")]
    if state.get("second"):
        names.append(requests.choice(state, "second", SOLVERS, "smo"))
    title = request.get("title") or f"{' and '.join(SOLVERS[name].title for name in names)}, step by step"
    if not isinstance(title, str) or len(title) > TITLE_MAX_LETTERS:
        raise RequestError(f"title must be a text of at most {TITLE_MAX_LETTERS} characters.", "title")
    X, _ = requests.points(state)
    answers = [trace({**state, "solver": name}, control) for name in names]
    asked = {
        "points": [[*x, int(sign > 0)] for x, sign in zip(X.tolist(), answers[0]["signs"], strict=True)],
        "kernel": resolved_kernel(state, X),
        "C": state.get("C", 1.0),
    }
    data = {
        "runs": [{"request": asked, "answer": answer} for answer in answers],
        "sync": requests.choice(state, "sync", ("iteration", "share"), "iteration"),
        "view": _view(state, X),
    }
    heading = f'<h1 class="unseen">{html.escape(title)}</h1>'
    body = f'<main class="recording step">{heading}<div class="stage" id="run"></div></main>'
    text = bundle.page(title, body, "js/recording.js", data)
    frames = max(len(answer["frames"]) for answer in answers)
    return {"html": text, "name": f"maxmargin-{'-'.join(names)}.html", "frames": frames}


def _view(state: Mapping[str, Any], X: Any) -> dict[str, float]:
    """The view of the state, or a square around the points."""
    if state.get("view") is not None:
        xs, ys = requests.view({"view": state["view"], "grid": [2, 2]})
        return {"x0": float(xs[0]), "x1": float(xs[1]), "y0": float(ys[0]), "y1": float(ys[1])}
    middle = (X.min(axis=0) + X.max(axis=0)) / 2
    half = 0.6 * (float(np.ptp(X, axis=0).max()) or 2.0)
    x, y = (float(value) for value in middle)
    return {"x0": x - half, "x1": x + half, "y0": y - half, "y1": y + half}
