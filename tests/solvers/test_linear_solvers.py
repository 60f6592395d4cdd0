"""The linear model: its products, its intercept, its certificate, and every solver of the registry against textbook
quadratic programs.

A solver that is added to ``SOLVERS`` and accepts linear problems is tested here. ``REACH`` is the relative gap that is
asked of a solver where that of the others would take it too long.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from maxmargin.problems import design as design_module
from maxmargin.problems.design import Design, linear_rows
from maxmargin.problems.losses import make_loss
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import certify
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import Halted
from maxmargin.solvers import (
    SOLVERS,
    Barrier,
    CoordinateDescent,
    Pegasos,
    Start,
    StochasticSubgradient,
    Subgradient,
    choose_linear_solver,
    coordinate_descent,
    solvers_for,
)
from maxmargin.solvers.base import MARGIN_LOSSES
from maxmargin.solvers.teaching.stochastic import Averaged
from maxmargin.solvers.teaching.subgradient import balanced, largest_curvature, multipliers
from reference import qp

LOSSES = MARGIN_LOSSES  # of the registry
INTERCEPTS = ["free", "penalised", "none"]
REACH = {"subgradient": 3e-2, "stochastic_subgradient": 3e-2, "pegasos": 3e-2}
LINEAR = solvers_for("linear")
EXACT = [name for name in LINEAR if name not in REACH]
TOL = 1e-8


def draw(seed=0, n=60, d=3, loss="hinge", intercept="free", C=0.3, shape="dense"):
    """Overlapping classes with different weights, among them zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.3
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    bound = C * rng.choice([0.0, 0.5, 1.0, 2.0], n)
    bound[:2] = C
    if shape == "csr":
        X = sp.csr_matrix(np.where(rng.random((n, d)) < 0.6, X, 0.0))
    return PrimalProblem(X, y, bound, loss, intercept, 1.7)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)


def oracle(problem):
    """(objective, w, b) of the textbook program: w, b and the slacks are its variables."""
    used = problem.weight > 0
    X, y, c = dense(problem.X)[used], problem.y[used], problem.weight[used]
    n, d = X.shape
    soft = np.isfinite(c)
    program = qp.Program(w=d, b=int(problem.intercept != "none"), xi=n)
    program.P[program.at["w"]] = 1.0
    if problem.intercept == "penalised":
        program.P[program.at["b"]] = problem.scaling**-2
    part = program.P if problem.squared else program.q
    part[program.at["xi"]] = np.where(soft, c, 0.0) * (2.0 if problem.squared else 1.0)
    for i in range(n):
        one = np.zeros(n)
        one[i] = 1.0
        program.at_least(1.0, w=y[i] * X[i], b=y[i], xi=one if soft[i] else np.zeros(n))
        program.at_least(0.0, xi=one)
    best, x, _ = program.solve()
    return best, x["w"], float(x["b"].sum())


@functools.cache
def case(seed, loss, intercept, shape="dense"):
    problem = draw(seed, loss=loss, intercept=intercept, shape=shape)
    return problem, oracle(problem)


def solve(solver, problem, tol=TOL, start=None, random_state=0, **limits):
    limits.setdefault("max_iter", 20_000)
    solver = SOLVERS[solver] if isinstance(solver, str) else solver
    return solver.solve_linear(problem, tol=tol, control=Control(**limits), start=start, random_state=random_state)


def objective(problem, w, b):
    """The primal from its definition, one row after the other."""
    total = 0.5 * float(w @ w) + (0.5 * (b / problem.scaling) ** 2 if problem.intercept == "penalised" else 0.0)
    for x, y, c in zip(dense(problem.X), problem.y, problem.weight, strict=True):
        slack = max(0.0, 1.0 - y * (float(x @ w) + b))
        total += 0.0 if c == 0 else c * (slack**2 if problem.squared else slack)
    return total


def accepted(names=tuple(LINEAR)):
    """Parametrize by every solver with every loss and intercept that it does not refuse."""
    taken = [
        (name, loss, intercept)
        for name in names
        for loss in LOSSES
        for intercept in INTERCEPTS
        if SOLVERS[name].refuses(draw(loss=loss, intercept=intercept)) is None
    ]
    return pytest.mark.parametrize(("name", "loss", "intercept"), taken)


