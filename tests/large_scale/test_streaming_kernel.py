"""StreamingKernelSVC: the stream over its features is that of LinearSVC, and it learns what no line separates."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, LinearSVC, Nystroem, RandomFeatures, StreamingKernelSVC
from maxmargin.kernels import Polynomial

random = np.random.default_rng(0)
X = random.uniform(-1, 1, (3000, 2))
Y = np.array(["out", "in"])[(np.hypot(*X.T) < 0.6).astype(int)]


@pytest.mark.parametrize(
    "options",
    [
        {"gamma": 2.0},
        {"features": "nystroem", "gamma": 2.0},
        {"features": "nystroem", "kernel": Polynomial(2)},
        {"features": RandomFeatures(100, gamma=3.0, random_state=1)},
        {"features": Nystroem(gamma=3.0, n_components=50, random_state=1), "loss": "hinge"},
    ],
)
def test_it_learns_a_circle_batch_by_batch(options):
    model = StreamingKernelSVC(C=10.0, **options)
    for start in range(0, 2500, 250):
        model.partial_fit(X[start : start + 250], Y[start : start + 250], classes=["in", "out"])
    assert model.score(X[2500:], Y[2500:]) > 0.93
    assert LinearSVC().fit(X[:2500], Y[:2500]).score(X[2500:], Y[2500:]) < 0.8
    by_hand = LinearSVC(C=10.0, loss=model.loss)
    for start in range(0, 2500, 250):
        by_hand.partial_fit(
            model.features_.transform(X[start : start + 250]), Y[start : start + 250], classes=["in", "out"]
        )
    np.testing.assert_array_equal(by_hand.coef_, model.linear_.coef_)
    np.testing.assert_array_equal(by_hand.decision_function(model.features_.transform(X)), model.decision_function(X))


def test_fit_comes_near_the_kernel():
    model = StreamingKernelSVC(gamma=1.0, n_components=800, C=10.0, loss="hinge").fit(X[:800], Y[:800])
    exact = SVC(gamma=1.0, C=10.0).fit(X[:800], Y[:800])
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.97
    model.partial_fit(X[800:], Y[800:])  # goes on from there
    assert model.score(X, Y) > 0.95


def test_classes_as_they_come_sparse_rows_names_and_pickles():
    model = StreamingKernelSVC(gamma=2.0).partial_fit(sp.csr_matrix(X[:300]), Y[:300])
    model.partial_fit(X[300:600], np.where(X[300:600, 0] > 0.8, "right", Y[300:600]))
    assert model.classes_.tolist() == ["in", "out", "right"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    named = StreamingKernelSVC().partial_fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    with pytest.raises(ValueError, match="feature names"):
        named.partial_fit(pd.DataFrame(X, columns=["a", "c"]), Y)


@pytest.mark.parametrize(
    ("parameters", "call", "message"),
    [
        ({}, lambda m: m.partial_fit(X[:, :1], Y), "features"),
        ({}, lambda m: m.partial_fit(X, Y[:5]), "inconsistent|samples"),
        ({}, lambda m: m.partial_fit([[np.nan, 0.0]], ["in"]), "NaN"),
        ({}, lambda m: m.partial_fit(X[:2], ["in", "elsewhere"]), "not among the classes"),
        ({"C": 0}, lambda m: m.partial_fit(X, Y), "C must be"),
        ({"features": "fourier"}, lambda m: m.fit(X, Y), "features must be one of 'nystroem', 'random'"),
        ({"kernel": "poly"}, lambda m: m.fit(X, Y), "Nystroem takes any kernel"),
        ({"n_components": 0}, lambda m: m.fit(X, Y), "n_components"),
    ],
)
def test_refused_batches_change_nothing(parameters, call, message):
    model = StreamingKernelSVC(gamma=2.0).partial_fit(X, Y, classes=["in", "out"])
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=message):
        call(model.set_params(**parameters))
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_before_a_fit():
    with pytest.raises(NotFittedError):
        StreamingKernelSVC().predict(X)


@parametrize_with_checks([StreamingKernelSVC(n_components=60), StreamingKernelSVC(features="nystroem")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_keeps_scikit_learn_s_contract(estimator, check):
    check(estimator)
