"""Interior points on the kernel dual: the Newton systems, the path, and the solver against textbook programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import LinearSVC, problems
from maxmargin.kernels.gram.operator import StoredGram
from maxmargin.problems import optimality
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers import Barrier
from maxmargin.solvers.interior_point.kernel_system import (
    KERNEL_MAX_ROWS,
    DenseSystem,
    RowProducts,
    iterates,
    without_fixed,
)
from maxmargin.solvers.interior_point.low_rank_system import LowRankSystem
from maxmargin.solvers.interior_point.path import MAX_ITERATIONS
from reference import qp
from reference.dual_cases import KERNEL_MATRICES, case, check_feasible, gaussian, pose

TOL = 1e-6


def solve(problem, K, tol=TOL, start=None, **limits):
    return Barrier().solve(problem, StoredGram(K), tol=tol, control=Control(**limits), start=start)


def value(problem, K, a):
    return -problem.objective(K @ problem.coefficients(a), a)


# The Newton systems


def dense_matrix(problem, K):
    """Q written out."""
    return K[np.ix_(problem.row, problem.row)] * problem.sign * problem.sign[:, None]


@pytest.mark.parametrize(("kind", "intercept"), qp.VARIANTS)
def test_newton_systems_are_solved_exactly(kind, intercept):
    """(Q + D) da - G'dlambda = r and G da = e, against the system written out."""
    problem, K, _ = case(kind, intercept, "rbf")
    rng = np.random.default_rng(1)
    m, k = problem.n_variables, len(problem.totals)
    D, r, e = 10.0 ** rng.uniform(-6, 6, m), rng.standard_normal(m), rng.standard_normal(k)
    system = DenseSystem(problem, K)
    system.factor(1.0 / D)
    da, doffset = system.direction(r / D, e)
    G = (problem.group == np.arange(k)[:, None]).astype(float)
    whole = np.block([[dense_matrix(problem, K) + np.diag(D), -G.T], [G, np.zeros((k, k))]])
    expected = np.linalg.solve(whole, np.concatenate((r, e)))
    np.testing.assert_allclose(da, expected[:m], rtol=1e-6, atol=1e-9 * np.abs(expected[:m]).max())
    np.testing.assert_allclose(doffset, expected[m:], rtol=1e-6)