# Products


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("constant", [None, 1.5])
@pytest.mark.parametrize("form", ["C", "F", "float32", "csr", "csr32", "csr64 indices", "csc", "csc32"])
def test_products_are_those_of_the_matrix(form, constant, shift, threads, monkeypatch):
    monkeypatch.setattr(design_module, "DENSE_TILE_ENTRIES", 128)  # many tiles
    monkeypatch.setattr(design_module, "SPARSE_TILE_ENTRIES", 128)
    rng = np.random.default_rng(0)
    plain = np.round(rng.standard_normal((700, 5)), 2).astype(np.float32).astype(np.float64)
    plain[rng.random(plain.shape) < 0.4] = 0.0
    X = {
        "C": plain,
        "F": np.asfortranarray(plain),
        "float32": plain.astype(np.float32),
        "csr": sp.csr_matrix(plain),
        "csr32": sp.csr_matrix(plain.astype(np.float32)),
        "csr64 indices": sp.csr_array(plain),
        "csc": sp.csc_matrix(plain),
        "csc32": sp.csc_array(plain.astype(np.float32)),
    }[form]
    if form == "csr64 indices":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    mean = plain.mean(axis=0) if shift and not sp.issparse(X) else None
    A = plain if mean is None else plain - mean
    if constant is not None:
        A = np.hstack((A, np.full((700, 1), constant)))
    design = Design(X, shift=mean, constant=constant, threads=threads)
    assert design.d == A.shape[1]
    w, v, V = rng.standard_normal(A.shape[1]), rng.random(700), rng.standard_normal((700, 3))
    np.testing.assert_allclose(design.times(w), A @ w, atol=1e-12)
    np.testing.assert_allclose(design.transposed(v), A.T @ v, atol=1e-10)
    np.testing.assert_allclose(design.transposed(V), A.T @ V, atol=1e-10)
    np.testing.assert_allclose(design.gram(v), A.T @ (v[:, None] * A), atol=1e-10)
    np.testing.assert_allclose(design.row_gram(), A @ A.T, atol=1e-12)
    np.testing.assert_allclose(design.squared_norms(), (A**2).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(design.mean(), plain.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("shape", ["dense", "csr"])
def test_products_have_the_same_bits_for_any_number_of_threads(shape):
    X = np.random.default_rng(0).standard_normal((40_000, 7))
    X = sp.csr_matrix(X) if shape == "csr" else X
    v = np.random.default_rng(1).random(40_000)
    one, two = Design(X, threads=1), Design(X, threads=2)
    for product in ("transposed", "gram"):
        np.testing.assert_array_equal(getattr(one, product)(v), getattr(two, product)(v))


def test_products_can_be_given_up():
    with pytest.raises(Halted):
        Design(np.ones((10, 2)), stop=lambda: Status.DEADLINE).gram(np.ones(10))
    assert Design(np.ones((10, 2)), stop=lambda: None).times(np.ones(2))[0] == 2.0


def test_columns_are_not_taken_for_rows():
    with pytest.raises(TypeError, match=r"X is a CSC matrix: use X.tocsr\(\)"):
        linear_rows(sp.csc_matrix(np.eye(3)))


# The intercept


@given(
    st.lists(
        st.tuples(st.integers(-4, 4), st.sampled_from([-1.0, 1.0]), st.sampled_from([0.0, 0.5, 1.0, 3.0])),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(LOSSES),
)
@settings(max_examples=150, deadline=None)
def test_the_best_intercept_is_where_no_other_is_better(rows, loss):
    f, y, c = (np.array(column, float) for column in zip(*rows, strict=True))

    def cost(b):
        slack = np.maximum(0.0, 1.0 - y * (f + b))
        return float(c @ (slack**2 if loss == "squared_hinge" else slack))

    found = make_loss(loss).best_intercept(y - f, y, c)
    grid = np.concatenate((np.linspace(-8, 8, 641), y - f))
    least = min(map(cost, grid))
    polished = minimize_scalar(cost, bounds=(-8, 8), method="bounded", options={"xatol": 1e-10}).fun
    assert cost(found) <= min(least, polished) + 1e-9


def intercept_for(f, y, c, loss="hinge"):
    return make_loss(loss).best_intercept(y - f, y, c)


@pytest.mark.parametrize("loss", LOSSES)
def test_of_many_best_intercepts_the_middle_is_taken(loss):
    """Classes two apart from their margins: every b between is free of loss."""
    assert intercept_for(np.array([-3.0, -5.0, 3.0]), np.array([-1.0, -1.0, 1.0]), np.ones(3), loss) == 0.0
    assert intercept_for(np.array([-1.0, 5.0]), np.array([-1.0, 1.0]), np.ones(2), loss) == pytest.approx(-2.0)


def test_intercepts_of_one_class_and_of_none():
    assert intercept_for(np.array([2.0, 5.0]), np.ones(2), np.ones(2)) == -1.0
    assert intercept_for(np.array([2.0, 5.0]), -np.ones(2), np.ones(2)) == -6.0
    assert intercept_for(np.array([2.0, 5.0]), np.ones(2), np.zeros(2)) == 0.0


def test_rows_on_the_margin_balance_the_others():
    beta = balanced(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, -2.0, -2.0]))
    np.testing.assert_allclose(beta, [1, 1, -1, -1])


# The problem and its certificate


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("shape", ["dense", "csr"])
def test_objectives_are_those_of_the_definitions(loss, intercept, shape):
    problem = draw(3, loss=loss, intercept=intercept, shape=shape)
    rng = np.random.default_rng(0)
    w, b = rng.standard_normal(3), 0.7 if intercept != "none" else 0.0
    assert problem.primal(w, b) == pytest.approx(objective(problem, w, b), rel=1e-12)
    beta = problem.feasible(problem.y * rng.random(60))
    alpha = problem.y * beta
    assert (alpha >= 0).all()
    assert (alpha[problem.weight == 0] == 0).all()
    if loss == "hinge":
        assert (alpha <= problem.weight).all()
    if intercept == "free":
        assert problem.y @ alpha == pytest.approx(0.0, abs=1e-10)
    X, used = dense(problem.X), problem.weight > 0
    value = alpha.sum() - 0.5 * sum(
        (alpha[i] * alpha[j] * problem.y[i] * problem.y[j])
        * (X[i] @ X[j] + (problem.scaling**2 if intercept == "penalised" else 0.0))
        for i in range(60)
        for j in range(60)
    )
    if loss == "squared_hinge":
        value -= (alpha[used] ** 2 / (4 * problem.weight[used])).sum()
    assert problem.dual(beta) == pytest.approx(value, rel=1e-9)
    assert problem.dual(beta) <= oracle(problem)[0] + 1e-9  # weak duality


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_certificate_of_the_optimum_is_clean_and_that_of_another_point_is_not(loss, intercept):
    problem, (best, w, b) = case(0, loss, intercept)
    beta = solve("qp_dual", problem).beta
    good = certify(problem, w, b, beta)
    assert good.primal == pytest.approx(best, rel=1e-7)
    assert good.dual == pytest.approx(best, rel=1e-6)
    assert good.violation < 1e-4
    assert good.stationarity < 1e-4
    assert good.complementarity < 1e-5
    assert good.dual_infeasibility == 0
    bad = certify(problem, w + 0.1, b, beta)
    assert bad.gap > 100 * abs(good.gap)
    assert bad.stationarity == pytest.approx(0.1 * math.sqrt(3), rel=1e-3)
    assert bad.violation > 1e-3


def test_residuals_of_a_certificate_one_by_one():
    """Two points, w and alpha a little off, worked out by hand."""
    problem = PrimalProblem(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.full(2, 2.0))
    found = certify(problem, np.array([0.8]), 0.1, np.array([-0.5, 0.5]))
    # margins 0.7 and 0.9: loss 2 (0.3 + 0.1), w of beta is 1
    assert found.primal == pytest.approx(0.32 + 0.8)
    assert found.dual == pytest.approx(0.5)
    assert found.stationarity == pytest.approx(0.2)
    assert found.complementarity == pytest.approx(1.5 * 0.3)  # room of the box times slack
    assert found.violation == pytest.approx(0.3)  # the first margin is 0.3 short; 0.2 of |w| is less
    assert found.norm == pytest.approx(0.8)
    np.testing.assert_array_equal(found.support, [True, True])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_without_multipliers_w_suggests_some(loss, intercept):
    problem, (best, w, b) = case(1, loss, intercept)
    found = certify(problem, w, b)
    assert found.primal == pytest.approx(best, rel=1e-6)
    assert found.dual <= best + 1e-9
    assert found.relative_gap < 0.05
    np.testing.assert_allclose(found.beta, problem.feasible(found.beta), atol=1e-12)


def test_the_better_multipliers_are_kept():
    problem, (best, w, b) = case(1, "hinge", "free")
    beta = solve("barrier", problem).beta
    poor = certify(problem, w, b, np.zeros(60))
    assert poor.dual > 0.9 * best  # those suggested by w
    assert certify(problem, w, b, beta).dual == pytest.approx(best, rel=1e-7)


def test_multipliers_are_made_feasible_first():
    problem, (best, w, b) = case(1, "hinge", "free")
    found = certify(problem, w, b, 100.0 * problem.y)
    assert (problem.y * found.beta <= problem.weight).all()
    assert found.beta.sum() == pytest.approx(0.0, abs=1e-12)
    assert found.dual <= best + 1e-9


def test_a_hard_margin_is_judged_by_the_scaled_direction():
    problem = PrimalProblem(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.full(2, math.inf))
    found = certify(problem, np.array([0.5]), 0.0, np.array([-0.5, 0.5]))
    assert found.primal == pytest.approx(0.5)
    assert found.gap == pytest.approx(0.0, abs=1e-12)
    assert found.primal_infeasibility == pytest.approx(0.5)
    assert certify(problem, np.array([-1.0]), 0.0).primal == math.inf


# Every solver


@accepted()
@pytest.mark.parametrize("shape", ["dense", "csr"])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_solver_finds_the_oracle_s_optimum(name, loss, intercept, shape, seed):
    problem, (best, w, b) = case(seed, loss, intercept, shape)
    tol = REACH.get(name, TOL)
    solution = solve(name, problem, tol=tol)
    assert solution.status is Status.OPTIMAL
    found = certify(problem, solution.w, solution.b, solution.beta)
    assert found.relative_gap <= tol * 1.001
    value = objective(problem, solution.w, solution.b)
    assert found.primal == pytest.approx(value, rel=1e-10)
    assert best * (1 - 1e-7) <= value <= best * (1 + tol) + 1e-9
    # 1/2 |w - w*|^2 is at most the gap, for the objective is strongly convex
    reach = math.sqrt(2 * (tol + 1e-6) * best) + 1e-5
    assert np.linalg.norm(solution.w - w) <= reach
    if intercept == "none":
        assert solution.b == 0.0
    elif name not in REACH:
        assert solution.b == pytest.approx(b, abs=1e-3)


@st.composite
def grid_problem(draw):
    """Few points on a coarse grid, so that repetitions, opposite labels, zero and constant columns abound."""
    n = draw(st.integers(2, 8))
    X = np.array(draw(st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=n, max_size=n)), float)
    X[:, 2] = draw(st.sampled_from([0.0, 1.0, 100.0]))
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    y[:2] = 1.0, -1.0
    c = np.array(draw(st.lists(st.sampled_from([0.0, 0.01, 1.0, 30.0]), min_size=n, max_size=n)))
    c[:2] = 1.0
    loss, intercept = draw(st.sampled_from(LOSSES)), draw(st.sampled_from(INTERCEPTS))
    X = draw(st.sampled_from([np.asarray, sp.csr_matrix]))(X)
    return PrimalProblem(X, y, c, loss, intercept, draw(st.sampled_from([1.0, 5.0])))


