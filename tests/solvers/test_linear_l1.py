"""The linear model with few weights: its problem, its certificate and its solver, against a textbook quadratic
program (w as the difference of two parts that are not negative) and against scikit-learn's LIBLINEAR."""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from maxmargin import _native
from maxmargin.problems.l1 import L1Problem, certify_l1
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers import Start
from maxmargin.solvers.l1.columns import Columns, columns_of
from maxmargin.solvers.l1.coordinate_descent import L1CoordinateDescent, best_move
from maxmargin.solvers.l1.model import minimise, violation
from reference import qp

INTERCEPTS = ["free", "penalised", "none"]
FORMS = ["dense", "fortran", "float32", "csr"]
WAYS = {"newton": {}, "small sets": {"first": 2}, "columns": {"square": 0}}


def draw(seed=0, n=60, d=8, intercept="free", price=0.3, form="dense"):
    """Overlapping classes with different weights, among them zero, of which two columns matter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.3
    y = np.where(X[:, 0] - X[:, -1] + rng.standard_normal(n) > 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    bound = price * rng.choice([0.0, 0.5, 1.0, 2.0], n)
    bound[:2] = price
    X = np.where(rng.random((n, d)) < 0.6, X, 0.0) if form == "csr" else X
    shaped = {"csr": sp.csr_matrix, "float32": np.float32, "fortran": np.asfortranarray}.get(form, np.asarray)
    return L1Problem(shaped(X), y, bound, intercept=intercept, scaling=1.7)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)


def oracle(problem):
    """The optimal objective by a program in w = p - m, b = q - r and the slacks."""
    used = problem.weight > 0
    X, y, c = dense(problem.X)[used], problem.y[used], problem.weight[used]
    n, d = X.shape
    with_b = problem.intercept != "none"
    program = qp.Program(p=d, m=d, q=int(with_b), r=int(with_b), xi=n)
    for part in ("p", "m"):
        program.q[program.at[part]] = 1.0
    if problem.intercept == "penalised":
        for part in ("q", "r"):
            program.q[program.at[part]] = 1.0 / problem.scaling
    program.P[program.at["xi"]] = 2.0 * c
    for part, size in (("p", d), ("m", d), ("q", int(with_b)), ("r", int(with_b)), ("xi", n)):
        for k in range(size):
            program.at_least(0.0, **{part: np.eye(size)[k]})
    for i in range(n):
        program.at_least(1.0, p=y[i] * X[i], m=-y[i] * X[i], q=y[i], r=-y[i], xi=np.eye(n)[i])
    return program.solve()[0]


@functools.cache
def case(seed, intercept, form="dense"):
    problem = draw(seed, intercept=intercept, form=form)
    return problem, oracle(problem)


def objective(problem, w, b):
    """The primal from its definition, one row after the other."""
    total = sum(abs(weight) for weight in w) + (abs(b) / problem.scaling if problem.intercept == "penalised" else 0.0)
    for x, y, c in zip(dense(problem.X), problem.y, problem.weight, strict=True):
        total += c * max(0.0, 1.0 - y * (float(x @ w) + b)) ** 2
    return float(total)


def solve(problem, tol=1e-8, start=None, options=None, **limits):
    limits.setdefault("max_iter", 2000)
    solver = L1CoordinateDescent(**(options or {}))
    return solver.solve_linear(problem, tol=tol, control=Control(**limits), start=start, random_state=0)


def check(problem, solution, tol=1e-8):
    assert solution.status is Status.OPTIMAL
    certificate = certify_l1(problem, solution.w, solution.b, solution.beta)
    assert certificate.primal == pytest.approx(objective(problem, solution.w, solution.b), rel=1e-10)
    assert -1e-9 <= certificate.relative_gap <= 2 * tol
    assert certificate.dual_infeasibility <= 1e-6
    return certificate


# The solver


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_objective_is_that_of_the_program(way, form, intercept):
    problem, best = case(1, intercept, form)
    certificate = check(problem, solve(problem, options=WAYS[way]))
    assert certificate.primal == pytest.approx(best, rel=1e-6)
    assert certificate.violation < 1e-3


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 40),
    d=st.integers(1, 60),
    price=st.sampled_from([1e-3, 0.1, 1.0, 100.0]),
    intercept=st.sampled_from(INTERCEPTS),
    form=st.sampled_from(FORMS),
)
def test_random_problems_have_no_gap(seed, n, d, price, intercept, form):
    problem = draw(seed, n, d, intercept, price, form)
    check(problem, solve(problem, tol=1e-6), 1e-6)


@pytest.mark.parametrize("intercept", ["penalised", "none"])
def test_same_solution_as_liblinear(intercept):
    problem = draw(3, n=200, d=30, intercept=intercept, price=0.1)
    w, b = (lambda s: (s.w, s.b))(solve(problem))
    peer = LinearSVC(
        penalty="l1",
        dual=False,
        C=1.0,
        tol=1e-8,
        max_iter=100_000,
        fit_intercept=intercept == "penalised",
        intercept_scaling=problem.scaling,
    ).fit(problem.X, problem.y, sample_weight=problem.weight)
    theirs = objective(problem, peer.coef_[0], float(np.ravel(peer.intercept_)[0]) if intercept == "penalised" else 0.0)
    assert objective(problem, w, b) <= theirs * (1 + 1e-8)
    np.testing.assert_array_equal(w != 0, peer.coef_[0] != 0)
    np.testing.assert_allclose(w, peer.coef_[0], atol=1e-4)


def test_weights_that_do_not_matter_are_exactly_zero():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 500))
    y = np.sign(X[:, 3] - 2 * X[:, 7] + 0.5 * rng.standard_normal(300))
    problem = L1Problem(X, y, np.full(300, 0.03))
    solution = solve(problem, tol=1e-10)
    slopes = X.T @ certify_l1(problem, solution.w, solution.b, solution.beta).beta
    np.testing.assert_array_equal(solution.w != 0, np.abs(slopes) > 1 - 1e-6)
    np.testing.assert_array_equal(np.sign(solution.w[solution.w != 0]), np.sign(slopes[solution.w != 0]))
    assert 2 <= np.count_nonzero(solution.w) < 100
    assert np.abs(solution.w).argmax() == 7


def test_below_the_first_price_all_weights_are_zero():
    problem = draw(2)
    none_yet = np.zeros(problem.n_rows)
    steepest = np.abs(problem.row_combination(problem.suggested(none_yet, problem.best_intercept(none_yet, 0.0)))).max()
    for factor, none in ((0.999, True), (1.01, False)):
        shrunk = L1Problem(problem.X, problem.y, problem.weight * factor / steepest, intercept="free")
        assert (not solve(shrunk).w.any()) == none


HARD = {
    "columns from 1 to 1e8": lambda X: X * np.logspace(0, 8, X.shape[1]),
    "columns from 1e-8 to 1": lambda X: X * np.logspace(-8, 0, X.shape[1]),
    "equal columns": lambda X: np.hstack([X, X, X]),
    "zero and constant columns": lambda X: np.hstack([X, np.zeros((len(X), 2)), np.full((len(X), 2), 1e3)]),
    "one column": lambda X: X[:, :1],
}


@pytest.mark.parametrize("price", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_awkward_columns(name, intercept, price):
    problem = draw(4, n=100)
    X = HARD[name](problem.X)
    awkward = L1Problem(X, problem.y, np.full(100, price), intercept=intercept)
    solution = solve(awkward, tol=1e-5)
    if price * np.abs(X).max() > 1e10:  # the slopes, sums of such products, are only known to 1e-16 of them
        assert solution.status in (Status.OPTIMAL, Status.STALLED)
        easy = L1Problem(problem.X, problem.y, awkward.weight, intercept=intercept)
        best = solve(easy, tol=1e-8)  # |w|_1 is nothing beside such prices, and the losses know no scale
        assert awkward.primal(solution.w, solution.b) == pytest.approx(easy.primal(best.w, best.b), rel=1e-6)
    else:
        check(awkward, solution, 1e-5)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_nearly_hard_margin_with_more_columns_than_rows(form, intercept):
    """The smallest |w|_1 that separates, which a linear program would find."""
    problem = draw(5, n=40, d=300, intercept=intercept, form=form)
    steep = L1Problem(problem.X, problem.y, np.full(40, 1e6), intercept=intercept)
    solution = solve(steep, tol=1e-5)
    check(steep, solution, 1e-5)
    assert steep.margins(solution.w, solution.b).min() > 0.99
    assert np.count_nonzero(solution.w) <= 41


def test_a_feasible_start_that_is_optimal_is_kept():
    problem, _ = case(1, "free")
    solution = solve(problem)
    again = solve(problem, tol=1e-6, start=Start(solution.w, solution.b, solution.beta))
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.w, solution.w)
    near = solve(problem, start=Start(1.1 * solution.w, 0.0))
    check(problem, near)


def test_zero_weights_are_absent_and_two_is_twice():
    problem = draw(6)
    kept = np.flatnonzero(problem.weight > 0)
    repeated = np.repeat(kept, np.round(problem.weight[kept] / 0.15).astype(int))
    other = L1Problem(problem.X[repeated], problem.y[repeated], np.full(len(repeated), 0.15), intercept="free")
    one, two = solve(problem, tol=1e-10), solve(other, tol=1e-10)
    np.testing.assert_allclose(one.w, two.w, atol=1e-7)
    assert one.b == pytest.approx(two.b, abs=1e-7)


def test_one_class_needs_no_weights():
    X = np.random.default_rng(0).standard_normal((20, 3))
    solution = solve(L1Problem(X, np.ones(20), np.ones(20), intercept="free"))
    assert not solution.w.any()
    assert solution.b >= 1.0
    penalised = L1Problem(X, np.ones(20), np.ones(20), intercept="penalised")
    check(penalised, solve(penalised))


def test_history_and_early_ends():
    problem = draw(7, n=200, d=40)
    solution = solve(problem)
    history = solution.history
    assert history.iteration[-1] == solution.n_iter
    assert (history.dual <= history.objective[-1] * (1 + 1e-12)).all()
    assert solve(problem, max_iter=1).status is Status.MAX_ITER
    stopped = solve(problem, max_seconds=0.0)
    assert stopped.status is Status.DEADLINE
    assert np.isfinite(stopped.w).all()


def test_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(1)
    X = sp.random(1500, 500, 0.05, "csr", random_state=1)
    y = np.where(np.asarray(X[:, :20].sum(axis=1)).ravel() + 0.1 * rng.standard_normal(1500) > 0.4, 1.0, -1.0)
    runs = [solve(L1Problem(X, y, np.ones(1500), threads=threads, csc=X.tocsc()), tol=1e-4) for threads in (1, 2)]
    np.testing.assert_array_equal(runs[0].w, runs[1].w)


def test_refusals():
    problem = draw()
    solver = L1CoordinateDescent()
    assert solver.refuses(problem) is None
    assert "penalty='l1'" in solver.refuses(PrimalProblem(problem.X, problem.y, problem.weight, "squared_hinge"))
    assert "squared_hinge" in solver.refuses(L1Problem(problem.X, problem.y, problem.weight, "hinge"))
    assert "finite C" in solver.refuses(L1Problem(problem.X, problem.y, np.full(60, math.inf)))
    with pytest.raises(ValueError, match="cannot solve this problem"):
        solve(L1Problem(problem.X, problem.y, problem.weight, "hinge"))


# The problem and its certificate


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_multipliers_become_feasible_and_bound_the_optimum(intercept):
    problem, best = case(1, intercept)
    rng = np.random.default_rng(0)
    for _ in range(20):
        w, b = rng.standard_normal(8), float(rng.standard_normal())
        beta = problem.feasible(problem.suggested(problem.design.times(w), b))
        alpha = problem.y * beta
        slopes = dense(problem.X).T @ (problem.y * alpha)
        assert alpha.min() >= 0
        assert (alpha[problem.weight == 0] == 0).all()
        assert np.abs(slopes).max() <= 1 + 1e-12
        total = float(problem.y @ alpha)
        assert abs(total) <= {"free": 1e-12, "penalised": 1 / problem.scaling + 1e-12, "none": math.inf}[intercept]
        used = problem.weight > 0
        value = float(alpha.sum() - (alpha[used] ** 2 / (4 * problem.weight[used])).sum())
        assert problem.dual(beta) == pytest.approx(value)
        assert value <= best * (1 + 1e-7) <= problem.primal(w, b) * (1 + 1e-6)
        assert problem.primal(w, b) == pytest.approx(objective(problem, w, b))


def test_certificate_tells_good_from_bad():
    problem, best = case(1, "penalised")
    solution = solve(problem, tol=1e-10)
    good = certify_l1(problem, solution.w, solution.b)
    bad = certify_l1(problem, 1.2 * solution.w, solution.b)
    assert good.primal == pytest.approx(best, rel=1e-6)
    assert good.violation < 1e-4 < 1e-2 < bad.violation
    assert good.relative_gap < 1e-8 < 1e-3 < bad.relative_gap
    assert good.complementarity < 1e-4
    with_given = certify_l1(problem, 1.2 * solution.w, solution.b, good.beta)
    assert with_given.dual == pytest.approx(good.dual)
    inside = problem.margins(solution.w, solution.b) < 1 - 1e-6
    np.testing.assert_array_equal(good.support, inside & (problem.weight > 0))


# Its parts


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000), d=st.integers(1, 30), rank=st.integers(1, 30), size=st.sampled_from([0.1, 3.0, 1e3])
)
def test_model_is_minimised(seed, d, rank, size):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rank, d))
    H, r = A.T @ A, size * A.T @ rng.standard_normal(rank)
    v, found = minimise(H, r, rng.standard_normal(d), 1e-6)
    assert found
    assert violation(H @ v - r, v) <= 1e-5 * (1 + size)

    def value(u):
        return 0.5 * u @ H @ u - r @ u + np.abs(u).sum()

    for _ in range(20):
        assert value(v) <= value(v + 10.0 ** rng.uniform(-6, 0) * rng.standard_normal(d)) + 1e-9 * (1 + size**2)


def test_a_pass_over_the_columns_descends():
    problem = draw(8, intercept="none", form="csr")
    w, slack = np.zeros(8), np.ones(60)
    before = objective(problem, w, 0.0)
    _native.l1_descend(columns_of(problem.X), np.arange(8), problem.y, problem.weight, w, slack)
    assert objective(problem, w, 0.0) < before
    np.testing.assert_allclose(slack, 1.0 - problem.margins(w, 0.0))
    again, other = np.zeros(8), np.ones(60)
    _native.l1_descend(columns_of(problem.X.toarray()), np.arange(8), problem.y, problem.weight, again, other)
    np.testing.assert_allclose(again, w)


@pytest.mark.parametrize("form", FORMS)
def test_columns(form):
    problem = draw(9, form=form)
    X, v = dense(problem.X), np.random.default_rng(0).standard_normal(60)
    shift = None if form == "csr" else X.mean(axis=0)
    columns = Columns(problem, shift, Control())
    centred = X if shift is None else X - shift
    np.testing.assert_allclose(columns.slopes(v, np.ones(8, bool)), centred.T @ v, atol=1e-12)
    np.testing.assert_allclose(columns.squares(), (centred**2).T @ (2 * problem.weight), rtol=1e-6)
    np.testing.assert_array_equal(dense(columns.chosen(np.array([1, 4]))), X[:, [1, 4]])


def test_intercept_is_moved_to_its_best():
    problem = draw(10)
    f = np.random.default_rng(0).standard_normal(60)
    moved = best_move(problem, 1.0 - problem.y * f)
    assert moved == pytest.approx(problem.best_intercept(f, 0.0), abs=1e-9)


def test_no_warnings_on_the_way():
    problem = draw(11, n=30, d=50, price=1e4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(problem, solve(problem, tol=1e-6), 1e-6)
