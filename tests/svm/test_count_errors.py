"""CountErrorsSVC against all sets of errors, each with its hard margin by a definition of its own."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, CountErrorsSVC, convert_regularization


def hard_margin(X, y):
    """The least |w|^2 with y (X w + b) >= 1, inf if there is none: a problem of least distance, by non-negative least
    squares (Lawson and Hanson 1974, chapter 23). b counts 1e-8 of what w does."""
    G = y[:, None] * np.column_stack([X, np.full(len(X), 1e4)])
    residual = nnls(np.vstack([G.T, np.ones(len(X))]), np.append(np.zeros(G.shape[1]), 1.0))[1]
    return 1 / residual**2 - 1 if residual > 1e-6 else np.inf


def least_objective(X, y, C):
    """|w|^2 + C (errors) of the best set of errors, from few to many."""
    best = C * min(np.count_nonzero(y > 0), np.count_nonzero(y < 0))
    for count in range(len(y)):
        if C * count >= best:
            return best
        for errors in itertools.combinations(range(len(y)), count):
            rows = np.setdiff1d(np.arange(len(y)), errors)
            if len(np.unique(y[rows])) < 2:
                continue
            best = min(best, hard_margin(X[rows], y[rows]) + C * count)
    return best


def overlapping(n, d, seed, shift=0.7):
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, -1.0, 1.0)
    return random.normal(size=(n, d)) + shift * y[:, None], y


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(4, 9), d=st.integers(1, 3), seed=st.integers(0, 10**6), C=st.sampled_from([0.05, 0.5, 2.0, 20.0, 1e3])
)
def test_no_set_of_errors_is_better(n, d, seed, C):
    X, y = overlapping(n, d, seed)
    model = CountErrorsSVC(C=C).fit(X, y)
    assert model.objective_ == pytest.approx(least_objective(X, y, C), rel=1e-5)
    margin = y * model.decision_function(X)
    assert (np.delete(margin, model.error_rows_) > 1 - 1e-5).all()
    assert model.objective_ == pytest.approx(np.sum(model.coef_**2) + C * len(model.error_rows_))
    assert model.lower_bound_ == model.objective_


def test_equal_points_of_two_classes():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([-1.0, 1.0, 1.0, 1.0, -1.0])
    for C in (0.3, 3.0, 30.0):
        assert CountErrorsSVC(C=C).fit(X, y).objective_ == pytest.approx(least_objective(X, y, C), rel=1e-6)


def test_a_large_C_counts_the_fewest_errors_and_a_small_one_predicts_the_larger_class():
    X, y = overlapping(14, 2, 3)
    few = CountErrorsSVC(C=1e5).fit(X, y)
    measured = SVC(kernel="linear", C=1e5).fit(X, y)
    assert len(few.error_rows_) <= np.count_nonzero(y * measured.decision_function(X) < 1 - 1e-3)
    constant = CountErrorsSVC(C=1e-4).fit(X[1:], y[1:])
    assert not constant.coef_.any()
    assert (constant.predict(X) == 1).all()


def test_separable_classes_and_a_large_C_are_the_hard_margin():
    X, y = overlapping(60, 3, 0, shift=4.0)
    model, hard = CountErrorsSVC(C=1e4).fit(X, y), SVC(kernel="linear", C=np.inf, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, hard.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, hard.intercept_, atol=1e-6)
    assert len(model.error_rows_) == 0


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_dozens_of_points(C):
    """The objective is no more than that of the hinge's solution, and of every set near the best one."""
    X, y = overlapping(50, 2, 7)
    model = CountErrorsSVC(C=C).fit(X, y)
    for c in np.geomspace(0.01, 100, 9):
        other = SVC(kernel="linear", C=convert_regularization(c, "norm2_sum", "half_norm2_sum"), tol=1e-9).fit(X, y)
        count = np.count_nonzero(y * other.decision_function(X) < 1 - 1e-7)
        assert model.objective_ <= np.sum(other.coef_**2) + C * count + 1e-5
    for row in range(50):
        errors = np.setxor1d(model.error_rows_, [row])
        rows = np.setdiff1d(np.arange(50), errors)
        assert model.objective_ <= (hard_margin(X[rows], y[rows]) + C * len(errors)) * (1 + 1e-5)


def test_far_from_the_origin_and_sparse():
    X, y = overlapping(16, 2, 5)
    model = CountErrorsSVC().fit(X, y)
    far = CountErrorsSVC().fit(X + 1e6, y)
    np.testing.assert_allclose(far.coef_, model.coef_, atol=1e-5)
    np.testing.assert_array_equal(far.error_rows_, model.error_rows_)
    np.testing.assert_array_equal(CountErrorsSVC().fit(sp.csr_matrix(X), y).coef_, model.coef_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_search_that_is_stopped_says_how_far_it_is():
    X, y = overlapping(40, 2, 1, shift=0.2)
    with pytest.warns(ConvergenceWarning, match=r"raise max_nodes.*no model has less than"):
        stopped = CountErrorsSVC(C=0.5, max_nodes=5).fit(X, y)
    whole = CountErrorsSVC(C=0.5).fit(X, y)
    assert stopped.n_nodes_ <= 6
    assert stopped.lower_bound_ <= whole.objective_ <= stopped.objective_
    assert whole.n_nodes_ > 50
    with pytest.warns(ConvergenceWarning, match="raise max_seconds"):
        CountErrorsSVC(C=0.5, max_seconds=1e-9).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "X", "y", "message"),
    [
        ({"C": 0}, [[0.0], [1.0]], [0, 1], "C must be"),
        ({"C": np.inf}, [[0.0], [1.0]], [0, 1], "C must be"),
        ({"tol": -1}, [[0.0], [1.0]], [0, 1], "tol must be"),
        ({"max_nodes": 0}, [[0.0], [1.0]], [0, 1], "max_nodes must be"),
        ({}, [[0.0], [1.0], [2.0]], [0, 1, 2], r"y has 3 classes: use SVC"),
        ({}, np.zeros((301, 1)), np.arange(301) % 2, r"X has 301 rows; .* exponentially .*SVC\(kernel='linear'\)"),
        ({}, [[-1e200], [1e200]], [0, 1], "scale the columns"),
    ],
)
def test_refused_fits_change_nothing(parameters, X, y, message):
    model = CountErrorsSVC().fit([[0.0], [1.0]], [0, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)


@parametrize_with_checks([CountErrorsSVC()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_keeps_scikit_learn_s_contract(estimator, check):
    check(estimator)
