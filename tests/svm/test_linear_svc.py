"""LinearSVC: scikit-learn's model with an honest intercept, certified; every option, and hostile input."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, FitReport, InseparableError
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import certify
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.solvers import Pegasos, Subgradient, solvers_for
from maxmargin.svm.linear.classification import LinearSVC

IRIS, SPECIES = load_iris(return_X_y=True)
LOSSES = ["hinge", "squared_hinge"]


def clouds(n_classes=2, n=90, d=4, seed=0, spread=1.5):
    """Overlapping classes, all present."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return 1.5 * rng.standard_normal((n_classes, d))[y] + spread * rng.standard_normal((n, d)), y


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVC(intercept_scaling=1.0),
        LinearSVC(loss="hinge", solver="smo"),
        LinearSVC(multi_class="crammer_singer", max_iter=100_000),
        LinearSVC(loss="hinge", solver="coordinate_descent", max_iter=100_000),
        LinearSVC(penalty="l1"),
    ]
)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


# The right model


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scaling", [1.0, 3.0])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_a_scaled_intercept_it_is_scikit_learns_model(loss, scaling, n_classes, weighted):
    X, y = clouds(n_classes, seed=1)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, len(y)) if weighted else None
    options = {"loss": loss, "C": 0.7, "intercept_scaling": scaling, "class_weight": {0: 2.0} if weighted else None}
    ours = LinearSVC(tol=1e-10, **options).fit(X, y, weight)
    theirs = sklearn.svm.LinearSVC(tol=1e-9, max_iter=1_000_000, dual=True, random_state=0, **options).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    decision = theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), decision, atol=1e-3)
    clear = np.abs(decision) > 1e-2 if n_classes == 2 else np.ptp(np.sort(decision)[:, -2:], axis=1) > 1e-2
    np.testing.assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])


@pytest.mark.parametrize("loss", LOSSES)
def test_without_an_intercept_it_is_scikit_learns_model(loss):
    X, y = clouds(3, seed=2)
    options = {"loss": loss, "fit_intercept": False, "C": 0.5}
    ours = LinearSVC(tol=1e-10, **options).fit(X, y)
    theirs = sklearn.svm.LinearSVC(tol=1e-9, max_iter=1_000_000, dual=True, random_state=0, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_array_equal(ours.intercept_, np.zeros(3))


@pytest.mark.parametrize("seed", range(6))
def test_with_the_hinge_it_is_the_linear_kernel_model(seed):
    X, y = clouds(2, seed=seed, spread=[0.5, 3.0][seed % 2])
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, len(y)) if seed % 3 else None
    options = {"C": 10.0 ** (seed % 4 - 2), "class_weight": {1: 1.5}}
    linear = LinearSVC(loss="hinge", tol=1e-9, **options).fit(X, y, weight)
    kernel = SVC(kernel="linear", tol=1e-8, **options).fit(X, y, weight)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=1e-4 * np.abs(kernel.coef_).max() + 1e-6)
    np.testing.assert_allclose(linear.intercept_, kernel.intercept_, atol=1e-3)
    assert linear.report_.primal_objective == pytest.approx(kernel.report_.primal_objective, rel=1e-6)
    assert linear.report_.n_support == kernel.report_.n_support
    assert linear.report_.margin == pytest.approx(kernel.report_.margin, rel=1e-4)
    assert linear.report_.training_error == kernel.report_.training_error