@pytest.mark.parametrize(("kind", "intercept"), qp.VARIANTS)
def test_newton_systems_of_low_rank_are_solved_exactly(kind, intercept):
    """The same systems with K = X X' and w apart: dw = X'E'(a + da) - w, whatever w is before."""
    X, arguments = qp.draw(kind, intercept, 0, 24)
    problem, rng = pose(kind, arguments), np.random.default_rng(1)
    m, k = problem.n_variables, len(problem.totals)
    D, r, e = 10.0 ** rng.uniform(-4, 4, m), rng.standard_normal(m), rng.standard_normal(k)
    system = LowRankSystem(problem, RowProducts(X))
    system.rest = rng.standard_normal(X.shape[1])
    system.factor(1.0 / D)
    dw, doffset = system.direction(r / D, e)
    G = (problem.group == np.arange(k)[:, None]).astype(float)
    EX = problem.sign[:, None] * X[problem.row]
    Q = EX @ EX.T
    expected = np.linalg.solve(
        np.block([[Q + np.diag(D), -G.T], [G, np.zeros((k, k))]]), np.concatenate((r - EX @ system.rest, e))
    )
    np.testing.assert_allclose(dw, system.rest + EX.T @ expected[:m], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(doffset, expected[m:], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("kind", "intercept"), qp.VARIANTS)
def test_the_linear_kernel_of_few_columns(kind, intercept):
    """Against the textbook program."""
    X, arguments = qp.draw(kind, intercept, 0, 24)
    problem, K = pose(kind, arguments), X @ X.T
    solution = Barrier().solve(problem, StoredGram(K, linear=X), tol=TOL, control=Control())
    check_feasible(problem, solution.a)
    assert solution.status is Status.OPTIMAL
    assert value(problem, K, solution.a) == pytest.approx(qp.solve(kind, K, arguments).objective, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("kind", "intercept"), qp.VARIANTS)
def test_values_are_q_times_a(kind, intercept):
    problem, K, _ = case(kind, intercept, "rbf")
    a = np.random.default_rng(0).standard_normal(problem.n_variables)
    np.testing.assert_allclose(DenseSystem(problem, K).value(a), dense_matrix(problem, K) @ a, atol=1e-12)


def test_an_indefinite_matrix_is_pushed_up():
    problem = problems.c_svc(np.array([1.0, -1.0]), np.ones(2))
    system = DenseSystem(problem, np.array([[0.0, 3.0], [3.0, 0.0]]))
    system.factor(np.full(2, 1e3))
    assert np.isfinite(system.direction(1e3 * np.ones(2), np.zeros(1))[0]).all()


# The path


@pytest.mark.parametrize(("kind", "intercept"), qp.VARIANTS)
def test_iterates_stay_inside_and_mu_falls_to_nothing(kind, intercept):
    problem, K, _ = case(kind, intercept, "rbf")
    seen = []
    for iterate in iterates(problem, DenseSystem(problem, K), 1.0):
        seen.append(iterate)
        if iterate.mu < 1e-12 * seen[0].mu:
            break
    assert len(seen) < 40
    for iterate in seen:
        assert (iterate.below > 0).all()
        assert (iterate.above > 0).all()
        assert (iterate.at_lower >= 0).all()
        assert (iterate.at_upper >= 0).all()
        assert (iterate.a >= problem.lower).all()
        assert (iterate.a <= problem.upper).all()
    assert [iterate.iteration for iterate in seen] == list(range(len(seen)))


@pytest.mark.parametrize(("kind", "intercept"), qp.VARIANTS)
def test_the_path_ends_in_the_conditions_of_optimality(kind, intercept):
    """Q a + p - G'lambda - z + x = 0, G a = t, and both products zero: the conditions as the file states them."""
    problem, K, _ = case(kind, intercept, "rbf")
    for iterate in iterates(problem, DenseSystem(problem, K), 1.0):
        if iterate.mu < 1e-10:
            break
    gradient = dense_matrix(problem, K) @ iterate.a + problem.linear
    gradient -= np.append(iterate.offset, 0.0)[problem.group]
    size = np.abs(problem.linear).max(initial=1.0)
    np.testing.assert_allclose(gradient, iterate.at_lower - iterate.at_upper, atol=1e-7 * size)
    sums = [iterate.a[problem.group == g].sum() for g in range(len(problem.totals))]
    np.testing.assert_allclose(sums, problem.totals, atol=1e-9 * max(1.0, np.abs(iterate.a).sum()))
    room = np.where(np.isfinite(iterate.below), iterate.below, 0.0)
    assert (room * iterate.at_lower).max() < 1e-6


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_the_path_ends_where_values_are_not_numbers():
    problem = problems.c_svc(np.array([1.0, -1.0]), np.ones(2))
    assert len(list(iterates(problem, DenseSystem(problem, np.full((2, 2), np.nan)), 1.0))) == 1


def test_the_path_has_an_end_where_there_is_no_solution():
    """A hard margin that nothing separates: the dual is unbounded, and the generator stops of its own."""
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    problem = problems.c_svc(np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, math.inf))
    assert sum(1 for _ in iterates(problem, DenseSystem(problem, X @ X.T), 1.0)) <= MAX_ITERATIONS


def test_very_different_prices_do_not_slow_it_down():
    X, arguments = qp.draw("c_svc", True, 0, n=60)
    bound = 10.0 ** np.random.default_rng(0).uniform(-6, 6, 60)
    problem = problems.c_svc(arguments["y"], bound)
    solution = solve(problem, gaussian(X))
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter < 40


# What cannot move