@given(grid_problem())
@settings(max_examples=60, deadline=None)
def test_degenerate_problems_are_solved_by_every_exact_solver(problem):
    try:
        best, _, _ = oracle(problem)
    except ArithmeticError:  # the oracle itself did not converge
        assume(False)
    for name in EXACT:
        solver = SOLVERS[name]
        if solver.refuses(problem) is not None or (name == "coordinate_descent" and problem.X.max() > 50):
            continue  # columns of very different size are no matter for coordinates one at a time
        solution = solve(solver, problem, tol=1e-6, max_iter=100_000)
        found = certify(problem, solution.w, solution.b, solution.beta)
        assert found.primal == pytest.approx(best, rel=2e-6, abs=1e-9), name
        assert found.relative_gap <= 2e-6, name


@pytest.mark.parametrize("name", LINEAR)
def test_refusals_say_why_and_what_instead(name):
    solver = SOLVERS[name]
    assert solver.name == name
    assert solver.learns in ("primal", "dual", "both")
    hard = replace(draw(), weight=np.full(60, math.inf))
    for problem in [draw(loss=loss, intercept=intercept) for loss in LOSSES for intercept in INTERCEPTS] + [hard]:
        reason = solver.refuses(problem)
        if reason is None:
            assert choose_linear_solver(name, problem) == (solver, "asked for")
        else:
            assert "use" in reason
            with pytest.raises(ValueError, match=f"solver='{name}' cannot solve this problem"):
                choose_linear_solver(name, problem)