def test_where_the_intercept_is_not_determined_its_middle_is_taken_as_by_svc():
    """All multipliers at their bounds: any b in an interval is optimal."""
    X, y = np.array([[0.0], [0.1], [5.0], [5.1]]), [0, 0, 1, 1]
    linear = LinearSVC(loss="hinge", C=0.01, tol=1e-9).fit(X, y)
    kernel = SVC(kernel="linear", C=0.01, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(linear.intercept_, kernel.intercept_, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_intercept_is_free_by_default(loss):
    """Moving the points moves the intercept and nothing else."""
    X, y = clouds(2)
    here, there = (LinearSVC(loss=loss, tol=1e-10).fit(X + move, y) for move in (0.0, 100.0))
    np.testing.assert_allclose(here.coef_, there.coef_, atol=1e-5)
    assert there.intercept_[0] == pytest.approx(here.intercept_[0] - 100 * here.coef_.sum(), abs=1e-3)


@pytest.mark.parametrize("name", [name for name in solvers_for("linear") if name not in ("subgradient", "pegasos")])
def test_solvers_by_name(name):
    X, y = clouds(2, spread=3.0)
    rough = name == "stochastic_subgradient"
    loss = "squared_hinge" if name == "newton" else "hinge"
    best = LinearSVC(loss=loss, solver="barrier", tol=1e-8, C=0.01).fit(X, y).report_.primal_objective
    model = LinearSVC(loss=loss, solver=name, C=0.01, tol=0.05 if rough else 1e-6, max_iter=20_000).fit(X, y)
    assert model.report_.solver == name
    assert model.report_.solver_reason == "asked for"
    assert model.report_.primal_objective == pytest.approx(best, rel=0.05 if rough else 1e-6)


def test_solver_objects_carry_options_and_are_cloned_and_searched():
    X, y = clouds(2, spread=3.0)
    model = LinearSVC(loss="hinge", C=0.01, tol=0.05, max_iter=5000, solver=Pegasos(batch_size=5))
    assert clone(model).solver == Pegasos(batch_size=5)
    assert "Pegasos(batch_size=5" in repr(model)
    assert model.fit(X, y).report_.solver == "pegasos"
    search = GridSearchCV(model, {"solver": ["barrier", Subgradient(step=0.1, average=True)]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize(("dual", "solver"), [(True, "newton"), (False, "newton"), ("auto", "newton")])
def test_dual_chooses_no_other_solver(dual, solver):
    X, y = clouds(2)
    model = LinearSVC(dual=dual).fit(X, y)
    assert model.report_.solver == solver
    assert model.report_.converged


def test_the_report_is_certified_and_says_what_was_done():
    X, y = clouds(2)
    model = LinearSVC(loss="hinge", C=0.5, tol=1e-6).fit(X, y)
    report = model.report_
    assert isinstance(report, FitReport)
    problem = PrimalProblem(X, np.where(y == 1, 1.0, -1.0), np.full(len(y), 0.5))
    again = certify(problem, model.coef_[0], model.intercept_[0])
    assert report.primal_objective == pytest.approx(again.primal, rel=1e-12)
    assert report.relative_gap <= 1e-6
    assert report.margin == pytest.approx(2 / np.linalg.norm(model.coef_))
    assert report.kernel_evaluations == 0
    text = str(report)
    for part in (
        "LinearSVC, 2 classes",
        "hinge loss, free intercept",
        "barrier (the primal has 4 unknowns",
        "tolerance 1e-06",
    ):
        assert part in text
    assert "kernel" not in text
    assert report._repr_html_().startswith("<table>")


def test_histories_of_all_models():
    model = LinearSVC().fit(IRIS, SPECIES)
    history = model.history_
    assert isinstance(history, History)
    assert set(history.problem) == {0, 1, 2}
    assert model.n_iter_ == history.iteration.max()
    assert sum(history.of_problem(k).objective[-1] for k in range(3)) == pytest.approx(
        model.report_.primal_objective, rel=1e-3
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_support_vectors_are_the_rows_inside_or_on_the_margin(loss):
    X, y = clouds(2)
    model = LinearSVC(loss=loss, tol=1e-9).fit(X, y)
    margins = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    assert model.report_.n_support == np.count_nonzero(margins <= 1 + 1e-4)


# Weights


@pytest.mark.parametrize("solver", ["auto", "coordinate_descent", "pegasos"])
def test_a_weight_of_two_is_a_repetition_and_zero_is_absence(solver):
    X, y = clouds(3, n=60)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    options = {"loss": "hinge", "solver": solver, "max_iter": 500, "tol": 0.5 if solver == "pegasos" else 1e-2}
    repeated = LinearSVC(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted = LinearSVC(**options).fit(X, y, weight)
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    np.testing.assert_array_equal(weighted.intercept_, repeated.intercept_)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_class_without_weight_keeps_its_place_and_is_never_predicted(multi_class):
    weight = np.where(SPECIES == 1, 0.0, 1.0)
    X = StandardScaler().fit_transform(IRIS)
    for data in (X, sp.csr_matrix(X)):
        model = LinearSVC(multi_class=multi_class).fit(data, SPECIES, weight)
        np.testing.assert_array_equal(model.classes_, [0, 1, 2])
        assert set(model.predict(data)) == {0, 2}
        assert (model.decision_function(data)[:, 1] == -np.inf).all()


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_one_class_with_weight_is_always_predicted(multi_class):
    X, y = clouds(2)
    for kept in (0, 1):
        model = LinearSVC(multi_class=multi_class).fit(X, y, (y == kept).astype(float))
        assert set(model.predict(X)) == {kept}


def test_large_data_are_used_as_they_are(monkeypatch):
    """Nothing is merged or sorted, and rows of weight zero still count for nothing."""
    monkeypatch.setattr("maxmargin.svm.linear.rows.MERGE_MAX_ENTRIES", 10)
    X, y = clouds(2, n=200)
    weight = np.random.default_rng(0).integers(0, 3, 200)
    large = LinearSVC(tol=1e-9).fit(X, y, weight)
    monkeypatch.undo()
    small = LinearSVC(tol=1e-9).fit(X, y, weight)
    np.testing.assert_allclose(large.coef_, small.coef_, atol=1e-5)
    assert large.report_.training_error == small.report_.training_error
    monkeypatch.setattr("maxmargin.svm.linear.rows.MERGE_MAX_ENTRIES", 10)
    assert LinearSVC(warm_start=True).fit(X, y).fit(X, y).n_iter_ == 0


# More than two classes


def test_one_vs_rest_is_a_model_per_class():
    model = LinearSVC(tol=1e-9).fit(IRIS, SPECIES)
    assert model.coef_.shape == (3, 4)
    for k in range(3):
        alone = LinearSVC(tol=1e-9).fit(IRIS, k == SPECIES)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-4)
    np.testing.assert_array_equal(model.predict(IRIS), model.decision_function(IRIS).argmax(axis=1))


@pytest.mark.parametrize("scaling", [1.0, 2.0])
def test_the_joint_model_is_scikit_learns(scaling):
    X, y = clouds(3, n=60, seed=3)
    options = {"multi_class": "crammer_singer", "C": 0.5, "intercept_scaling": scaling}
    ours = LinearSVC(tol=1e-8, max_iter=20_000, **options).fit(X, y)
    theirs = sklearn.svm.LinearSVC(tol=1e-8, max_iter=1_000_000, random_state=0, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    assert ours.report_.relative_gap <= 1e-8
    assert ours.report_.solver == "crammer_singer"


def test_the_joint_model_without_intercept_is_that_of_svc():
    X, y = clouds(3, n=60, seed=3)
    linear = LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=20_000).fit(X, y)
    kernel = SVC(kernel="linear", multiclass="crammer_singer", tol=1e-7).fit(X, y)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=1e-4)


def test_the_joint_model_of_two_classes_has_one_function():
    X, y = clouds(2)
    model = LinearSVC(multi_class="crammer_singer").fit(X, y)
    theirs = sklearn.svm.LinearSVC(multi_class="crammer_singer", max_iter=1_000_000, tol=1e-8, random_state=0).fit(X, y)
    assert model.coef_.shape == (1, 4)
    assert model.decision_function(X).shape == (len(y),)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=0.05 * np.abs(theirs.coef_).max())


def test_the_joint_model_of_nearly_collinear_columns_is_solved():
    rng = np.random.default_rng(2)
    for k in (2, 3):
        X = rng.standard_normal((24, 1)) + 1e-3 * rng.standard_normal((24, 2))
        model = LinearSVC(multi_class="crammer_singer", C=0.5, tol=1e-6).fit(X, np.arange(24) % k)
        assert model.report_.converged


# Hard margins


@pytest.mark.parametrize("solver", ["auto", "smo", "qp_primal", "coordinate_descent"])
def test_hard_margin(solver):
    X, y = IRIS[:100], SPECIES[:100]
    model = LinearSVC(C=math.inf, loss="hinge", solver=solver, tol=1e-6, max_iter=100_000).fit(X, y)
    expected = SVC(kernel="linear", C=math.inf, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    assert model.report_.margin == pytest.approx(expected.report_.margin, rel=1e-4)
    assert (np.where(y == 1, 1, -1) * model.decision_function(X)).min() >= 1 - 1e-9


@pytest.mark.parametrize("solver", ["auto", "qp_primal", "qp_dual"])
@pytest.mark.parametrize("data", [np.asarray, sp.csr_matrix])
def test_a_hard_margin_that_does_not_exist_is_an_error_with_its_proof(solver, data):
    X, y = IRIS[50:], SPECIES[50:]
    with pytest.raises(InseparableError, match="C=inf asks for a hard margin") as caught:
        LinearSVC(C=math.inf, solver=solver).fit(data(X), y)
    assert caught.value.proof.verify(X, y) < 1e-10
    assert {caught.value.proof.positive, caught.value.proof.negative} == {1, 2}


def test_a_hard_margin_through_the_origin_that_does_not_exist():
    X, y = np.array([[1.0], [2.0]]), [0, 1]
    with pytest.raises(InseparableError, match="through the origin"):
        LinearSVC(C=math.inf, fit_intercept=False).fit(X, y)


def test_a_hard_margin_of_several_classes_names_the_one_that_fails():
    with pytest.raises(InseparableError) as caught:
        LinearSVC(C=math.inf).fit(IRIS, SPECIES)
    assert caught.value.proof.positive == 1
    joint = LinearSVC(C=math.inf, multi_class="crammer_singer", max_iter=50_000)
    with pytest.raises(InseparableError, match="jointly"):
        joint.fit(np.ones((6, 2)), [0, 1, 2, 0, 1, 2])


# Input


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_matrix])
def test_sparse_forms_give_the_dense_model(form):
    X, y = clouds(3)
    X[np.abs(X) < 0.5] = 0.0
    plain, sparse = LinearSVC().fit(X, y), LinearSVC().fit(form(X), y)
    np.testing.assert_array_equal(sparse.coef_, plain.coef_)
    np.testing.assert_allclose(sparse.decision_function(form(X)), plain.decision_function(X), atol=1e-12)


def test_large_sparse_data_stay_sparse():
    X = sp.random(2000, 4000, density=0.002, format="csr", random_state=0, dtype=np.float64)
    y = np.asarray(X[:, :50].sum(axis=1)).ravel() > 0
    model = LinearSVC().fit(X, y)
    assert model.report_.solver == "coordinate_descent"
    assert model.report_.relative_gap <= 1e-4


def test_single_precision_is_not_made_double():
    X, y = clouds(2, n=500)
    model = LinearSVC(tol=1e-8).fit(X.astype(np.float32), y)
    assert model.report_.dtype == "float32"
    double = LinearSVC(tol=1e-8).fit(X.astype(np.float32).astype(np.float64), y)
    np.testing.assert_allclose(model.coef_, double.coef_, atol=1e-5)
    assert model.decision_function(X.astype(np.float32)).dtype == np.float64


def test_tables_bring_their_column_names():
    X, y = clouds(2)
    names = list("abcd")
    model = LinearSVC().fit(pd.DataFrame(X, columns=names), np.where(y, "yes", "no"))
    np.testing.assert_array_equal(model.feature_names_in_, names)
    assert set(model.predict(pl.DataFrame(X, schema=names))) == {"yes", "no"}
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=names[::-1]))


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], ["a", "b"], [False, True], [1.0, 2.0]])
def test_labels_of_any_kind(labels):
    X, y = clouds(2)
    model = LinearSVC().fit(X, np.array(labels)[y])
    np.testing.assert_array_equal(model.classes_, labels)
    assert model.score(X, np.array(labels)[y]) > 0.6


