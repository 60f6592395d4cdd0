"""LinearSVR: scikit-learn's model with an honest intercept, certified; every option, and hostile input."""

from __future__ import annotations

import pickle
import signal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVR, FitInterrupted, FitReport
from maxmargin.problems.losses import EpsilonInsensitive
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import certify
from maxmargin.runtime.control import Status, watching
from maxmargin.runtime.history import History
from maxmargin.solvers import CoordinateDescent
from maxmargin.svm.linear.regression import LinearSVR

HINGE, SQUARED = LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive"]


def line(n=80, d=4, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    return X, X @ rng.standard_normal(d) + noise * rng.standard_normal(n) + 2.0


def objective(model, X, y, C=1.0, epsilon=0.0, loss=HINGE, scaling=np.inf, weight=1.0):
    """The objective from its definition."""
    r = np.maximum(0, np.abs(y - X @ model.coef_ - model.intercept_) - epsilon)
    b = float(np.ravel(model.intercept_)[0])
    return (
        0.5 * model.coef_ @ model.coef_ + 0.5 * (b / scaling) ** 2 + C * np.sum(weight * r ** (1 + (loss == SQUARED)))
    )


@parametrize_with_checks(
    [
        LinearSVR(),
        LinearSVR(loss=SQUARED, epsilon=0.1),
        LinearSVR(fit_intercept=False),
        LinearSVR(intercept_scaling=1.0, epsilon=0.1),
        LinearSVR(solver="coordinate_descent", C=0.01),
        LinearSVR(loss=SQUARED, solver="barrier"),
    ]
)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


# The right model


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("scaling", [1.0, 3.0, None])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_a_scaled_intercept_or_none_it_is_scikit_learns_model(loss, epsilon, scaling, weighted):
    X, y = line(seed=1)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, len(y)) if weighted else None
    options = {"loss": loss, "C": 0.3, "epsilon": epsilon, "fit_intercept": scaling is not None}
    ours = LinearSVR(tol=1e-10, intercept_scaling=scaling, **options).fit(X, y, weight)
    theirs = sklearn.svm.LinearSVR(
        tol=1e-9, max_iter=1_000_000, dual=True, random_state=0, intercept_scaling=scaling or 1.0, **options
    ).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, np.ravel(theirs.intercept_), atol=1e-4)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_linear_kernel_model(seed):
    X, y = line(seed=seed)
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, len(y)) if seed % 3 else None
    options = {"C": 10.0 ** (seed % 4 - 2), "epsilon": [0.0, 0.4][seed % 2], "fit_intercept": seed != 5}
    linear = LinearSVR(tol=1e-9, **options).fit(X, y, weight)
    kernel = SVR(kernel="linear", tol=1e-8, **options).fit(X, y, weight)
    np.testing.assert_allclose(linear.coef_, kernel.coef_[0], atol=1e-4)
    np.testing.assert_allclose(linear.intercept_, kernel.intercept_, atol=1e-3)
    assert linear.report_.primal_objective == pytest.approx(kernel.report_.primal_objective, rel=1e-7)
    assert linear.report_.dual_objective == pytest.approx(kernel.report_.dual_objective, rel=1e-7)
    assert linear.report_.training_error == pytest.approx(kernel.report_.training_error, rel=1e-3)
    if options["epsilon"]:
        assert abs(linear.report_.n_support - kernel.report_.n_support) <= 1


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 15),
    d=st.integers(1, 20),
    epsilon=st.sampled_from([0.0, 0.5]),
    log_c=st.integers(-2, 2),
)
def test_random_problems_have_the_optimum_of_the_kernel_model(seed, n, d, epsilon, log_c):
    rng = np.random.default_rng(seed)
    X, y = np.rint(2 * rng.standard_normal((n, d))), np.rint(3 * rng.standard_normal(n))
    C = 10.0**log_c
    linear = LinearSVR(C=C, epsilon=epsilon, tol=1e-7).fit(X, y)
    kernel = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-7).fit(X, y)
    assert linear.report_.converged
    best = kernel.report_.dual_objective
    assert objective(linear, X, y, C, epsilon) == pytest.approx(best, rel=1e-5, abs=1e-6 * C * n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_squared_without_a_tube_it_is_ridge_regression(weighted, fit_intercept):
    X, y = line()
    weight = np.random.default_rng(0).uniform(0.2, 2.0, len(y)) if weighted else None
    ours = LinearSVR(loss=SQUARED, C=3.0, fit_intercept=fit_intercept, tol=1e-12).fit(X, y, weight)
    ridge = Ridge(alpha=1 / 6, fit_intercept=fit_intercept).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, ridge.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_[0], ridge.intercept_, atol=1e-9)
    assert ours.n_iter_ == 1


