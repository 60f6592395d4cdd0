"""Fits whose problems are solved together: models as one by one, best so far when stopped, deferred reports."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.kernels import RBF
from maxmargin.problems.dual import c_svc
from maxmargin.runtime.control import Control, Status
from maxmargin.svm.kernel.solving import batch, each
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.multiclass import PairTable


def clouds(n=240, d=4, classes=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(classes, d))[y], y


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "laplacian", "chi2"])
@pytest.mark.parametrize("form", ["dense", "float32", "csr"])
@pytest.mark.parametrize("classes", [2, 5])
def test_a_batch_finds_what_a_solver_finds(kernel, form, classes):
    X, y = clouds(classes=classes)
    X = np.abs(X) if kernel == "chi2" else X
    X = X.astype(np.float32) if form == "float32" else sp.csr_matrix(X) if form == "csr" else X
    together = SVC(kernel=kernel, C=2.0, coef0=0.5, gamma=0.05, tol=1e-5).fit(X, y)
    alone = SVC(kernel=kernel, C=2.0, coef0=0.5, gamma=0.05, tol=1e-5, solver="active_set").fit(X, y)
    assert together.report_.solver == "batch"
    assert together.report_.converged
    assert together.report_.kkt_violation <= 1e-5
    if kernel == "sigmoid":  # not positive: there may be several solutions
        return
    np.testing.assert_allclose(together.decision_function(X), alone.decision_function(X), atol=2e-3)
    assert together.report_.dual_objective == pytest.approx(alone.report_.dual_objective, rel=1e-6)
    assert together.report_.training_error == pytest.approx(alone.report_.training_error, abs=0.01)
    assert together.dual_coef_.shape[0] == classes - 1
    assert together.n_support_.sum() == len(together.support_)


@pytest.mark.parametrize(
    "estimator",
    [NuSVC(nu=0.3), SVR(C=3.0, epsilon=0.05), NuSVR(nu=0.4), OneClassSVM(nu=0.2), SVC(multiclass="ovr")],
    ids=str,
)
def test_other_problems_are_batches_of_one(estimator):
    X, y = clouds(classes=3, seed=1)
    together = estimator.set_params(tol=1e-5).fit(X, y)
    alone = type(estimator)(**{**estimator.get_params(), "solver": "active_set"}).fit(X, y)
    assert together.report_.solver == "batch"
    assert together.report_.dual_objective == pytest.approx(alone.report_.dual_objective, rel=1e-5)
    np.testing.assert_allclose(together.intercept_, alone.intercept_, atol=1e-3)


def test_weights_duplicates_and_absent_classes():
    X, y = clouds(n=120, classes=4, seed=2)
    doubled = SVC(tol=1e-6).fit(np.concatenate((X, X)), np.concatenate((y, y)))
    weighted = SVC(tol=1e-6).fit(X, y, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose(doubled.decision_function(X), weighted.decision_function(X), atol=1e-6)
    weight = np.where(y == 1, 0.0, 1.0)
    without = SVC(tol=1e-6).fit(X, y, sample_weight=weight)
    fewer = SVC(tol=1e-6, gamma=without.kernel_.gamma).fit(X[y != 1], y[y != 1])
    assert not (without.predict(X) == 1).any()
    np.testing.assert_array_equal(without.predict(X), fewer.predict(X))


def test_a_problem_that_is_left_unfinished_goes_on_elsewhere(monkeypatch):
    X, y = clouds(classes=3, seed=3)
    finished, original = [], each._finished
    plain = SVC().fit(X, y)
    call = batch.solve_posed

    def patched(*arguments, **options):
        solved = call(*arguments, **options)
        solved.status[1] = batch.CREEPS
        return solved

    monkeypatch.setattr(batch, "solve_posed", patched)
    monkeypatch.setattr(each, "_finished", lambda *a: finished.append(a[-1]) or original(*a))
    model = SVC().fit(X, y)
    assert finished == [1]
    assert model.report_.converged
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=5e-3)


def test_hard_cases_end_certified():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVC(kernel="linear", C=1e5).fit(X, y)
    assert model.report_.kkt_violation <= 1e-3


def test_a_deadline_in_a_batch_gives_the_best_so_far():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(4000, 60)), rng.integers(0, 12, 4000)
    with pytest.warns(ConvergenceWarning, match="raise max_seconds"):
        model = SVC(C=1e4, gamma=0.001, tol=1e-9, max_seconds=0.1).fit(X, y)
    assert model.report_.status is Status.DEADLINE
    assert model.report_.kkt_violation > 1e-9
    assert model.predict(X[:3]).shape == (3,)


def test_the_number_of_threads_changes_no_bit():
    X, y = load_digits(return_X_y=True)
    one, two = (SVC(gamma=0.001, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_reports_are_made_when_read():
    X, y = clouds()
    model = SVC().fit(X, y)
    assert "training_error" not in vars(model.report_)
    copy = pickle.loads(pickle.dumps(model))
    assert str(copy.report_) == str(model.report_)
    assert copy.history_ == model.history_
    assert model.report_.training_error == pytest.approx(1 - model.score(X, y))
    assert len(model.history_) == 10
    with pytest.raises(AttributeError, match="no attribute 'word'"):
        _ = model.report_.word


def test_values_of_pairs_are_those_of_all_coefficients():
    X, y = clouds(classes=6)
    ours = SVC().fit(X, y)
    expansion = ours._expansion
    assert "coefficients" not in vars(expansion)
    dense = KernelExpansion(expansion.kernel, expansion.anchors, expansion.coefficients, expansion.intercept)
    np.testing.assert_array_equal(dense.decision(X), expansion.decision(X))
    np.testing.assert_array_equal(dense.decision(X[:1]), expansion.decision(X[:1]))
    K = expansion.kernel.matrix(X, expansion.anchors)
    np.testing.assert_allclose(K @ expansion.coefficients + expansion.intercept, expansion.decision(X), atol=1e-10)
    theirs = sklearn.svm.SVC(decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(expansion.decision(X), theirs.decision_function(X), atol=5e-3)
    np.testing.assert_allclose(expansion.absolute_sums, np.abs(expansion.coefficients).sum(axis=0))


def test_coefficients_that_are_no_pairs():
    assert PairTable.of_coefficients(np.ones((4, 3))) is None
    assert PairTable.of_coefficients(np.ones((4, 2))) is None
    assert PairTable.of_coefficients(np.zeros((4, 3))) is None
    assert PairTable.of_coefficients(np.zeros((0, 3))) is None
    unsorted = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    assert PairTable.of_coefficients(unsorted) is None
    table = PairTable.of_coefficients(unsorted[::-1])
    np.testing.assert_array_equal(table.coefficients(), unsorted[::-1])
    np.testing.assert_array_equal(table.counts, [1, 0, 1])


def test_a_problem_alone_is_a_batch_up_to_the_size_where_working_sets_are_faster():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2600, 3))
    y = (X[:, 0] + 0.5 * rng.standard_normal(len(X)) > 0).astype(int)
    assert SVC().fit(X[:2000], y[:2000]).report_.solver == "batch"
    assert SVC().fit(X, y).report_.solver == "active_set"
    assert NuSVC(nu=0.3).fit(X, y).report_.solver == "active_set"
    assert SVC().fit(X, np.arange(len(X)) % 2 + y).report_.solver == "batch"  # pairs share kernel values
    far = X + 5 * np.sign(X[:, :1])
    easy = SVC().fit(far, X[:, 0] > 0).report_  # a few steps
    assert (easy.solver, easy.converged) == ("batch", True)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert SVC(max_iter=50).fit(X, y).report_.status is Status.MAX_ITER


def wide(n=1600, d=120, overlap=False, seed=0):
    """Two classes: far enough apart for few support vectors, or with labels drawn at random."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    return (X, y) if overlap else (X + 1.2 * np.array([[1.0], [-1.0]])[y] / np.sqrt(d), y)


