"""Probabilities: maps against textbook minimisers, out-of-fold values against refits, and agreement with predict."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, LinearSVC, NuSVC
from maxmargin.displays.reliability import ReliabilityDisplay
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers import Start
from maxmargin.svm.calibration import (
    METHODS,
    Calibration,
    IsotonicMap,
    SigmoidMap,
    TemperatureMap,
    agreeing,
    couple,
    fit_isotonic,
    fit_sigmoid,
    fit_temperature,
    out_of_fold,
)
from maxmargin.svm.calibration.folds import quotas, stratified_folds
from maxmargin.svm.calibration.linear_folds import LinearMatrix, linear_values, suits
from maxmargin.svm.kernel import calibrating
from maxmargin.svm.models.multiclass import pairs


def noisy(n, seed=0, scale=1.0):
    """Decision values and labels that follow a sigmoid of them."""
    rng = np.random.RandomState(seed)
    values = scale * rng.randn(n)
    positive = rng.rand(n) < 1 / (1 + np.exp(-(1.5 * values / scale - 0.5)))
    positive[:2] = True, False
    return values, positive, rng.randint(1, 4, n).astype(float)


def platt_loss(theta, values, positive, weight):
    """The objective of Platt's paper, as printed."""
    up, down = weight[positive].sum(), weight[~positive].sum()
    t = np.where(positive, (up + 1) / (up + 2), 1 / (down + 2))
    p = np.clip(1 / (1 + np.exp(-(theta[0] * values + theta[1]))), 1e-300, 1 - 1e-16)
    return -np.sum(weight * (t * np.log(p) + (1 - t) * np.log(1 - p)))


# Sigmoid


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1e-6, 1.0, 1e6]))
def test_sigmoid_minimises_platts_objective(seed, scale):
    values, positive, weight = noisy(40, seed, scale)
    fitted = fit_sigmoid(values, positive, weight)
    own = platt_loss([fitted.slope, fitted.offset], values, positive, weight)
    if fitted.slope == 0:
        oracle = minimize(lambda t: platt_loss([0.0, t[0]], values, positive, weight), [0.0])
    else:
        oracle = minimize(lambda t: platt_loss([t[0] / scale, t[1]], values, positive, weight), [1.0, 0.0])
    assert own <= oracle.fun + 1e-6 * abs(oracle.fun)


def test_sigmoid_weight_two_is_a_repetition():
    values, positive, _ = noisy(30)
    once = fit_sigmoid(np.repeat(values, 2), np.repeat(positive, 2), np.ones(60))
    twice = fit_sigmoid(values, positive, np.full(30, 2.0))
    assert once.slope == pytest.approx(twice.slope, rel=1e-9)
    assert once.offset == pytest.approx(twice.offset, rel=1e-9)


def test_sigmoid_never_falls():
    fitted = fit_sigmoid(np.array([-1.0, -2.0, 1.0, 2.0]), np.array([True, True, False, False]), np.ones(4))
    assert fitted.slope == 0
    assert fitted(np.array([-9.0, 9.0])) == pytest.approx([0.5, 0.5])


def test_separated_values_do_not_claim_certainty():
    values = np.array([-3.0, -2.0, 2.0, 3.0])
    fitted = fit_sigmoid(values, values > 0, np.ones(4))
    assert fitted(values) == pytest.approx([0.25, 0.25, 0.75, 0.75], abs=0.05)  # Platt's targets
    assert np.isfinite([fitted.slope, fitted.offset]).all()


def test_sigmoid_does_not_overflow():
    assert SigmoidMap(1.0, 0.0)(np.array([-1e308, 1e308])) == pytest.approx([0.0, 1.0])
    with np.errstate(all="raise", under="ignore"):
        assert fit_sigmoid(np.array([-1e200, 1e200, 5e199]), np.array([False, True, True]), np.ones(3)).slope > 0


# Isotonic


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_isotonic_is_the_max_min_of_means(seed):
    """p_i = max over a <= i of min over b >= i of the mean of a..b: the textbook's formula."""
    values, positive, weight = noisy(15, seed)
    order = np.argsort(values)
    t, w = positive[order].astype(float), weight[order]
    expected = [
        max(min(np.average(t[a : b + 1], weights=w[a : b + 1]) for b in range(i, 15)) for a in range(i + 1))
        for i in range(15)
    ]
    up, down = weight[positive].sum(), weight[~positive].sum()
    expected = np.clip(expected, 1 / (down + 2), (up + 1) / (up + 2))
    assert fit_isotonic(values, positive, weight)(values[order]) == pytest.approx(expected)