@accepted()
def test_history_tells_the_run(name, loss, intercept):
    problem, (best, _, _) = case(0, loss, intercept)
    solution = solve(name, problem, tol=REACH.get(name, TOL))
    history = solution.history
    assert len(history) >= 2
    assert history.iteration[-1] == solution.n_iter
    assert (np.diff(history.iteration) >= 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    known = np.isfinite(history.dual)
    assert known.sum() >= 2
    assert (history.dual[known] <= best * (1 + 1e-9)).all()
    assert (history.objective >= best * (1 - 1e-7)).all()
    np.testing.assert_allclose(history.gap[known], (history.objective - history.dual)[known])
    smallest = (history.objective.min() - np.nanmax(history.dual)) / history.objective.min()
    assert smallest <= REACH.get(name, TOL) * 1.001
    last = history[-1]
    assert last.margin == pytest.approx(2 / np.linalg.norm(solution.w), rel=0.3 if name in REACH else 1e-3)
    assert 0 < last.n_support <= np.count_nonzero(problem.weight)


@accepted(["coordinate_descent"])
def test_the_dual_of_coordinate_descent_never_falls(name, loss, intercept):
    """Without an equality every step is an ascent of the dual."""
    if intercept == "free":
        return
    dual = solve(name, case(0, loss, intercept)[0]).history.dual
    assert (np.diff(dual) >= -1e-12 * np.abs(dual[1:])).all()


def test_the_gradient_method_never_rises_on_a_smooth_loss():
    history = solve("subgradient", case(0, "squared_hinge", "free")[0], tol=1e-6).history
    assert (np.diff(history.objective) <= 1e-12).all()
    assert len(history) > 10


@accepted()
@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_iteration_limits_give_the_best_so_far(name, loss, intercept, max_iter):
    problem, (best, _, _) = case(0, loss, intercept)
    solution = solve(name, problem, max_iter=max_iter)
    if solution.status is not Status.MAX_ITER:  # as many steps as rows, three times, may be enough
        assert certify(problem, solution.w, solution.b, solution.beta).relative_gap <= TOL
    assert solution.n_iter <= max_iter
    value = objective(problem, solution.w, solution.b)
    assert best * (1 - 1e-7) <= value <= problem.losses(np.zeros(60)) * (1 + 1e-9)


@accepted()
def test_deadlines_and_interruptions_are_obeyed(name, loss, intercept):
    problem, _ = case(0, loss, intercept)
    solution = solve(name, problem, max_seconds=1e-9)
    assert solution.status is Status.DEADLINE
    assert np.isfinite(solution.w).all()
    control = Control()
    control._interrupted.set()
    solver = SOLVERS[name]
    stopped = solver.solve_linear(problem, tol=TOL, control=control, random_state=0)
    assert stopped.status is Status.INTERRUPTED
    assert np.isfinite(objective(problem, stopped.w, stopped.b))


@pytest.mark.parametrize("name", ["coordinate_descent", "smo", "subgradient", "stochastic_subgradient", "pegasos"])
def test_a_deadline_ends_a_run_that_would_take_long(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 60))
    y = np.where(rng.random(6000) < 0.5, 1.0, -1.0)
    problem = PrimalProblem(X, y, np.full(6000, 1e4))
    solution = solve(name, problem, tol=1e-15, max_seconds=0.2, max_iter=-1)
    assert solution.status is Status.DEADLINE


@accepted()
def test_an_optimal_start_is_kept(name, loss, intercept):
    problem, (best, _, _) = case(0, loss, intercept)
    exact = solve("barrier", problem)
    again = solve(name, problem, tol=1e-4, start=Start(exact.w, exact.b, exact.beta))
    assert again.status is Status.OPTIMAL
    assert again.n_iter == 0
    wild = Start(np.full(3, 5.0), -3.0, np.full(60, -7.0))
    far = solve(name, problem, tol=REACH.get(name, 1e-4), start=wild)
    assert far.status is Status.OPTIMAL
    assert objective(problem, far.w, far.b) <= best * (1 + REACH.get(name, 1e-4)) + 1e-9


@accepted()
def test_a_random_state_decides_the_run(name, loss, intercept):
    problem, _ = case(0, loss, intercept)
    one, same = (solve(name, problem, tol=1e-3, max_iter=30, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(one.w, same.w)
    assert one.b == same.b


@accepted()
def test_dense_and_sparse_rows_give_the_same_estimator(name, loss, intercept):
    problem, _ = case(1, loss, intercept, "csr")
    tol = REACH.get(name, TOL)
    sparse, plain = solve(name, problem, tol=tol), solve(name, replace(problem, X=problem.X.toarray()), tol=tol)
    np.testing.assert_allclose(plain.w, sparse.w, atol=1e-4 if name not in REACH else 0.1)


@accepted(EXACT)
def test_single_precision_rows_are_used_as_they_are(name, loss, intercept):
    problem, _ = case(0, loss, intercept)
    rounded = replace(problem, X=problem.X.astype(np.float32))
    best, w, _ = oracle(rounded)
    solution = solve(name, rounded)
    assert solution.w.dtype == np.float64
    assert objective(rounded, solution.w, solution.b) == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(solution.w, w, atol=1e-3)


@accepted(EXACT)
def test_labels_of_one_class(name, loss, intercept):
    """With a free intercept w = 0 pays nothing; else it is a one-sided model."""
    problem = replace(case(0, loss, intercept)[0], y=np.ones(60))
    solution = solve(name, problem, tol=1e-7)
    assert solution.status is Status.OPTIMAL
    if intercept == "free":
        np.testing.assert_array_equal(solution.w, 0)
        assert objective(problem, solution.w, solution.b) == 0.0
    else:
        assert objective(problem, solution.w, solution.b) == pytest.approx(oracle(problem)[0], rel=1e-6)


@pytest.mark.parametrize("name", EXACT)
def test_no_row_has_a_C(name):
    problem = replace(draw(), weight=np.zeros(60))
    solution = solve(name, problem)
    assert solution.status is Status.OPTIMAL
    np.testing.assert_array_equal(solution.w, 0)


# Hard margins


def separated(seed=0, n=40, d=3, intercept="free"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] = y * (np.abs(X[:, 0]) + 0.3)
    return PrimalProblem(X, y, np.full(n, math.inf), "hinge", intercept)


HARD = [name for name in LINEAR if SOLVERS[name].refuses(separated()) is None]


@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize("name", HARD)
def test_hard_margins(name, intercept):
    problem = separated(intercept=intercept)
    if SOLVERS[name].refuses(problem) is not None:
        return
    best, w, b = oracle(problem)
    solution = solve(name, problem, tol=1e-6)
    assert solution.status is Status.OPTIMAL
    assert problem.margins(solution.w, solution.b).min() >= 1 - 1e-9
    assert 0.5 * solution.w @ solution.w == pytest.approx(best, rel=1e-5)
    np.testing.assert_allclose(solution.w, w, atol=1e-2 * np.linalg.norm(w))
    assert solution.b == pytest.approx(b, abs=1e-2)


def test_hard_rows_beside_soft_rows():
    problem = separated()
    bound = problem.weight.copy()
    bound[::2] = 0.1
    mixed = replace(problem, weight=bound)
    best, w, _ = oracle(mixed)
    for name in ("barrier", "qp_primal", "qp_dual", "coordinate_descent"):
        solution = solve(name, mixed, tol=1e-7)
        assert solution.status is Status.OPTIMAL
        assert certify(mixed, solution.w, solution.b, solution.beta).primal == pytest.approx(best, rel=1e-5)
        np.testing.assert_allclose(solution.w, w, atol=1e-2)


@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize("name", HARD)
def test_a_hard_margin_where_nothing_separates_ends(name, intercept):
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    problem = PrimalProblem(X, np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, math.inf), "hinge", intercept)
    if SOLVERS[name].refuses(problem) is None:
        solution = solve(name, problem, max_iter=200)
        assert solution.status is not Status.OPTIMAL


def test_the_barrier_finds_out_that_nothing_separates():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), np.where(rng.random(200) < 0.5, 1.0, -1.0)
    solution = solve("barrier", PrimalProblem(X, y, np.full(200, math.inf)))
    assert solution.status in (Status.INSEPARABLE, Status.STALLED)
    assert solution.n_iter < 60


