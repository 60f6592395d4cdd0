"""Points far from the origin and near each other: the linear kernel's values have no digits left of what tells them
apart, and the fit is that of the centred points all the same. Truth is computed with fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from maxmargin import SVC, SVR, NuSVC, NuSVR

OFFSET = 1e8


def data(n=50, d=1, seed=0):
    rng = np.random.default_rng(seed)
    near = np.round(rng.standard_normal((n, d)), 6)
    X = OFFSET + near
    score = (X - OFFSET)[:, 0] + 0.5 * rng.standard_normal(n)
    return X, X - OFFSET, score


def exact_violation(model, X, y, C):
    """m(a) - M(a) of C-SVC with the linear kernel of one column, in exact arithmetic."""
    x = [Fraction(float(value)) for value in X[:, 0]]
    a = [Fraction(0)] * len(x)
    for i, c in zip(model.support_, model.dual_coef_[0], strict=True):
        a[int(i)] = Fraction(float(c))
    w = sum((c * value for c, value in zip(a, x, strict=True)), Fraction(0))
    g = [w * value - (1 if label else -1) for value, label in zip(x, y, strict=True)]
    rise = [g[i] for i in range(len(x)) if a[i] < (Fraction(C) if y[i] else 0)]
    fall = [g[i] for i in range(len(x)) if a[i] > (0 if y[i] else -Fraction(C))]
    return float(max(fall) - min(rise))


@pytest.mark.parametrize("C", [0.004, 0.1, 1.0, 10.0, 1e3])
def test_classification_is_optimal_by_exact_arithmetic(C):
    X, near, score = data()
    y = score > 0
    model, centred = SVC(kernel="linear", C=C).fit(X, y), SVC(kernel="linear", C=C).fit(near, y)
    assert model.report_.converged
    assert exact_violation(model, X, y, C) <= model.tol
    np.testing.assert_allclose(model.decision_function(X), centred.decision_function(near), atol=1e-2)
    assert np.mean(model.predict(X) == centred.predict(near)) >= 0.98
    assert model.report_.primal_objective == pytest.approx(centred.report_.primal_objective, rel=1e-3)


@pytest.mark.parametrize("C", [0.004, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_regression(kind, C):
    X, near, score = data()
    model, centred = kind(kernel="linear", C=C).fit(X, 2 * score), kind(kernel="linear", C=C).fit(near, 2 * score)
    assert model.report_.converged
    np.testing.assert_allclose(model.predict(X), centred.predict(near), atol=1e-2)
    assert np.sqrt(np.mean((model.predict(X) - 2 * score) ** 2)) == pytest.approx(
        model.report_.training_error, rel=1e-5
    )


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes_equal_rows_and_probabilities(multiclass):
    X, near, score = data(90, 3)
    X[:30], near[:30] = X[30:60], near[30:60]
    y = np.digitize(score, [-0.5, 0.5])
    model = SVC(kernel="linear", multiclass=multiclass, calibration="sigmoid").fit(X, y)
    centred = SVC(kernel="linear", multiclass=multiclass, calibration="sigmoid").fit(near, y)
    assert model.report_.converged
    assert model.report_.training_error == np.mean(model.predict(X) != y)
    assert np.mean(model.predict(X) == centred.predict(near)) > 0.98
    np.testing.assert_allclose(model.predict_proba(X), centred.predict_proba(near), atol=0.05)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


def test_nu_classification_and_single_precision():
    X, near, score = data(200, 2, seed=1)
    y = score > 0
    model, centred = NuSVC(kernel="linear", nu=0.5).fit(X, y), NuSVC(kernel="linear", nu=0.5).fit(near, y)
    assert model.report_.converged
    assert np.mean(model.predict(X) == centred.predict(near)) > 0.98
    single = (1000 + near).astype(np.float32)
    model, centred = SVC(kernel="linear").fit(single, y), SVC(kernel="linear").fit(single.astype(float) - 1000, y)
    assert model.report_.converged
    np.testing.assert_allclose(
        model.decision_function(single), centred.decision_function(single.astype(float) - 1000), atol=1e-2
    )