def test_isotonic_merges_equal_values():
    fitted = fit_isotonic(np.zeros(4), np.array([True, False, False, False]), np.ones(4))
    assert fitted(np.array([-1.0, 0.0, 1.0])) == pytest.approx([0.25] * 3)


# Temperature


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_temperature_minimises_the_cross_entropy(seed, k):
    rng = np.random.RandomState(seed)
    scores, codes, weight = rng.randn(50, k), rng.randint(k, size=50), rng.rand(50) + 0.1
    scores[np.arange(50), codes] += 1.0

    def loss(slope):
        z = slope * scores
        spread = np.sort(scores.max(axis=1) - scores.min(axis=1))[25]
        own = np.log(np.exp(z).sum(axis=1)) - z[np.arange(50), codes]
        return weight @ own + np.log1p(np.exp(slope * spread))

    oracle = minimize_scalar(loss, bounds=(0, 100), method="bounded", options={"xatol": 1e-10})
    assert loss(fit_temperature(scores, codes, weight).slope) <= oracle.fun + 1e-9


def test_temperature_of_separated_scores_is_finite():
    scores = np.array([[5.0, 0.0], [0.0, 5.0], [4.0, 0.0]])
    assert 0 < fit_temperature(scores, np.array([0, 1, 0]), np.ones(3)).slope < 1e3


def test_temperature_of_scores_without_information():
    assert fit_temperature(np.zeros((4, 2)), np.array([0, 1, 0, 1]), np.ones(4))(np.zeros((1, 2))).tolist() == [
        [0.5, 0.5]
    ]


def test_one_value_is_two_scores():
    values = np.array([-2.0, 0.5, 3.0])
    both = TemperatureMap(0.7)(np.column_stack((np.zeros(3), values)))
    assert TemperatureMap(0.7)(values) == pytest.approx(both[:, 1])


# Coupling


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_coupling_recovers_consistent_pairs(seed, k):
    p = np.random.RandomState(seed).dirichlet(np.ones(k)) + 1e-3
    p /= p.sum()
    r = np.array([[p[i] / (p[i] + p[j]) for i, j in pairs(k)]])
    assert couple(r, np.ones(k, bool))[0] == pytest.approx(p, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 5))
def test_coupling_minimises_its_objective(seed, k):
    r = np.random.RandomState(seed).uniform(0.02, 0.98, (1, k * (k - 1) // 2))

    def objective(p):
        return sum(((1 - r[0, t]) * p[i] - r[0, t] * p[j]) ** 2 for t, (i, j) in enumerate(pairs(k)))

    p = couple(r, np.ones(k, bool))[0]
    oracle = minimize(
        objective, np.full(k, 1 / k), bounds=[(0, 1)] * k, constraints={"type": "eq", "fun": lambda p: p.sum() - 1}
    )
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1)
    assert objective(p) <= oracle.fun + 1e-9


def test_coupling_leaves_out_absent_classes():
    r = np.array([[0.9, 0.3, 0.2]])  # the pair (0, 2) says 0.3; class 1 is not there
    p = couple(r, np.array([True, False, True]))
    assert p[0] == pytest.approx([0.3, 0.0, 0.7])
    assert couple(r, np.array([False, True, False])).tolist() == [[0.0, 1.0, 0.0]]


# Agreement


@pytest.mark.parametrize("k", [2, 3, 7])
def test_agreement_on_a_million_rows(k):
    rng = np.random.RandomState(k)
    n = 350_000
    p = rng.randint(0, 4, (n, k)) + 1e-3 * rng.randint(0, 2, (n, k))  # many ties
    p = (p + (p.sum(axis=1, keepdims=True) == 0)) / (p + (p.sum(axis=1, keepdims=True) == 0)).sum(axis=1, keepdims=True)
    codes = rng.randint(k, size=n)
    q = agreeing(p, codes)
    assert np.array_equal(q.argmax(axis=1), codes)
    assert np.array_equal(q[:, ::-1].argmax(axis=1), k - 1 - codes)  # the largest is the only one
    assert np.abs(q.sum(axis=1) - 1).max() < 1e-14
    assert q.min() >= 0
    agreed = (p >= p[np.arange(n), codes][:, None]).sum(axis=1) == 1
    assert np.array_equal(q[agreed], p[agreed])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_agreement_is_the_nearest(seed, k):
    rng = np.random.RandomState(seed)
    p, code = rng.dirichlet(np.ones(k)), int(rng.randint(k))
    q = agreeing(p[None], np.array([code]))[0]
    oracle = minimize(
        lambda x: np.sum((x - p) ** 2),
        np.full(k, 1 / k),
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - 1},
            {"type": "ineq", "fun": lambda x: x[code] - np.delete(x, code)},
        ],
    )
    assert np.sum((q - p) ** 2) <= oracle.fun + 1e-7


