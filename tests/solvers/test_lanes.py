"""Models side by side in vector lanes, and conjugate gradients on a face of the box."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC as Theirs

from maxmargin import LinearSVC
from maxmargin.problems.losses import EpsilonInsensitive
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import certify
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers import CoordinateDescent, Start
from maxmargin.solvers import lanes as module
from maxmargin.solvers.descent import Descent
from maxmargin.solvers.lanes import solve_together
from reference import qp


def text(n=300, d=2000, classes=5, seed=0, filled=0.02):
    """Rows of length one with few entries, and classes that overlap."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, filled, format="csr", random_state=rng)
    X = sp.csr_matrix(X.multiply(1.0 / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-12)))
    y = np.argmax(X @ rng.standard_normal((d, classes)) + 0.3 * rng.standard_normal((n, classes)), axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def one_vs_rest(X, y, loss, intercept, bound, own, scaling=1.0):
    return [
        PrimalProblem(X, np.where(y == k, 1.0, -1.0), bound * np.where(y == k, own[k], 1.0), loss, intercept, scaling)
        for k in range(len(own))
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_side_by_side_they_find_what_each_finds_alone(loss, intercept, dtype):
    X, y = text(classes=4)
    rng = np.random.default_rng(1)
    bound, own = rng.choice([0.5, 1.0, 2.0], len(y)), np.array([1.0, 0.5, 2.0, 3.0])
    problems = one_vs_rest(X, y, loss, intercept, bound, own, 1.5)
    solutions = solve_together(
        problems, bound, own, tol=1e-3, control=Control(), starts=[None] * 4, seed=0, threads=1, dtype=dtype
    )
    for problem, solution in zip(problems, solutions, strict=True):
        certificate = certify(problem, solution.w, solution.b, solution.beta, solution.f)
        np.testing.assert_allclose(certificate.gap, certify(problem, solution.w, solution.b, solution.beta).gap)
        np.testing.assert_allclose(solution.w, problem.row_combination(solution.beta), atol=1e-12)
        assert certificate.dual_infeasibility == 0.0
        best = optimum(problem)
        assert certificate.dual <= best * (1 + 1e-6)
        assert best * (1 - 1e-6) <= certificate.primal <= best * (1 + 5e-3)


def optimum(problem):
    """By a textbook quadratic program where it has one, else by the method for one problem and its certificate."""
    if problem.loss == "hinge" and problem.intercept != "penalised":
        K = (problem.X @ problem.X.T).toarray()
        return qp.c_svc(K, problem.y, problem.weight, fit_intercept=problem.intercept == "free").objective
    solution = CoordinateDescent().solve_linear(problem, tol=1e-7, control=Control(), random_state=0)
    certificate = certify(problem, solution.w, solution.b, solution.beta)
    assert certificate.relative_gap <= 1e-6
    return certificate.primal


@pytest.mark.parametrize("classes", [3, 7, 20])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_estimator_takes_them_and_agrees_with_scikit_learn(classes, loss):
    X, y = text(n=400, classes=classes)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(y))
    options = {"loss": loss, "solver": "coordinate_descent", "intercept_scaling": 1.0, "class_weight": {0: 3.0}}
    estimator = LinearSVC(**options, tol=1e-6).fit(X, y, sample_weight=weight)
    assert "side by side" in estimator.report_.solver_reason
    assert estimator.report_.converged
    theirs = Theirs(loss=loss, intercept_scaling=1.0, class_weight={0: 3.0}, tol=1e-8, max_iter=100_000, dual=True)
    theirs.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(estimator.coef_, theirs.coef_, atol=3e-3)
    np.testing.assert_allclose(estimator.intercept_, theirs.intercept_, atol=3e-3)


@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_form_of_rows_is_taken(indices, dtype, monkeypatch):
    X, y = text()
    form = X.astype(dtype)
    form.indices, form.indptr = form.indices.astype(indices), form.indptr.astype(indices)
    expected = LinearSVC(solver="coordinate_descent", tol=1e-5).fit(X, y)
    monkeypatch.setattr("maxmargin.svm.linear.rows.MERGE_MAX_ENTRIES", 0)  # rows as they are
    estimator = LinearSVC(solver="coordinate_descent", tol=1e-5).fit(form, y)
    assert estimator.report_.converged
    np.testing.assert_allclose(estimator.coef_, expected.coef_, atol=1e-2)


def test_the_number_of_threads_does_not_change_a_bit():
    X, y = text(classes=9)
    one, two = (LinearSVC(loss="hinge", solver="coordinate_descent", n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_more_digits_than_single_precision_has():
    X, y = text(classes=3)
    estimator = LinearSVC(loss="hinge", solver="coordinate_descent", tol=1e-9, max_iter=10_000).fit(X, y)
    assert estimator.report_.relative_gap <= 1e-9
    iterations = estimator.history_.of_problem(0).iteration
    assert (np.diff(iterations) >= 0).all()


def test_a_start_that_is_optimal_is_kept():
    X, y = text(classes=3)
    problems = one_vs_rest(X, y, "hinge", "free", np.ones(len(y)), np.ones(3))
    exact = [CoordinateDescent().solve_linear(p, tol=1e-7, control=Control(), random_state=0) for p in problems]
    solutions = solve_together(
        problems,
        np.ones(len(y)),
        np.ones(3),
        tol=1e-3,
        control=Control(),
        starts=[Start(s.w, s.b, s.beta) for s in exact],
        seed=0,
        threads=1,
    )
    assert {s.n_iter for s in solutions} == {module.FIRST_EVALUATION_EPOCH}
    for solution, other in zip(solutions, exact, strict=True):
        np.testing.assert_allclose(solution.w, other.w, atol=1e-3)


def test_limits_are_obeyed():
    X, y = text(classes=3)
    with pytest.warns(UserWarning, match="iteration limit"):
        estimator = LinearSVC(loss="hinge", solver="coordinate_descent", tol=1e-9, max_iter=3).fit(X, y)
    assert estimator.n_iter_ == 3
    with pytest.warns(UserWarning, match="time limit"):
        late = LinearSVC(loss="hinge", solver="coordinate_descent", tol=1e-9, max_seconds=1e-9).fit(X, y)
    assert late.report_.status is Status.DEADLINE
    assert np.isfinite(late.report_.duality_gap)


def test_an_empty_row_and_a_column_that_is_never_used():
    X, y = text(classes=3)
    X = sp.vstack([X, sp.csr_matrix((2, X.shape[1]))]).tocsr()
    y = np.append(y, [0, 1])
    estimator = LinearSVC(loss="hinge", solver="coordinate_descent").fit(X, y)
    assert estimator.report_.converged
    assert not estimator.coef_[:, X.getnnz(axis=0) == 0].any()


# ---- conjugate gradients on a face


@st.composite
def faces(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 25)), draw(st.integers(1, 8))
    X = rng.standard_normal((n, d))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    bound = np.full(n, draw(st.sampled_from([0.01, 1.0, 100.0])))
    losses = ["hinge", "squared_hinge", "pinball", EpsilonInsensitive(0.3)]
    loss, intercept = draw(st.sampled_from(losses)), draw(st.sampled_from(["free", "none"]))
    return PrimalProblem(X, y, bound, loss, intercept), rng.random(n)


@given(faces())
@settings(max_examples=60, deadline=None)
def test_a_step_on_the_face_lowers_the_objective_and_stays_in_the_box(case):
    problem, share = case
    descent = Descent(problem, 0.1, None)
    descent.beta[:] = np.clip(share * problem.y * problem.weight, 0.9 * problem.lower, 0.9 * problem.upper)
    if problem.squared:
        descent.beta[:] = share * problem.y * problem.weight
    descent.w[:] = problem.centred.transposed(descent.beta)
    state = descent.state
    state.missing = float(descent.beta.sum())

    def objective():
        value = 0.5 * descent.w @ descent.w + state.b0 * state.missing + 0.5 * state.rho * state.missing**2
        value += problem.epsilon * np.abs(descent.beta).sum() - descent.target @ descent.beta
        return value + 0.5 * problem.ridge @ descent.beta**2

    before = objective()
    gained = state.free_step(descent.free_rows(), 10)
    after = objective()
    scale = abs(before) + abs(after) + 1.0
    assert after <= before + 1e-10 * scale
    np.testing.assert_allclose(before - after, gained, atol=1e-9 * scale)
    assert (descent.beta >= problem.lower).all()
    assert (descent.beta <= problem.upper).all()
    made = problem.centred.transposed(descent.beta)
    np.testing.assert_allclose(descent.w, made, atol=1e-9 * (1 + np.abs(made).max()))


def test_enough_steps_solve_the_face():
    """Far inside the box one call finds the minimum: the gradient on the face is as good as zero."""
    rng = np.random.default_rng(0)
    X = np.eye(12, 30) + 0.1 * rng.standard_normal((12, 30))  # nearly orthogonal: all multipliers are positive
    problem = PrimalProblem(X, np.where(np.arange(12) % 2, 1.0, -1.0), np.full(12, 1e9), "hinge", "none")
    descent = Descent(problem, 0.1, None)
    descent.beta[:] = problem.y
    descent.w[:] = problem.row_combination(descent.beta)
    for _ in range(12):
        descent.state.free_step(np.arange(12), 50)
    assert (problem.y * descent.beta > 0).all()
    np.testing.assert_allclose(problem.y * (X @ descent.w), 1.0, atol=1e-6)
