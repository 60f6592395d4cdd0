"""The C below which an L1 penalty leaves no weight.

At w = 0 with the best intercept b the optimality conditions of min |w|_1 + C sum_i l(y_i (w'x_i + b)) are

    C |sum_i l'(y_i b) y_i x_ij| <= 1    for every column j

so that w = 0 is optimal up to C = 1 / max_j |sum_i l'(y_i b) y_i x_ij|, and not beyond. Of the squared hinge loss
b = (n_+ - n_-) / n, and l'(m) = -2 (1 - m).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import l1_min_c as penalised_intercept_min_c

from maxmargin.runtime.validation import check_choice, check_points

__all__ = ["l1_min_c"]


def l1_min_c(
    X: Any, y: Any, *, loss: str = "squared_hinge", fit_intercept: bool = True, intercept_scaling: float | None = None
) -> float:
    """Compute the largest C for which all coefficients of an L1-penalised linear classifier are zero.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Points.
    y : array-like of shape (n_samples,)
        Labels.
    loss : {"squared_hinge", "log"}, default="squared_hinge"
        The loss of ``LinearSVC``, or that of scikit-learn's ``LogisticRegression``.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, optional
        Scale of a penalised intercept. By default the intercept is free for the squared hinge loss, as in
        ``LinearSVC``, and penalised with scale 1 for "log".

    Returns
    -------
    C : float
        With any larger C at least one coefficient is nonzero.

    Examples
    --------
    >>> from maxmargin import LinearSVC, l1_min_c
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0]], [0, 0, 1]
    >>> least = l1_min_c(X, y)
    >>> [int((LinearSVC(penalty="l1", C=c * least).fit(X, y).coef_ != 0).sum()) for c in (0.9, 1.1)]
    [0, 1]
    """
    check_choice("loss", loss, ("squared_hinge", "log"))
    if loss == "log" or not fit_intercept or intercept_scaling is not None:
        scaling = 1.0 if intercept_scaling is None else intercept_scaling
        found = penalised_intercept_min_c(X, y, loss=loss, fit_intercept=fit_intercept, intercept_scaling=scaling)
        return float(found)
    X = check_points(X)
    Y = LabelBinarizer(neg_label=-1).fit_transform(y)  # one column per class against the rest, or one for two classes
    slopes = -2 * (1 - Y * Y.mean(axis=0)) * Y
    steepest = float(np.abs(np.asarray(X.T @ slopes)).max())
    if steepest == 0:
        raise ValueError(
            "Ill-posed l1_min_c calculation: l1 will always select zero coefficients for this data: no column of X "
            "differs between the classes on average."
        )
    return 1 / steepest