def test_fixed_variables_are_taken_out():
    """Price zero, and a group whose sum leaves no choice."""
    y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    weight = np.array([1.0, 1.0, 2.0, 0.0, 2.0])
    problem = problems.nu_svc(y, weight, problems.largest_nu(y, weight))  # all of the positive class at its bound
    inner, values, moving = without_fixed(problem, np.eye(5))
    np.testing.assert_array_equal(moving, [2, 4])
    np.testing.assert_array_equal(values, [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(inner.group, [0, 0])
    assert inner.totals == pytest.approx([-2.0])


def test_nothing_can_move():
    problem = problems.c_svc(np.ones(3), np.ones(3))
    solution = solve(problem, np.eye(3))
    assert solution.status is Status.OPTIMAL
    np.testing.assert_array_equal(solution.a, 0)


@pytest.mark.parametrize("kernel", KERNEL_MATRICES)
def test_largest_nu_leaves_one_class_at_its_bounds(kernel):
    X, arguments = qp.draw("nu_svc", True, 1)
    arguments["nu"] = problems.largest_nu(arguments["y"], arguments["weight"])
    K, problem = KERNEL_MATRICES[kernel](X), pose("nu_svc", arguments)
    solution = solve(problem, K)
    assert solution.status is Status.OPTIMAL
    check_feasible(problem, solution.a)


# The solver


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kernel", KERNEL_MATRICES)
@pytest.mark.parametrize(("kind", "intercept"), qp.VARIANTS)
def test_the_oracle_s_optimum_with_a_certified_violation(kind, intercept, kernel, seed):
    problem, K, objective = case(kind, intercept, kernel, seed)
    solution = solve(problem, K)
    assert solution.status is Status.OPTIMAL
    check_feasible(problem, solution.a)
    f = K @ problem.coefficients(solution.a)
    np.testing.assert_allclose(solution.f, f, atol=1e-9 * max(1.0, np.abs(f).max()))
    assert optimality.violation(problem, solution.a, problem.gradient(f, solution.a)) <= TOL * problem.tol_scale
    assert value(problem, K, solution.a) == pytest.approx(objective, rel=1e-6, abs=1e-6)
    assert solution.n_iter < 40


def test_multipliers_are_exactly_at_their_bounds():
    """Interior points never are; the solution is. How many are depends on the problem alone, not on the tolerance."""
    problem, K, _ = case("c_svc", True, "rbf", 0, 60)
    loose, tight = solve(problem, K, tol=1e-3), solve(problem, K, tol=1e-9)
    for a in (loose.a, tight.a):
        assert np.count_nonzero(a == 0) > 5
    np.testing.assert_array_equal(tight.a == 0, loose.a == 0)


@pytest.mark.parametrize("price", [1e-6, 1.0, 1e6])
def test_small_and_large_prices(price):
    X, arguments = qp.draw("c_svc", True, 3, n=40)
    K = X @ X.T
    problem = problems.c_svc(arguments["y"], price * arguments["bound"])
    solution = solve(problem, K)
    f = K @ solution.a
    assert optimality.best_certificate(problem, solution.a, f).relative_gap < 1e-7
    assert solution.n_iter < 60


@st.composite
def grid_problem(draw):
    """Few points on a coarse grid: repetitions, opposite labels and zero rows abound."""
    kind = draw(st.sampled_from(["c_svc", "eps_svr", "one_class"]))
    n = draw(st.integers(2, 8))
    X = np.array(draw(st.lists(st.tuples(*[st.integers(-2, 2)] * 2), min_size=n, max_size=n)), float)
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    y[:2] = 1.0, -1.0
    price = np.array(draw(st.lists(st.sampled_from([0.0, 0.01, 1.0, 30.0]), min_size=n, max_size=n)))
    price[:2] = 1.0
    extra = {"fit_intercept": draw(st.booleans())}
    arguments = {
        "c_svc": {"y": y, "bound": price, **extra},
        "eps_svr": {"y": X.sum(axis=1), "bound": price, "epsilon": draw(st.sampled_from([0.0, 0.5])), **extra},
        "one_class": {"weight": price, "nu": draw(st.sampled_from([0.1, 0.5, 0.9]))},
    }[kind]
    return kind, arguments, KERNEL_MATRICES[draw(st.sampled_from(sorted(KERNEL_MATRICES)))](X)


@given(grid_problem())
@settings(max_examples=80, deadline=None)
def test_degenerate_problems(drawn):
    kind, arguments, K = drawn
    problem = pose(kind, arguments)
    solution = solve(problem, K)
    check_feasible(problem, solution.a)
    assert solution.status is Status.OPTIMAL
    assert value(problem, K, solution.a) == pytest.approx(qp.solve(kind, K, arguments).objective, rel=1e-6, abs=1e-6)


def test_a_path_that_would_cycle_without_its_safeguard():
    """Mehrotra's corrections alone go round in circles here."""
    K = np.array([[5.0, -3, 0, 0, 3], [-3, 5, 0, 0, -1], [0] * 5, [0] * 5, [3, -1, 0, 0, 2]])
    y, weight = np.array([1.0, -1, -1, -1, 1]), np.array([1.0, 1, 0, 0, 30])
    problem = problems.nu_svc(y, weight, 0.1, fit_intercept=False)
    solution = solve(problem, K)
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter < 40


def test_twice_the_same_row_leaves_a_choice_that_does_no_harm():
    """Two equal rows share one multiplier in any proportion: Q_FF is singular."""
    X = np.repeat(np.random.default_rng(0).standard_normal((6, 2)), 2, axis=0)
    weight = np.tile([0.01, 30.0], 6)
    problem = problems.one_class(weight, 0.5)
    K = KERNEL_MATRICES["poly"](X)
    solution = solve(problem, K)
    assert solution.status is Status.OPTIMAL
    assert value(problem, K, solution.a) == pytest.approx(qp.one_class(K, weight, 0.5).objective, rel=1e-6)


def test_history_reaches_the_control():
    problem, K, objective = case("c_svc", True, "rbf")
    seen = []
    solution = Barrier().solve(problem, StoredGram(K), tol=TOL, control=Control(callback=seen.append))
    assert [progress.iteration for progress in seen] == [0, *range(solution.n_iter + 1)]
    dual = [progress.dual for progress in seen]
    assert dual == sorted(dual)
    assert seen[-1].dual == pytest.approx(objective, rel=1e-6)
    assert seen[-1].primal == pytest.approx(objective, rel=1e-6)
    assert seen[-1].norm > 0


def test_start_at_the_solution_takes_no_iteration():
    problem, K, _ = case("eps_svr", True, "rbf")
    first = solve(problem, K)
    assert solve(problem, K, tol=2 * TOL, start=first.a).n_iter == 0


def test_limits_give_a_feasible_point():
    problem, K, _ = case("c_svc", True, "rbf")
    for limits, status in (({"max_iter": 2}, Status.MAX_ITER), ({"max_seconds": 1e-9}, Status.DEADLINE)):
        solution = solve(problem, K, **limits)
        assert solution.status is status
        assert solution.n_iter <= 2
        check_feasible(problem, solution.a)


def test_refusal_names_the_memory_and_the_alternatives():
    n = KERNEL_MAX_ROWS + 1
    reason = Barrier().refuses(problems.c_svc(np.ones(n), np.ones(n)))
    assert "GB" in reason
    assert "active_set" in reason
    assert Barrier().refuses(problems.c_svc(np.ones(10), np.ones(10))) is None


def test_a_hard_margin_between_tiny_numbers():
    """Multipliers of 1e298, whose squares are not numbers."""
    model = LinearSVC(C=np.inf).fit([[1.3763e-149], [1.323e-149]], [1, 0])
    assert list(model.predict([[1.3763e-149], [1.323e-149]])) == [1, 0]