# The barrier


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1e2, 1e6])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_barrier_takes_few_iterations_at_any_C(C, loss, intercept):
    problem = draw(2, n=300, d=6, loss=loss, intercept=intercept, C=C)
    solution = solve("barrier", problem)
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter <= 40
    assert certify(problem, solution.w, solution.b, solution.beta).relative_gap <= TOL


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_barrier_with_repeated_constant_and_empty_columns(loss, intercept):
    """Repeating every column and scaling by 1 / sqrt 2 is the same model; constant ones are an intercept's."""
    problem = draw(2, n=100, loss=loss, intercept=intercept)
    best = oracle(problem)[0]
    twice = replace(problem, X=np.hstack((problem.X, problem.X, np.zeros((100, 2)))) / math.sqrt(2))
    solution = solve("barrier", twice)
    assert solution.status is Status.OPTIMAL
    assert objective(twice, solution.w, solution.b) == pytest.approx(best, rel=1e-7)
    constant = replace(problem, X=np.hstack((problem.X, np.full((100, 2), 3.0))))
    solution = solve("barrier", constant)
    assert solution.status is Status.OPTIMAL
    assert objective(constant, solution.w, solution.b) == pytest.approx(oracle(constant)[0], rel=1e-6)
    if intercept == "free":  # they cost something and bring nothing
        np.testing.assert_allclose(solution.w[3:], 0, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_barrier_with_columns_of_very_different_sizes(loss):
    rng = np.random.default_rng(0)
    problem = draw(4, n=400, d=12, loss=loss)
    X = problem.X * 10.0 ** rng.integers(-5, 6, 12) + 1e3
    scaled = replace(problem, X=X, weight=np.full(400, 10.0))
    solution = solve("barrier", scaled)
    assert solution.status is Status.OPTIMAL
    assert certify(scaled, solution.w, solution.b, solution.beta).relative_gap <= TOL


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("shape", ["dense", "csr"])
def test_barrier_with_more_columns_than_rows(loss, intercept, shape):
    problem = draw(5, n=30, d=80, loss=loss, intercept=intercept, shape=shape)
    best, w, _ = oracle(problem)
    solution = solve("barrier", problem, tol=1e-9)
    assert solution.status is Status.OPTIMAL
    assert objective(problem, solution.w, solution.b) == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(solution.w, w, atol=1e-4)


def test_barrier_with_very_many_columns():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 5000)), np.where(rng.random(300) < 0.5, 1.0, -1.0)
    problem = PrimalProblem(X, y, np.ones(300))
    solution = solve("barrier", problem)
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter < 25


@pytest.mark.parametrize("loss", LOSSES)
def test_barrier_with_very_different_prices(loss):
    problem = draw(6, n=300, d=5, loss=loss)
    problem = replace(problem, weight=10.0 ** np.random.default_rng(0).uniform(-4, 4, 300))
    solution = solve("barrier", problem)
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter < 50


def test_barrier_has_the_same_bits_for_any_number_of_threads():
    problem = draw(0, n=3000, d=10)
    one, two = (solve("barrier", replace(problem, threads=threads)) for threads in (1, 2))
    np.testing.assert_array_equal(one.w, two.w)
    assert one.b == two.b


# Sub-gradient methods


def test_multipliers_of_the_sub_gradient():
    """Inside the margin the bound, outside nothing; on it what balances the classes."""
    X = np.array([[0.0], [1.0], [2.0], [-1.0]])
    problem = PrimalProblem(X, np.array([1.0, 1.0, 1.0, -1.0]), np.full(4, 2.0))
    s = multipliers(problem, X[:, 0].copy(), 0.0)  # margins 0, 1, 2, 1
    np.testing.assert_allclose(s, [2, 0, 0, -2])
    none = replace(problem, intercept="none")
    np.testing.assert_allclose(multipliers(none, X[:, 0].copy(), 0.0), [2, 0, 0, 0])
    squared = replace(problem, loss="squared_hinge")
    np.testing.assert_allclose(multipliers(squared, np.array([0.0, 1.0, 2.0, -0.5]), 0.0), [4, 0, 0, -2])


