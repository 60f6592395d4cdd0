"""Learning from streams: against a slow and obvious oracle, against ``fit``, and batch by batch against itself."""

from __future__ import annotations

import copy
import math
import os
import pickle
import signal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin.svm.streaming.learner
from maxmargin import FitInterrupted, LinearSVC, load, save
from maxmargin.runtime.control import watching
from maxmargin.runtime.history import History
from maxmargin.svm.streaming.learner import Stream
from maxmargin.svm.streaming.report import StreamReport, estimate

LOSSES = ["hinge", "squared_hinge"]
INTERCEPTS = [{}, {"intercept_scaling": 2.0}, {"fit_intercept": False}]


def clouds(n_classes=2, n=400, d=5, seed=0, spread=1.5):
    """Overlapping classes in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    return rng.standard_normal((n_classes, d))[y] + spread * rng.standard_normal((n, d)) + 0.3, y


def cut(size, *arrays):
    """Batches of this many rows."""
    return [tuple(a[s : s + size] for a in arrays) for s in range(0, arrays[0].shape[0], size)]


def replayed(trained, X, y, epochs, weight=None, **options):
    """Partial fits of one stream, replayed in a new order each time."""
    rng = np.random.default_rng(0)
    for _ in range(epochs):
        order = rng.permutation(len(y))
        trained.partial_fit(X[order], y[order], sample_weight=None if weight is None else weight[order], **options)
    return trained


def objectives(trained, X, y, weight=None, class_weight=None):
    """The objective of each model, from its definition."""
    weight = np.ones(len(y)) if weight is None else weight
    classes, found = trained.classes_, []
    factor = np.ones(len(classes)) if class_weight is None else class_weight
    codes = np.searchsorted(classes, y)
    for m, (w, b) in enumerate(zip(trained.coef_, trained.intercept_, strict=True)):
        own = codes == (1 if len(classes) == 2 else m)
        slack = np.maximum(0, 1 - np.where(own, 1.0, -1.0) * (X @ w + b))
        price = trained.C * weight * (factor[codes] if len(classes) == 2 else np.where(own, factor[m], 1.0))
        penalised = trained.fit_intercept and trained.intercept_scaling is not None
        square = w @ w + ((b / trained.intercept_scaling) ** 2 if penalised else 0.0)
        found.append(0.5 * square + price @ (slack if trained.loss == "hinge" else slack**2))
    return np.array(found)


def state(trained):
    """All there is in an estimator, bit for bit."""
    return {name: pickle.dumps(value) for name, value in vars(trained).items()}


def oracle(X, codes, weights, k, *, C, squared, intercept, scaling, factor, balanced, size):
    """The mathematics of the module, row by row with whole vectors: all averages and norms are formed as written."""
    positive_classes = [1] if k == 2 else list(range(k))
    w, b = np.zeros((len(positive_classes), X.shape[1])), np.zeros(len(positive_classes))
    iterates, logs, entries, met, t, total, prices = [], [], [], np.zeros(k), 0, 0.0, 0.0
    for x, code, weight in zip(X, codes, weights, strict=True):
        if weight == 0:
            continue
        t, total = t + 1, total + weight
        met[code] += weight
        if balanced:
            factor = np.where(met > 0, met.sum() / (np.count_nonzero(met) * np.where(met > 0, met, 1)), 0)
        if x.any():
            logs.append(math.log(x @ x))
            entries.append(math.log(np.count_nonzero(x)))
        typical = np.mean(logs) if logs else 0.0
        kappa = {"free": math.exp(typical - (np.mean(entries) if entries else 0)), "penalised": scaling**2, "none": 0}
        kappa = kappa[intercept]
        lam = 1 / (C * (total if size is None else size))
        prices += weight * factor[code]
        price = prices / total if k == 2 else max(1.0, prices / total)
        g = (1 + squared) * price * (math.exp(typical) + kappa) * math.sqrt(1 + t / 100)
        eta = 1 / (lam * t + g)
        eta_b = 1 / g if intercept == "free" else eta
        reach = eta * (x @ x) + eta_b * kappa
        w = w / (1 + eta * lam)
        b = b / (1 + eta * lam) if intercept == "penalised" else b
        for m, c in enumerate(positive_classes):
            sign = 1.0 if code == c else -1.0
            if intercept == "free" and t == 1:
                b[m] = sign
            slack = 1 - sign * (w[m] @ x + b[m])
            r = weight * t / total * (factor[code] if k == 2 or code == c else 1.0)
            if slack <= 0 or r == 0 or reach == 0:
                continue
            alpha = slack / (reach + 1 / (2 * r)) if squared else min(r, slack / reach)
            w[m] += alpha * eta * sign * x
            b[m] += alpha * eta_b * sign * kappa
        iterates.append((t**3, w.copy(), b.copy()))
    share = sum(a for a, _, _ in iterates)
    return sum(a * w for a, w, _ in iterates) / share, sum(a * b for a, _, b in iterates) / share


# The learner


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([2, 3, 5]),
    st.booleans(),
    st.sampled_from(["free", "penalised", "none"]),
    st.sampled_from([None, 7.0, 1000.0]),
    st.sampled_from([1e-3, 1.0, 1e3]),
    st.booleans(),
    st.booleans(),
)
def test_it_is_the_mathematics(seed, k, squared, intercept, size, C, balanced, sparse):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4)) * rng.integers(0, 2, (60, 4)) * 10.0 ** rng.integers(-2, 3)
    codes, weights = rng.integers(0, k, 60), rng.choice([0.0, 0.5, 1.0, 3.0], 60)
    codes[:k], weights[:k] = np.arange(k), 1.0
    factor = rng.uniform(0, 2, k)
    stream = Stream.empty(4, k, intercept=intercept, scaling=1.5, size=size)
    points = sp.csr_array(X) if sparse else X
    options = {"C": C, "squared": squared, "balanced": balanced}
    for batch in cut(13, points, codes, weights):
        stream.learn(*batch, class_weight=factor, **options)
    coef, b = stream.mean()
    expected = oracle(X, codes, weights, k, intercept=intercept, scaling=1.5, factor=factor, size=size, **options)
    np.testing.assert_allclose(coef, expected[0], rtol=1e-8, atol=1e-10 * np.abs(expected[0]).max())
    np.testing.assert_allclose(b, expected[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("squared", [False, True])
def test_a_factor_that_becomes_tiny_is_multiplied_out(squared):
    """Prices so low that w shrinks to a fraction with every row."""
    X, y = clouds(3, n=120, d=3)
    stream = Stream.empty(3, 3, intercept="penalised", size=1e-6)
    stream.learn(X, y, np.ones(120), C=1.0, squared=squared)
    expected = oracle(
        X, y, np.ones(120), 3, C=1.0, squared=squared, intercept="penalised", scaling=1.0, factor=np.ones(3),
        balanced=False, size=1e-6,
    )  # fmt: skip
    np.testing.assert_allclose(stream.mean()[0], expected[0], rtol=1e-8)
    np.testing.assert_allclose(stream.mean()[1], expected[1], rtol=1e-8)


@pytest.mark.parametrize("form", ["dense32", "csr64", "csr32", "long indices", "fortran", "explicit zeros"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_forms_of_the_same_rows_give_the_same_model(form, n_classes):
    X, y = clouds(n_classes)
    X = np.where(np.abs(X) < 0.7, 0.0, X).astype(np.float32)
    other = sp.csr_matrix(X)
    if form == "long indices":
        other = sp.csr_array((other.data, other.indices.astype(np.int64), other.indptr.astype(np.int64)), other.shape)
    if form == "explicit zeros":
        other = sp.csr_matrix((X.ravel(), np.tile(np.arange(5), 400), np.arange(0, 2001, 5)), X.shape)
    other = {"dense32": X, "csr64": other.astype(np.float64), "fortran": np.asfortranarray(X)}.get(form, other)
    models = [LinearSVC().partial_fit(points, y, classes=np.unique(y)) for points in (X.astype(np.float64), other)]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-9)
    np.testing.assert_allclose(models[0].intercept_, models[1].intercept_, rtol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("announced", "class_weight"), [(False, None), (True, "balanced"), (False, "balanced")])
@pytest.mark.parametrize(("n_classes", "options"), [(2, {}), (4, {}), (4, INTERCEPTS[1]), (2, INTERCEPTS[2])])
def test_how_the_stream_is_cut_does_not_matter(sparse, announced, n_classes, class_weight, options):
    X, y = clouds(n_classes, n=150)
    X = sp.csr_matrix(np.where(np.abs(X) < 0.5, 0, X)) if sparse else X
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.5], 150)
    classes = np.unique(y) if announced else None
    models = []
    for size in (1, 7, 100, 150):
        model = LinearSVC(loss="hinge", class_weight=class_weight, **options)
        for points, labels, weights in cut(size, X, y, weight):
            model.partial_fit(points, labels, classes, weights)
        models.append(model)
    for model in models[1:]:
        for name in ("coef_", "intercept_", "classes_", "class_weight_", "t_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(models[0], name))


@pytest.mark.parametrize("options", INTERCEPTS)
@pytest.mark.parametrize("order", [[2, 0, 1, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
def test_a_class_met_late_is_what_it_would_be_had_it_been_announced(options, order):
    X, y = clouds(4)
    late = np.argsort(np.array(order)[y] * 50 + np.arange(400), kind="stable")  # classes appear one after the other
    X, y = X[late], y[late]
    for loss in LOSSES:
        met, told, half = (LinearSVC(loss=loss, **options) for _ in range(3))
        for i, (points, labels) in enumerate(cut(9, X, y)):
            met.partial_fit(points, labels)
            told.partial_fit(points, labels, classes=[0, 1, 2, 3])
            half.partial_fit(points, labels, classes=[3, 2, 1, 0] if i >= 20 else None)
        for model in (met, half):
            np.testing.assert_allclose(model.coef_, told.coef_, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(model.intercept_, told.intercept_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", INTERCEPTS)
def test_two_classes_met_on_the_way_are_two_announced(options):
    X, y = clouds(2)
    first = np.argsort(y[:40], kind="stable")[::-1]
    for labels in (y, 1 - y):
        met, told = LinearSVC(**options), LinearSVC(**options)
        for points, these in cut(9, np.vstack((X[first], X[40:])), np.append(labels[first], labels[40:])):
            met.partial_fit(points, these)
            told.partial_fit(points, these, classes=[0, 1])
        np.testing.assert_allclose(met.coef_, told.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(met.intercept_, told.intercept_, rtol=1e-9, atol=1e-12)


def test_the_unit_of_the_columns_does_not_matter():
    X, y = clouds(3)
    here, there = (LinearSVC(C=C).partial_fit(X * unit, y) for unit, C in ((1.0, 1.0), (1024.0, 2.0**-20)))
    np.testing.assert_allclose(there.coef_ * 1024, here.coef_, rtol=1e-9)
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_long_and_short_rows_at_the_start_do_no_lasting_harm(loss):
    X, y = clouds(2, n=2000)
    bad = X.copy()
    bad[:5] *= 1e8
    bad[5:10] *= 1e-8
    bad[10] = 0
    model = replayed(LinearSVC(loss=loss), X, y, 5, stream_size=2000)
    harmed = LinearSVC(loss=loss).partial_fit(bad, y, stream_size=2000)
    assert np.isfinite(harmed.coef_).all()
    harmed = replayed(harmed, X, y, 4)
    assert objectives(harmed, X, y)[0] < 1.05 * objectives(model, X, y)[0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("unit", [0.0, 1e-160, 1e-80, 1e80, 1e99])
@pytest.mark.parametrize("C", [1e-300, 1.0, 1e300])
def test_no_unit_is_too_odd(loss, unit, C):
    X, y = clouds(3)
    for options in INTERCEPTS:
        for points in (X * unit, sp.csr_matrix(X * unit)):
            model = LinearSVC(loss=loss, C=C, **options).partial_fit(points, y)
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.intercept_).all()


# Against fit


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("options", INTERCEPTS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_replays_come_near_the_solution(loss, options, n_classes, C):
    X, y = clouds(n_classes, n=1000)
    best = objectives(LinearSVC(loss=loss, C=C, tol=1e-7, **options).fit(X, y), X, y)
    once = replayed(LinearSVC(loss=loss, C=C, **options), X, y, 1, stream_size=1000)
    often = replayed(once, X, y, 29)
    assert often.t_ == 30_000
    assert (objectives(often, X, y) < 1.01 * best).all()


def test_without_a_size_the_goal_is_the_model_of_all_rows_so_far():
    X, y = clouds(2, n=300)
    model = replayed(LinearSVC(C=3e-5), X, y, 100)
    goal = LinearSVC(C=3e-5 * 100, tol=1e-7).fit(X, y)
    assert np.linalg.norm(model.coef_ - goal.coef_) < 0.15 * np.linalg.norm(goal.coef_)
    once = LinearSVC(C=3e-5, tol=1e-7).fit(X, y)
    assert np.linalg.norm(once.coef_) < 0.5 * np.linalg.norm(goal.coef_)  # the goals do differ
    sized = replayed(LinearSVC(C=3e-5), X, y, 100, stream_size=300)
    assert np.linalg.norm(sized.coef_ - once.coef_) < 0.1 * np.linalg.norm(once.coef_)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_weight_is_a_repetition(n_classes, unit):
    """Only C times the weights matters, as in fit; and so it does where weights are all tiny or huge."""
    X, y = clouds(n_classes, n=600)
    weight = np.random.default_rng(2).choice([0.0, 1.0, 2.0, 5.0], 600)
    best = objectives(LinearSVC(C=0.1, tol=1e-7).fit(X, y, weight), X, y, weight)
    size = unit * weight.sum()
    model = replayed(LinearSVC(C=0.1 / unit), X, y, 30, unit * weight, stream_size=size)
    assert (objectives(model.set_params(C=0.1), X, y, weight) < 1.01 * best).all()
    twice = np.repeat(np.arange(600), weight.astype(int))
    again = replayed(LinearSVC(C=0.1), X[twice], y[twice], 30, stream_size=weight.sum())
    np.testing.assert_allclose(again.coef_, model.coef_, atol=0.06 * np.abs(model.coef_).max())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", [{0: 0.2, 1: 4.0}, "balanced"])
def test_classes_have_their_weights(n_classes, class_weight):
    X, y = clouds(n_classes, n=1500)
    rare = (y == 0) & (np.arange(1500) % 8 > 0)
    X, y = X[~rare], y[~rare]
    if n_classes == 3 and isinstance(class_weight, dict):
        class_weight = {**class_weight, 2: 1.0}
    exact = LinearSVC(C=0.1, tol=1e-7, class_weight=class_weight).fit(X, y)
    model = replayed(LinearSVC(C=0.1, class_weight=class_weight), X, y, 50, stream_size=len(y))
    np.testing.assert_allclose(model.class_weight_, exact.class_weight_)
    factor = exact.class_weight_
    assert (objectives(model, X, y, None, factor) < 1.01 * objectives(exact, X, y, None, factor)).all()


def test_a_dict_may_have_classes_that_are_yet_to_come():
    X, y = clouds(3)
    order = np.argsort(y, kind="stable")
    model = LinearSVC(class_weight={0: 1.0, 1: 2.0, 2: 3.0})
    for batch in cut(50, X[order], y[order]):
        model.partial_fit(*batch)
    np.testing.assert_array_equal(model.class_weight_, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"class_weight\[7\] is -1"):
        LinearSVC(class_weight={7: -1}).partial_fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_after_fit_learning_goes_on_from_its_solution(n_classes, class_weight):
    X, y = clouds(n_classes)
    fitted = LinearSVC(class_weight=class_weight).fit(X, y)
    coef, weights = fitted.coef_.copy(), fitted.class_weight_
    fitted.sparsify().partial_fit(X[:1], y[:1])
    assert not hasattr(fitted, "report_")  # it was about another model
    assert fitted.t_ == len(y) + 1
    assert 0 < np.abs(fitted.coef_ - coef).max() < 0.02 * np.abs(coef).max()
    np.testing.assert_allclose(fitted.class_weight_, weights, rtol=0.01)
    replayed(fitted, X, y, 3, stream_size=len(y))
    best = LinearSVC(class_weight=class_weight, tol=1e-7).fit(X, y)
    found, goal = (objectives(model, X, y, None, best.class_weight_) for model in (fitted, best))
    assert (found < 1.03 * goal).all()
    again = fitted.fit(X, y)  # and a new fit begins anew
    assert hasattr(again, "report_")
    assert again.partial_fit(X[:1], y[:1]).t_ == len(y) + 1


# Interruptions


@pytest.mark.parametrize("way", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("announced", [False, True])
def test_a_copy_in_the_middle_of_the_stream_goes_on_as_if_nothing_had_happened(way, announced):
    X, y = clouds(3)
    classes = [0, 1, 2] if announced else None
    through, other = LinearSVC(class_weight="balanced"), LinearSVC(class_weight="balanced")
    for i, batch in enumerate(cut(37, X, y)):
        through.partial_fit(*batch, classes)
        other = way(other.partial_fit(*batch, classes)) if i % 3 else other.partial_fit(*batch, classes)
    assert state(through) == state(other)
    assert not hasattr(clone(through), "t_")
    assert clone(through).partial_fit(X, y).t_ == 400


@pytest.mark.parametrize("options", INTERCEPTS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_model_file_in_the_middle_of_the_stream_holds_all_of_it(tmp_path, options, n_classes):
    X, y = clouds(n_classes)
    through, other = LinearSVC(**options), LinearSVC(**options)
    for batch in cut(37, X, y):
        through.partial_fit(*batch)
        save(other.partial_fit(*batch), tmp_path / "model")
        other = load(tmp_path / "model")
    assert state(through) == state(other)
    model = LinearSVC(**options).fit_stream(cut(37, X, y), epochs=2)
    save(model, tmp_path / "model")
    assert str(load(tmp_path / "model").stream_report_) == str(model.stream_report_)


REFUSED = {
    "other columns": (lambda X, y: (X[:, :4], y), ValueError, "X has 4 features, but .* is expecting 5 features"),
    "other names": (lambda X, y: (pd.DataFrame(X, columns=list("abcdx")), y), ValueError, r"unseen at fit time:\n- x"),
    "NaN": (lambda X, y: (np.where(X > 2, np.nan, X), y), ValueError, "NaN"),
    "text": (lambda X, y: ([["a"] * 5] * len(y), y), ValueError, r"X contains text in column 0 \(first value 'a'\)"),
    "huge": (lambda X, y: (X * 1e150, y), ValueError, "scale the columns"),
    "unknown class": (
        lambda X, y: (X, np.where(y == 1, 7, y)),
        ValueError,
        r"not among the classes, \[0, 1, 2\]: \[7\]",
    ),
    "other kind": (lambda X, y: (X, y.astype(str)), ValueError, "y has labels like"),
    "quantities": (lambda X, y: (X, y + 0.5), ValueError, "Unknown label type: continuous"),
    "missing labels": (lambda X, y: (X, np.where(y == 1, None, y)), ValueError, "Unknown label type"),
    "too few labels": (lambda X, y: (X, y[1:]), ValueError, "targets?|samples"),
    "other classes": (lambda X, y: (X, y, [0, 1, 2, 3]), ValueError, r"\[3\] were not announced"),
    "no classes": (lambda X, y: (X, y, []), ValueError, "greater than one; got no labels"),
    "one class": (lambda X, y: (X, y, [1]), ValueError, r"greater than one; got 1 class, 1\."),
    "one class, a text": (lambda X, y: (X, y, ["a"]), ValueError, r"greater than one; got 1 class, 'a'\."),
    "negative weight": (
        lambda X, y: (X, y, None, -np.ones(len(y))),
        ValueError,
        "all samples have zero or negative weights",
    ),
    "weights of other length": (lambda X, y: (X, y, None, [0.0, 0.0]), ValueError, "sample_weight.shape"),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_a_batch_that_is_refused_leaves_the_model_as_it_was(name, begun):
    X, y = clouds(3)
    spoil, error, message = REFUSED[name]
    model = LinearSVC()
    if begun:
        names = pd.DataFrame(X, columns=list("abcde")) if name == "other names" else X
        model.partial_fit(names, y, classes=[0, 1, 2])
    elif name in ("other columns", "other names", "unknown class", "other kind", "other classes"):
        return  # nothing to differ from
    before = state(model)
    with pytest.raises(error, match=message):
        model.partial_fit(*spoil(X, y))
    assert state(model) == before
    if begun:
        np.testing.assert_array_equal(model.coef_, LinearSVC().partial_fit(X, y, classes=[0, 1, 2]).coef_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": math.inf}, "hard margin, cannot be learnt from a stream"),
        ({"C": -1}, "C must be > 0"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a dict"),
    ],
)
def test_options_that_no_stream_can_follow_are_refused(options, message):
    X, y = clouds(2)
    for learn in (lambda m: m.partial_fit(X, y), lambda m: m.fit_stream([(X, y)], held_out=None)):
        with pytest.raises(ValueError, match=message):
            learn(LinearSVC(**options))


def test_the_intercept_cannot_change_its_kind_on_the_way():
    X, y = clouds(2)
    model = LinearSVC().partial_fit(X, y).set_params(fit_intercept=False)
    with pytest.raises(ValueError, match="cannot change within a stream"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="stream_size must be > 0"):
        LinearSVC().partial_fit(X, y, stream_size=0)


def test_a_failed_fit_in_between_cannot_mislead_the_stream():
    X, y = clouds(2)
    model = LinearSVC().partial_fit(X, y)
    before = state(model)
    with pytest.raises(ValueError, match="number of classes"):
        model.fit(X[:, :2], np.zeros(400))
    assert state(model) == before
    with pytest.raises(ValueError, match="is expecting 5"):
        model.partial_fit(X[:, :2], y)
    assert state(model) == before
    np.testing.assert_array_equal(model.partial_fit(X, y).coef_, LinearSVC().partial_fit(X, y).partial_fit(X, y).coef_)


# Labels


@pytest.mark.parametrize("kind", [str, bool, float, object, "text objects"])
def test_labels_of_all_kinds(kind):
    X, y = clouds(2)
    labels = {"text objects": np.where(y, "yes", "no").astype(object)}.get(kind)
    labels = y.astype(kind) if labels is None else labels
    model, plain = LinearSVC(), LinearSVC()
    for i in range(0, 400, 50):
        model.partial_fit(X[i : i + 50], labels[i : i + 50])
        plain.partial_fit(X[i : i + 50], y[i : i + 50])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(X), np.unique(labels)[plain.predict(X)])


def test_longer_names_met_later_are_not_cut():
    X, y = clouds(3)
    names = np.array(["a", "somewhat longer", "b"])
    model = LinearSVC()
    for c in (0, 2, 1):
        model.partial_fit(X[y == c], names[y[y == c]].astype(f"<U{len(names[c])}"))
    assert model.classes_.tolist() == ["a", "b", "somewhat longer"]


def test_who_knows_one_class_predicts_it():
    X, y = clouds(3)
    model = LinearSVC().partial_fit(X[y == 1], y[y == 1])
    np.testing.assert_array_equal(model.predict(X), 1)
    model.partial_fit(X[y == 0], y[y == 0])
    assert model.coef_.shape == (1, 5)
    assert model.partial_fit(X[y == 2], y[y == 2]).coef_.shape == (3, 5)


def test_an_announced_class_that_was_not_met_is_not_predicted():
    X, y = clouds(2)
    model = LinearSVC().partial_fit(X, y, classes=[0, 1, 2])
    assert set(model.predict(X)) == {0, 1}
    assert np.isneginf(model.decision_function(X)[:, 2]).all()


def test_rows_without_weight_are_absent():
    X, y = clouds(2)
    model, plain = LinearSVC(), LinearSVC().partial_fit(X, y)
    model.partial_fit(X, y)
    model.partial_fit(1e6 * X, 1 - y, sample_weight=np.zeros(400))
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.t_ == 400


def test_tables_keep_the_names_of_their_columns():
    X, y = clouds(2)
    model = LinearSVC().partial_fit(pd.DataFrame(X, columns=list("abcde")), pd.Series(y))
    assert model.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(model.coef_, LinearSVC().partial_fit(X, y).coef_)


# fit_stream


class Anew:
    """Batches that can be gone through again."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        yield from self.batches


