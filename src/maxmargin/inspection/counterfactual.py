"""The nearest point with another prediction: what would have to change.

    minimise |x' - x|^2    where   f_j(x') >= margin for all j,    low <= x' <= high

with f_j the function of the wanted class against each other class. For linear functions the solution is the nearest
point; for other kernels, a point with the wanted prediction such that no change of its features to first order is
nearer, the best of several that the search finds (:mod:`maxmargin.inspection._boundary_search`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector

from maxmargin.inspection._boundary_search import BoundarySearch
from maxmargin.inspection._functions import FittedFunctions, dense_points, fitted_functions, winning
from maxmargin.inspection.sensitivities import has_gradient
from maxmargin.kernels import Linear
from maxmargin.kernels.columns import column_indices
from maxmargin.runtime.validation import Array, check_number


@dataclass(frozen=True)
class Counterfactual:
    """A nearby point with the desired prediction, as returned by :func:`counterfactual`.

    Attributes
    ----------
    point : array of shape (d,)
        The new point.
    original : array of shape (d,)
        The point that was passed to :func:`counterfactual`.
    change : array of shape (d,)
        ``point - original``.
    distance : float
        Its length.
    prediction : object
        What the estimator predicts for ``point``.
    decision : float
        Margin of the desired prediction: the smallest of the functions that must be positive.
    nearest : bool
        Whether this is proven to be the nearest such point, which is the case for linear functions.
    feature_names : list of str
        Names of the features.
    before : object
        What the estimator predicts for ``original``.

    Examples
    --------
    >>> from maxmargin import SVC, counterfactual
    >>> model = SVC(kernel="linear", C=10.0).fit([[0.0, 0.0], [4.0, 0.0]], ["no", "yes"])
    >>> print(counterfactual(model, [1.0, 5.0]))
    'yes' instead of 'no', distance 1 (the nearest)
      feature    from  to
    feature 0       1   2
    """

    point: Array
    original: Array
    change: Array
    distance: float
    prediction: Any
    decision: float
    nearest: bool
    feature_names: list[str]
    before: Any

    def __str__(self) -> str:
        kind = " (the nearest)" if self.nearest else ""
        changed = [j for j in np.argsort(-np.abs(self.change), kind="stable") if abs(self.change[j]) > 0]
        lines = [["feature", "from", "to"]]
        lines += [[self.feature_names[j], f"{self.original[j]:.4g}", f"{self.point[j]:.4g}"] for j in changed[:10]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(f"{x:>{w}}" for x, w in zip(line, widths, strict=True)) for line in lines]
        if len(changed) > 10:
            table.append(f"{len(changed) - 10:,} others by less")
        return "\n".join(
            [f"{self.prediction!r} instead of {self.before!r}, distance {self.distance:.4g}{kind}", *table]
        )


def counterfactual(
    estimator: Any, x: Any, target: Any = None, *, fixed: Any = None, bounds: Any = None, margin: float = 1e-6
) -> Counterfactual:
    """Find the nearest point with a different prediction (counterfactual explanation).

    Parameters
    ----------
    estimator : estimator
        A fitted classifier, regression or outlier detector of this library, linear or with a kernel that has a
        derivative.
    x : array-like of shape (d,) or (1, d)
        The point.
    target : object, optional
        The desired prediction: a class, which is to win against every other one (in one-vs-one a tie of votes, which
        ``predict`` decides too, is not enough); 1 or -1 for an outlier detector; an interval ``(low, high)`` for a
        regression, where one end may be infinite. With two classes the default is the other class.
    fixed : columns, optional
        Features that keep their values: positions, names or a mask.
    bounds : pair, optional
        ``(low, high)``, each a number or one per feature; infinite for no bound.
    margin : float, default=1e-6
        The smallest allowed decision value in favour of the desired prediction; the larger, the more certain.

    Returns
    -------
    Counterfactual
        Its ``decision``, computed again at the point, certifies the prediction.

    Raises
    ------
    ValueError
        If there is no such point, or none was found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, counterfactual
    >>> data = load_iris(as_frame=True)
    >>> model = SVC(C=10.0).fit(data.data, data.target)
    >>> found = counterfactual(model, data.data.iloc[[60]], target=2, fixed=["sepal length (cm)", "sepal width (cm)"])
    >>> int(found.prediction), bool(found.decision > 0), found.change[:2]
    (2, True, array([0., 0.]))
    """
    check_number("margin", margin, above=0)
    functions = fitted_functions(estimator, "counterfactual", by_pair=True)
    if not isinstance(functions.kernel, Linear) and not has_gradient(functions.kernel):
        raise ValueError(
            f"counterfactual needs a kernel with a derivative, like RBF or Polynomial; got {functions.kernel!r}."
        )
    row = dense_points(estimator, _as_row(x))
    if len(row) != 1:
        raise ValueError(f"counterfactual takes one point; x has {len(row)} rows.")
    before = np.asarray(estimator.predict(_as_row(x)))[0]
    wanted, functions = _wanted(estimator, functions, target, before)
    names = getattr(estimator, "feature_names_in_", None)
    low, high = _box(row[0], fixed, bounds, names)
    search = BoundarySearch(functions, row[0], low, high, margin)
    point = search.run(wanted)
    kept = np.where(point == row[0], 0.0, point - row[0])
    after = np.asarray(estimator.predict(_like(x, point)))[0]
    return Counterfactual(
        point=point,
        original=row[0],
        change=kept,
        distance=float(np.linalg.norm(kept)),
        prediction=_plain(after),
        decision=float(functions(point[None])[0].min()),
        nearest=isinstance(functions.kernel, Linear),
        feature_names=[f"feature {j}" for j in range(len(point))] if names is None else [str(n) for n in names],
        before=_plain(before),
    )


def _as_row(x: Any) -> Any:
    return x if hasattr(x, "columns") or np.ndim(x) != 1 else np.asarray(x)[None, :]


def _like(x: Any, point: Array) -> Any:
    """The point as ``predict`` takes it: a table with x's columns, if x is one."""
    if not hasattr(x, "columns"):
        return point[None]
    return type(x)({name: [point[j]] for j, name in enumerate(x.columns)})


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _wanted(estimator: Any, functions: FittedFunctions, target: Any, before: Any) -> tuple[str, FittedFunctions]:
    """What is wanted in words, and the functions that have to be positive."""
    if is_classifier(estimator):
        classes = estimator.classes_.tolist()
        if target is None and len(classes) == 2:
            target = classes[1 - classes.index(_plain(before))]
        if target not in classes:
            known = ", ".join(map(repr, classes[:10]))
            raise ValueError(f"target={_plain(target)!r} is not a class of the model; give one of {known}.")
        return repr(_plain(target)), winning(estimator, functions, classes.index(target))
    if is_outlier_detector(estimator):
        target = -before if target is None else target
        if target not in (1, -1):
            raise ValueError(f"target={target!r}: an outlier detector predicts 1 (inside) or -1 (outside).")
        return str(int(target)), functions.mixed(np.array([[float(target)]]), functions.names)
    if not (isinstance(target, (tuple, list)) and len(target) == 2 and target[0] <= target[1]):
        raise ValueError(f"target={target!r}: for a regression give the desired interval, target=(low, high).")
    low, high = float(target[0]), float(target[1])
    if len(functions.intercept) != 1:
        raise ValueError("counterfactual takes a regression of one target.")
    both = functions.mixed(np.array([[1.0, -1.0]]), [">= low", "<= high"])
    shifted = both.intercept + np.array([-low, high])
    kept = np.isfinite(shifted)
    names = [name for name, keep in zip(both.names, kept, strict=True) if keep]
    found = FittedFunctions(both.kernel, both.anchors, both.coefficients[:, kept], shifted[kept], names)
    return f"a value from {low:g} to {high:g}", found


def _box(x: Array, fixed: Any, bounds: Any, names: Any) -> tuple[Array, Array]:
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    if bounds is not None:
        if not (isinstance(bounds, (tuple, list)) and len(bounds) == 2):
            raise ValueError("bounds must be a pair (low, high), each a number or one per feature.")
        low, high = (np.broadcast_to(np.asarray(side, np.float64), x.shape).copy() for side in bounds)
    if fixed is not None and np.size(fixed):
        at = column_indices(fixed, len(x), names, "fixed")
        low[at] = high[at] = x[at]
    wrong = np.flatnonzero(~(low <= high))
    if len(wrong):
        j = int(wrong[0])
        name = f"feature {j}" if names is None else repr(str(names[j]))
        raise ValueError(f"bounds contradict each other for {name}: from {low[j]:g} to {high[j]:g}.")
    return low, high
