"""The margin of several classes: how far a point's own class is ahead of the runner-up.

    margin   m(x) = min_{j != y} f_yj(x),      f_yj = f_y - f_j, or the function of the pair in one-vs-one

It is positive where the own class wins against every other one. With one-vs-rest and the joint problem m is the score
of the own class less the largest other one, and negative exactly where the prediction is wrong. With two classes it is
y f.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from maxmargin.inspection._functions import fitted_functions, winning
from maxmargin.inspection.margins import label_codes
from maxmargin.runtime.validation import Array, check_new_points, check_targets


@dataclass(frozen=True)
class ClassMargins:
    """Margins of points against their runner-up classes, as returned by :func:`class_margins`.

    Attributes
    ----------
    margin : array of shape (n,)
        By how much the own class is ahead of the runner-up.
    runner_up : array of shape (n,)
        The other class that is closest, or furthest ahead.
    labels : array of shape (n,)
        The own classes.

    Examples
    --------
    >>> from maxmargin import SVC, class_margins
    >>> X, y = [[0.0], [2.0], [4.0]], ["low", "middle", "high"]
    >>> class_margins(SVC(kernel="linear", C=10.0).fit(X, y), [[0.5], [3.5]], ["low", "high"]).runner_up
    array(['middle', 'middle'], dtype='<U6')
    """

    margin: Array
    runner_up: Array
    labels: Array


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

    References
    ----------
    Crammer, K. and Singer, Y. (2001). On the algorithmic implementation of multiclass kernel-based vector machines.
    *JMLR* 2, 265-292.

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
        raise TypeError(f"class_margins is about classifiers; got {type(estimator).__name__}.")
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