def test_two_samples():
    model = LinearSVC(C=100.0, tol=1e-9).fit([[0.0], [2.0]], [0, 1])
    assert model.decision_function([[1.0]])[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l1", "loss": "hinge"}, "penalty='l1' needs loss='squared_hinge'"),
        ({"penalty": "l1", "dual": True}, "penalty='l1' needs dual='auto' or False"),
        ({"penalty": "l1", "multi_class": "crammer_singer"}, "penalty='l1' needs multi_class='ovr'"),
        ({"penalty": "l1", "C": math.inf}, "penalty='l1' needs a finite C"),
        ({"penalty": "l1", "solver": "newton"}, "penalty='l1' needs solver='auto'"),
        ({"penalty": "l3"}, "penalty must be one of 'l1', 'l2'"),
        ({"loss": "logistic"}, "loss must be one of"),
        ({"dual": "yes"}, "dual must be True, False or 'auto'"),
        ({"tol": 0.0}, "tol must be > 0"),
        ({"C": 0.0}, "C must be > 0"),
        ({"C": "large"}, "C must be a number"),
        ({"multi_class": "ovo"}, "multi_class must be one of"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be > 0"),
        ({"max_iter": -2}, "max_iter must be >= -1"),
        ({"max_seconds": 0}, "max_seconds must be > 0"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"verbose": "loud"}, "verbose must be"),
        ({"warm_start": None}, "warm_start must be True or False"),
        ({"solver": "bariers"}, "Did you mean 'barrier'"),
        ({"solver": Pegasos}, "such as Pegasos()"),
        ({"solver": "pegasos"}, "solver='pegasos' cannot solve this problem"),
        ({"solver": "smo", "loss": "hinge", "fit_intercept": False}, "solver='smo' cannot solve this problem"),
        ({"solver": "pegasos", "loss": "hinge", "C": math.inf}, "use 'barrier'"),
        ({"solver": "pegasos", "loss": "hinge", "dual": True}, "dual=True asks for a solver of the dual"),
        ({"multi_class": "crammer_singer", "solver": "barrier"}, "its own solver"),
        ({"class_weight": {0: -1.0}}, "class_weight"),
        ({"class_weight": {0: 0.0, 1: 0.0}}, "nothing to fit"),
        ({"random_state": "dice"}, "dice"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        LinearSVC(**options).fit(*clouds(2))


def test_positional_parameters_are_scikit_learns():
    assert LinearSVC("l2", "hinge").loss == "hinge"
    ours, theirs = LinearSVC().get_params(), sklearn.svm.LinearSVC().get_params()
    differ = {name for name in theirs if ours[name] != theirs[name]}
    assert differ == {"intercept_scaling"}


# Limits and warnings


def test_a_fit_that_does_not_converge_says_so_and_what_to_do():
    X, y = clouds(2)
    X[:, 1] *= 1e6
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap is .* \(tol=0.0001\)") as caught:
        model = LinearSVC(loss="hinge", solver="subgradient", max_iter=5).fit(X, y)
    text = str(caught[0].message)
    assert "raise max_iter" in text
    assert "solver='barrier'" in text
    assert "Column 1 varies" in text
    assert caught[0].filename == __file__
    assert not model.report_.converged
    assert model.n_iter_ == 5
    assert np.isfinite(model.decision_function(X)).all()


def test_steps_that_diverge_are_explained():
    X, y = clouds(2)
    with pytest.warns(ConvergenceWarning, match="the steps are too long"):
        LinearSVC(loss="hinge", solver=Subgradient(step=5.0)).fit(X, y)


def test_a_deadline_gives_the_best_so_far(monkeypatch):
    """The clock is looked at a thousand times before the deadline has passed."""
    X, y = clouds(2, n=3000)
    left = [1000]

    def stop(self):
        left[0] -= 1
        return Status.DEADLINE if left[0] < 0 else None

    monkeypatch.setattr(Control, "stop", stop)
    with pytest.warns(ConvergenceWarning, match="raise max_seconds"):
        model = LinearSVC(loss="hinge", solver="subgradient", tol=1e-12, max_iter=-1).fit(X, y)
    assert model.score(X, y) > 0.6


def test_progress_is_logged_when_asked_for(caplog):
    X, y = clouds(2)
    LinearSVC(verbose=1).fit(X, y)
    assert "violation" in caplog.text
    caplog.clear()
    LinearSVC().fit(X, y)
    assert caplog.text == ""


def test_ctrl_c_gives_the_best_so_far():
    """In a process of its own: the first Ctrl-C ends the fit and, where that is asked for, not the program."""
    program = """
import os, signal, threading, warnings
import numpy as np
from maxmargin import LinearSVC, interrupts
warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X, y = rng.standard_normal((4000, 30)), rng.integers(0, 2, 4000)
LinearSVC(loss="hinge", solver="pegasos", max_iter=1).fit(X[:50], y[:50])
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
with interrupts("keep"):
    model = LinearSVC(loss="hinge", solver="pegasos", tol=1e-12, max_iter=-1, max_seconds=100).fit(X, y)
print(model.report_.status.name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["INTERRUPTED"]


# State


def test_the_same_input_gives_the_same_bits_for_any_number_of_threads():
    X, y = make_classification(3000, 20, n_informative=6, n_classes=3, random_state=0)
    for solver, max_iter in (("auto", 1000), ("coordinate_descent", 300), ("pegasos", 100)):
        options = {"loss": "hinge", "solver": solver, "max_iter": max_iter, "tol": 0.5, "C": 0.01}
        one, again, two = (LinearSVC(n_jobs=jobs, **options).fit(X, y) for jobs in (1, 1, 2))
        for other in (again, two):
            np.testing.assert_array_equal(one.coef_, other.coef_)
            np.testing.assert_array_equal(one.intercept_, other.intercept_)


def test_rows_in_another_order_give_the_same_model():
    X, y = clouds(3)
    order = np.random.default_rng(0).permutation(len(y))
    here, there = LinearSVC().fit(X, y), LinearSVC().fit(X[order], y[order])
    np.testing.assert_array_equal(here.coef_, there.coef_)


def test_random_state_matters_where_rows_are_drawn_and_not_elsewhere():
    X, y = clouds(2, spread=3.0)
    drawn = [
        LinearSVC(loss="hinge", solver="pegasos", tol=0.5, C=0.01, random_state=seed).fit(X, y).coef_ for seed in (1, 2)
    ]
    assert (drawn[0] != drawn[1]).any()
    same = [LinearSVC(random_state=seed).fit(X, y).coef_ for seed in (1, 2)]
    np.testing.assert_array_equal(*same)
    LinearSVC(random_state=np.random.RandomState(0)).fit(X, y)


@pytest.mark.parametrize("solver", ["barrier", "coordinate_descent", "smo", "qp_primal"])
def test_warm_start_from_the_same_data_takes_no_iteration(solver):
    X, y = clouds(2)
    model = LinearSVC(loss="hinge", solver=solver, warm_start=True, max_iter=50_000, tol=1e-5).fit(X, y)
    assert model.n_iter_ > 0
    coef = model.coef_
    assert model.fit(X, y).n_iter_ == 0
    np.testing.assert_allclose(model.coef_, coef)


def test_warm_start_along_a_path_of_c_and_with_other_rows():
    X, y = clouds(3, n=150)
    warm = LinearSVC(loss="hinge", solver="coordinate_descent", warm_start=True, tol=1e-5, max_iter=50_000)
    cold = clone(warm).set_params(warm_start=False)
    for C in (0.01, 0.02, 0.04):
        warm.set_params(C=C).fit(X, y)
        cold.set_params(C=C).fit(X, y)
        assert warm.report_.converged
        np.testing.assert_allclose(warm.coef_, cold.coef_, atol=0.02)
    warm.fit(X[30:], y[30:])
    assert warm.report_.converged
    warm.fit(X[:, :2], y)  # other columns: nothing to start from
    assert warm.coef_.shape == (3, 2)


def test_pickle_and_clone():
    X, y = clouds(3)
    model = LinearSVC(warm_start=True).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.history_ == model.history_
    assert str(again.report_) == str(model.report_)
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_coefficients_can_be_made_sparse_and_dense_again():
    X, y = clouds(3)
    model = LinearSVC().fit(X, y)
    values, coef = model.decision_function(X), model.coef_
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), values)
    np.testing.assert_allclose(model.decision_function(sp.csr_matrix(X)), values)
    np.testing.assert_array_equal(model.densify().coef_, coef)
    with pytest.raises(NotFittedError):
        LinearSVC().sparsify()


def test_inside_pipelines_and_cross_validation():
    assert cross_val_score(make_pipeline(StandardScaler(), LinearSVC()), IRIS, SPECIES, cv=3).mean() > 0.9


# Hostile input


@pytest.mark.parametrize("loss", LOSSES)
def test_one_column_of_ten_million(loss):
    X, y = clouds(2)
    X[:, 0] *= 1e7
    model = LinearSVC(loss=loss, C=100.0).fit(X, y)
    assert model.report_.relative_gap <= 1e-4


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_huge_and_tiny_points(loss, scale):
    X, y = clouds(2)
    model = LinearSVC(loss=loss).fit(scale * X, y)
    assert model.report_.relative_gap <= 1e-4


def test_the_same_point_with_opposite_labels():
    model = LinearSVC(tol=1e-8).fit(np.ones((4, 2)), [0, 1, 0, 1])
    np.testing.assert_allclose(model.coef_, 0, atol=1e-6)
    assert model.report_.converged


def test_constant_columns_and_no_information():
    X = np.zeros((10, 3))
    model = LinearSVC(loss="hinge").fit(X, [0] * 7 + [1] * 3)
    np.testing.assert_allclose(model.coef_, 0, atol=1e-9)
    assert set(model.predict(X)) == {0}


@pytest.mark.parametrize("C", [1e-10, 1e10])
@pytest.mark.parametrize("loss", LOSSES)
def test_tiny_and_huge_prices(C, loss):
    X, y = clouds(2)
    model = LinearSVC(C=C, loss=loss).fit(X, y)
    assert model.report_.relative_gap <= 1e-4


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0])
def test_weights_that_are_no_weights(weight):
    X, y = clouds(2)
    with pytest.raises(ValueError, match="sample_weight"):
        LinearSVC().fit(X, y, np.full(len(y), weight))


def test_continuous_targets_are_refused():
    X, _ = clouds(2)
    with pytest.raises(ValueError, match="continuous"):
        LinearSVC().fit(X, np.random.default_rng(0).standard_normal(len(X)))


# Paths of C


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_path_has_the_models_of_single_fits(loss, n_classes):
    X, y = clouds(n_classes, n=300)
    weight = np.random.default_rng(0).choice([1.0, 2.0], len(y))
    Cs = [10.0, 0.01, 1.0, 0.01]
    template = LinearSVC(loss=loss, tol=1e-8)
    trained_models = template.path(X, y, Cs, sample_weight=weight)
    assert [trained.C for trained in trained_models] == Cs
    assert not hasattr(template, "coef_")
    for trained, C in zip(trained_models, Cs, strict=True):
        alone = LinearSVC(loss=loss, tol=1e-8, C=C).fit(X, y, weight)
        assert trained.report_.relative_gap <= 1e-8
        assert trained.get_params() == alone.get_params()
        np.testing.assert_allclose(trained.coef_, alone.coef_, atol=1e-4)


def test_a_path_takes_fewer_iterations_than_single_fits():
    X, y = clouds(2, n=2000, spread=4.0)
    Cs = [0.01, 0.1, 1.0, 10.0, 100.0]
    path = sum(trained.n_iter_ for trained in LinearSVC(loss="hinge").path(X, y, Cs))
    alone = sum(LinearSVC(loss="hinge", C=C).fit(X, y).n_iter_ for C in Cs)
    assert path < 0.75 * alone


def test_an_empty_path_is_refused():
    with pytest.raises(ValueError, match="Cs is empty"):
        LinearSVC().path(*clouds(), [])


# L1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_l1_penalty_is_scikit_learns(n_classes, form):
    X, y = clouds(n_classes, n=200, d=12)
    trained = LinearSVC("l1", C=0.02, intercept_scaling=1.0, tol=1e-7, class_weight={0: 2.0}).fit(form(X), y)
    theirs = sklearn.svm.LinearSVC("l1", C=0.02, dual=False, tol=1e-9, max_iter=10**6, class_weight={0: 2.0}).fit(X, y)
    np.testing.assert_allclose(trained.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(trained.intercept_, theirs.intercept_, atol=1e-4)
    assert ((trained.coef_ == 0) == (np.abs(theirs.coef_) < 1e-9)).all()
    assert (trained.coef_ == 0).any()
    assert trained.report_.relative_gap <= 1e-7
    assert "L1 penalty" in str(trained.report_)


# Bad input of any scale: the answer, or the cap with the gap and the remedy

SCALES = 10.0 ** np.array([0, 8, 3, 5])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize(
    "change",
    [
        lambda X: X * SCALES,
        lambda X: np.hstack([X, X]),
        lambda X: X * [1, 0, 1, 1],
        lambda X: np.where(np.arange(len(X))[:, None] == 3, 0.0, X),
        lambda X: np.hstack([X] * 40) + 1e-3 * np.random.default_rng(0).standard_normal((len(X), 160)),
        lambda X: X[:, :1],
        lambda X: X + 1e6,
    ],
    ids=["scales", "twice", "zero column", "zero row", "more columns than rows", "one column", "far away"],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_whatever_the_columns_it_converges_or_says_what_to_do(loss, C, change, form):
    X, y = clouds(2)
    X = change(X)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        trained = LinearSVC(loss=loss, C=C).fit(form(X), y)
    assert np.isfinite(trained.coef_).all()
    assert np.isfinite(trained.report_.duality_gap)
    if trained.report_.converged:
        assert trained.report_.relative_gap <= 1e-4
    else:
        assert any("relative duality gap" in str(w.message) for w in seen)
        assert max(np.abs(X).max(), C) >= 1e6


def test_a_class_with_one_row():
    X, y = clouds(3)
    y[0] = 7
    trained = LinearSVC(loss="hinge", C=1e4).fit(X, y)
    assert trained.report_.converged
    assert trained.classes_.tolist() == [0, 1, 2, 7]


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {}, {"penalty": "l1"}, {"solver": "coordinate_descent"}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_large_data_by_columns_give_the_model_of_data_by_rows(options, n_classes, monkeypatch):
    monkeypatch.setattr("maxmargin.svm.linear.rows.MERGE_MAX_ENTRIES", 0)
    X, y = clouds(n_classes, n=400, d=6)
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    expected = LinearSVC(**options, tol=1e-6).fit(sp.csr_matrix(X), y)
    trained = LinearSVC(**options, tol=1e-6).fit(sp.csc_matrix(X), y)
    np.testing.assert_allclose(trained.coef_, expected.coef_, atol=1e-9)
    assert trained.report_.training_error == expected.report_.training_error
    weight = np.arange(400) % 3
    other = LinearSVC(**options, tol=1e-6).fit(sp.csc_matrix(X), y, weight)
    same = LinearSVC(**options, tol=1e-6).fit(sp.csr_matrix(X), y, weight)
    np.testing.assert_allclose(other.coef_, same.coef_, atol=1e-9)


@pytest.mark.parametrize("form", ["C", "F", "float32", "csr", "csc"])
@pytest.mark.parametrize("loss", LOSSES)
def test_memory_beyond_the_input_does_not_grow_with_the_columns(form, loss):
    """Copying X would take d numbers a row; the solvers keep a few dozen."""
    n, d = 40_000, 200
    X = np.random.default_rng(0).standard_normal((n, d))
    y = X[:, 0] + X[:, 1] > 0.3
    if form.startswith("cs"):
        X[:, 60:] = 0.0
        X = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}[form](X)
    else:
        X = {"C": np.ascontiguousarray, "F": np.asfortranarray, "float32": lambda X: X.astype(np.float32)}[form](X)
    trained = LinearSVC(loss=loss, C=1e-3, n_jobs=1)
    trained.fit(X[:2000], y[:2000])  # compiles
    tracemalloc.start()
    trained.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * (45 * n + 40 * d * d) + 4e6
    assert peak < (X.nbytes if not sp.issparse(X) else X.data.nbytes + X.indices.nbytes)


def text_like(n=900, d=4000, seed=0):
    """Rows of unit length with few words, of which some are common and most are rare; some rows are empty, some are
    there twice."""
    rng = np.random.default_rng(seed)
    words = (d * rng.random((n, 40)) ** 3).astype(int)
    X = sp.csr_matrix((1.0 + rng.random(words.size), (np.repeat(np.arange(n), 40), words.ravel())), shape=(n, d))
    X = normalize(X)
    topic = np.asarray(X @ rng.standard_normal(d)).ravel()
    y = topic + 0.5 * topic.std() * rng.standard_normal(n) > 0.8 * topic.std()
    X = sp.csr_matrix(X.multiply((np.arange(n) % 100 != 7)[:, None]))
    return sp.csr_matrix(sp.vstack([X, X[:50]])), np.concatenate([y, y[:50]])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_sparse_text_has_the_objective_of_a_long_run_of_scikit_learn(loss, class_weight):
    X, y = text_like()
    weight = np.ones(len(y)) if class_weight is None else (len(y) / (2 * np.bincount(y)))[y.astype(int)]

    def objective(trained):
        w, b = trained.coef_[0], trained.intercept_[0]
        slack = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * (X @ w + b))
        return 0.5 * (w @ w + b * b) + float(weight @ (slack if loss == "hinge" else slack**2))

    peer = sklearn.svm.LinearSVC(
        loss=loss, dual=True, tol=1e-8, max_iter=100_000, class_weight=class_weight, random_state=0
    ).fit(X, y)
    options = {"loss": loss, "class_weight": class_weight, "solver": "coordinate_descent"}
    ours = LinearSVC(intercept_scaling=1.0, tol=1e-6, **options).fit(X, y)
    assert ours.report_.relative_gap <= 1e-6
    assert objective(ours) == pytest.approx(objective(peer), rel=1.1e-6)
    free = LinearSVC(tol=1e-6, **options).fit(X, y)
    assert free.report_.converged
    assert free.report_.primal_objective <= objective(peer) - 0.5 * peer.intercept_[0] ** 2 + 1e-6 * objective(peer)


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_text_in_any_form_and_with_any_number_of_threads(loss):
    X, y = text_like(n=1500)
    trained = LinearSVC(loss=loss, n_jobs=1).fit(X, y)
    assert trained.report_.solver == "coordinate_descent"
    assert trained.report_.relative_gap <= trained.tol
    two = LinearSVC(loss=loss, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(two.coef_, trained.coef_)
    np.testing.assert_array_equal(two.intercept_, trained.intercept_)
    long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for other in (long, X.tocsc(), sp.csr_array(X)):
        np.testing.assert_allclose(LinearSVC(loss=loss).fit(other, y).coef_, trained.coef_, atol=1e-12)
    single = LinearSVC(loss=loss).fit(X.astype(np.float32), y)
    assert single.report_.relative_gap <= single.tol
    np.testing.assert_allclose(single.coef_, trained.coef_, atol=0.02 * np.abs(trained.coef_).max())
    kept = np.arange(X.shape[0]) % 3 > 0
    weighted = LinearSVC(loss=loss).fit(X, y, sample_weight=kept.astype(float))
    np.testing.assert_array_equal(weighted.coef_, LinearSVC(loss=loss).fit(X[kept], y[kept]).coef_)


def wide_text(n=1500, d=30_000, words=40, seed=0):
    """Two classes of sparse rows with many more columns than rows, each row with few of them."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, d, (n, words))
    X = sp.csr_matrix((rng.random(n * words), (np.repeat(np.arange(n), words), columns.ravel())), (n, d))
    return X, (X @ rng.standard_normal(d) > 0).astype(int)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_dual_is_a_hint_and_never_another_algorithm(loss):
    dense = np.random.default_rng(1).standard_normal((120, 4))
    for X, y in (wide_text(), (dense, (dense[:, 0] > 0.2).astype(int))):
        models = [LinearSVC(dual=dual, loss=loss).fit(X, y) for dual in ("auto", True, False)]
        assert len({model.report_.solver for model in models}) == 1
        for model in models[1:]:
            np.testing.assert_array_equal(model.coef_, models[0].coef_)


@pytest.mark.parametrize(("C", "solver"), [(0.01, "coordinate_descent"), (100.0, "barrier")])
def test_sparse_rows_with_a_small_C_are_solved_row_by_row(C, solver):
    rng = np.random.default_rng(2)
    X = sp.random(3000, 150, 0.05, format="csr", random_state=3)
    y = (X @ rng.standard_normal(150) + 0.1 * rng.standard_normal(3000) > 0).astype(int)
    model = LinearSVC(C=C, loss="hinge").fit(X, y)
    assert model.report_.solver == solver
    other = LinearSVC(C=C, loss="hinge", solver="barrier", tol=1e-8).fit(X, y)
    assert model.report_.primal_objective == pytest.approx(other.report_.primal_objective, rel=1e-4)
