"""The perceptron: Rosenblatt's rule step by step, Novikoff's bound, and what it says when it has not converged."""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC
from maxmargin.problems.separability import separability
from maxmargin.svm.perceptron import Perceptron, PerceptronReport

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
NOT_SEPARABLE = pytest.mark.filterwarnings("ignore:Perceptron did not converge")


def two_clouds(n=80, d=3, gap=0.3, seed=0, shift=0.0):
    """Points on the two sides of a random hyperplane, a distance of twice the gap between them."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((n, d))
    y = np.where(X @ w > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X[:2] = np.outer(y[:2], w)
    return X + gap * np.outer(y, w) + shift, y


def rosenblatt(X, y, orders, eta=1.0, fit_intercept=True):
    """The rule itself: all vectors (w, b) on the way, one after each look at a point."""
    v, way = np.zeros(X.shape[1] + 1), []
    for order in orders:
        for i in order:
            z = np.append(X[i], float(fit_intercept))
            if y[i] * (v @ z) <= 0:
                v = v + eta * y[i] * z
            way.append(v)
    return np.array(way)


def orders(model, n, epochs):
    random = np.random.RandomState(model.random_state)
    return [random.permutation(n) if model.shuffle else np.arange(n) for _ in range(epochs)]


# The rule


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"shuffle": False}, {"eta0": 0.25}, {"fit_intercept": False}, {"random_state": 3}, {"average": True}],
    ids=str,
)
def test_every_step_is_rosenblatt_s(parameters, form):
    X, y = two_clouds(gap=0.05)
    X = X.astype(np.float32).astype(np.float64)
    model = Perceptron(**parameters).fit(form(X), y)
    way = rosenblatt(X, y, orders(model, len(y), model.n_iter_), model.eta0, model.fit_intercept)
    expected = way.mean(axis=0) if model.average else way[-1]
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), expected, rtol=1e-12, atol=1e-12)
    steps = np.diff(np.vstack((np.zeros(4), way)), axis=0).any(axis=1)
    assert model.mistakes_[0] == steps.sum()
    np.testing.assert_array_equal(model.history_["mistakes"], steps.reshape(model.n_iter_, -1).sum(axis=1))
    for epoch in range(model.n_iter_):
        end = (epoch + 1) * len(y)
        v = way[:end].mean(axis=0) if model.average else way[end - 1]
        f = X @ v[:-1] + v[-1] * model.fit_intercept
        assert model.history_["errors"][epoch] == np.sum(y * f <= 0)
        assert model.history_["objective"][epoch] == pytest.approx(np.maximum(0, -y * f).mean(), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 6),
    gap=st.floats(0.05, 2.0),
    shift=st.sampled_from([0.0, 1.0]),
    shuffle=st.booleans(),
)
def test_novikoff_s_bound_with_an_intercept(seed, d, gap, shift, shuffle):
    """No more than (R / gamma)^2 mistakes, in the space with a column of ones; gamma from any separating plane."""
    X, y = two_clouds(60, d, gap, seed, shift)
    found = separability(X, y)
    assert found.separable
    v, Z = np.append(found.w, found.b), np.column_stack((X, np.ones(len(X))))
    gamma = (y * (Z @ v)).min() / np.linalg.norm(v)
    bound = (np.linalg.norm(Z, axis=1).max() / gamma) ** 2
    model = Perceptron(shuffle=shuffle, max_iter=int(bound) + 1).fit(X, y)  # an epoch without an end has a mistake
    assert model.converged_
    assert model.mistakes_[0] <= bound
    assert (y * (X @ model.coef_[0] + model.intercept_[0]) > 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_novikoff_s_bound_at_the_widest_margin(seed):
    """Through the origin: gamma is half of the hard margin model's."""
    X, y = two_clouds(60, 2, 0.1, seed)
    trained = SVC(kernel="linear", C=math.inf, fit_intercept=False, tol=1e-8).fit(X, y)
    bound = (np.linalg.norm(X, axis=1).max() * 2 / trained.report_.margin) ** 2
    model = Perceptron(fit_intercept=False, max_iter=100_000).fit(X, y)
    assert model.converged_
    assert model.intercept_ == 0
    assert model.mistakes_[0] <= bound * (1 + 1e-6)