@pytest.mark.parametrize("loss", LOSSES)
def test_fit_stream_is_partial_fit_of_what_is_not_held_out(loss):
    X, y = clouds(3)
    batches = cut(20, X, y)
    model = LinearSVC(loss=loss).fit_stream(batches, epochs=2)
    other = LinearSVC(loss=loss)
    learnt = [batch for i, batch in enumerate(batches) if i not in (0, 10)]  # the first, and then a tenth
    for batch in learnt:
        other.partial_fit(*batch)
    for batch in learnt:
        other.partial_fit(*batch, stream_size=360)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert (model.n_iter_, model.t_, model.stream_report_.size) == (2, 720, 360)


def test_all_ways_to_give_batches():
    X, y = clouds(2)
    batches = cut(20, X, y)
    ways = [batches, tuple(batches), Anew(batches), lambda: iter(batches), lambda: (b for b in batches)]
    models = [LinearSVC().fit_stream(way, epochs=3) for way in ways]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
    once = [LinearSVC().fit_stream(way) for way in (batches, iter(batches), (b for b in batches))]
    np.testing.assert_array_equal(once[0].coef_, once[1].coef_)
    np.testing.assert_array_equal(once[0].coef_, once[2].coef_)
    weighted = LinearSVC().fit_stream([(*b, np.ones(20)) for b in batches], epochs=3)
    np.testing.assert_array_equal(weighted.coef_, models[0].coef_)