def test_largest_curvature_bounds_the_hessian():
    problem = draw(0, loss="squared_hinge")
    for intercept, A in (("free", problem.X), ("penalised", np.hstack((problem.X, np.full((60, 1), 1.7))))):
        exact = 1 + np.linalg.eigvalsh(2 * A.T @ (problem.weight[:, None] * A))[-1]
        assert exact <= largest_curvature(replace(problem, intercept=intercept)) <= exact * 1.06


@pytest.mark.parametrize(
    "solver", [Subgradient(step=3.0), StochasticSubgradient(step=3.0), Subgradient(step=lambda t: 5.0)]
)
def test_steps_that_are_too_long_are_found_out(solver):
    solution = solve(solver, case(0, "hinge", "free")[0], tol=1e-6, max_iter=2000)
    assert solution.status is Status.STALLED
    assert "smaller step" in solution.advice
    assert np.isfinite(solution.w).all()


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, "fast", True])
@pytest.mark.parametrize("kind", [Subgradient, StochasticSubgradient])
def test_steps_that_are_no_steps_are_refused(kind, step):
    with pytest.raises((ValueError, TypeError), match="step"):
        solve(kind(step=step), case(0, "hinge", "free")[0])


@pytest.mark.parametrize(
    "solver",
    [
        Subgradient(step="1/(lambda t)"),
        Subgradient(step=lambda t: 1.0 / (t + 5)),
        Subgradient(step=0.01, average=True),
        StochasticSubgradient(average=False),
        StochasticSubgradient(step=lambda t: 1.0 / (t + 500)),
        Pegasos(average=False),
        Pegasos(project=False),
        Pegasos(batch_size=7),
        StochasticSubgradient(order="cyclic"),
        Pegasos(order="cyclic", batch_size=3),
        CoordinateDescent(shrinking=False),
        CoordinateDescent(penalty=1.0),
        Barrier(),
    ],
    ids=lambda solver: repr(solver).split(" at 0x")[0],
)
def test_options_lead_to_the_same_optimum(solver):
    problem, (best, _, _) = case(0, "hinge", "free")
    solution = solve(solver, problem, tol=0.05)
    assert solution.status is Status.OPTIMAL
    assert best * (1 - 1e-9) <= objective(problem, solution.w, solution.b) <= 1.05 * best


@pytest.mark.parametrize("batch_size", [0, 1.5, "all"])
def test_batches_are_whole_numbers_of_rows(batch_size):
    with pytest.raises((ValueError, TypeError), match="batch_size"):
        solve(Pegasos(batch_size=batch_size), case(0, "hinge", "free")[0])


@pytest.mark.parametrize("shape", ["dense", "csr"])
@pytest.mark.parametrize("loss", LOSSES)
def test_stochastic_steps_are_those_of_the_textbook(loss, shape):
    """The scaled vector, the lazy average and the multipliers, against steps written out one after the other."""
    problem = draw(0, loss=loss, intercept="none", shape=shape)
    path = Averaged(problem, math.inf, None)
    drawn = path.draw(np.random.RandomState(0), 300, 2)
    eta = 1.0 / np.arange(20, 320)
    eta[100] = 1.0  # w is forgotten here
    for part in (slice(0, 120), slice(120, 300)):
        path.go(drawn[part], eta[part])
    X, S = dense(problem.X), problem.weight.sum()
    w, alpha, total_w, total_alpha = np.zeros(3), np.zeros(60), np.zeros(3), np.zeros(60)
    for t, (rows, step) in enumerate(zip(drawn, eta, strict=True), start=1):
        slack = 1.0 - problem.y[rows] * (X[rows] @ w)
        hit = np.where(slack > 0, 2 * slack if loss == "squared_hinge" else 1.0, 0.0)
        w, alpha = (1 - step) * w, (1 - step) * alpha
        for i, h in zip(rows, hit, strict=True):
            w = w + step * S * h / 2 * problem.y[i] * X[i]
            alpha[i] += step * S * h / 2
        total_w, total_alpha = total_w + t * w, total_alpha + t * alpha
    for found, expected in zip(
        (*path.last(), *path.mean()),
        (w, problem.y * alpha, total_w / 45150, problem.y * total_alpha / 45150),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_projection_keeps_w_in_the_ball_of_the_optimum():
    problem = draw(0, intercept="none")
    radius = math.sqrt(problem.weight.sum())
    path = Averaged(problem, radius, None)
    for t in range(1, 60):
        path.go(path.draw(np.random.RandomState(t), 1, 1), np.array([1.0 / t]))
        assert np.linalg.norm(path.last()[0]) <= radius * (1 + 1e-9)
    assert np.linalg.norm(oracle(problem)[1]) <= radius


def test_rows_are_drawn_by_their_prices():
    problem = draw(0)
    drawn = Averaged(problem, math.inf, None).draw(np.random.RandomState(0), 20_000, 1)
    share = np.bincount(drawn.ravel(), minlength=60) / 20_000
    np.testing.assert_allclose(share, problem.weight / problem.weight.sum(), atol=0.006)
    assert not share[problem.weight == 0].any()


def test_cyclic_rows_take_turns():
    problem = draw(0)
    equal = Averaged(replace(problem, weight=np.ones(60)), math.inf, None)
    np.testing.assert_array_equal(equal.draw(None, 150, 1).ravel(), np.arange(150) % 60)
    equal.go(equal.draw(None, 7, 2), np.full(7, 0.01))
    np.testing.assert_array_equal(equal.draw(None, 100, 2).ravel(), (14 + np.arange(200)) % 60)  # goes on from there
    drawn = Averaged(problem, math.inf, None).draw(None, 12_000, 1)
    share = np.bincount(drawn.ravel(), minlength=60) / 12_000
    np.testing.assert_allclose(share, problem.weight / problem.weight.sum(), atol=0.001)


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match=r"order must be one of 'cyclic', 'random'; got order='cycle'"):
        solve(Pegasos(order="cycle"), case(0, "hinge", "free")[0])


