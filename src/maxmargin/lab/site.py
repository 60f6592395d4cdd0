"""The lab as a static site: one HTML file with Classify, Step by step and Lift, which computes by itself.

``export`` writes it into a folder, for a course's web server, a learning platform or an e-mail; ``show`` displays it
in a notebook, with the data and the hyperparameters of an estimator. Both hold everything: no server, no network.
"""

from __future__ import annotations

import html
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.lab import bundle, presets, requests
from maxmargin.lab.tabs import TABS, with_tabs

TRACES = ("smo", "coordinate_descent", "pegasos", "perceptron")  # solvers of js/local/traces.js
SITE_MAX_POINTS = 300


def page(state: dict[str, Any] | None = None) -> str:
    """The site's file; ``state`` is what it opens with, as a link holds it."""
    options = presets.options()
    options["solvers"] = options["solvers"][:1]  # SMO in the page is all there is
    options["multiclass"] = options["multiclass"][:1]
    options["traces"] = TRACES
    data = {
        "options": options,
        "presets": presets.presets(),
        "tours": [{**tour, "steps": [step for step in tour["steps"] if _shown(step)]} for tour in presets.tours()],
        "state": state,
    }
    index = (bundle.STATIC / "index.html").read_text(encoding="utf-8")
    body = re.search(r"<body>(.*)</body>", index, re.DOTALL)
    assert body is not None
    shown = with_tabs(body[1], [name for name, tab in TABS.items() if tab.offline])
    return bundle.page("maxmargin lab", shown, "js/main.js", data)


def _shown(step: dict[str, Any]) -> bool:
    """Whether the page itself has the solvers of a tour's step."""
    return all(step["state"].get(name, "smo") in TRACES for name in ("solver", "second"))


def export(folder: Path | str) -> Path:
    """Write the lab as a static web page into a folder.

    Parameters
    ----------
    folder : path

    Returns
    -------
    Path
        The file to open.

    Examples
    --------
    >>> import tempfile
    >>> from maxmargin.lab import export
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(folder).name
    'index.html'
    """
    found = Path(folder)
    found.mkdir(parents=True, exist_ok=True)
    file = found / "index.html"
    file.write_text(page(), encoding="utf-8")
    return file


class Shown:
    """The lab in a notebook: a frame that holds all of it."""

    def __init__(self, text: str, height: int) -> None:
        self.text, self.height = text, height

    def _repr_html_(self) -> str:
        source = html.escape(self.text, quote=True)
        style = f"width:100%;height:{self.height}px;border:1px solid #d9dcdd;border-radius:6px"
        return f'<iframe title="maxmargin lab" style="{style}" srcdoc="{source}"></iframe>'


def show(estimator: Any, X: Any, y: Any, *, height: int = 640) -> Shown:
    """Show the lab in a notebook with the points and hyperparameters of an estimator.

    Parameters
    ----------
    estimator : SVC
        Its kernel and C are taken over; it need not be fitted.
    X : array of shape (n, 2)
        At most 300 points.
    y : array of shape (n,)
        Their classes, six at most.
    height : int, default=640
        Of the frame, in pixels.

    Returns
    -------
    Shown
        What a notebook displays.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.lab import show
    >>> shown = show(SVC(kernel="linear"), [[-1.0, 0.0], [1.0, 0.0]], ["no", "yes"])
    >>> shown._repr_html_().startswith("<iframe")
    True
    """
    points = np.asarray(X, dtype=np.float64)
    names, codes = np.unique(np.asarray(y), return_inverse=True)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X has shape {points.shape}; the lab shows points in the plane: give two columns.")
    if len(points) > SITE_MAX_POINTS or len(names) > requests.MAX_CLASSES:
        raise ValueError(
            f"The lab in a notebook takes at most {SITE_MAX_POINTS} points of {requests.MAX_CLASSES} classes; these "
            f"are {len(points)} of {len(names)}. Take a part of them."
        )
    parameters = estimator.get_params()
    name = parameters.get("kernel", "linear")
    if name not in requests.PLANE_KERNELS:
        raise ValueError(f"kernel={name!r} is none of {', '.join(requests.PLANE_KERNELS)}, which the lab draws.")
    kernel = {"name": name}
    for key in requests.parameters_of(name):
        value = parameters.get(key)
        if value == "scale":
            value = 1.0 / (2 * points.var()) if points.var() > 0 else 1.0
        kernel[key] = 0.5 if value == "auto" else value
    C = float(parameters.get("C", 1.0))
    span = np.ptp(points, axis=0).max() or 2.0
    low, high = points.min(axis=0) - 0.12 * span, points.max(axis=0) + 0.12 * span
    state = {
        "points": [[*row, int(k)] for row, k in zip(points.tolist(), codes, strict=True)],
        "kernel": kernel,
        "C": "inf" if math.isinf(C) else C,
        "view": {"x0": low[0], "x1": high[0], "y0": low[1], "y1": high[1]},
    }
    return Shown(page({"at": "classify", "tabs": {"classify": state}}), height)
