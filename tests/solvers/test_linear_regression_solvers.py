"""Solvers of the linear regression problem: against the quadratic program, against each other, on hostile data."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from maxmargin.problems.losses import LOSSES as EVERY_LOSS
from maxmargin.problems.losses import best_intercept, make_loss
from maxmargin.problems.primal import PrimalProblem, one_class_problem
from maxmargin.problems.primal_certificate import certify
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers import SOLVERS as EVERY_SOLVER
from maxmargin.solvers import CoordinateDescent, Start
from maxmargin.solvers.base import REGRESSION_LOSSES
from maxmargin.solvers.registry import SYSTEM_MAX_SIZE, choose_linear_solver, solvers_for
from reference import qp

LOSSES = REGRESSION_LOSSES  # a loss of the registry is tested by its name there alone
INTERCEPTS = ("free", "penalised", "none")
SOLVERS = {name: EVERY_SOLVER[name] for name in solvers_for("linear", LOSSES)}
PAIRS = [(name, loss) for name in SOLVERS for loss in LOSSES if loss in SOLVERS[name].losses]


def loss_of(name, epsilon):
    """The loss of a case, with the options that it has: the tube but for ridge regression, no median."""
    options = {"epsilon": 0.0 if name == "squared" else epsilon, "quantile": 0.8}
    return make_loss(name, **{option.name: options[option.name] for option in fields(EVERY_LOSS[name])})


def draw(n=40, d=3, seed=0, loss=LOSSES[0], **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1.0
    y = X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) + 3.0
    c = 2.0 * rng.choice([0.5, 1.0, 2.0], n)
    return PrimalProblem(X, y, c, loss_of(loss, options.pop("epsilon", 0.2)), **options)


def run(problem, name, tol=1e-8, **options):
    solver = SOLVERS[name] if isinstance(name, str) else name
    return solver.solve_linear(problem, tol=tol, control=Control(max_iter=100_000), random_state=0, **options)


def optimum(problem):
    """The objective by the textbook program. A penalised intercept is a column, the slacks of the squared loss are a
    quadratic term of their own."""
    X = problem.X.toarray() if sp.issparse(problem.X) else np.asarray(problem.X, float)
    if problem.intercept == "penalised":
        X = np.column_stack((X, np.full(len(X), problem.scaling)))
    n, d, free = *X.shape, problem.intercept == "free"
    program = qp.Program(w=d, b=int(free), xi=2 * n)
    program.P[program.at["w"]] = 1.0
    program.q[program.at["b"]] = problem.total
    price = np.concatenate(problem.sides)
    (program.P if problem.squared else program.q)[program.at["xi"]] = (2.0 if problem.squared else 1.0) * price
    for i in range(n):
        for side, sign in enumerate((1.0, -1.0)):
            slack = np.zeros(2 * n)
            slack[side * n + i] = 1.0
            program.at_least(sign * problem.y[i] - problem.epsilon, w=sign * X[i], b=sign, xi=slack)
            program.at_least(0.0, xi=slack)
    return program.solve()[0]


# The right answer


@pytest.mark.parametrize(("name", "loss"), PAIRS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_solvers_reach_the_optimum_of_the_quadratic_program(name, loss, intercept, epsilon):
    problem = draw(loss=loss, intercept=intercept, scaling=2.0, epsilon=epsilon)
    solution = run(problem, name)
    assert solution.status is Status.OPTIMAL
    assert problem.primal(solution.w, solution.b) == pytest.approx(optimum(problem), rel=1e-7)
    certificate = certify(problem, solution.w, solution.b, solution.beta)
    assert certificate.relative_gap <= 1e-8
    assert certificate.violation < 1e-3
    assert certificate.dual_infeasibility == 0


@pytest.mark.parametrize(("name", "loss"), PAIRS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_fewer_rows_than_columns(name, loss, intercept):
    problem = draw(n=8, d=20, loss=loss, intercept=intercept)
    solution = run(problem, name)
    assert solution.status is Status.OPTIMAL
    assert problem.primal(solution.w, solution.b) == pytest.approx(optimum(problem), rel=1e-6)


@pytest.mark.parametrize("name", ["barrier", "coordinate_descent"])
@pytest.mark.parametrize("shape", [(30, 3), (6, 12)])
@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_one_class_is_the_quadratic_programs(name, shape, nu):
    rng = np.random.default_rng(1)
    X, weight = rng.standard_normal(shape) + 1.5, rng.choice([0.5, 1.0, 2.0], shape[0])
    problem = one_class_problem(X, weight, nu)
    solution = run(problem, name)
    answer = qp.one_class(X @ X.T, weight, nu)
    assert solution.status is Status.OPTIMAL
    assert problem.primal(solution.w, solution.b) == pytest.approx(answer.objective, rel=1e-6)
    np.testing.assert_allclose(X @ solution.w, answer.f, atol=1e-3 * np.abs(answer.f).max())


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 12),
    d=st.integers(1, 5),
    epsilon=st.sampled_from([0.0, 0.5, 100.0]),
    log_c=st.integers(-3, 4),
    loss=st.sampled_from(LOSSES),
    intercept=st.sampled_from(INTERCEPTS),
    whole=st.booleans(),
)
def test_random_problems(seed, n, d, epsilon, log_c, loss, intercept, whole):
    """Small integers give ties, repeated rows, zero columns and targets inside one tube."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), 3 * rng.standard_normal(n)
    if whole:
        X, y = np.rint(X), np.rint(y)
    c = 10.0**log_c * rng.choice([0.5, 1.0], n)
    problem = PrimalProblem(X, y, c, loss_of(loss, epsilon), intercept)
    try:
        expected = optimum(problem)
    except ArithmeticError:  # the oracle, not the library
        reject()
    for name in SOLVERS:
        if SOLVERS[name].refuses(problem) is None and not (name == "coordinate_descent" and log_c > 1):
            solution = run(problem, name, tol=1e-6)
            assert solution.status is Status.OPTIMAL, name
            value = problem.primal(solution.w, solution.b)
            assert value == pytest.approx(expected, rel=1e-5, abs=1e-7 * (1 + c.sum())), name


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("eps", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_intercept_is_no_worse_than_any_other(squared, eps, seed):
    rng = np.random.default_rng(seed)
    r, above = np.rint(4 * rng.standard_normal(15)) / 2, rng.choice([0.5, 1.0, 3.0], 15)
    below = above if squared or seed % 2 else rng.choice([0.0, 1.0], 15)
    total = 0.0 if seed < 3 else 0.3 * above.sum()

    def value(b):
        up, down = np.maximum(0, r - eps - b), np.maximum(0, b - r - eps)
        return total * b + above @ (up**2 if squared else up) + below @ (down**2 if squared else down)

    best = value(best_intercept(r, above, below, eps, squared=squared, total=total))
    grid = np.concatenate((r - eps, r + eps, np.linspace(r.min() - 1, r.max() + 1, 2001)))
    assert best <= min(map(value, grid)) + 1e-12 * above.sum()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_penalised_intercept_is_no_worse_than_any_other(loss, seed):
    rng = np.random.default_rng(seed)
    n, penalty = 1 + 7 * seed, 10.0 ** rng.integers(-2, 3)
    own = make_loss(loss, epsilon=0.5) if "epsilon" in loss else make_loss(loss)
    y = rng.choice([-1.0, 1.0], n) if own.classifies else np.rint(4 * rng.standard_normal(n)) / 2
    r, weight = y - np.rint(4 * rng.standard_normal(n)) / 2, rng.choice([0.0, 0.5, 3.0], n)
    above, below = own.sides(y, weight)
    eps, power = own.epsilon, 2 if own.squared else 1

    def value(b):
        up, down = np.maximum(0, r - eps - b) ** power, np.maximum(0, b - r - eps) ** power
        return penalty * b**2 / 2 + above @ up + below @ down

    best = value(own.best_penalised_intercept(r, y, weight, penalty, 3 * rng.standard_normal()))
    grid = np.concatenate((r - eps, r + eps, np.linspace(r.min() - 1, r.max() + 1, 2001), [0.0]))
    assert best <= min(map(value, grid)) + 1e-12 * (1 + best)


@pytest.mark.parametrize("whole", [False, True])
def test_many_ends_are_not_sorted_and_the_intercept_is_the_same(whole, monkeypatch):
    rng = np.random.default_rng(0)
    r, price = 10 * rng.standard_normal(3000), rng.choice([0.5, 1.0], 3000)
    r = np.rint(r) if whole else r
    few = best_intercept(r, price, price, 0.1), best_intercept(r, price, 0 * price, total=700.0)
    monkeypatch.setattr("maxmargin.problems.losses.SORT_MAX_ENDS", 1000)
    many = best_intercept(r, price, price, 0.1), best_intercept(r, price, 0 * price, total=700.0)
    assert many == few


def test_where_many_intercepts_are_best_the_middle_is_taken():
    assert best_intercept(np.array([0.0, 4.0]), np.ones(2), np.ones(2)) == 2.0
    assert best_intercept(np.array([0.0, 1.0]), np.ones(2), np.ones(2), 3.0) == 0.5
    assert best_intercept(np.array([0.0, 1.0]), np.ones(2), np.ones(2), 3.0, squared=True) == 0.5


# Data of every kind


@pytest.mark.parametrize(("name", "loss"), PAIRS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_sparse_and_float32_rows(name, loss, intercept):
    problem = draw(n=60, d=8, loss=loss, intercept=intercept)
    X = np.where(np.random.default_rng(0).random(problem.X.shape) < 0.6, 0.0, problem.X).astype(np.float32)
    values = []
    for form in (X.astype(np.float64), X, sp.csr_matrix(X), sp.csr_array(X.astype(np.float64))):
        this = PrimalProblem(form, problem.y, problem.weight, loss_of(loss, 0.2), intercept)
        solution = run(this, name)
        assert solution.status is Status.OPTIMAL
        values.append(this.primal(solution.w, solution.b))
    np.testing.assert_allclose(values, optimum(this), rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("change", ["scaled column", "far column", "large C", "far targets", "zero column", "outlier"])
def test_the_chosen_solver_survives(change, loss, intercept, epsilon):
    problem = draw(n=200, d=4)
    X, y, c = problem.X.copy(), problem.y.copy(), problem.weight.copy()
    if change == "scaled column":
        X[:, 1] *= 1e7
    elif change == "far column":
        X[:, 1] += 1e6
    elif change == "large C":
        c *= 1e8
    elif change == "far targets":
        y += 1e7
    elif change == "zero column":
        X[:, 1], X[5] = 0.0, 0.0
    else:
        y[0] = 1e9
    hard = PrimalProblem(X, y, c, loss_of(loss, epsilon), intercept)
    solver, _ = choose_linear_solver("auto", hard)
    solution = solver.solve_linear(hard, tol=1e-6, control=Control(max_iter=1000))
    certificate = certify(hard, solution.w, solution.b, solution.beta)
    assert solution.status is Status.OPTIMAL
    assert certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_few_rows_with_one_large_column(loss, intercept, epsilon):
    """X X' has lost the digits of the other columns."""
    problem = draw(n=30, d=200, loss=loss, intercept=intercept, epsilon=epsilon)
    problem.X[:, 3] *= 1e7
    solution = run(problem, "barrier", tol=1e-6)
    assert solution.status is Status.OPTIMAL
    assert certify(problem, solution.w, solution.b, solution.beta).relative_gap <= 2e-6


@pytest.mark.parametrize("change", ["scaled column", "far column", "tiny nu", "heavy row"])
@pytest.mark.parametrize("shape", [(200, 4), (10, 30)])
def test_one_class_survives(change, shape):
    rng = np.random.default_rng(0)
    X, weight, nu = rng.standard_normal(shape) + 2.0, np.ones(shape[0]), 0.3
    if change == "scaled column":
        X[:, 1] *= 1e7
    elif change == "far column":
        X[:, 1] += 1e6
    elif change == "tiny nu":
        nu = 1e-6
    else:
        weight[0] = 1e6
    problem = one_class_problem(X, weight, nu)
    solution = run(problem, "barrier", tol=1e-6)
    assert solution.status is Status.OPTIMAL
    assert certify(problem, solution.w, solution.b, solution.beta).relative_gap <= 1e-6


@pytest.mark.parametrize("name", ["barrier", "coordinate_descent"])
def test_one_class_around_the_origin_has_no_hyperplane(name):
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    solution = run(one_class_problem(X, np.ones(4), 0.9), name, tol=1e-4)
    assert solution.status is Status.OPTIMAL
    np.testing.assert_array_equal(solution.w, [0.0, 0.0])
    assert solution.b == 0.0


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_targets_inside_one_tube_need_no_weights(name, loss):
    problem = PrimalProblem(np.arange(5.0)[:, None], np.full(5, 7.0), np.ones(5), loss_of(loss, 0.1))
    solution = run(problem, name)
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter == 0
    assert (solution.w, solution.b) == (0.0, 7.0)


# Starts, shrinking, limits


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_an_optimal_start_is_returned(name, loss):
    problem = draw(loss=loss)
    first = run(problem, name)
    again = run(problem, name, tol=1e-7, start=Start(first.w, first.b, first.beta))
    assert again.n_iter == 0
    assert problem.primal(again.w, again.b) == pytest.approx(problem.primal(first.w, first.b), rel=1e-12)


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_a_start_without_multipliers_and_far_away_does_no_harm(name, loss):
    problem = draw(loss=loss)
    expected = problem.primal(*(lambda s: (s.w, s.b))(run(problem, name)))
    solution = run(problem, name, start=Start(np.full(3, 50.0), -40.0))
    assert problem.primal(solution.w, solution.b) == pytest.approx(expected, rel=1e-7)


def test_shrinking_leaves_the_answer_as_it_is():
    problem = draw(n=150, d=6, epsilon=0.5)
    values = [
        problem.primal(solution.w, solution.b)
        for solution in (run(problem, CoordinateDescent(shrinking=flag), tol=1e-8) for flag in (True, False))
    ]
    assert values[0] == pytest.approx(values[1], rel=2e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_free_steps_lead_to_the_same_answer_sooner(loss, intercept):
    """Nearly equal columns, and a price at which hardly a multiplier is at its bound."""
    problem = draw(n=40, d=60, loss=loss, intercept=intercept, epsilon=0.1)
    problem.X[:] = 3.0 * problem.X[:, :1] + 0.3 * problem.X
    with_steps, without = (run(problem, CoordinateDescent(free_steps=flag), tol=1e-6) for flag in (True, False))
    assert with_steps.status is without.status is Status.OPTIMAL
    values = [problem.primal(solution.w, solution.b) for solution in (with_steps, without)]
    assert values[0] == pytest.approx(values[1], rel=2e-6)
    assert with_steps.n_iter < without.n_iter


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_the_dual_never_exceeds_the_primal_on_the_way(name, loss):
    problem = draw(n=100, d=5, loss=loss)
    history = run(problem, name, tol=1e-10).history
    assert (history.gap >= -1e-9 * np.abs(history.objective)).all()
    assert history.iteration[-1] == max(history.iteration)


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_limits_give_the_best_point_so_far(name, loss):
    problem = draw(n=200, d=5, loss=loss)
    for control, status in (
        (Control(max_iter=1), Status.MAX_ITER),
        (Control(max_iter=-1, max_seconds=1e-9), Status.DEADLINE),
    ):
        solution = SOLVERS[name].solve_linear(problem, tol=1e-14, control=control, random_state=0)
        assert solution.status in (status, Status.OPTIMAL)
        at_zero = problem.primal(np.zeros(5), problem.best_intercept(np.zeros(200), 0.0))
        assert problem.primal(solution.w, solution.b) <= at_zero * (1 + 1e-12)


def test_the_shape_and_the_loss_choose_the_solver():
    def choose(n, d, loss=LOSSES[0], **options):
        X = sp.csr_matrix((n, d))
        return choose_linear_solver("auto", PrimalProblem(X, *np.ones((2, n)), loss), **options)[0].name

    assert choose(5000, 10) == "barrier"
    assert choose(10, 5000) == "barrier"
    assert choose(5000, 10, LOSSES[1]) == "newton"
    assert choose(10, 5000, LOSSES[1]) == "barrier"
    assert choose(SYSTEM_MAX_SIZE + 1, SYSTEM_MAX_SIZE + 1) == "coordinate_descent"
    assert choose(SYSTEM_MAX_SIZE + 1, SYSTEM_MAX_SIZE + 1, LOSSES[1]) == "coordinate_descent"
    assert choose(10, 3, learns="dual") == choose(10, 3, learns="primal") == choose(10, 3)
    assert choose(SYSTEM_MAX_SIZE + 1, SYSTEM_MAX_SIZE + 1, learns="primal") == "coordinate_descent"


def test_a_wrong_answer_is_not_certified():
    problem = draw()
    solution = run(problem, "barrier")
    wrong = certify(problem, 1.1 * solution.w, solution.b, solution.beta)
    assert wrong.relative_gap > 1e-4
    assert wrong.violation > 1e-2
    assert certify(problem, solution.w, solution.b).relative_gap > 0.1  # those that w suggests prove little


def test_the_penalty_of_an_intercept_beyond_all_squares_is_infinite():
    problem = draw(loss="squared_epsilon_insensitive", intercept="penalised", scaling=1.0)
    assert problem.penalty(np.zeros(problem.n_features), 1e200) == np.inf
