"""The nearest point with another prediction: what would have to change.

    minimise |x' - x|^2    where   f_j(x') >= margin for all j,    low <= x' <= high

with f_j the function of the wanted class against each other class. For linear functions this is a convex problem,
whose solution is the nearest point. For other kernels the functions are replaced by their tangents at a point that has
the wanted prediction, the convex problem is solved, and its solution is brought back across the boundary, again and
again, from several such points: what it finds is a point with the wanted prediction near x, and no change
of its features to first order is nearer.

The convex problem is solved in its dual: x' = clip(x + A'l, low, high) for multipliers l >= 0, one after the other by
bisection, each until its constraint holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import is_classifier, is_outlier_detector

from maxmargin.inspection._functions import FittedFunctions, dense, dense_points, fitted_functions, winning
from maxmargin.inspection.sensitivities import gradient, has_gradient
from maxmargin.kernels import Linear
from maxmargin.kernels.columns import column_indices
from maxmargin.runtime.validation import Array, check_number

MAX_STARTS = 4  # points with the wanted prediction that the search begins at
SEARCH_MAX_STEPS = 100
DUAL_PASSES = 200
MAX_BISECTIONS = 60
RELATIVE_PROGRESS = 1e-6  # of the distance, below which a search ends


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
        The desired prediction: a class; 1 or -1 for an outlier detector; an interval ``(low, high)`` for a regression,
        where one end may be infinite. With two classes the default is the other class.
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

    References
    ----------
    Wachter, S., Mittelstadt, B. and Russell, C. (2018). Counterfactual explanations without opening the black box.
    *Harvard Journal of Law & Technology* 31, 841-887.

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
    row = dense_points(estimator, _as_row(x))
    if len(row) != 1:
        raise ValueError(f"counterfactual takes one point; x has {len(row)} rows.")
    before = np.asarray(estimator.predict(_as_row(x)))[0]
    wanted, functions = _wanted(estimator, functions, target, before)
    if not isinstance(functions.kernel, Linear) and not (row.ndim == 2 and has_gradient(functions.kernel)):
        raise ValueError(
            f"counterfactual needs a kernel with a derivative, like RBF or Polynomial; got {functions.kernel!r}."
        )
    names = getattr(estimator, "feature_names_in_", None)
    low, high = _box(row[0], fixed, bounds, names)
    search = _Search(functions, row[0], low, high, margin)
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


class _Search:
    """The search for one point."""

    def __init__(self, functions: FittedFunctions, x: Array, low: Array, high: Array, margin: float) -> None:
        self.functions, self.x, self.low, self.high, self.margin = functions, x, low, high, margin
        self.anchors = dense(functions.anchors)
        terms = np.abs(functions.kernel.matrix(x[None], self.anchors)[0]) @ np.abs(functions.coefficients)
        size = float((terms + np.abs(functions.intercept)).max(initial=0.0))
        self.aim = margin * (1.0 + 1e-6) + 1e-12 * size  # a little more than what is accepted, for rounding

    def values(self, point: Array) -> Array:
        """All functions at one point."""
        f = self.functions
        return f.kernel.matrix(point[None], self.anchors)[0] @ f.coefficients + f.intercept

    def value(self, point: Array) -> float:
        """The smallest function."""
        return float(self.values(point).min(initial=np.inf))

    def slopes(self, point: Array) -> Array:
        """The derivatives of all functions, one row each."""
        kernel, C = self.functions.kernel, self.functions.coefficients
        return np.array([gradient(kernel, point, self.anchors, C[:, t]) for t in range(C.shape[1])])

    def clip(self, point: Array) -> Array:
        return np.minimum(np.maximum(point, self.low), self.high)

    def run(self, wanted: str) -> Array:
        start = self.clip(self.x)
        if self.value(start) >= self.margin:
            return start
        if isinstance(self.functions.kernel, Linear):
            found = self.project(start, self.values(start), self.slopes(start))
            found = None if found is None else self.restore(found)
            if found is None:
                raise ValueError(f"there is no point with the prediction {wanted} within the bounds.")
            return found
        best = None
        for begin in self.starts():
            found = self.descend(begin)
            if best is None or np.linalg.norm(found - self.x) < np.linalg.norm(best - self.x):
                best = found
        if best is None:
            raise ValueError(
                f"no point with the prediction {wanted} was found within the bounds: the search began at all support "
                "vectors. Fix fewer features, widen the bounds, or lower the margin."
            )
        return best

    def starts(self) -> list[Array]:
        """Points with the wanted prediction: support vectors with the fixed features of x, or where f rises to."""
        inside = np.unique(self.clip(self.anchors), axis=0)
        values = self.functions(inside).min(axis=1)
        order = np.argsort(np.linalg.norm(inside - self.x, axis=1), kind="stable")
        good = [inside[i] for i in order if values[i] >= self.margin][:MAX_STARTS]
        if good:
            return good
        tried = [self.clip(self.x), *inside[np.argsort(-values, kind="stable")[:MAX_STARTS]]]
        risen = [self.rise(point) for point in tried]
        return [point for point in risen if self.value(point) >= self.margin]

    def rise(self, point: Array) -> Array:
        """Where the smallest function is larger."""

        def downhill(at: Array) -> tuple[float, Array]:
            values = self.values(at)
            t = int(values.argmin())
            C = self.functions.coefficients
            return -float(values[t]), -gradient(self.functions.kernel, at, self.anchors, C[:, t])

        found = minimize(
            downhill, point, jac=True, method="L-BFGS-B", bounds=list(zip(self.low, self.high, strict=True))
        )
        return self.clip(found.x)

    def descend(self, point: Array) -> Array:
        """Nearer to x along the boundary, from a point with the wanted prediction."""
        point = self.toward(self.clip(self.x), point)
        for _ in range(SEARCH_MAX_STEPS):
            before = float(np.linalg.norm(point - self.x))
            step = self.project(point, self.values(point), self.slopes(point))
            if step is None:
                return point
            for share in 0.5 ** np.arange(12.0):
                tried = self.restore(self.clip(point + share * (step - point)))
                if tried is not None and np.linalg.norm(tried - self.x) < before:
                    point = tried
                    break
            if before - float(np.linalg.norm(point - self.x)) <= RELATIVE_PROGRESS * before:
                return point
        return point

    def toward(self, outside: Array, inside: Array) -> Array:
        """Where the segment crosses the boundary, on the side of ``inside``."""
        for _ in range(MAX_BISECTIONS):
            middle = (outside + inside) / 2.0
            outside, inside = (outside, middle) if self.value(middle) >= self.margin else (middle, inside)
        return inside

    def restore(self, point: Array) -> Array | None:
        """A point near this one on the right side; None if a few Newton steps find none."""
        for _ in range(8):
            if self.value(point) >= self.margin:
                return point
            values, slopes = self.values(point), self.slopes(point)
            t = int(values.argmin())
            free = np.where(self.low < self.high, slopes[t], 0.0)
            size = float(free @ free)
            if size == 0.0:
                return None
            point = self.clip(point + (self.aim - values[t]) / size * free)
        return None

    def project(self, at: Array, values: Array, slopes: Array) -> Array | None:
        """The point nearest to x where values + slopes (x' - at) >= margin, within the box; None if there is none."""
        needed = self.aim - values + slopes @ at
        farthest = np.where(slopes > 0, self.high, np.where(slopes < 0, self.low, 0.0))
        with np.errstate(invalid="ignore"):
            reach = np.where(slopes != 0, slopes * farthest, 0.0).sum(axis=1)
        if (reach < needed).any():
            return None
        weights = np.zeros(len(values))
        for _ in range(DUAL_PASSES):
            before = weights.copy()
            for t in range(len(weights)):
                weights[t] = self._weight(weights, t, slopes, float(needed[t]))
            if np.abs(weights - before).max(initial=0.0) <= 1e-12 * max(1.0, weights.max(initial=0.0)):
                break
        return self.clip(self.x + weights @ slopes)

    def _weight(self, weights: Array, t: int, slopes: Array, needed: float) -> float:
        """The smallest multiplier for which constraint t holds, given the others."""
        others = self.x + weights @ slopes - weights[t] * slopes[t]

        def reached(weight: float) -> float:
            return float(slopes[t] @ self.clip(others + weight * slopes[t]))

        if reached(0.0) >= needed:
            return 0.0
        low, high = 0.0, max((needed - reached(0.0)) / float(slopes[t] @ slopes[t]), 1e-300)
        if abs(reached(high) - needed) <= 1e-14 * abs(needed):  # no feature is at its bound
            return high
        for _ in range(1000):
            if reached(high) >= needed:
                break
            low, high = high, 2.0 * high
        for _ in range(MAX_BISECTIONS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if reached(middle) >= needed else (middle, high)
        return high