def test_a_generator_is_refused_for_several_epochs_and_so_is_what_is_no_stream():
    X, y = clouds(2)
    batches = cut(20, X, y)
    with pytest.raises(ValueError, match=r"generator, which can be iterated only once.*fit_stream\(make\)"):
        LinearSVC().fit_stream((b for b in batches), epochs=2)
    with pytest.raises(TypeError, match=r"must be \(X, y\) or \(X, y, sample_weight\); got ndarray.*\[\(X, y\)\]"):
        LinearSVC().fit_stream((X, y))
    with pytest.raises(TypeError, match="iterable of"):
        LinearSVC().fit_stream(3)
    with pytest.raises(ValueError, match="no batches in epoch 1"):
        LinearSVC().fit_stream([])
    with pytest.raises(ValueError, match="All 1 batch of epoch 1 were held out"):
        LinearSVC().fit_stream([(X, y)])
    with pytest.raises(ValueError, match="epochs must be >= 1"):
        LinearSVC().fit_stream(batches, epochs=0)
    with pytest.raises(ValueError, match=r"held_out must be >= 0 and <= 0\.5"):
        LinearSVC().fit_stream(batches, held_out=0.9)
    spent = iter(batches)
    with pytest.raises(ValueError, match=r"no batches in epoch 2.*new iterator each time"):
        LinearSVC().fit_stream(lambda: spent, epochs=2)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [*INTERCEPTS, {"class_weight": "balanced"}])
