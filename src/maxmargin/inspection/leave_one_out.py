"""Exact leave-one-out values of a fitted model: each training row predicted by the model without it.

A row with coefficient zero is no support vector: without it the same coefficients stay feasible and optimal, so that
the model is the same. Every other row is forgotten by a copy of the model, from where its solution is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from maxmargin.runtime.validation import Array
from maxmargin.svm.kernel.classification import SVC
from maxmargin.svm.kernel.regression import SVR


@dataclass(frozen=True)
class LeaveOneOutScores:
    """Leave-one-out predictions and score, as returned by :func:`leave_one_out`.

    Attributes
    ----------
    predictions : array of shape (n,)
        Prediction for each row by the model fitted without it.
    score : float
        Accuracy, or the coefficient of determination R^2.
    n_refits : int
        Models that had to be updated: one per support vector.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, leave_one_out
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = leave_one_out(SVC(C=10.0, warm_start=True).fit(X, y))
    >>> scores.predictions.shape, scores.n_refits < 150
    ((150,), True)
    """

    predictions: Array
    score: float
    n_refits: int


def leave_one_out(estimator: Any) -> LeaveOneOutScores:
    """Compute exact leave-one-out predictions of a fitted model.

    Parameters
    ----------
    estimator : SVC or SVR
        Fitted with ``warm_start=True``, which keeps the training rows. It is not modified. Kernel parameters and class
        weights stay fixed, even if they were computed from the data (``gamma="scale"``, ``"balanced"``).

    Returns
    -------
    LeaveOneOutScores

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, leave_one_out
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10.0, warm_start=True).fit(X, y)
    >>> found = leave_one_out(model)
    >>> found.n_refits == len(model.support_), found.score > 0.95
    (True, True)
    """
    if not isinstance(estimator, (SVC, SVR)):
        raise TypeError(
            f"leave_one_out takes SVC and SVR, whose problem without a row that is no support vector has the same "
            f"solution; got {type(estimator).__name__}. Use sklearn.model_selection.cross_val_predict."
        )
    check_is_fitted(estimator)
    rows = estimator._checked_rows("leave_one_out")
    target, fixed = rows.target, {"kernel": estimator.kernel_}
    if isinstance(estimator, SVC):
        fixed |= {"class_weight": dict(zip(estimator.classes_.tolist(), estimator.class_weight_, strict=True))}
        fixed |= {"calibration": None, "probability": "deprecated"}
        alone = np.flatnonzero(np.bincount(np.searchsorted(estimator.classes_, target)) == 1)
        if len(alone):
            raise ValueError(
                f"the class {estimator.classes_.tolist()[alone[0]]!r} has one row, and without it the model does not "
                "know the class: leave_one_out needs two rows of each."
            )
    predictions = np.asarray(estimator.predict(rows.X))
    for row in np.asarray(estimator.support_):
        without = type(estimator)(**(estimator.get_params(deep=False) | fixed))
        without.__dict__.update({k: v for k, v in vars(estimator).items() if k.endswith("_") or k.startswith("_")})
        predictions[row] = without.forget(row).predict(rows.X[[row]])[0]
    measure = accuracy_score if isinstance(estimator, SVC) else r2_score
    score = float(measure(target, predictions, sample_weight=rows.weight))
    return LeaveOneOutScores(predictions, score, len(estimator.support_))