def test_agreement_keeps_two_classes_monotone():
    f = np.linspace(-2, 2, 401)
    p = SigmoidMap(1.0, 0.5)(f)
    q = agreeing(np.column_stack((1 - p, p)), (f > 0).astype(int))[:, 1]
    assert (np.diff(q) >= -1e-15).all()
    assert (q[f > 0] > 0.5).all()
    assert (q[f <= 0] < 0.5).all()


# Folds


def test_folds_are_even_and_the_same_every_time():
    codes = np.repeat([0, 1, 2, 3], [52, 11, 3, 1])
    folds = stratified_folds(codes, 4)
    for k, size in enumerate([52, 11, 3]):
        counts = np.bincount(folds.of_row[codes == k], minlength=5)
        assert counts.max() - counts.min() <= 1
        assert counts.sum() == size
    assert folds.of_row[-1] == -1
    assert folds.alone.tolist() == [3]
    assert folds.few.tolist() == [2]
    assert np.array_equal(folds.of_row, stratified_folds(codes, 4).of_row)


def test_a_large_class_is_judged_by_some_of_its_rows():
    codes = np.repeat([0, 1, 2], [10_000, 300, 60])
    folds = stratified_folds(codes, 3, quota=np.array([4000, 120, 24]))
    judged = folds.of_row >= 0
    assert np.bincount(codes[judged]).tolist() == [4000, 120, 60]  # a small class is spared nothing
    assert np.array_equal(judged, folds.factor > 0)
    assert np.bincount(codes, weights=folds.factor) == pytest.approx([10_000, 300, 60])  # they stand for all
    assert np.ptp(np.bincount(folds.of_row[judged])) <= 3


def test_rows_are_judged_until_support_vectors_are_many():
    codes = np.repeat([0, 1], [30_000, 10_000])
    few, many = (quotas("sigmoid", codes, 2, n_support) for n_support in (500, 20_000))
    assert few.tolist() == [30_000, 10_000]
    assert many.sum() < 10_000
    assert many[0] == pytest.approx(3 * many[1], abs=3)
    assert quotas("isotonic", codes, 2, 20_000).sum() > many.sum()
    assert quotas("sigmoid", codes[:100], 2, 1).tolist() == [100, 0]


def captured(monkeypatch, name, fit):
    """The arguments and results of the out-of-fold values that a fit asks for."""
    calls = []
    plain = getattr(calibrating, name)

    def spy(*args):
        calls.append((args, plain(*args)))
        return calls[-1][1]

    monkeypatch.setattr(calibrating, name, spy)
    fit()
    return calls


@pytest.mark.parametrize(
    ("trained", "n"),
    [
        (SVC(C=2.0, gamma=0.2), 300),
        (SVC(C=2.0, gamma=0.2), 1600),
        (SVC(C=2.0, gamma=0.2, fit_intercept=False), 300),
        (NuSVC(nu=0.4, gamma=0.2), 300),
        (NuSVC(nu=0.4, gamma=0.2, fit_intercept=False), 300),
    ],
    ids=str,
)
def test_out_of_fold_values_are_those_of_refits(trained, n, monkeypatch):
    X, y = make_classification(n, 6, n_informative=4, flip_y=0.1, random_state=1)
    trained = clone(trained).set_params(calibration="sigmoid")
    calls = captured(monkeypatch, "kernel_values", lambda: trained.fit(X, y))
    ((problem, gram, _, _, folds, judged, _), values) = calls[0]
    assert judged.all()
    K = gram.block(np.arange(gram.n), np.arange(gram.n))
    own = SVC if isinstance(trained, SVC) else NuSVC
    options = {"fit_intercept": trained.fit_intercept, "kernel": "precomputed", "tol": 1e-6}
    options |= {"C": trained.C} if own is SVC else {"nu": trained.nu}
    for k in range(5):
        rest, held = np.flatnonzero(folds != k), np.flatnonzero(folds == k)
        refit = own(**options).fit(K[np.ix_(rest, rest)], problem.target[rest])
        expected = refit.decision_function(K[np.ix_(held, rest)])
        assert np.sqrt(np.mean((values[held] - expected) ** 2)) < 0.08
        assert np.corrcoef(values[held], expected)[0, 1] > 0.995


