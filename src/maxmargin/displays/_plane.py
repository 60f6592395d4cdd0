"""A classifier on points of two columns: its values on a grid, the category of points, support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.displays._figure import BLUE, CLASSES, VERMILION, caption_items, dense, last_step, transformed
from maxmargin.inspection.margins import margin_report
from maxmargin.kernels import Precomputed
from maxmargin.runtime.validation import Array, as_objects, check_points, check_targets
from maxmargin.svm.report import FitReport

REST_COLOUR = "0.45"  # of all other classes


def two_columns(X: Any, estimator: Any) -> Array:
    remedy = "Fit on two columns, or on a projection to two, such as KernelPCA(n_components=2).fit_transform(X)."
    if as_objects(X) is not None:
        raise ValueError(f"X is a list of objects, not of points with two columns. {remedy}")
    if isinstance(getattr(estimator, "kernel_", None), Precomputed):
        raise ValueError(f"With kernel='precomputed' X is a kernel matrix, not points with two columns. {remedy}")
    points = dense(check_points(X)).astype(np.float64)
    if points.shape[1] != 2:
        raise ValueError(f"X has {points.shape[1]} columns, and the plot needs two. {remedy}")
    return points


def side_of(values: Array, pad: float, resolution: int) -> Array:
    low, high = float(values.min()), float(values.max())
    extra = pad * (high - low) if high > low else max(1.0, abs(low))
    return np.linspace(low - extra, high + extra, int(resolution))


def has_hyperplane(estimator: Any) -> bool:
    return hasattr(estimator, "_expansion") or hasattr(estimator, "coef_")


def one_class(estimator: Any, X: Any, grid: Any, support: Array) -> dict[str, Any]:
    last = last_step(estimator)
    inside = estimator.decision_function(X) >= 0
    return {
        "values": estimator.decision_function(grid),
        "codes": inside.astype(np.int64),
        "names": ("outside the region", "inside the region"),
        "colours": (VERMILION, BLUE),
        "regions": False,
        "levels": (0.0,),
        "category": np.full(len(inside), ""),
        "support": support,
        "caption": caption_items(last, float(np.mean(~inside))),
    }


def regions(estimator: Any, X: Any, y: Any, grid: Any, support: Array) -> dict[str, Any]:
    last = last_step(estimator)
    classes = last.classes_
    predicted = estimator.predict(X)
    labels = check_targets(y, len(predicted))
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"y has the label {labels[unknown].tolist()[0]!r}, which the classifier was not fitted with; it knows "
            f"{', '.join(map(repr, classes.tolist()[:10]))}."
        )
    wrong = predicted != labels
    return {
        "values": np.searchsorted(classes, estimator.predict(grid)),
        "codes": np.searchsorted(classes, labels),
        "names": [str(label) for label in classes.tolist()],
        "colours": [_colour(k) for k in range(len(classes))],
        "regions": True,
        "levels": (),
        "category": np.where(wrong, "misclassified", ""),
        "support": support,
        "caption": caption_items(last, float(np.mean(wrong))),
    }


def _colour(code: int) -> str:
    return CLASSES[code % len(CLASSES)]


def one_hyperplane(estimator: Any, X: Any, y: Any, grid: Any, support: Array, classes: Any) -> dict[str, Any]:
    """One hyperplane: of two classes, or of one binary problem of more."""
    last, inner = last_step(estimator), transformed(estimator, X)
    if not has_hyperplane(last):
        raise ValueError(f"classes={classes!r}: {type(last).__name__} has no binary problems; leave it out.")
    report = margin_report(last, inner, y, classes=classes)
    labelled = last.classes_.tolist()
    positive = labelled.index(report.positive)
    # On the grid every label is as good as another; with the positive one all rows belong to the problem.
    n_grid = len(grid)
    labels = np.repeat(last.classes_[positive : positive + 1], n_grid)
    values = margin_report(last, transformed(estimator, grid), labels, classes=classes).decision
    by_margin = isinstance(getattr(last, "report_", None), FitReport)
    category = report.category if by_margin else np.where(report.category == "misclassified", "misclassified", "")
    points = dense(check_points(X))[report.rows]
    if report.alpha is not None:
        support = points[report.alpha > 0]
    elif by_margin and not hasattr(last, "support_vectors_"):  # a linear model: where its loss is not flat
        training = len(points) == last.report_.n_samples  # a pair of the joint problem has no loss of its own
        support = points[category != "outside"] if training else points[:0]
    elif len(labelled) > 2:
        support = points[:0]
    one: dict[str, Any] = {} if len(labelled) == 2 else {"margin": report.margin, "n_support": len(support)}
    rest = report.negative is None
    return {
        "rows": report.rows,
        "values": values,
        "codes": (report.labels == last.classes_[positive]).astype(np.int64),
        "names": ("the rest" if rest else str(report.negative), str(report.positive)),
        "colours": (REST_COLOUR if rest else _colour(labelled.index(report.negative)), _colour(positive)),
        "regions": False,
        "levels": (-1.0, 0.0, 1.0) if by_margin else (0.0,),
        "category": category,
        "support": support,
        "caption": caption_items(last, report.n_errors / max(1, len(points)), **one),
    }