def test_the_step_changes_only_the_scale():
    X, y = two_clouds()
    one, other = Perceptron().fit(X, y), Perceptron(eta0=0.125).fit(X, y)
    np.testing.assert_allclose(other.coef_, 0.125 * one.coef_, rtol=1e-12)
    assert one.mistakes_ == other.mistakes_


@NOT_SEPARABLE
def test_sparse_dense_and_float32_agree():
    X, y = two_clouds(seed=4)
    X = np.where(np.abs(X) < 0.4, 0.0, X).astype(np.float32)
    X[:, 0] += y
    forms = (X, sp.csr_matrix(X), X.astype(np.float64), sp.csc_array(X))
    models = [Perceptron(max_iter=20).fit(form, y) for form in forms]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(Perceptron(max_iter=20).fit(wide, y).coef_, models[0].coef_)


def test_the_order_is_that_of_random_state():
    X, y = two_clouds(gap=0.02)
    same = [Perceptron(random_state=1).fit(X, y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert not np.array_equal(same[0], Perceptron(random_state=2).fit(X, y).coef_)
    np.testing.assert_array_equal(
        Perceptron(shuffle=False, random_state=1).fit(X, y).coef_,
        Perceptron(shuffle=False, random_state=2).fit(X, y).coef_,
    )


# Convergence


def test_separable_data_converges_and_says_so():
    model = Perceptron().fit(IRIS, NAMES == "setosa")
    assert model.converged_
    assert model.score(IRIS, NAMES == "setosa") == 1.0
    assert isinstance(model.report_, PerceptronReport)
    assert model.report_.converged
    assert "converged: no point is on the wrong side" in str(model.report_)
    assert f"{model.mistakes_.sum()} updates" in str(model.report_)
    assert model.report_._repr_html_().count("<tr>") == len(str(model.report_).splitlines())


def test_inseparable_data_is_reported_with_advice():
    y = NAMES == "versicolor"
    with pytest.warns(ConvergenceWarning, match=r"max_iter, after 30 epochs.*separability\(X, y\).*SVC") as caught:
        model = Perceptron(max_iter=30).fit(IRIS, y)
    assert caught[0].filename == __file__
    assert not model.converged_
    assert model.n_iter_ == len(model.history_["epoch"]) == 30
    wrong = np.sum(model.predict(IRIS) != y)
    assert wrong == model.history_["errors"].min()  # the best of all epochs, not the last
    assert f"{wrong} of 150 training points" in str(caught[0].message)
    assert "stopped at max_iter" in str(model.report_)


def test_the_worst_class_is_named():
    with pytest.warns(ConvergenceWarning, match=r"separability\(X, y == 'versicolor'\)"):
        model = Perceptron(max_iter=50).fit(IRIS, NAMES)
    assert model.history_["errors"][model.history_["problem"] == 0][-1] == 0
    assert not model.converged_


def test_averaged_weights_converge_too():
    X, y = two_clouds(gap=0.05, seed=3)
    model = Perceptron(average=True, max_iter=5000).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1.0


def test_tol_gives_up_early():
    X, y = IRIS, NAMES == "versicolor"
    with pytest.warns(ConvergenceWarning, match="no progress above tol in 3 epochs"):
        model = Perceptron(tol=1e-2, n_iter_no_change=3).fit(X, y)
    loss = model.history_["objective"]
    best = np.minimum.accumulate(np.append(np.inf, loss[:-1]))
    without = loss > best - 1e-2
    assert without[-3:].all()
    runs = [without[i : i + 3].all() for i in range(len(loss) - 3)]
    assert not any(runs)


def test_a_time_limit():
    with pytest.warns(ConvergenceWarning, match="stopped at max_seconds"):
        model = Perceptron(max_iter=10**9, max_seconds=0.2).fit(IRIS, NAMES == "versicolor")
    assert model.n_iter_ >= 1


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send SIGINT to one process")
def test_ctrl_c_leaves_the_best_weights_so_far():
    code = f"""
        import os, threading, time, warnings
        from sklearn.datasets import load_iris
        from maxmargin import FitInterrupted, Perceptron
        warnings.simplefilter("ignore")
        X, y = load_iris(return_X_y=True)
        Perceptron(max_iter=2).fit(X, y == 1)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), {int(signal.SIGINT)})).start()
        model = Perceptron(max_iter=10**9)
        try:
            model.fit(X, y == 1)
        except FitInterrupted as interrupt:
            assert interrupt.estimator is model
        assert model.report_.ended == "interrupted by the user"
        assert model.score(X, y == 1) > 0.6
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)


def test_verbose_logs_every_epoch(caplog):
    model = Perceptron(verbose=True).fit(IRIS, NAMES == "setosa")
    assert len(caplog.messages) == model.n_iter_
    assert "errors 0" in caplog.messages[-1]


# Several classes


@NOT_SEPARABLE
def test_more_classes_are_one_against_the_rest():
    model = Perceptron(max_iter=60, shuffle=False).fit(IRIS, NAMES)
    assert model.coef_.shape == (3, 4)
    values = IRIS @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(IRIS), values)
    np.testing.assert_array_equal(model.predict(IRIS), model.classes_[values.argmax(axis=1)])
    for k, label in enumerate(model.classes_):
        alone = Perceptron(max_iter=60, shuffle=False).fit(IRIS, label == NAMES)
        np.testing.assert_array_equal(model.coef_[k], alone.coef_[0])
        assert model.mistakes_[k] == alone.mistakes_[0]
        mine = model.history_["problem"] == k
        np.testing.assert_array_equal(model.history_["epoch"][mine], np.arange(1, mine.sum() + 1))
    assert model.n_iter_ == 60


@NOT_SEPARABLE
def test_it_is_about_as_good_as_scikit_learn_s():
    theirs = sklearn.linear_model.Perceptron(tol=None, max_iter=1000).fit(IRIS, NAMES)
    ours = Perceptron().fit(IRIS, NAMES)
    assert ours.score(IRIS, NAMES) >= theirs.score(IRIS, NAMES) - 0.05
    assert set(clone(ours).get_params()) & set(theirs.get_params()) >= {
        "fit_intercept",
        "max_iter",
        "tol",
        "shuffle",
        "verbose",
        "eta0",
        "random_state",
        "n_iter_no_change",
        "warm_start",
    }
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape == theirs.intercept_.shape


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (-1.0, 1.0), (False, True)], ids=str)
def test_any_labels(labels):
    X, y = two_clouds()
    y = np.array(labels)[(y > 0).astype(int)]
    model = Perceptron().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.classes_.tolist() == list(labels)


def test_tables_and_pickles():
    X, y = two_clouds()
    columns = ["a", "b", "c"]
    plain = Perceptron().fit(X, y)
    for table in (pd.DataFrame(X, columns=columns), pl.DataFrame(X, schema=columns, orient="row")):
        model = Perceptron().fit(table, y)
        assert model.feature_names_in_.tolist() == columns
        np.testing.assert_array_equal(model.coef_, plain.coef_)
    again = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(again.decision_function(X), plain.decision_function(X))


# Going on


def test_a_warm_start_goes_on_from_the_last_weights():
    X, y = two_clouds(gap=0.05)
    model = Perceptron(warm_start=True).fit(X, y)
    before = model.coef_.copy()
    model.fit(X, y)
    assert model.mistakes_.sum() == 0
    assert model.n_iter_ == 1
    np.testing.assert_array_equal(model.coef_, before)
    assert Perceptron().fit(X, y).fit(X, y).mistakes_.sum() > 0
    with pytest.raises(ValueError, match="warm_start=True needs"):
        model.fit(X[:, :2], y)
    with pytest.raises(ValueError, match="warm_start=True needs"):
        Perceptron(warm_start=True).fit(X, y).fit(X, y > 0)


def test_partial_fit_is_one_epoch_at_a_time():
    X, y = two_clouds(gap=0.05)
    model = Perceptron(shuffle=False)
    for _ in range(3):
        for part in (slice(0, 30), slice(30, 80)):
            model.partial_fit(X[part], y[part], classes=[-1.0, 1.0])
    way = rosenblatt(X, y, [np.arange(80)] * 3)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), way[-1], rtol=1e-12)
    assert model.mistakes_[0] == np.diff(np.vstack((np.zeros(4), way)), axis=0).any(axis=1).sum()
    assert model.n_iter_ == 6
    averaged = Perceptron(shuffle=False, average=True)
    for part in (slice(0, 30), slice(30, 80)):
        averaged.partial_fit(X[part], y[part], classes=[-1.0, 1.0])
    np.testing.assert_allclose(np.append(averaged.coef_, averaged.intercept_), way[:80].mean(axis=0), rtol=1e-12)


def test_partial_fit_may_meet_classes_later():
    model = Perceptron().partial_fit(IRIS[:50], NAMES[:50], classes=np.unique(NAMES))
    model.partial_fit(IRIS[50:], NAMES[50:])
    assert model.coef_.shape == (3, 4)
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(IRIS[:1], ["rose"])
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(IRIS[:1], NAMES[:1], classes=["setosa", "rose"])
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        Perceptron().partial_fit(IRIS, NAMES)


# Bad input


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"max_iter": 0}, ValueError, "max_iter must be >= 1"),
        ({"max_iter": 2.5}, TypeError, "max_iter must be an integer"),
        ({"eta0": 0.0}, ValueError, "eta0 must be > 0"),
        ({"eta0": math.inf}, ValueError, "eta0"),
        ({"tol": -1.0}, ValueError, "tol must be >= 0.*None means"),
        ({"tol": "small"}, TypeError, "tol must be a number"),
        ({"shuffle": 1}, TypeError, "shuffle must be True or False"),
        ({"fit_intercept": None}, TypeError, "fit_intercept"),
        ({"average": "yes"}, TypeError, "average"),
        ({"warm_start": 2}, TypeError, "warm_start"),
        ({"n_iter_no_change": 0}, ValueError, "n_iter_no_change"),
        ({"max_seconds": 0}, ValueError, "max_seconds"),
        ({"random_state": "x"}, ValueError, "random"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(parameters, error, message):
    with pytest.raises(error, match=message):
        Perceptron(**parameters).fit(IRIS, NAMES)


def test_bad_data_is_refused():
    with pytest.raises(ValueError, match="number of classes"):
        Perceptron().fit(IRIS, np.zeros(150))
    with pytest.raises(ValueError, match="NaN"):
        Perceptron().fit([[np.nan], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"w'x overflows.*scale"):
        Perceptron().fit(1e200 * IRIS, NAMES == "versicolor")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_sums_that_overflow_with_the_right_sign_are_no_success(form):
    """The first product overflows to the sign of the label, whatever the others are."""
    X = np.array([[1e156, 1e156], [1e156, -3e156], [-1e156, 3e156], [-1e156, -1e156]])
    y = X[:, 0] > 0
    with pytest.raises(ValueError, match=r"w'x overflows.*scale"):
        Perceptron(shuffle=False).partial_fit(form(X), y, classes=[False, True])
    with pytest.raises(ValueError, match=r"w'x overflows.*scale"):
        Perceptron(shuffle=False).fit(form(X), y)


@NOT_SEPARABLE
def test_very_large_and_very_small_values():
    for scale in (1e100, 1e-100, 1e7):
        model = Perceptron(fit_intercept=False, max_iter=2000).fit(scale * (IRIS[:, 2:] - 2.5), NAMES == "setosa")
        assert model.converged_


ESTIMATORS = [Perceptron(), Perceptron(average=True), Perceptron(fit_intercept=False, tol=1e-3)]


@NOT_SEPARABLE  # as the data of some checks is not
@parametrize_with_checks(ESTIMATORS)
def test_it_keeps_scikit_learn_s_contract(estimator, check):
    check(estimator)