def test_a_large_price_without_a_tube_is_least_absolute_deviations():
    X, y = line(n=61, d=1)
    y[:10] += 1000.0
    model = LinearSVR(C=1e6, tol=1e-9).fit(X, y)
    left = np.abs(y - model.predict(X))
    assert np.count_nonzero(left < 1e-4) >= 2  # the line goes through two points
    assert left.sum() <= min(
        np.abs(y - np.polyval(np.polyfit(X[[i, j], 0], y[[i, j]], 1), X[:, 0])).sum()
        for i in range(0, 61, 3)
        for j in range(1, 61, 3)
        if i != j
    ) * (1 + 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_intercept_is_free_by_default(loss):
    """Moving the points and the targets moves the intercept and nothing else."""
    X, y = line()
    options = {"loss": loss, "tol": 1e-10, "epsilon": 0.2}
    here, there = LinearSVR(**options).fit(X, y), LinearSVR(**options).fit(X + 100.0, y + 1000.0)
    np.testing.assert_allclose(here.coef_, there.coef_, atol=1e-5)
    assert there.intercept_[0] == pytest.approx(here.intercept_[0] + 1000 - 100 * here.coef_.sum(), abs=1e-3)


@pytest.mark.parametrize(("solver", "loss"), [("barrier", HINGE), ("newton", SQUARED), ("coordinate_descent", HINGE)])
def test_solvers_by_name_and_as_objects(solver, loss):
    X, y = line()
    model = LinearSVR(solver=solver, loss=loss, C=0.1).fit(X, y)
    assert model.report_.solver == solver
    assert model.report_.solver_reason == "asked for"
    assert model.report_.relative_gap <= 1e-4


def test_solver_objects_are_cloned_and_searched():
    X, y = line()
    model = LinearSVR(solver=CoordinateDescent(shrinking=False))
    assert clone(model).solver == CoordinateDescent(shrinking=False)
    search = GridSearchCV(model, {"solver": ["auto", CoordinateDescent()], "C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.3


@pytest.mark.parametrize(
    ("dual", "loss", "solver"),
    [
        (True, HINGE, "barrier"),
        (False, HINGE, "barrier"),
        ("auto", HINGE, "barrier"),
        (True, SQUARED, "newton"),
        (False, SQUARED, "newton"),
        ("auto", SQUARED, "newton"),
    ],
)
def test_dual_chooses_no_other_solver(dual, loss, solver):
    model = LinearSVR(dual=dual, loss=loss, C=0.1).fit(*line())
    assert model.report_.solver == solver
    assert model.report_.converged


# The report


def test_the_report_is_certified_and_says_what_was_done():
    X, y = line()
    model = LinearSVR(C=0.5, epsilon=0.3, tol=1e-6).fit(X, y)
    report = model.report_
    assert isinstance(report, FitReport)
    c = np.full(len(y), 0.5)
    again = certify(PrimalProblem(X, y, c, EpsilonInsensitive(0.3)), model.coef_, model.intercept_[0])
    assert report.primal_objective == pytest.approx(again.primal, rel=1e-12)
    assert report.primal_objective == pytest.approx(objective(model, X, y, 0.5, 0.3), rel=1e-12)
    assert 0 <= report.relative_gap <= 1e-6
    assert report.training_error == pytest.approx(np.sqrt(np.mean((y - model.predict(X)) ** 2)))
    text = str(report)
    for part in (
        "LinearSVR",
        "C = 0.5, epsilon = 0.3, epsilon insensitive loss, free intercept",
        "barrier (the primal has 4 unknowns",
        "root mean squared training error",
        "tolerance 1e-06",
    ):
        assert part in text
    assert "kernel" not in text


@pytest.mark.parametrize("loss", LOSSES)
def test_support_vectors_are_the_rows_on_or_outside_the_tube(loss):
    X, y = line()
    model = LinearSVR(loss=loss, epsilon=0.5, tol=1e-10).fit(X, y)
    assert model.report_.n_support == np.count_nonzero(np.abs(y - model.predict(X)) >= 0.5 - 1e-6)


def test_history_progress_and_verbosity(caplog):
    X, y = line()
    seen = []
    with watching(seen.append), caplog.at_level("INFO", "maxmargin"):
        model = LinearSVR(verbose=True, epsilon=0.1).fit(X, y)
    history = model.history_
    assert isinstance(history, History)
    assert history.iteration[-1] == model.n_iter_ == seen[-1].iteration
    assert history.objective[-1] == pytest.approx(model.report_.primal_objective, rel=1e-3)
    assert (np.diff(history.seconds) >= 0).all()
    assert "support vectors" in caplog.text


# Weights and rows


@pytest.mark.parametrize("options", [{}, {"loss": SQUARED, "epsilon": 0.2}, {"solver": "coordinate_descent", "C": 0.1}])
def test_a_weight_of_two_is_a_repetition_and_zero_is_absence(options):
    X, y = line(n=60)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    repeated = LinearSVR(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted = LinearSVR(**options).fit(X, y, weight)
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    np.testing.assert_array_equal(weighted.intercept_, repeated.intercept_)


def test_large_data_are_used_as_they_are(monkeypatch):
    """Nothing is merged or sorted, and rows of weight zero still count for nothing."""
    X, y = line(n=200)
    weight = np.random.default_rng(0).integers(0, 3, 200)
    small = LinearSVR(tol=1e-9, epsilon=0.2).fit(X, y, weight)
    monkeypatch.setattr("maxmargin.svm.linear.rows.REGRESSION_MERGE_MAX_ENTRIES", 10)
    large = LinearSVR(tol=1e-9, epsilon=0.2).fit(X, y, weight)
    np.testing.assert_allclose(large.coef_, small.coef_, atol=1e-5)
    assert large.report_.training_error == pytest.approx(small.report_.training_error, rel=1e-4)
    assert LinearSVR(warm_start=True).fit(X, y).fit(X, y).n_iter_ == 0


def test_the_threads_do_not_matter():
    X, y = line(n=5000, d=10)
    one, two = (LinearSVR(n_jobs=jobs, epsilon=0.1).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_warm_start():
    X, y = line(n=300)
    model = LinearSVR(solver="coordinate_descent", warm_start=True, C=0.1, tol=1e-6).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ == 0
    assert model.set_params(C=0.101).fit(X, y).n_iter_ < cold
    assert model.fit(X[:, :2], y).report_.converged  # other columns: from the beginning
    assert model.fit(X[::2, :2], y[::2]).report_.converged


# Data of every kind


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", [(100, 6), (12, 30)])
def test_sparse_and_dense_float32_and_float64_are_the_same(loss, shape):
    X, y = line(*shape)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.7, 0.0, X).astype(np.float32)
    forms = [X, X.astype(np.float64), sp.csr_matrix(X), sp.csc_array(X.astype(np.float64))]
    models = [LinearSVR(loss=loss, epsilon=0.1, tol=1e-9).fit(form, y) for form in forms]
    for model, form in zip(models, forms, strict=True):
        np.testing.assert_allclose(model.coef_, models[0].coef_, atol=1e-5)
        np.testing.assert_allclose(model.predict(form), models[0].predict(X), atol=1e-4)
    assert models[0].report_.dtype == "float32"


def test_the_input_is_not_changed():
    X, y = line()
    weight = np.ones(len(y))
    before = X.copy(), y.copy()
    LinearSVR().fit(X, y, weight)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_tables_bring_their_column_names():
    X, y = line()
    names = list("abcd")
    model = LinearSVR().fit(pd.DataFrame(X, columns=names), pd.Series(y))
    np.testing.assert_array_equal(model.feature_names_in_, names)
    np.testing.assert_allclose(model.predict(pl.DataFrame(X, schema=names)), X @ model.coef_ + model.intercept_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=names[::-1]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize(
    ("X", "y", "expected"),
    [
        ([[1.0]], [3.0], [3.0]),  # one sample
        ([[1.0], [2.0], [3.0]], [5.0, 5.0, 5.0], [5.0, 5.0, 5.0]),  # constant targets
        ([[0.0], [0.0], [0.0]], [1.0, 2.0, 3.0], [2.0, 2.0, 2.0]),  # nothing to learn from
        ([[2.0], [2.0]], [1.0, 3.0], [2.0, 2.0]),  # identical points
    ],
)
def test_small_and_degenerate_data(X, y, expected, loss, epsilon):
    model = LinearSVR(loss=loss, epsilon=epsilon).fit(X, y)
    np.testing.assert_allclose(model.predict(X), expected, atol=epsilon + 1e-6)
    assert model.report_.converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be >= 0"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"dual": "yes"}, "dual must be True, False or 'auto'"),
        ({"tol": 0.0}, "tol must be > 0"),
        ({"C": 0.0}, "C must be > 0"),
        ({"C": np.inf}, r"SVR\(kernel='linear', C=inf\)"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be > 0"),
        ({"max_iter": -2}, "max_iter must be >= -1"),
        ({"max_seconds": 0}, "max_seconds must be > 0"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"warm_start": None}, "warm_start must be True or False"),
        ({"solver": "bariers"}, "Did you mean 'barrier'"),
        ({"solver": CoordinateDescent}, r"such as CoordinateDescent\(\)"),
        ({"solver": "newton"}, "solver='newton' cannot solve this problem: newton needs a loss with a derivative"),
        ({"solver": "newton", "loss": SQUARED, "dual": True}, "dual=True asks for a solver of the dual"),
        ({"random_state": "dice"}, "dice"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        LinearSVR(**options).fit(*line())


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0])
def test_bad_weights_are_refused(weight):
    X, y = line()
    with pytest.raises(ValueError, match="sample_weight"):
        LinearSVR().fit(X, y, np.full(len(y), weight))


def test_parameters_are_scikit_learns():
    ours, theirs = LinearSVR().get_params(), sklearn.svm.LinearSVR().get_params()
    assert {name for name in theirs if ours[name] != theirs[name]} == {"intercept_scaling"}


# Limits


def test_a_fit_that_does_not_converge_says_so_and_what_to_do():
    X, y = line()
    X[:, 1] *= 1e6
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap is .* \(tol=0.0001\)") as caught:
        model = LinearSVR(solver="coordinate_descent", max_iter=3).fit(X, y)
    text = str(caught[0].message)
    assert "raise max_iter" in text
    assert "solver='barrier'" in text
    assert "Column 1 varies" in text
    assert caught[0].filename == __file__
    assert not model.report_.converged


@pytest.mark.parametrize("solver", ["barrier", "coordinate_descent"])
def test_the_deadline_leaves_a_model(solver):
    X, y = line(n=3000, d=20)
    with pytest.warns(ConvergenceWarning, match="raise max_seconds"):
        model = LinearSVR(solver=solver, tol=1e-14, max_seconds=1e-6, max_iter=-1).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_an_interrupt_leaves_the_best_model_so_far():
    X, y = line(n=2000, d=20)
    X[:, 1] *= 1e4

    def interrupt(progress):
        if progress.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    model = LinearSVR(solver="coordinate_descent", tol=1e-12, max_iter=-1)
    with (
        pytest.raises(FitInterrupted),
        pytest.warns(ConvergenceWarning, match="interrupted by the user"),
        watching(interrupt),
    ):
        model.fit(X, y)
    assert model.report_.status is Status.INTERRUPTED
    assert model.report_.primal_objective < objective(model, X, y, 2.0)


# Life afterwards


def test_pickling_and_the_unfitted():
    X, y = line()
    model = LinearSVR().fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(NotFittedError):
        LinearSVR().predict(X)


def test_the_seed_is_fixed_unless_given():
    X, y = line()
    options = {"solver": "coordinate_descent", "tol": 1e-2}
    first, second = (LinearSVR(**options).fit(X, y).coef_ for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, LinearSVR(random_state=7, **options).fit(X, y).coef_)
