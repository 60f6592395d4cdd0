"""Laws of predictions: what a fitted model answers is what its public attributes say."""

from __future__ import annotations

import math

import numpy as np

from attack.apart import coefficients, dense, pairs, scheme_of
from attack.case import handed, need, within
from attack.functions import values
from reference.grams import SAFETY, UNIT, scale_gamma


def present_classes(trial):
    """Classes that have weight; the others are never predicted."""
    case, classes = trial.case, trial.model.classes_
    given = case.params.get("class_weight")
    codes = np.searchsorted(classes, case.y)
    w = np.ones(len(codes)) if case.weight is None else case.weight
    factor = (
        np.array([given.get(c, 1.0) for c in classes.tolist()]) if isinstance(given, dict) else np.ones(len(classes))
    )
    return np.bincount(codes, weights=w * factor[codes], minlength=len(classes)) > 0


def voted(f, present):
    """One value per class from the pairs' values: votes, and the summed confidence squeezed below one third."""
    k = len(present)
    votes, confidence = np.zeros((len(f), k)), np.zeros((len(f), k))
    for column, (i, j) in enumerate(pairs(k)):
        wins = f[:, column] >= 0
        votes[:, i] += wins & present[i]
        votes[:, j] += ~wins & present[j]
        confidence[:, i] += f[:, column]
        confidence[:, j] -= f[:, column]
    return votes, confidence


def expansion(trial):
    """decision_function is sum_i c_i k(x_i, x) + b of dual_coef_, the support vectors and intercept_."""
    case, model = trial.case, trial.model
    want, bound = values(trial)
    many = hasattr(model, "classes_") and len(model.classes_) > 2
    by_class = case.params.get("decision_function_shape", "ovr") == "ovr"
    if many and by_class and scheme_of(case, len(model.classes_)) == "ovo":
        return _voted_expansion(trial, want, bound)
    got = trial.decision()
    if hasattr(model, "classes_") and scheme_of(case, len(model.classes_)) == "crammer_singer" and want.shape[1] == 2:
        want, bound = (want[:, 1] - want[:, 0])[:, None], bound.sum(axis=1, keepdims=True)
    elif hasattr(model, "classes_") and want.shape[1] > 1 and scheme_of(case, len(model.classes_)) != "ovo":
        present = present_classes(trial)
        assert (got[:, ~present] == -np.inf).all(), "a class without weight has a finite decision value"
        got, want, bound = got[:, present], want[:, present], bound[:, present]
    within(got.reshape(want.shape), np.asarray(want, np.float64), bound + 1e-300, "decision_function")
    return None


def _voted_expansion(trial, want, bound):
    present = present_classes(trial)
    sure = (np.abs(want) > bound).all(axis=1)
    need(sure.any())
    f = np.asarray(want, np.float64)[sure]
    votes, confidence = voted(f, present)
    error = of_classes(bound[sure], len(present))
    expected = votes + confidence / (3 * (np.abs(confidence) + 1))
    within(trial.decision()[sure], expected, error + 1e-12, "decision_function from votes")


def of_classes(bound, k):
    """What rounding may change in the values of k classes, whose pairs' values it changes by at most ``bound``: each
    class sums those of its pairs, and counts votes."""
    error = np.full((len(bound), k), SAFETY * UNIT * k)
    for column, (i, j) in enumerate(pairs(k)):
        error[:, [i, j]] += bound[:, [column]]
    return error


def prediction(trial):
    """predict is the class that the decision values name: the sign, the most votes, or the largest value; and the label
    of a class without weight is never given."""
    case, model = trial.case, trial.model
    need(hasattr(model, "classes_"))
    want, bound = values(trial)
    labels = model.predict(handed(case, case.new))
    classes, present = model.classes_, present_classes(trial)
    assert np.isin(labels, classes[present]).all(), f"a class without weight is predicted: {np.unique(labels)}"
    k, f = len(classes), np.asarray(want, np.float64)
    need(present.sum() > 1)
    if k == 2 and f.shape[1] == 1:
        sure = np.abs(f[:, 0]) > bound[:, 0]
        codes = (f[:, 0] > 0).astype(int)
    elif scheme_of(case, k) == "ovo":
        sure = (np.abs(f) > bound).all(axis=1)
        votes, confidence = voted(f, present)
        if case.params.get("break_ties"):
            score = votes + confidence / (3 * (np.abs(confidence) + 1))
            top = np.sort(score, axis=1)
            sure &= top[:, -1] - top[:, -2] > 2 * bound.sum(axis=1) + 1e-12
            codes = score.argmax(axis=1)
        else:
            codes = votes.argmax(axis=1)
    else:
        shown = np.where(present, f, -np.inf)
        codes = shown.argmax(axis=1)
        top = np.sort(shown, axis=1)
        sure = top[:, -1] - top[:, -2] > 2 * bound.max(axis=1)
    need(sure.any())
    wrong = sure & (labels != classes[codes])
    assert not wrong.any(), (
        f"predict gives {labels[wrong][0]!r} where the values {f[wrong][0]} say {classes[codes][wrong][0]!r}"
    )