def test_the_unbiased_step_solves_the_problem_and_the_printed_one_another():
    """With C/N as the factor of y_i x_i the method settles at the optimum of C / N."""
    problem, (_, w, _) = case(0, "hinge", "none")
    solution = solve("stochastic_subgradient", problem, tol=1e-2)
    assert np.linalg.norm(solution.w - w) < 0.2 * np.linalg.norm(w)
    weaker = replace(problem, weight=problem.weight / 60)
    assert np.linalg.norm(oracle(weaker)[1]) < 0.5 * np.linalg.norm(w)


# Coordinate descent


def test_shrinking_changes_nothing_but_the_time():
    problem = draw(1, n=400, C=1.0)
    with_it, without = (solve(CoordinateDescent(shrinking=s), problem, tol=1e-6) for s in (True, False))
    assert with_it.status is without.status is Status.OPTIMAL
    np.testing.assert_allclose(with_it.w, without.w, atol=1e-3)


def test_coordinate_descent_centres_dense_columns():
    """A free intercept makes an offset of the columns no difference, however large."""
    problem = draw(1, n=100)
    moved = replace(problem, X=problem.X + 1e4)
    here, there = solve("coordinate_descent", problem, tol=1e-6), solve("coordinate_descent", moved, tol=1e-6)
    np.testing.assert_allclose(there.w, here.w, atol=1e-3)


# Coordinate descent on sparse rows: what its compiled loop keeps, and the answers where it leaves rows out


@st.composite
def sparse_problem(draw, most=14):
    """CSR rows among them empty ones and repetitions (with either label), a column of any size, weights of zero,
    classes of different weight."""
    n, d = draw(st.integers(3, most)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = np.where(rng.random((n, d)) < draw(st.sampled_from([0.2, 0.5])), rng.standard_normal((n, d)), 0.0)
    X[:, 0] *= draw(st.sampled_from([1.0, 1.0, 3.0]))
    X[-1] = X[0]
    y = rng.choice([-1.0, 1.0], n)
    y[:2] = 1.0, -1.0
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) * np.where(y > 0, draw(st.sampled_from([1.0, 4.0])), 1.0)
    weight[:2] = 1.0
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    C = draw(st.sampled_from([0.01, 1.0, 20.0]))
    loss, intercept = draw(st.sampled_from(LOSSES)), draw(st.sampled_from(INTERCEPTS))
    return PrimalProblem(sp.csr_matrix(X.astype(dtype)), y, C * weight, loss, intercept)


@given(sparse_problem())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_sparse_rows_have_the_oracle_s_optimum_however_rarely_the_gap_is_computed(problem):
    try:
        best, w, _ = oracle(problem)
    except ArithmeticError:
        assume(False)
    with mock.patch.multiple(
        coordinate_descent, FULL_HISTORY_MAX_ENTRIES=0, FREE_STEP_FIRST_EPOCH=500
    ):  # by the estimate, as with many rows
        solution = solve("coordinate_descent", problem, tol=1e-6, max_iter=100_000)
    assert solution.status is Status.OPTIMAL
    found = certify(problem, solution.w, solution.b, solution.beta)
    assert found.relative_gap <= 1.001e-6
    assert found.primal == pytest.approx(best, rel=2e-6, abs=1e-9)
    np.testing.assert_allclose(solution.w, w, atol=2e-2 * (1 + np.abs(w).max()))


def wide(loss="hinge", intercept="free", n=300, d=500, C=1.0, noise=0.3):
    """Rows of about ten entries."""
    rng = np.random.default_rng(0)
    X = sp.random(n, d, 10 / d, format="csr", random_state=0, data_rvs=rng.standard_normal)
    y = np.where(X @ rng.standard_normal(d) + noise * rng.standard_normal(n) > 0.2, 1.0, -1.0)
    return PrimalProblem(X, y, C * rng.choice([1.0, 2.0], n), loss, intercept, 1.3)


def descent_of(problem, seed=0):
    return coordinate_descent.Descent(problem, 0.1, None, seed)


def stirred(problem, epochs=3):
    descent = descent_of(problem)
    assert descent.sweep(epochs, 0.0, 0.0, True, Control()) == epochs
    return descent


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_estimate_is_the_gap_where_nothing_moves(loss, intercept):
    problem = wide(loss, intercept)
    rng = np.random.default_rng(1)
    beta = problem.feasible(0.05 * problem.y * problem.weight * rng.random(problem.n_rows))
    descent = coordinate_descent.Descent(problem, 0.1, Start(problem.row_combination(beta), 0.7, beta))
    descent.q[:] = np.inf
    descent.sweep(1, 0.0, 0.0, False, Control())
    b = 0.7 if intercept == "free" else problem.penalised_intercept(beta)
    primal, dual = objective(problem, problem.row_combination(beta), b), problem.dual(beta)
    assert descent.state.gap == pytest.approx((primal - dual) / primal, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_loop_keeps_its_sums(loss, intercept):
    problem = wide(loss, intercept)
    descent = stirred(problem, 12)
    np.testing.assert_array_equal(np.sort(descent.order), np.arange(problem.n_rows))
    np.testing.assert_allclose(descent.w, problem.X.T @ descent.beta, atol=1e-12)
    assert descent.state.missing == pytest.approx(float(descent.beta.sum()), abs=1e-10)
    by_definition = np.abs(descent.beta).sum() - descent.w @ descent.w / 2
    if loss == "squared_hinge":
        by_definition -= np.sum(descent.beta**2 / (4 * problem.weight))
    assert descent.state.dual == pytest.approx(by_definition, rel=1e-10)


@pytest.mark.parametrize("shrinking", [False, True])
def test_a_loop_that_is_left_goes_on_where_it_was(shrinking):
    problem = wide()
    at_once, often = descent_of(problem), descent_of(problem)
    often.steps = 7
    for descent in (at_once, often):
        assert descent.sweep(15, 0.0, 0.0, shrinking, Control()) == 15
    np.testing.assert_array_equal(at_once.beta, often.beta)
    np.testing.assert_array_equal(at_once.order, often.order)
    assert at_once.complete is not shrinking


def test_every_order_of_the_rows_is_as_likely():
    """Each row is as often at each place of the next epoch as at any other."""
    counts = np.zeros((4, 4))
    problem = PrimalProblem(sp.csr_matrix(np.eye(4)), np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4), "hinge", "none")
    descent = descent_of(problem)
    for _ in range(4000):
        descent.sweep(1, 0.0, -1.0, False, Control())
        counts[descent.order, np.arange(4)] += 1
    np.testing.assert_allclose(counts, 1000, atol=150)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_rows_that_were_left_out_too_early_are_found(loss, intercept):
    """Whatever is left out at the start, the end is the optimum."""
    problem = wide(loss, intercept)
    best = solve("barrier", problem, tol=1e-9)

    class Hasty(coordinate_descent.Descent):
        def __init__(self, *args):
            super().__init__(*args)
            self.state.active = 20  # of 300

    with (
        mock.patch.object(coordinate_descent, "FULL_HISTORY_MAX_ENTRIES", 0),
        mock.patch.object(coordinate_descent, "Descent", Hasty),
    ):
        solution = solve("coordinate_descent", problem, tol=1e-7)
    assert solution.status is Status.OPTIMAL
    assert objective(problem, solution.w, solution.b) == pytest.approx(objective(problem, best.w, best.b), rel=2e-7)