def test_many_rows_are_judged_near_the_margin_only(monkeypatch):
    """More rows than a matrix holds, and a band too narrow that must be given up: both stay near refits."""
    X, y = make_classification(4200, 6, n_informative=4, flip_y=0.1, random_state=1)
    for moved in (0.0, 2.0):
        monkeypatch.setattr(out_of_fold, "BAND_MIN_SHARE", moved)
        trained = SVC(C=2.0, gamma=0.2, calibration="sigmoid")
        (((problem, gram, _, _, folds, judged, _), values),) = captured(
            monkeypatch, "kernel_values", lambda trained=trained: trained.fit(X, y)
        )
        rest, held = np.flatnonzero(folds != 0), np.flatnonzero((folds == 0) & judged)
        refit = SVC(C=2.0, kernel="precomputed").fit(gram.block(rest, rest), problem.target[rest])
        expected = refit.decision_function(gram.block(held, rest))
        assert np.sqrt(np.mean((values[held] - expected) ** 2)) < 0.1
        monkeypatch.undo()


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("sparse", [False, True])
def test_few_rows_of_many_columns_are_judged_by_the_dual(intercept, loss, sparse):
    X, y = make_classification(150, 30, n_informative=10, flip_y=0.05, random_state=5)
    options = {"free": {}, "penalised": {"intercept_scaling": 2.0}, "none": {"fit_intercept": False}}[intercept]
    trained = LinearSVC(loss=loss, tol=1e-8, max_iter=-1, **options)
    whole, signs = clone(trained).fit(X, y), np.where(y > 0, 1.0, -1.0)
    points = sp.csr_matrix(X) if sparse else X
    problem = PrimalProblem(points, signs, np.ones(150), loss, intercept, 2.0)
    w, b = whole.coef_[0], float(np.ravel(whole.intercept_)[0])
    margins = signs * whole.decision_function(X)
    guess = 2.0 * np.maximum(0, 1 - margins) if loss == "squared_hinge" else (margins < 1).astype(float)
    assert suits(problem)
    folds = np.arange(150) % 5
    values = LinearMatrix(problem).values(problem, Start(w, b, guess), folds, Control())
    expected = np.empty(150)
    for k in range(5):
        expected[folds == k] = clone(trained).fit(X[folds != k], y[folds != k]).decision_function(X[folds == k])
    own = problem.design.times(w) + b
    assert np.mean((values - expected) ** 2) < 0.2 * np.mean((own - expected) ** 2)


def test_out_of_fold_values_of_a_hard_margin(monkeypatch):
    rng = np.random.RandomState(0)
    X = np.concatenate((rng.randn(30, 2) - 4, rng.randn(30, 2) + 4))
    y = np.repeat([0, 1], 30)
    trained = SVC(kernel="linear", C=np.inf, calibration="sigmoid")
    ((_, values),) = captured(monkeypatch, "kernel_values", lambda: trained.fit(X, y))
    assert np.isfinite(values).all()
    assert trained.predict_proba(X).argmax(axis=1).tolist() == y.tolist()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("sparse", [False, True])
def test_linear_out_of_fold_values_are_near_refits(loss, intercept, sparse):
    X, y = make_classification(800, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=2)
    X = X + 0.5
    folds = np.arange(800) % 5
    options = {"free": {}, "penalised": {"intercept_scaling": 2.0}, "none": {"fit_intercept": False}}[intercept]

    def fitted(rows):
        return LinearSVC(loss=loss, C=0.1, tol=1e-9, max_iter=-1, **options).fit(X[rows], y[rows])

    whole = fitted(np.arange(800))
    signs = np.where(y > 0, 1.0, -1.0)
    points = sp.csr_matrix(X) if sparse else X
    problem = PrimalProblem(points, signs, np.full(800, 0.1), loss, intercept, 2.0)
    w, b = whole.coef_[0], float(whole.intercept_[0])
    from maxmargin.problems.primal_certificate import certify

    margins = signs * whole.decision_function(X)
    squared = loss == "squared_hinge"
    start = 0.2 * np.maximum(0, 1 - margins) if squared else 0.1 * np.clip((1 + 1e-6 - margins) / 1e-6, 0, 1)
    beta = certify(problem, w, b, signs * start).beta
    values = linear_values(problem, Start(w, b, beta), folds, Control())
    expected = np.empty(800)
    for k in range(5):
        expected[folds == k] = fitted(np.flatnonzero(folds != k)).decision_function(X[folds == k])
    own = problem.design.times(w) + b
    assert np.mean((values - expected) ** 2) < (0.2 if squared else 0.7) * np.mean((own - expected) ** 2)
    assert np.abs(values - expected).max() < 0.3


