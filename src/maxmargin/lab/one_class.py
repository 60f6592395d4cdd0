"""Points of one class: the region that holds most of them, by the one-class SVM.

    f(x) = sum_i alpha_i k(x_i, x) - rho,    0 <= alpha_i <= 1,    sum_i alpha_i = nu n

f > 0 is inside. At most a share nu of the points is outside, at least a share nu are support vectors.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from maxmargin import OneClassSVM
from maxmargin.lab import requests
from maxmargin.lab.comment import kernel_text
from maxmargin.runtime.validation import Array

MIN_POINTS = 3
TOL = 1e-5
BOUNDARY_TOL = 1e-4  # |f| that counts as on the boundary, relative to rho


def region(
    X: Array, y: Array, request: dict[str, Any], axes: tuple[Array, Array], max_seconds: float | None
) -> dict[str, Any]:
    """The one-class SVM of these points as Classify shows it."""
    settings = requests.kernel(request)
    nu = requests.number(request, "nu", 0.1, least=0.001, most=1.0)
    model = OneClassSVM(**settings, nu=nu, tol=TOL, max_seconds=max_seconds).fit(X)
    grid = np.column_stack([side.ravel() for side in np.meshgrid(*axes)])
    f = model.decision_function(X)
    on = BOUNDARY_TOL * max(1.0, abs(float(model.offset_[0])))
    category = np.select([np.abs(f) <= on, f > 0], ["on", "outside"], "misclassified")
    empty = bool((category == "on").all()) and len(np.unique(X, axis=0)) > 1  # w = 0: what is left of f is rounding
    values = np.full(len(grid), np.nan) if empty else model.decision_function(grid)
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    outside = int(np.count_nonzero(category == "misclassified"))
    n, n_support = len(X), len(model.support_)
    columns = {"f": f, "alpha": alpha, "slack": np.maximum(0.0, -f), "category": category, "support": alpha > 0}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [
        f"kernel                {kernel_text(model.get_params())}",
        f"nu                    {nu:g}",
        f"support vectors       {n_support} of {n} points (at least {100 * nu:.0f} %)",
        f"outside               {outside} of {n} points (at most {100 * nu:.0f} %)",
        "Only one class is drawn: a one-class SVM finds a region that contains most of its points.",
    ]
    if empty:
        lines.append(
            "No boundary exists (w = 0), because the origin lies among the points: choose the Gaussian kernel."
        )
    elif settings["kernel"] == "linear":
        lines.append("With the linear kernel the region is a half-plane: choose the Gaussian kernel.")
    return {
        "kind": "one_class",
        "classes": [int(y[0])],
        "values": base64.b64encode(values.astype("<f4").tobytes()).decode(),
        "grid": [len(axes[0]), len(axes[1])],
        "points": [dict(zip(columns, row, strict=True)) for row in rows],
        "n_support": n_support,
        "margin": None,
        "certificate": "",
        "comment": lines,
        "report": {"errors": outside},
    }