def test_an_intercept_that_has_far_to_go_passes_no_row_that_was_left_out():
    """Two rows, one without length: while b_0 is on its way, the other's slope changes its sign."""
    X = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    for form in (np.asarray, sp.csr_matrix):
        problem = PrimalProblem(form(X), np.array([1.0, -1.0]), np.ones(2))
        solution = solve("coordinate_descent", problem, tol=1e-6, max_iter=2000)
        assert solution.status is Status.OPTIMAL
        assert objective(problem, solution.w, solution.b) == pytest.approx(0.5, rel=2e-6)


@accepted()
def test_known_decision_values_are_those_of_w(name, loss, intercept):
    for shape in ("dense", "csr"):
        problem, _ = case(1, loss, intercept, shape)
        solution = solve(name, problem, tol=1e-3, max_iter=200)
        if solution.f is not None:
            np.testing.assert_allclose(solution.f, dense(problem.X) @ solution.w, atol=1e-12)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_newton_starts_from_a_few_epochs_and_ends_at_the_optimum(form, intercept):
    problem = wide("squared_hinge", intercept, n=400, d=40, C=50.0)
    problem = replace(problem, X=problem.X.asformat(form))
    solution = solve("newton", problem)
    best = solve("barrier", problem, tol=1e-10)
    assert solution.status is Status.OPTIMAL
    assert objective(problem, solution.w, solution.b) == pytest.approx(objective(problem, best.w, best.b), rel=2e-8)
    for limit in (0, 1):
        early = solve("newton", problem, max_iter=limit)
        assert objective(problem, early.w, early.b) <= problem.losses(np.zeros(400)) * (1 + 1e-12)


# The choice


def test_the_choice_goes_by_the_shape_and_says_why():
    def chosen(n, d, **options):
        X = sp.csr_matrix((n, d))
        return choose_linear_solver("auto", PrimalProblem(X, np.ones(n), np.ones(n)), **options)

    assert chosen(100_000, 50)[0].name == "barrier"
    assert "50 unknowns (columns), the dual 100,000 (rows)" in chosen(100_000, 50)[1]
    assert chosen(300, 50_000)[0].name == "barrier"
    assert chosen(1200, 50_000)[0].name == "coordinate_descent"
    assert "a row uses few columns" in chosen(1200, 50_000)[1]
    few = PrimalProblem(sp.csr_matrix((1200, 50_000)), np.ones(1200), np.full(1200, np.inf))
    assert choose_linear_solver("auto", few)[0].name == "barrier"
    assert (
        choose_linear_solver("auto", replace(few, X=np.zeros((1200, 2000)), weight=np.ones(1200)))[0].name == "barrier"
    )
    assert chosen(50_000, 50_000)[0].name == "coordinate_descent"
    for learns in (None, "primal", "dual"):  # a hint: never another algorithm
        assert chosen(100, 10, learns=learns)[0].name == "barrier"
        assert chosen(50_000, 50_000, learns=learns)[0].name == "coordinate_descent"
        assert chosen(1200, 50_000, learns=learns)[0].name == "coordinate_descent"
        assert chosen(100_000, 50, learns=learns)[0].name == "barrier"
    assert "the same solution" in chosen(50_000, 50_000, learns="primal")[1]


def test_a_solver_of_the_wrong_side_is_refused():
    with pytest.raises(ValueError, match="dual=True asks for a solver of the dual"):
        choose_linear_solver("pegasos", draw(), "dual")
    with pytest.raises(ValueError, match="Did you mean 'barrier'"):
        choose_linear_solver("barier", draw())


@pytest.mark.parametrize("name", ["subgradient", "stochastic_subgradient", "pegasos"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("scale", [1e20, 1e60, 1e100, 1e300])
def test_huge_columns_are_refused_with_their_number_and_never_give_nan(name, form, scale):
    problem = draw(0)
    X = problem.X * np.array([1.0, scale, 1.0])
    huge = replace(problem, X=form(X))
    if scale > 1e70:
        with pytest.raises(ValueError, match=r"column 1 of X has entries of .* scale the column"):
            choose_linear_solver(name, huge)
        return
    solution = solve(name, huge, max_iter=30)
    assert np.isfinite(solution.w).all()
    assert np.isfinite(solution.b)


def test_histories_are_thinned_and_keep_the_best():
    problem = draw(0)
    history = solve("subgradient", problem, tol=1e-9, max_iter=3000).history
    assert len(history) <= 400
    assert history.iteration[0] == 0
    assert history.iteration[-1] == 3000