# Classifiers


SCHEMES = [
    SVC(),
    SVC(multiclass="ovr"),
    SVC(multiclass="crammer_singer"),
    SVC(break_ties=True),
    NuSVC(nu=0.2),
    NuSVC(nu=0.2, multiclass="ovr"),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(loss="hinge", multi_class="crammer_singer"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("trained", SCHEMES, ids=str)
@pytest.mark.parametrize("k", [2, 3])
def test_probabilities_agree_with_predict(trained, method, k):
    X, y = load_iris(return_X_y=True)
    X, names = X[y < k], np.array(["setosa", "versicolor", "virginica"])
    trained = clone(trained).set_params(calibration=method).fit(X, names[y[y < k]])
    new = X[np.random.RandomState(0).randint(len(X), size=500)] + np.random.RandomState(1).randn(500, 4)
    p = trained.predict_proba(new)
    assert p.shape == (500, k)
    assert p.min() >= 0
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
    assert np.array_equal(trained.classes_[p.argmax(axis=1)], trained.predict(new))
    assert trained.predict_log_proba(new) == pytest.approx(np.log(p))
    assert trained.calibration_.method == method
    assert trained.calibration_.n_samples == len(np.unique(X, axis=0))
    again = pickle.loads(pickle.dumps(trained))
    assert np.array_equal(again.predict_proba(new), p)


def test_a_million_rows_agree_with_predict():
    X, y = load_iris(return_X_y=True)
    X = X[:, 2:]
    new = np.random.RandomState(0).uniform(-1, 8, (1_000_000, 2))
    trained = SVC(C=5.0, calibration="sigmoid", max_iter=-1).fit(X, y)
    assert np.array_equal(trained.predict_proba(new).argmax(axis=1), trained.predict(new))


def test_exact_ties_agree_with_predict():
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]] * 3) * np.repeat([1.0, 2.0, 3.0], 4)[:, None]
    y = np.tile([0, 1, 2, 3], 3)
    new = np.array([[0.0, 0.0], [1.0, 1.0], [-1.0, -1.0], [2.0, -2.0], [0.5, 0.0], [0.0, -0.5]])
    for method in METHODS:
        for scheme in ("ovo", "ovr", "crammer_singer"):
            trained = SVC(gamma=0.5, multiclass=scheme, calibration=method).fit(X, y)
            assert np.array_equal(trained.predict_proba(new).argmax(axis=1), trained.predict(new))


def test_a_bias_that_disagrees_is_cut_off_at_one_half():
    """Class weights move f = 0 to where the classes are not equally likely; predict still has the last word."""
    X, y = make_classification(600, 4, n_informative=3, n_redundant=0, flip_y=0.2, weights=[0.8], random_state=0)
    trained = SVC(class_weight={0: 1.0, 1: 8.0}, calibration="sigmoid").fit(X, y)
    p, f = trained.predict_proba(X)[:, 1], trained.decision_function(X)
    calibrated = trained.calibration_.maps[0](f)
    assert (calibrated[f > 0] < 0.5).any()  # or there would be nothing to cut off
    assert p == pytest.approx(np.where(f > 0, np.maximum(calibrated, 0.5), np.minimum(calibrated, 0.5)))


@pytest.mark.parametrize("trained", [SVC(), NuSVC(), LinearSVC()], ids=str)
def test_without_calibration_there_are_no_probabilities(trained):
    trained = trained.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert not hasattr(trained, "predict_proba")
    assert not hasattr(trained, "predict_log_proba")
    with pytest.raises(AttributeError) as error:
        trained.predict_proba([[0.0]])
    assert "calibration='sigmoid'" in str(error.value)


@pytest.mark.parametrize("value", ["platt", "", 1, True])
@pytest.mark.parametrize("trained", [SVC, NuSVC, LinearSVC])
def test_unknown_methods_are_refused(trained, value):
    with pytest.raises(ValueError, match="calibration must be one of 'isotonic', 'sigmoid', 'temperature' or None"):
        trained(calibration=value).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("trained", [SVC(), SVC(multiclass="ovr"), NuSVC(nu=0.01), LinearSVC()], ids=str)
