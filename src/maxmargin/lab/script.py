"""A state of the page as a Python script that shows the same: points, model, comment window, picture.

``WRITERS`` lists a function for each tab, which takes the tab's state, checked as its own request is, and returns the
script. Numbers are written in full, so that the script computes with the same bits as the page.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from maxmargin.lab import requests
from maxmargin.lab.classify import SOFT_MARGIN_C, parameters
from maxmargin.lab.comment import kernel_text
from maxmargin.lab.jobs import Run
from maxmargin.lab.one_class import MIN_POINTS
from maxmargin.lab.requests import RequestError
from maxmargin.runtime.validation import Array

WRITERS = {
    "classify": "maxmargin.lab.script:classify_script",
    "step": "maxmargin.lab.traces:script",
    "trace": "maxmargin.lab.traces:script",
    "lift": "maxmargin.lab.lifting:script",
    "regress": "maxmargin.lab.regress:script",
    "digits": "maxmargin.lab.drawn_digits:script",
}
PICTURE = "maxmargin-lab.png"


def script(request: dict[str, Any], control: Run) -> dict[str, Any]:
    """The answer to ``POST /api/script``.

    request: ``tab``, one of ``WRITERS``, and its ``state``: what the tab asks the server for
    Returns ``script``.
    """
    tab = requests.choice(request, "tab", WRITERS, "classify")
    module, function = WRITERS[tab].split(":")
    return {"script": getattr(importlib.import_module(module), function)(requests.part(request, "state"))}


def heading(what: str) -> list[str]:
    """The first line, and NumPy."""
    return [f"# {what} from the lab of maxmargin.", '# Needs: pip install "maxmargin[plot]"', "import numpy as np", ""]


def literal(name: str, table: Array, columns: str, integers: tuple[int, ...] = ()) -> list[str]:
    """A table of numbers as an array, written in full."""
    rows = [
        ", ".join(str(int(value)) if j in integers else repr(float(value)) for j, value in enumerate(row))
        for row in table.tolist()
    ]
    return [f"{name} = np.array(  # {columns}", "    [", *(f"        [{row}]," for row in rows), "    ]", ")"]


def call(name: str, settings: dict[str, Any]) -> str:
    """An estimator with its parameters."""
    return f"{name}({', '.join(f'{key}={value_text(value)}' for key, value in settings.items())})"


def value_text(value: Any) -> str:
    """A parameter as it is written in a script."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and math.isinf(value):
        return "np.inf"
    return repr(value)


def classify_script(state: dict[str, Any]) -> str:
    """The classifier of points in the plane."""
    X, y = requests.points(state)
    classes = len(np.unique(y))
    if classes == 1 and len(y) >= MIN_POINTS:
        nu = requests.number(state, "nu", 0.1, least=0.001, most=1.0)
        return "\n".join(
            [
                *heading("A one-class support vector machine"),
                "from maxmargin import OneClassSVM",
                "",
                *literal("X", X, "x, y", (2,)),
                f"model = {call('OneClassSVM', {**requests.kernel(state), 'nu': nu, 'tol': 1e-5})}.fit(X)",
                'print("support vectors", len(model.support_), "of", len(X))',
                'print("outside", int((model.predict(X) < 0).sum()), "of", len(X))',
                "",
            ]
        )
    if classes < 2:
        raise RequestError("There is nothing to reproduce yet: place points of two classes first.", "points")
    settings = parameters(state, classes)
    hard, binary = math.isinf(settings["C"]), classes == 2 and "multiclass" not in settings
    names = "SVC, InseparableError" if hard else "SVC"
    lines = heading("A support vector machine")
    lines += [
        f"from maxmargin import {names}{', margin_report' if classes == 2 else ''}",
        "from maxmargin.displays import MarginDisplay",
        "",
        *literal("points", np.column_stack([X, y]), "x, y, class", (2,)),
        "X, y = points[:, :2], points[:, 2].astype(int)",
        "",
    ]
    if hard:
        lines += [
            "try:",
            f"    model = {call('SVC', settings)}.fit(X, y)",
            "except InseparableError as error:",
            "    print(error.proof)",
            f"    model = {call('SVC', {**settings, 'C': SOFT_MARGIN_C})}.fit(X, y)  # a soft margin instead",
        ]
    else:
        lines += [f"model = {call('SVC', settings)}.fit(X, y)"]
    models = 1 if binary or settings.get("multiclass") == "crammer_singer" else 2
    lines += ["", *_comment_lines(models, kernel_text(settings))]
    if classes == 2:
        lines += ["print()", "print(margin_report(model, X, y))  # every point: f, distance, slack, alpha"]
    return "\n".join([*lines, "", *_picture_lines(), ""])


def _comment_lines(models: int, kernel: str) -> list[str]:
    """Code that prints the comment window; see :func:`maxmargin.lab.comment.comment`."""
    margin, norm = ("margin 2/|w|", "|w|") if models == 1 else ("smallest margin", "largest |w|")
    return [
        "report = model.report_",
        "errors = np.count_nonzero(model.predict(X) != y)",
        "# the page counts classes from 1, the points have them from 0",
        'of_class = ", ".join(f"class {k + 1}: {n}" for k, n in zip(model.classes_, model.n_support_))',
        f'print("kernel                {kernel}")',
        'print(f"C                     {model.C:g}")',
        'print(f"support vectors       {report.n_support} of {len(y)} points ({of_class})")',
        f'print(f"{margin:<20}  {{report.margin:.6g}}")',
        'print(f"training errors       {errors} of {len(y)} points ({100 * errors / len(y):.1f} %)")',
        f'print(f"{norm:<20}  {{2 / report.margin:.6g}}")',
        'print(f"kernel evaluations    {report.kernel_evaluations:,}")',
        """print(f"solver                {report.solver.replace('_', ' ')}")""",
        'print(f"iterations            {report.n_iter:,}")',
        'print(f"duality gap           {report.duality_gap:.3g} (relative {report.relative_gap:.1e})")',
    ]


def _picture_lines() -> list[str]:
    return [
        "display = MarginDisplay.from_estimator(model, X, y).plot()",
        f'display.figure_.savefig("{PICTURE}", dpi=150, bbox_inches="tight")',
        f'print("wrote {PICTURE}")',
    ]
