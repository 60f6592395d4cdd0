"""Values of a fitted model from its public attributes, and a bound of what rounding may change in them."""

from __future__ import annotations

import numpy as np

from attack.apart import coefficients, dense
from attack.case import need
from reference.grams import SAFETY, UNIT, gram


def values(trial, points=None):
    """Values of all outputs at points, shape (n, outputs), from the definition; and the bound of their rounding."""
    case, model = trial.case, trial.model
    points = case.new if points is None else points
    intercept = np.ravel(model.intercept_)
    if hasattr(model, "landmarks_"):
        need(not case.precomputed)
        return gram(model.kernel_, points, dense(model.landmarks_)).expand(model.coefficients_, intercept)
    if hasattr(model, "dual_coef_") and hasattr(model, "support_"):
        return trial.kernel(points, case.X).expand(coefficients(case, model), intercept)
    if hasattr(model, "dual_coef_"):  # ridge regression: a coefficient for every row
        dual = np.asarray(model.dual_coef_)
        return trial.kernel(points, case.X).expand(dual.reshape(len(case.X), -1), intercept)
    W = np.atleast_2d(dense(model.coef_)).astype(np.longdouble)
    X = np.asarray(points, np.longdouble)
    size = np.asarray(np.abs(X) @ np.abs(W).T + np.abs(intercept), np.float64)
    return X @ W.T + intercept, SAFETY * UNIT * (X.shape[1] + 2) * size


def core(case, model):
    """What a fit has learnt, per training row where the model is a sum over them: arrays that must not change."""
    intercept = np.ravel(np.asarray(model.intercept_, np.float64))
    if hasattr(model, "landmarks_"):
        return {"landmarks_": dense(model.landmarks_), "coefficients_": model.coefficients_, "intercept_": intercept}
    if hasattr(model, "coef_") and not hasattr(model, "support_"):
        return {"coef_": np.atleast_2d(dense(model.coef_)), "intercept_": intercept}
    return {"rows": coefficients(case, model), "intercept_": intercept}