def test_long_rows_with_few_support_vectors_do_not_compute_all_of_k():
    X, y = wide()
    model = SVC(n_jobs=2).fit(X, y)
    assert model.report_.solver == "batch"
    assert model.report_.converged
    assert len(model.support_) < 200
    assert 0 < model.report_.kernel_evaluations < len(X) ** 2 / 2  # blocks count nothing: they are all of K


@pytest.mark.parametrize("estimator", [SVC(C=3.0), SVR(C=0.5), SVC(C=3.0, kernel="poly")], ids=str)
@pytest.mark.parametrize("pixels", [False, True])
def test_where_a_trial_is_given_up_the_batch_goes_on(estimator, pixels):
    X, y = wide(overlap=True)
    X = np.round(20 * X) if pixels else X
    estimator = estimator.set_params(gamma=0.002 if pixels else 0.5)
    one, two = (type(estimator)(**estimator.get_params()).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.report_.solver == two.report_.solver == "batch"
    assert two.report_.converged
    assert len(two.support_) > 800
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    assert one.report_.n_iter == two.report_.n_iter
    alone = type(estimator)(**{**estimator.get_params(), "solver": "active_set"}).fit(X, y)
    assert two.report_.dual_objective == pytest.approx(alone.report_.dual_objective, rel=1e-4)


def test_a_trial_of_many_rows_is_given_up_early():
    X, y = clouds(n=3000, d=10, classes=2)
    y = np.random.default_rng(1).integers(0, 2, len(y))
    problem = c_svc(np.where(y == 1, 1.0, -1.0), np.ones(len(y)))
    posed = batch.one_problem(problem)
    values = batch.KernelValues.of_points(RBF(gamma=0.1).resolve(X), X, posed)
    options = {"tol": 1e-3, "budget": 2e8, "threads": 1}
    control = replace(Control.of(SVC()), max_iter=each.TRIAL_STEPS)
    solved = batch.solve_posed(posed, values, control=control, trial=each.TRIAL, **options)
    assert solved.status[0] == batch.GIVEN_UP
    assert solved.steps[0] == each.TRIAL[0]
    assert solved.n_support[0] > each.TRIAL[0]
    assert abs(solved.a.sum()) < 1e-9
    unchecked = batch.solve_posed(posed, values, control=control, trial=(10**6, 0, False), **options)
    assert unchecked.status[0] == batch.GIVEN_UP
    assert unchecked.steps[0] == each.TRIAL_STEPS
    assert SVC(gamma=0.1).fit(X, y).report_.solver == "active_set"
    with pytest.warns(ConvergenceWarning, match="terminated early"):
        assert SVC(gamma=0.1, max_iter=7).fit(X, y).report_.status is Status.MAX_ITER
