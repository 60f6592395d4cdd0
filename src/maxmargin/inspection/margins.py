"""Where the points of a classifier lie: functional margin, distance, slack and category of each.

With y = +1 or -1 and f(x) = w'phi(x) + b,

    functional margin   y f(x)
    distance            f(x) / |w|, from the hyperplane, in feature space; its sign says on which side
    slack               xi = max(0, 1 - y f(x))
    margin              2 / |w|, the distance of the planes f = 1 and f = -1

and a point is

    outside         y f > 1            xi = 0
    on              y f = 1            xi = 0,  the only place where 0 < alpha < C
    inside          0 <= y f < 1       0 < xi <= 1
    misclassified   y f < 0            xi > 1

so that the sum of the slacks is never below the number of misclassified points. What a solver leaves equal to 1 is so
up to its tolerance: y f counts as 1 within that. The line between inside and misclassified is sharp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from maxmargin.inspection._functions import FittedFunctions, check_not_pipeline, fitted_functions, winning
from maxmargin.inspection.margin_table import MarginReport
from maxmargin.kernels import Linear, Precomputed
from maxmargin.runtime.validation import Array, Points, check_new_points, check_number, check_targets, shown
from maxmargin.svm.models.multiclass import pairs


def margin_report(
    estimator: Any, X: Any, y: Any, *, classes: Any = None, tolerance: float | None = None
) -> MarginReport:
    """Compute the margin, slack and category of every point for a fitted classifier.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier of this library, with any kernel or linear.
    X : array-like, sparse matrix or list of objects
        Points as for ``predict``: the training points or others.
    y : array-like of shape (n_samples,)
        Their labels.
    classes : label or pair of labels, optional
        The positive class; by default the second of two ``classes_``. With more classes, the binary problem: a pair
        ``(a, b)`` for one-vs-one and the joint problem (only rows of these two classes are reported; for the joint
        problem f is the difference of the two classes' values), a label for one-vs-rest.
    tolerance : float, optional
        How far from 1 a functional margin may be and still count as on the margin. The default is ``tol`` for kernel
        models, the accuracy of their stopping rule (for ``NuSVC`` divided by rho, like its decision values), and 1e-3
        for others.

    Returns
    -------
    MarginReport
        Prints as a table.

    Raises
    ------
    ValueError
        If a label is unknown, or with more than two classes no binary problem of the estimator is named.

    Notes
    -----
    Multipliers belong to training points. X counts as the training set if it has the same number of rows, and its rows
    ``support_`` are the support vectors with their labels; otherwise ``alpha`` is None.

    Examples
    --------
    >>> from maxmargin import SVC, margin_report
    >>> X, y = [[-2.0], [-1.0], [0.5], [1.0], [3.0]], ["a", "a", "a", "b", "b"]
    >>> report = margin_report(SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, y), X, y)
    >>> print(report)
    classes        'b' (+1) against 'a' (-1), 5 points
    margin         4 (2 / |w|, |w| = 0.5)
    categories     1 outside, 2 on, 2 inside, 0 misclassified
    sum of slacks  1.75 >= 0 misclassified
    <BLANKLINE>
    row  label      f   y f  distance  slack  category  alpha
      0      a   -1.5   1.5        -3      0   outside      0
      1      a     -1     1        -2      0        on      0
      2      a  -0.25  0.25      -0.5   0.75    inside      1
      3      b      0     0         0      1    inside      1
      4      b      1     1         2      0        on      0
    """
    check_not_pipeline(estimator, "margin_report")
    check_is_fitted(estimator)
    if not hasattr(estimator, "classes_"):
        raise TypeError(f"margin_report takes a classifier; {type(estimator).__name__} has no classes_.")
    if tolerance is not None:
        check_number("tolerance", tolerance, least=0)
    a, b = _sides(estimator, classes)
    has_kernel = hasattr(estimator, "_expansion")
    X = estimator._new_points(X) if has_kernel else X
    values = estimator._decision(X) if has_kernel else np.asarray(estimator.decision_function(X), np.float64)
    values = values.reshape(len(values), -1)
    labels = check_targets(y, len(values))
    codes = label_codes(labels, estimator.classes_)
    rows = np.arange(len(codes)) if b is None else np.flatnonzero((codes == a) | (codes == b))
    signs = np.where(codes == a, 1.0, -1.0)
    mixture = _mixture(estimator, a, b, values.shape[1])
    norm = _norm(estimator, X, values, mixture)
    alpha = _alpha(estimator, X, codes, a, b) if has_kernel else None
    if tolerance is None:
        tolerance = _tolerance(estimator) if has_kernel else 1e-3
    part = np.flatnonzero(mixture)  # the value of a class without training rows is -inf
    f = (values[:, part] @ mixture[part])[rows]
    margin = signs[rows] * f
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = f / norm
    category = np.select(
        [np.abs(margin - 1.0) <= tolerance, margin > 1.0, margin >= 0.0], ["on", "outside", "inside"], "misclassified"
    )
    labels_of = estimator.classes_.tolist()
    return MarginReport(
        positive=labels_of[a],
        negative=None if b is None else labels_of[b],
        rows=rows,
        labels=labels[rows],
        decision=f,
        functional_margin=margin,
        distance=distance,
        slack=np.maximum(0.0, 1.0 - margin),
        category=category,
        alpha=None if alpha is None else alpha[rows],
        norm=norm,
        tolerance=float(tolerance),
        function=_function(estimator, mixture),
        points=(X if has_kernel else check_new_points(estimator, X))[rows],
    )


def _function(estimator: Any, mixture: Array) -> FittedFunctions | None:
    """f as a function of new points."""
    if isinstance(getattr(estimator, "kernel_", None), Precomputed):
        return None
    return fitted_functions(estimator, "margin_report", by_pair=True).mixed(mixture[:, None], ["f"])


def label_codes(labels: Array, classes: Array) -> Array:
    """The class of each label."""
    known = np.isin(labels, classes)
    if not known.all():
        raise ValueError(
            f"y has the label {labels[~known].tolist()[0]!r}, which the classifier was not fitted with; it knows "
            f"{', '.join(map(repr, classes.tolist()[:10]))}."
        )
    return np.searchsorted(classes, labels)


def _scheme(estimator: Any) -> str:
    return getattr(estimator, "_scheme", getattr(estimator, "multi_class", "ovr"))


def _sides(estimator: Any, asked: Any) -> tuple[int, int | None]:
    """The codes of the positive and the negative class; None for all others."""
    classes = estimator.classes_.tolist()
    chosen = list(asked) if isinstance(asked, (tuple, list)) else [] if asked is None else [asked]
    for label in chosen:
        if label not in classes:
            raise ValueError(
                f"classes={shown(asked)}: there is no class {shown(label)}; the classes are {classes[:10]}."
            )
    codes = [classes.index(label) for label in chosen]
    if len(classes) == 2 and len(codes) <= 2 and len(set(codes)) == len(codes):
        a = codes[0] if codes else 1
        return a, 1 - a
    pairwise = _scheme(estimator) in ("ovo", "crammer_singer")
    wanted = f"classes=({classes[0]!r}, {classes[1]!r})" if pairwise else f"classes={classes[0]!r}"
    if len(codes) != (2 if pairwise else 1) or len(set(codes)) != len(codes):
        raise ValueError(
            f"classes={asked!r} does not name a binary problem. This classifier of {len(classes)} classes has one for "
            f"each {'pair of classes' if pairwise else 'class against the rest'}: choose one, such as {wanted}."
        )
    return codes[0], codes[1] if pairwise else None


def _mixture(estimator: Any, a: int, b: int | None, outputs: int) -> Array:
    """The binary problem's value as a mixture of the classifier's outputs."""
    mixture = np.zeros(outputs)
    if outputs == 1:
        mixture[0] = 1.0 if a == 1 else -1.0
    elif _scheme(estimator) == "crammer_singer":
        mixture[a], mixture[b] = 1.0, -1.0
    elif b is None:
        mixture[a] = 1.0
    else:
        mixture[pairs(len(estimator.classes_)).index((min(a, b), max(a, b)))] = 1.0 if a < b else -1.0
    return mixture


def _norm(estimator: Any, X: Points, values: Array, mixture: Array) -> float:
    """|w|: of the coefficients if the model is linear, else |w|^2 = sum c_i (f(x_i) - b) over the support vectors."""
    expansion = getattr(estimator, "_expansion", None)
    if expansion is None:
        coef = estimator.coef_.toarray() if sp.issparse(estimator.coef_) else np.atleast_2d(estimator.coef_)
        return float(np.linalg.norm(mixture @ coef))
    if isinstance(expansion.kernel, Linear):
        return float(np.linalg.norm(mixture @ expansion.weights))
    if len(expansion.coefficients) == 0:
        return 0.0
    if not isinstance(expansion.kernel, Precomputed):
        at_support = expansion.decision(expansion.anchors)
    elif X.shape == estimator.shape_fit_:
        at_support = values[expansion.anchors]
    else:  # kernel values among the support vectors are not here; the fit had them
        problem, margins = np.flatnonzero(mixture), estimator.report_.margins
        return 2.0 / float(margins[problem[0]]) if len(margins) == len(mixture) and len(problem) == 1 else np.nan
    square = (expansion.coefficients @ mixture) @ ((at_support - expansion.intercept) @ mixture)
    return float(np.sqrt(max(0.0, square)))


def _alpha(estimator: Any, X: Points, codes: Array, a: int, b: int | None) -> Array | None:
    """The multipliers of the training rows, if X and the labels are those of the training set."""
    support, vectors = estimator.support_, estimator.support_vectors_
    if X.shape[0] != estimator.shape_fit_[0]:
        return None
    of_class = np.repeat(np.arange(len(estimator.classes_)), estimator.n_support_)
    if not np.array_equal(codes[support], of_class):
        return None
    if isinstance(estimator.kernel_, Precomputed):
        same = X.shape == estimator.shape_fit_
    elif sp.issparse(X) or sp.issparse(vectors):
        same = (sp.csr_matrix(X[support]) != sp.csr_matrix(vectors)).nnz == 0
    else:
        same = bool(np.all(X[support] == vectors))
    if not same:
        return None
    dual = estimator.dual_coef_.toarray() if sp.issparse(estimator.dual_coef_) else estimator.dual_coef_
    of_support = np.zeros(len(support))
    if _scheme(estimator) == "crammer_singer":  # the multiplier of class k against the own class is -A_ik
        for mine, other in ((a, b), (b, a)):
            of_support[of_class == mine] = np.abs(dual[other, of_class == mine])
    elif len(dual) == 1:
        of_support = np.abs(dual[0])
    elif b is None:
        of_support = np.abs(dual[a])
    else:  # LIBSVM's layout: a support vector of class i has its coefficients against the others, in their order
        for mine, other in ((a, b), (b, a)):
            of_support[of_class == mine] = np.abs(dual[other - (other > mine), of_class == mine])
    alpha = np.zeros(len(codes))
    alpha[support] = of_support
    return alpha


def _tolerance(estimator: Any) -> float:
    """What the stopping rule leaves open in f: tol, and tol / rho where f was divided by rho. The sum of NuSVC's
    multipliers is nu n before that division."""
    if not hasattr(estimator, "nu"):
        return float(estimator.tol)
    dual = estimator.dual_coef_
    rho = float(estimator.nu) * estimator.shape_fit_[0] / max(float(abs(dual).sum()), np.finfo(float).tiny)
    return float(estimator.tol) * max(1.0, 1.0 / rho)


@dataclass(frozen=True)
class ClassMargins:
    """Margins of points against their runner-up classes, as returned by :func:`class_margins`.

    Attributes
    ----------
    margin : array of shape (n,)
        Decision value of the point's class minus that of the runner-up.
    runner_up : array of shape (n,)
        The other class with the largest decision value.
    labels : array of shape (n,)
        The classes of the points.

    Examples
    --------
    >>> from maxmargin import SVC, class_margins
    >>> X, y = [[0.0], [2.0], [4.0]], ["low", "middle", "high"]
    >>> found = class_margins(SVC(kernel="linear", C=10.0).fit(X, y), [[0.5], [3.5]], ["low", "high"])
    >>> found.runner_up
    array(['middle', 'middle'], dtype='<U6')
    >>> print(found)
    2 points, 0 of them with a negative margin; the smallest is that of row 0: 0.5, low before middle
    """

    margin: Array
    runner_up: Array
    labels: Array

    def __str__(self) -> str:
        if len(self.margin) == 0:
            return "0 points"
        row = int(self.margin.argmin())
        negative = np.count_nonzero(self.margin < 0)
        return (
            f"{len(self.margin):,} points, {negative:,} of them with a negative margin; the smallest is that of row "
            f"{row}: {self.margin[row]:.4g}, {self.labels[row]} before {self.runner_up[row]}"
        )


def class_margins(estimator: Any, X: Any, y: Any) -> ClassMargins:
    """Compute the margin of each point between its class and the runner-up.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier of this library, of any number of classes.
    X : array-like, sparse matrix or list of objects
        Points as for ``predict``.
    y : array-like of shape (n,)
        Their labels.

    Returns
    -------
    ClassMargins
        The smallest margins are the points to check first: doubtful or wrong labels.

    Raises
    ------
    ValueError
        If a label is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC, class_margins
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC().fit(X, y)
    >>> found = class_margins(model, X, y)
    >>> bool(np.array_equal(found.margin < 0, model.predict(X) != y))
    True
    """
    check_is_fitted(estimator)
    if not is_classifier(estimator):
        raise TypeError(f"class_margins takes a classifier; got {type(estimator).__name__}.")
    functions = fitted_functions(estimator, "class_margins", by_pair=True)
    points = estimator._new_points(X) if hasattr(estimator, "_new_points") else check_new_points(estimator, X)
    labels = check_targets(y, points.shape[0])
    codes = label_codes(labels, estimator.classes_)
    margin, rival = np.empty(len(codes)), np.empty(len(codes), np.int64)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        values = winning(estimator, functions, int(code))(points[members])
        nearest = values.argmin(axis=1)
        margin[members] = values[np.arange(len(members)), nearest]
        rival[members] = nearest + (nearest >= code)
    return ClassMargins(margin, estimator.classes_[rival], labels)