def test_the_estimate_is_the_objective_of_rows_that_were_never_learnt(loss, n_classes, options):
    X, y = clouds(n_classes)
    weight = np.random.default_rng(3).choice([0.5, 1.0, 2.0], 400)
    batches = cut(20, X, y, weight)
    model = LinearSVC(loss=loss, C=0.1, **options).fit_stream(batches, epochs=2, held_out=0.2)
    report = model.stream_report_
    held = [i for i in range(20) if math.ceil(i * 0.2) < math.ceil((i + 1) * 0.2)]
    X_held, y_held, weights = (np.concatenate([batches[i][part] for i in held]) for part in range(3))
    assert report.held_out == len(y_held) == 80
    # n of this objective is that of the rows learnt, so the loss is scaled to it
    learnt = weight.sum() - weights.sum()
    scaled = weights * learnt / weights.sum()
    expected = objectives(model, X_held, y_held, scaled, model.class_weight_).sum() / (0.1 * learnt)
    assert report.objective == pytest.approx(expected, rel=1e-9)
    assert report.size == pytest.approx(learnt)
    assert report.error_rate == pytest.approx(np.average(model.predict(X_held) != y_held, weights=weights))
    poisoned = [(b[0], n_classes - 1 - b[1], b[2]) if i in held else b for i, b in enumerate(batches)]
    other = LinearSVC(loss=loss, C=0.1, **options).fit_stream(poisoned, epochs=2, held_out=0.2)
    np.testing.assert_array_equal(other.coef_, model.coef_)
    assert other.stream_report_.objective != report.objective