def region(trial):
    """A one-class model calls a point an inlier where its decision value is not negative; offset_ is -intercept_."""
    model, case = trial.model, trial.case
    need(hasattr(model, "offset_") and hasattr(model, "score_samples"))
    f = trial.decision()
    X = handed(case, case.new)
    assert (model.predict(X) == np.where(f >= 0, 1, -1)).all(), "predict is not the sign of decision_function"
    assert np.array_equal(model.offset_, -model.intercept_), "offset_ is not -intercept_"
    scores = model.score_samples(X)
    within(scores - model.offset_, f, 1e-12 * (np.abs(scores) + np.abs(model.offset_)), "score_samples - offset_")


def layout(trial):
    """support_ lists distinct rows of positive weight, class by class, support_vectors_ are those rows, n_support_
    counts them, and every listed row has a coefficient."""
    case, model = trial.case, trial.model
    support, dual = np.asarray(model.support_), dense(model.dual_coef_)
    assert len(np.unique(support)) == len(support) == dual.shape[1], "support_ and dual_coef_ do not match"
    assert np.isfinite(dual).all(), "a coefficient is not finite"
    assert np.isfinite(model.intercept_).all(), "an intercept is not finite"
    assert dual.any(axis=0).all(), "a support vector has no coefficient"
    if case.weight is not None:
        assert (np.asarray(case.weight)[support] > 0).all(), "a row of weight zero is a support vector"
    if not case.precomputed:
        assert np.array_equal(dense(model.support_vectors_), case.X[support]), "support_vectors_ are not X[support_]"
    if hasattr(model, "classes_"):
        code = np.searchsorted(model.classes_, case.y)[support]
        assert (np.diff(code) >= 0).all(), "support_ is not listed class by class"
        assert np.array_equal(np.bincount(code, minlength=len(model.classes_)), model.n_support_), "n_support_ is wrong"
    else:
        assert (np.diff(support) > 0).all(), "support_ is not sorted"
    assert model.report_.n_support == len(support), "the report counts other support vectors"


def bandwidth(trial):
    """gamma="scale" is 1 / (columns times the weighted variance of all entries), "auto" is 1 / columns, and
    the chi-squared kernel has 1 for both."""
    case, model = trial.case, trial.model
    gamma = model.get_params().get("gamma", "scale")
    gamma = "auto" if gamma is None else gamma
    need(not case.precomputed and hasattr(model.kernel_, "gamma") and isinstance(case.params.get("kernel", "rbf"), str))
    need(not case.params.get("kernel", "rbf").startswith("="))
    if case.params.get("kernel") == "chi2" and isinstance(gamma, str):
        want, relative = 1.0, 0.0  # it has neither rule, and keeps its default
    elif gamma == "auto":
        want, relative = 1.0 / case.X.shape[1], 1e-15
    elif gamma == "scale":
        want, relative = scale_gamma(case.X, case.weight)
        need(math.isfinite(want))  # a variance below the smallest number counts as none
    else:
        want, relative = float(gamma), 0.0
    within(model.kernel_.gamma, want, relative * want, "gamma")


def weights_of_features(trial):
    """coef_ of a linear kernel is sum_i c_i x_i."""
    case, model = trial.case, trial.model
    need(type(model.kernel_).__name__ == "Linear")
    A = np.asarray(coefficients(case, model), np.longdouble)
    X = np.asarray(case.X, np.longdouble)
    size = np.asarray(np.abs(A).T @ np.abs(X), np.float64)
    within(dense(model.coef_), np.asarray(A.T @ X, np.float64), 1e-14 * len(X) * size + 1e-300, "coef_")


def one_by_one(trial):
    """A point gets the same value alone as among others, up to the rounding of its own terms."""
    case, model = trial.case, trial.model
    f = trial.decision()
    need(f.ndim == 1)
    _, bound = values(trial)
    points = handed(case, case.new)
    for i in (0, len(case.new) - 1):
        alone = np.asarray(getattr(model, "decision_function", model.predict)(points[i : i + 1]))
        limit = 2 * bound[i].sum() + 1e-300
        assert abs(alone[0] - f[i]) <= limit, f"row {i} alone gives {alone[0]!r}, among others {f[i]!r}"