@pytest.mark.parametrize("few", [2, 3, 4])
def test_classes_of_few_rows(trained, method, few):
    rng = np.random.RandomState(few)
    X, y = rng.randn(40 + few, 2), np.r_[np.zeros(20, int), np.ones(20, int), np.full(few, 2)]
    X += 3 * np.c_[y, y == 1]
    trained = clone(trained).set_params(calibration=method).fit(X, y)
    assert "fewer rows than folds in class 2" in trained.calibration_.note
    assert "fewer" in str(trained.calibration_)
    assert np.array_equal(trained.predict_proba(X).argmax(axis=1), trained.predict(X))


@pytest.mark.parametrize("trained", [SVC(), SVC(multiclass="ovr"), NuSVC(nu=0.01), LinearSVC()], ids=str)
def test_a_class_of_one_row_is_said(trained):
    X, y = np.arange(22.0)[:, None], np.r_[np.zeros(10), np.ones(11), 2]
    with pytest.warns(UserWarning, match="single row in class 2.0: it is never left out"):
        trained = clone(trained).set_params(calibration="sigmoid").fit(X, y)
    assert np.isfinite(trained.predict_proba(X)).all()


@pytest.mark.parametrize("trained", [SVC(), LinearSVC()], ids=str)
def test_one_row_a_class(trained):
    with pytest.warns(UserWarning, match="single row in class 0, 1"):
        trained = clone(trained).set_params(calibration="sigmoid").fit([[0.0], [1.0]], [0, 1])
    assert trained.predict_proba([[0.0], [1.0]]).argmax(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize("trained", [SVC(), SVC(multiclass="ovr"), NuSVC(nu=0.3), LinearSVC()], ids=str)
def test_weight_two_is_a_repetition(trained):
    X, y = load_iris(return_X_y=True)
    weight = np.random.RandomState(0).randint(0, 4, len(y))
    trained = clone(trained).set_params(calibration="sigmoid")
    by_weight = clone(trained).fit(X, y, sample_weight=weight).predict_proba(X)
    repeated = clone(trained).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict_proba(X)
    assert by_weight == pytest.approx(repeated, abs=1e-6)


@pytest.mark.parametrize("trained", [SVC(), SVC(multiclass="ovr"), LinearSVC()], ids=str)
def test_a_class_without_weight_has_probability_zero(trained):
    X, y = load_iris(return_X_y=True)
    trained = clone(trained).set_params(calibration="sigmoid").fit(X, y, sample_weight=(y != 1).astype(float))
    p = trained.predict_proba(X)
    assert (p[:, 1] == 0).all()
    assert p.sum(axis=1) == pytest.approx(1)
    assert np.isneginf(trained.predict_log_proba(X)[:, 1]).all()


@pytest.mark.parametrize("trained", [SVC(), SVC(multiclass="crammer_singer"), LinearSVC()], ids=str)
def test_only_one_class_has_weight(trained):
    trained = clone(trained).set_params(calibration="sigmoid", class_weight={"a": 0.0})
    trained.fit([[0.0], [0.5], [1.0], [2.0]], ["a", "a", "b", "b"])
    assert trained.predict_proba([[0.0], [5.0]]).tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_sparse_and_precomputed_and_order_do_not_matter():
    X, y = make_classification(200, 5, flip_y=0.1, random_state=3)
    X[np.abs(X) < 0.5] = 0
    plain = SVC(gamma=0.3, calibration="isotonic").fit(X, y).predict_proba(X)
    assert SVC(gamma=0.3, calibration="isotonic").fit(sp.csr_matrix(X), y).predict_proba(X) == pytest.approx(plain)
    order = np.random.RandomState(0).permutation(200)
    assert SVC(gamma=0.3, calibration="isotonic").fit(X[order], y[order]).predict_proba(X) == pytest.approx(plain)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    p = SVC(kernel="precomputed", calibration="sigmoid").fit(K, y).predict_proba(K)
    assert np.mean(np.abs(p[:, 1] - SVC(gamma=0.3, calibration="sigmoid").fit(X, y).predict_proba(X)[:, 1])) < 0.05


def test_calibration_does_not_change_the_model():
    X, y = make_classification(200, 5, flip_y=0.1, random_state=3)
    for trained in (SVC(), NuSVC(), LinearSVC()):
        plain, calibrated = clone(trained).fit(X, y), clone(trained).set_params(calibration="sigmoid").fit(X, y)
        assert np.array_equal(plain.decision_function(X), calibrated.decision_function(X))


def test_a_fit_that_fails_leaves_nothing_behind():
    X, y = np.repeat(np.arange(4.0), 200)[:, None] % 2, np.arange(800) % 4
    X = X + 1e-3 * np.random.RandomState(0).randn(800, 1)
    trained = SVC(kernel="linear", C=np.inf, calibration="sigmoid")
    with pytest.raises(ValueError, match="separated"):
        trained.fit(X, y)
    assert "_judge" not in vars(trained)
    pickle.dumps(trained)


def test_a_second_fit_without_calibration_forgets_it():
    X, y = load_iris(return_X_y=True)
    trained = SVC(calibration="sigmoid").fit(X, y)
    trained.set_params(calibration=None).fit(X, y)
    assert not hasattr(trained, "calibration_")
    with pytest.raises(AttributeError, match="call fit again"):
        trained.set_params(calibration="sigmoid").predict_proba(X)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_as_good_as_refitting(method):
    """Five refits by scikit-learn's wrapper are no better by more than 1 % in log-loss."""
    X, y = make_classification(3000, 8, n_informative=5, flip_y=0.15, random_state=4)
    trained = SVC(C=2.0, gamma=0.1)
    ours = clone(trained).set_params(calibration=method).fit(X[:1500], y[:1500])
    theirs = CalibratedClassifierCV(trained, method=method, ensemble=False).fit(X[:1500], y[:1500])
    loss = log_loss(y[1500:], ours.predict_proba(X[1500:]))
    assert loss <= 1.01 * log_loss(y[1500:], theirs.predict_proba(X[1500:]))


def test_probabilities_are_honest():
    """Of the points given probability p, a part p is of the class."""
    rng = np.random.RandomState(0)
    X = rng.randn(6000, 2)
    y = rng.rand(6000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    for trained in (SVC(), NuSVC(), LinearSVC()):
        trained = trained.set_params(calibration="sigmoid").fit(X[:1000], y[:1000])
        display = ReliabilityDisplay.from_estimator(trained, X[1000:], y[1000:])
        assert display.curves[0].error < 0.05


def test_digits_are_certain_enough():
    X, y = load_digits(return_X_y=True)
    trained = SVC(gamma=0.001, calibration="temperature").fit(X[:900], y[:900])
    assert log_loss(y[900:], trained.predict_proba(X[900:])) < 0.2


def test_the_account():
    X, y = make_classification(200, 5, flip_y=0.1, random_state=3)
    calibration = SVC(calibration="sigmoid").fit(X, y).calibration_
    assert isinstance(calibration, Calibration)
    assert isinstance(calibration.maps[0], SigmoidMap)
    assert str(calibration).startswith("sigmoid calibration, 5 folds, 200 rows, out-of-fold log-loss 0.")
    assert "knots" in str(IsotonicMap(np.zeros(2), np.ones(2)))
    assert "temperature 2" in str(TemperatureMap(0.5))
    assert "infinite" in str(TemperatureMap(0.0))
    assert str(SigmoidMap(1.0, -2.0)) == "1 / (1 + exp(-(1 f - 2)))"


def test_a_stopped_fit_still_has_probabilities():
    X, y = make_classification(1500, 5, flip_y=0.1, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trained = SVC(max_iter=3, calibration="sigmoid").fit(X, y)
    assert np.array_equal(trained.predict_proba(X).argmax(axis=1), trained.predict(X))


class Clock:
    """Says stop from the n-th question on."""

    def __init__(self, after):
        self.left = after

    def __call__(self, control):
        self.left -= 1
        return Status.DEADLINE if self.left < 0 else None


@pytest.mark.parametrize("trained", [SVC(), SVC(multiclass="ovr"), NuSVC(nu=0.2), LinearSVC()], ids=str)
def test_a_limit_of_time_leaves_a_model_that_says_so(trained):
    X, y = load_iris(return_X_y=True)
    trained = clone(trained).set_params(calibration="sigmoid", max_seconds=1e-9)
    with (
        pytest.warns(ConvergenceWarning, match="stopped when 0 of"),
        pytest.warns(ConvergenceWarning, match="did not converge"),
    ):
        trained.fit(X, y)
    assert trained.calibration_.n_samples == 0
    assert "too certain" in trained.calibration_.note
    assert np.isnan(trained.calibration_.log_loss)
    assert np.array_equal(trained.classes_[trained.predict_proba(X).argmax(axis=1)], trained.predict(X))


def test_folds_that_were_reached_are_used(monkeypatch):
    X, y = make_classification(1500, 5, flip_y=0.1, random_state=3)
    whole = SVC(calibration="sigmoid").fit(X, y).calibration_
    plain = calibrating.kernel_values

    def stopped(*args):
        values = plain(*args)
        values[args[4] >= 2] = np.nan  # as if asked to stop after two folds
        return values

    monkeypatch.setattr(calibrating, "kernel_values", stopped)
    with pytest.warns(ConvergenceWarning, match="stopped when 600 of 1,500 rows"):
        part = SVC(calibration="sigmoid").fit(X, y).calibration_
    assert part.n_samples == 600
    assert part.maps[0].slope == pytest.approx(whole.maps[0].slope, rel=0.3)


def test_no_fold_begins_after_a_request_to_stop(monkeypatch):
    X, y = make_classification(4200, 5, flip_y=0.1, random_state=3)
    ((args, _),) = captured(monkeypatch, "kernel_values", lambda: SVC(calibration="sigmoid").fit(X, y))
    clock = Clock(2)
    monkeypatch.setattr(Control, "stop", lambda control: clock(control))
    values = out_of_fold.kernel_values(*args)
    folds, judged = args[4], args[5]
    assert np.isfinite(values[(folds == 0) & judged]).all()
    assert np.isnan(values[(folds == 4) & judged]).all()


@pytest.mark.parametrize("trained", [SVC(), NuSVC(nu=0.2), LinearSVC()], ids=str)
def test_the_same_bits_for_any_threads_and_order(trained):
    X, y = load_digits(return_X_y=True)
    X, y = X[:1100], y[:1100]
    order = np.random.RandomState(0).permutation(1100)
    trained = clone(trained).set_params(calibration="sigmoid")
    one = clone(trained).set_params(n_jobs=1).fit(X, y).calibration_
    two = clone(trained).set_params(n_jobs=2).fit(X, y).calibration_
    other = clone(trained).set_params(n_jobs=2).fit(X[order], y[order]).calibration_
    assert str(one.maps) == str(two.maps)
    assert [m.slope for m in one.maps] == [m.slope for m in two.maps]
    assert [m.slope for m in other.maps] == pytest.approx([m.slope for m in one.maps])


@parametrize_with_checks(
    [SVC(calibration="sigmoid"), LinearSVC(calibration="temperature"), NuSVC(calibration="isotonic")]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# The display


def test_reliability_of_predictions_by_hand():
    p, y = [0.05, 0.15, 0.95, 0.85, 0.9], ["no", "no", "yes", "yes", "no"]
    curve = ReliabilityDisplay.from_predictions(p, y, n_bins=2).curves[0]
    assert curve.label == "yes"
    assert curve.count.tolist() == [2, 3]
    assert curve.predicted == pytest.approx([0.1, 0.9])
    assert curve.observed == pytest.approx([0, 2 / 3])
    assert curve.error == pytest.approx((2 * 0.1 + 3 * (0.9 - 2 / 3)) / 5)


def test_reliability_of_many_classes_is_drawn():
    X, y = load_digits(return_X_y=True)
    trained = SVC(gamma=0.001, calibration="sigmoid").fit(X[:400], y[:400])
    display = ReliabilityDisplay.from_estimator(trained, X[400:], y[400:], strategy="quantile").plot()
    assert len(display.lines_) == 10
    assert display.ax_ is not display.count_ax_
    assert [curve.label for curve in display.curves] == list(range(10))


@pytest.mark.parametrize(
    ("p", "y", "options", "message"),
    [
        ([0.5, 1.5], [0, 1], {}, "between 0 and 1"),
        ([0.5, 0.5], [0, 1], {"n_bins": 0}, "n_bins must be >= 1"),
        ([0.5, 0.5], [0, 1], {"strategy": "equal"}, "strategy must be one of"),
        ([0.5, 0.5, 0.5], [0, 1, 2], {}, "3 classes"),
        ([[0.5, 0.5]], [0], {"classes": [0, 1, 2]}, "2 columns and there are 3"),
        ([0.5], [0, 1], {}, "1 samples and y has 2"),
    ],
)
def test_reliability_refuses(p, y, options, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(p, y, **options)


def test_reliability_needs_probabilities():
    trained = SVC().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(AttributeError, match="calibration="):
        ReliabilityDisplay.from_estimator(trained, [[0.0], [1.0]], [0, 1])