def test_the_standard_error_is_that_of_the_mean():
    """Over many draws of the held-out rows the estimates scatter as they say."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        values, codes = rng.standard_normal((200, 1)), rng.integers(0, 2, 200)
        weights = rng.choice([0.5, 1.0, 3.0], 200)
        found.append(estimate(values, codes, codes, weights, np.ones(2), squared=True, penalty=0.0))
    objectives = np.array([e.objective for e in found])
    assert np.mean([e.standard_error for e in found]) == pytest.approx(objectives.std(), rel=0.15)


def test_rows_given_for_the_estimate():
    X, y = clouds(2)
    batches = cut(20, X[100:], y[100:])
    model = LinearSVC(loss="hinge").fit_stream(batches, epochs=3, held_out=(X[:100], y[:100]))
    assert model.t_ == 900
    report = model.stream_report_
    assert report.held_out == 100
    assert report.error_rate == np.mean(model.predict(X[:100]) != y[:100])
    plain = LinearSVC(loss="hinge").fit_stream(batches, epochs=3, held_out=None)
    np.testing.assert_array_equal(plain.coef_, model.coef_)
    assert math.isnan(plain.stream_report_.objective)
    assert "there is no estimate" in str(plain.stream_report_)
    with pytest.raises(ValueError, match=r"held_out: .*NaN"):
        LinearSVC().fit_stream(batches, held_out=(X[:100] * np.nan, y[:100]))


def test_the_report_tells_what_was_done():
    X, y = clouds(2, n=1000)
    model = LinearSVC(loss="hinge").fit_stream(cut(50, X, y), epochs=8)
    report = model.stream_report_
    text = str(report)
    assert isinstance(report, StreamReport)
    assert report.complete
    assert report.epochs == model.n_iter_ == 8
    for part in (
        "2 classes, from a stream",
        "C = 1, hinge loss",
        "the stream ended after 8 epochs",
        "7,200 learnt, 100 held",
    ):
        assert part in text
    assert "held out, epoch 8" in text
    assert "held out, epoch 4" not in text
    assert report._repr_html_().startswith("<table>")
    assert isinstance(model.history_, History)
    np.testing.assert_array_equal(model.history_.objective, report.objectives)
    np.testing.assert_array_equal(model.history_.iteration, np.arange(1, 9))
    assert report.advice == ""
    X[:, 1] *= 1e5
    assert "Column 1 varies" in str(LinearSVC().fit_stream(cut(50, X, y)).stream_report_)


def test_only_so_much_is_held_in_memory(monkeypatch):
    monkeypatch.setattr(maxmargin.svm.streaming.learner, "HELD_OUT_MAX_BYTES", 1)
    X, y = clouds(2)
    model = LinearSVC().fit_stream(cut(10, X, y), epochs=2, held_out=0.5)
    assert (model.stream_report_.held_out, model.t_) == (10, 780)


def test_a_loader_may_use_its_memory_again():
    X, y = clouds(2)
    room, labels = np.empty((20, 5)), np.empty(20, int)

    def loader():
        for points, these in cut(20, X, y):
            room[:], labels[:] = points, these
            yield room, labels

    reused, plain = LinearSVC().fit_stream(loader, epochs=2), LinearSVC().fit_stream(cut(20, X, y), epochs=2)
    np.testing.assert_array_equal(reused.stream_report_.objectives, plain.stream_report_.objectives)


@pytest.mark.parametrize("fitted", [False, True])
def test_a_bad_batch_is_named_and_leaves_the_estimator_as_it_was(fitted):
    X, y = clouds(2)
    batches = cut(20, X, y)
    batches[7] = (batches[7][0] * np.nan, batches[7][1])
    model = LinearSVC()
    if fitted:
        model.fit(X[:, :3], y)
    before = state(model)
    with pytest.raises(ValueError, match=r"batch 8 of epoch 1: .*NaN"):
        model.fit_stream(batches)
    assert state(model) == before
    model.fit_stream(batches[:7]).set_params(warm_start=True)
    before = state(model)
    for some in (batches[7:], batches):
        with pytest.raises(ValueError, match=r"batch \d of epoch 1: .*NaN"):
            model.fit_stream(some)
        assert state(model) == before
    with pytest.raises(ValueError, match="batch 1 of epoch 1"):
        LinearSVC().fit_stream(batches[7:])
    with pytest.raises(NotFittedError):
        LinearSVC().predict(X)


def test_it_begins_anew_unless_it_is_a_warm_start():
    X, y = clouds(2)
    model = LinearSVC().fit_stream(cut(20, X, y))
    coef = model.coef_
    np.testing.assert_array_equal(model.fit_stream(cut(20, X, y)).coef_, coef)
    assert model.fit_stream(cut(20, X[:, :2], y)).n_features_in_ == 2
    warm = LinearSVC(warm_start=True).fit_stream(cut(20, X, y)).fit_stream(cut(20, X, y))
    assert (warm.t_, warm.stream_report_.rows) == (720, 360)
    assert not np.array_equal(warm.coef_, coef)


def test_partial_fit_goes_on_after_fit_stream_and_n_grows_again():
    X, y = clouds(2)
    model = LinearSVC().fit_stream(cut(20, X, y), epochs=3)
    model.partial_fit(X[:40], y[:40])
    assert not hasattr(model, "stream_report_")
    assert model._stream.size == 360 + 40
    assert model.t_ == 3 * 360 + 40


def test_the_deadline_leaves_the_model_so_far():
    X, y = clouds(2)
    model = LinearSVC(max_seconds=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"cut short in epoch 1, after 20 rows: .*raise max_seconds"):
        model.fit_stream(cut(20, X, y), epochs=10)
    assert not model.stream_report_.complete
    assert "time limit" in model.stream_report_.ended
    np.testing.assert_array_equal(model.coef_, LinearSVC().partial_fit(X[20:40], y[20:40]).coef_)


def test_the_deadline_is_obeyed_inside_a_large_batch(monkeypatch):
    monkeypatch.setattr("maxmargin.svm.streaming.learner.CALL_MAX_ENTRIES", 100)
    X, y = clouds(2)
    with pytest.warns(ConvergenceWarning, match="cut short in epoch 1, after 10 rows"):
        LinearSVC(max_seconds=1e-9).fit_stream([(X, y)], held_out=None)


def test_ctrl_c_leaves_the_model_so_far():
    X, y = clouds(2)

    def batches():
        for i, batch in enumerate(cut(20, X, y)):
            if i == 5:
                os.kill(os.getpid(), signal.SIGINT)
            yield batch

    model = LinearSVC()
    with (
        pytest.raises(FitInterrupted),
        pytest.warns(ConvergenceWarning, match="cut short in epoch 1, after 100 rows: interrupted by the user"),
    ):
        model.fit_stream(batches)
    assert (model.t_, model.stream_report_.complete) == (100, False)


def test_progress_is_told(capsys, caplog, monkeypatch):
    monkeypatch.setattr(maxmargin.svm.streaming.learner, "REPORT_SECONDS", 0.0)
    X, y = clouds(2)
    seen = []
    with watching(seen.append):
        model = LinearSVC(verbose=1).fit_stream(cut(100, X, y), epochs=2)
    assert [progress.iteration for progress in seen] == [1, 2]
    assert seen[-1].primal == model.stream_report_.objective
    lines = (capsys.readouterr().err or caplog.text).splitlines()
    assert sum("batch" in line for line in lines) == 6
    assert sum("held out: objective" in line for line in lines) == 2
    caplog.clear()
    LinearSVC().fit_stream(cut(100, X, y))
    assert capsys.readouterr().err + caplog.text == ""


def test_classes_met_only_in_rows_held_out_are_known_and_not_predicted():
    X, y = clouds(3)
    two = y < 2
    model = LinearSVC().fit_stream(cut(20, X[two], y[two]), held_out=(X[:50], y[:50]))
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) == {0, 1}
    assert model.stream_report_.error_rate >= np.mean(y[:50] == 2)


@parametrize_with_checks([LinearSVC(loss="hinge")])
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("options", [{"multi_class": "crammer_singer"}, {"penalty": "l1"}])
def test_models_that_know_no_streams(options):
    X, y = clouds(2)
    model = LinearSVC(**options)
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model, "fit_stream")
    with pytest.raises(AttributeError, match="partial_fit"):
        model.partial_fit(X, y)
