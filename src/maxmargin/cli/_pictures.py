"""The picture that suits a model and its data."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.cli import UserError
from maxmargin.cli._data import take
from maxmargin.cli._model import Model
from maxmargin.cli._options import Voice, counted
from maxmargin.data.table import Table
from maxmargin.data.table_encoder import TableEncoder
from maxmargin.displays import MarginDisplay, RegressionDisplay
from maxmargin.displays._figure import BLUE, CLASSES, MARKERS, axes_of
from maxmargin.kernels import Kernel, Linear
from maxmargin.runtime.validation import Array

ALL_MARKERS_MAX_AREA = 16_000.0  # square points of print that all points take together, before they hide each other
PLANE_MIN_ROWS = 3  # rows that span a plane
DECISION = "decision function f"


def draw(model: Model, points: Any, seed: int, many: int, voice: Voice) -> tuple[str, Any]:
    """(what the picture shows, the figure)."""
    X, y, n = points.X, points.y, points.X.shape[0]
    if n > many:
        rows = np.sort(np.random.default_rng(seed).choice(n, many, replace=False))
        X, y = take(X, rows), None if y is None else y[rows]
        voice.note(f"Note: {many:,} of {n:,} rows are shown, chosen at random.")
    names = model.columns
    if isinstance(X, Table) and X.shape[1] <= 2 and all(form == "number" for form in model.encoder.forms or ["number"]):
        rows = np.flatnonzero(np.isfinite(np.column_stack(X.arrays)).all(axis=1))
        X, y = np.column_stack(X.arrays)[rows], None if y is None else y[rows]
    numbers = not isinstance(X, Table)
    if model.task == "regress":
        assert y is not None
        return _curve(model, X, y, names, points.target) if X.shape[1] == 1 and numbers else _against(model, X, y)
    if X.shape[1] == 2 and numbers:
        return _plane(model, X, y, names)
    return _projection(model, X, y)


def _plane(model: Model, X: Any, y: Array | None, names: list[str] | None) -> tuple[str, Any]:
    """The decision function of two columns."""
    labels = model.estimator.predict(X) if y is None and model.task == "classify" else y
    display = MarginDisplay.from_estimator(model.estimator, X, labels)
    display.support = _support_in_the_plane(model, display.support)
    if names is not None:
        display.axis_names = tuple(names)
    what = "the region" if model.task == "outliers" else "decision function, margin"
    size = float(np.clip(ALL_MARKERS_MAX_AREA / len(display.X), 8.0, 55.0))
    display.plot(size=size).rings_.set(linewidth=1.3 * np.sqrt(size / 55.0))
    return f"{what} and support vectors", display.figure_


def _support_in_the_plane(model: Model, found: Array) -> Array:
    """Support vectors in the columns of the data: the steps before the model, backwards."""
    vectors = getattr(model.svm, "support_vectors_", None)
    if vectors is None or vectors.shape[1:] != (2,):
        return found
    vectors = vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)
    for step in reversed(model.steps[:-1]):
        if isinstance(step, TableEncoder):  # numbers only, see above
            vectors = vectors * step.spread_ + step.center_
        elif hasattr(step, "inverse_transform"):
            vectors = np.asarray(step.inverse_transform(vectors))
    return vectors if vectors.dtype != object else vectors.astype(np.float64)


def _curve(model: Model, X: Any, y: Array, names: list[str] | None, target: str | None) -> tuple[str, Any]:
    display = RegressionDisplay.from_estimator(model.estimator, X.toarray() if sp.issparse(X) else X, y)
    if names is not None:
        display.xlabel = names[0]
    if target is not None:
        display.ylabel = target
    return "the fitted curve", display.plot().figure_


def _against(model: Model, X: Any, y: Array) -> tuple[str, Any]:
    predicted = model.estimator.predict(X)
    figure, ax = axes_of(None, 5.6, 5.2)
    ax.scatter(y, predicted, s=22, color=BLUE, alpha=0.6, edgecolor="white", linewidth=0.4)
    ends = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
    ax.plot(ends, ends, color="0.2", linewidth=1.2, linestyle="--")
    error = float(np.sqrt(np.mean((y - predicted) ** 2)))
    ax.set(xlabel="true", ylabel="predicted", title=f"{type(model.svm).__name__}: RMSE {error:.4g}")
    return "predicted against true numbers", figure


def _projection(model: Model, X: Any, y: Array | None) -> tuple[str, Any]:
    """More columns than a plane has: in the plane that the model decides by, coloured by prediction."""
    n = X.shape[0]
    if n < PLANE_MIN_ROWS:
        raise UserError(f"{counted(n, 'row')} span no plane: give at least {PLANE_MIN_ROWS}.")
    predicted = model.estimator.predict(X)
    shown = np.where(predicted > 0, "inside", "outside") if model.task == "outliers" else predicted
    what, axis_names, places = _decision_plane(model, X)
    figure, ax = axes_of(None)
    for k, name in enumerate(np.unique(shown)):
        style = {"color": CLASSES[k % len(CLASSES)], "marker": MARKERS[k % len(MARKERS)], "label": str(name)}
        ax.scatter(*places[shown == name].T, s=30, edgecolor="white", linewidth=0.4, **style)
    title = f"{type(model.svm).__name__}, coloured by prediction"
    if y is not None and model.task == "classify":
        wrong = predicted != y
        if wrong.any():
            ax.scatter(*places[wrong].T, marker="x", s=45, color="black", linewidth=1.5, label="misclassified")
        title += f"; {int(wrong.sum()):,} of {n:,} wrong"
    if axis_names[0] == DECISION:
        ax.axvline(0, color="0.1", linewidth=2.4, label="f = 0, the boundary", zorder=0)
        for level, label in ((-1, None), (1, "f = ±1, the margin")) if model.task == "classify" else ():
            ax.axvline(level, color="0.1", linewidth=1.2, label=label, zorder=0)
    ax.set(title=title, xlabel=axis_names[0], ylabel=axis_names[1])
    ax.legend(framealpha=0.9, fontsize="small", ncols=1 + len(np.unique(shown)) // 12)
    return f"{what}, coloured by prediction", figure


def _decision_plane(model: Model, X: Any) -> tuple[str, tuple[str, str], Array]:
    """(what, names of the axes, places of the rows).

    Of one decision function f: f and, of what f leaves of the feature vectors, the first principal component, K being
    the kernel matrix, P K P with P = I - f f' / f'f on centred f. Of several functions: their two principal components.
    """
    from sklearn.pipeline import Pipeline

    from maxmargin.kernel_methods.pca import KernelPCA

    Z = Pipeline(model.estimator.steps[:-1]).transform(X) if len(model.steps) > 1 else X
    svm = copy.copy(model.svm)
    if "decision_function_shape" in svm.get_params():
        svm.set_params(decision_function_shape="ovo")  # votes jump, the functions that cast them do not
    f = np.asarray(svm.decision_function(Z), np.float64).reshape(X.shape[0], -1)
    centred = f - f.mean(axis=0)
    if f.shape[1] > 1:
        left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
        shares = sizes**2 / max(float(sizes @ sizes), np.finfo(float).tiny)
        names = [f"decision functions, component {k + 1} ({shares[k]:.0%} of the variance)" for k in range(2)]
        return "the two main directions of the decision functions", (names[0], names[1]), left[:, :2] * sizes[:2]
    kernel: Kernel = getattr(svm, "kernel_", None) or Linear()
    K = kernel(Z)
    direction = centred / max(float(np.linalg.norm(centred)), np.finfo(float).tiny)
    rest = K - direction @ (direction.T @ K)
    rest -= (rest @ direction) @ direction.T
    pca = KernelPCA(n_components=1, kernel="precomputed")
    residual = pca.fit_transform((rest + rest.T) / 2)
    name = "first residual direction"
    return f"the plane of the decision function and the {name}", (DECISION, name), np.hstack([f, residual])
