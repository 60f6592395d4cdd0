"""Problems as data: what fills the quadratic program, by brute force from its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maxmargin import problems
from maxmargin.problems import optimality
from maxmargin.problems.joint import JointProblem
from reference import qp


def pose(kind, arguments):
    return getattr(problems, {"hard_margin": "c_svc"}.get(kind, kind))(**arguments)


def gaussian(X):
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))


def quadratic_form(problem, K):
    """Q_uv = s_u s_v K[row_u, row_v], entry by entry."""
    m = problem.n_variables
    Q = np.empty((m, m))
    for u in range(m):
        for v in range(m):
            Q[u, v] = problem.sign[u] * problem.sign[v] * K[problem.row[u], problem.row[v]]
    return Q


@pytest.fixture(params=qp.VARIANTS, ids=lambda variant: f"{variant[0]}-{'with' if variant[1] else 'without'}-intercept")
def posed(request):
    """(problem, K, oracle's answer)."""
    X, arguments = qp.draw(*request.param, seed=5, n=14)
    K = gaussian(X)
    return pose(request.param[0], arguments), K, qp.solve(request.param[0], K, arguments)


def test_coefficient_of_a_row_is_the_signed_sum_of_its_variables(posed):
    problem, _, _ = posed
    a = np.random.default_rng(0).standard_normal(problem.n_variables)
    expected = np.zeros(problem.n_rows)
    for v in range(problem.n_variables):
        expected[problem.row[v]] += problem.sign[v] * a[v]
    np.testing.assert_allclose(problem.coefficients(a), expected, rtol=1e-14)


def test_gradient_and_objective_are_those_of_the_quadratic_form(posed):
    problem, K, _ = posed
    a = np.random.default_rng(1).standard_normal(problem.n_variables)
    Q, f = quadratic_form(problem, K), K @ problem.coefficients(a)
    np.testing.assert_allclose(problem.gradient(f, a), Q @ a + problem.linear, atol=1e-12)
    assert problem.objective(f, a) == pytest.approx(0.5 * a @ Q @ a + problem.linear @ a, rel=1e-12)


def test_gradient_is_the_derivative_of_the_objective(posed):
    problem, K, _ = posed
    a = np.random.default_rng(2).standard_normal(problem.n_variables)

    def value(a):
        return problem.objective(K @ problem.coefficients(a), a)

    gradient = problem.gradient(K @ problem.coefficients(a), a)
    for v in range(problem.n_variables):
        step = np.zeros(problem.n_variables)
        step[v] = 1e-5
        assert (value(a + step) - value(a - step)) / 2e-5 == pytest.approx(gradient[v], abs=1e-6)


def variables(problem, coefficients):
    """Variables with the given coefficients: alpha and alpha* are the positive and the negative part; where their sum
    is prescribed, what is missing goes to both of them alike."""
    if problem.n_variables == problem.n_rows:
        return coefficients * problem.sign
    total = np.abs(problem.totals).sum() if problem.kind == "nu_svr" else 0.0
    room = problem.bound - np.abs(coefficients)
    missing = max(0.0, total - np.abs(coefficients).sum()) / 2
    both = missing * room / room.sum() if missing > 1e-9 else np.zeros(problem.n_rows)
    positive, negative = np.maximum(coefficients, 0) + both, np.maximum(-coefficients, 0) + both
    sign = 1.0 if problem.sign[-1] < 0 else -1.0
    return np.concatenate((positive, sign * negative))


def test_optimum_is_feasible_and_the_dual_attains_the_primal_value(posed):
    """Strong duality: minus the least value of the program is the least value of the textbook primal."""
    problem, K, answer = posed
    a = variables(problem, answer.coefficients)
    slack = 1e-7 * max(1.0, np.abs(a).max())
    assert (a >= problem.lower - slack).all()
    assert (a <= problem.upper + slack).all()
    for g, total in enumerate(problem.totals):
        assert a[problem.group == g].sum() == pytest.approx(total, abs=slack)
    assert -problem.objective(K @ answer.coefficients, a) == pytest.approx(answer.objective, rel=1e-7, abs=1e-8)


def test_offsets_give_back_intercept_rho_and_epsilon(posed):
    problem, K, answer = posed
    a = variables(problem, answer.coefficients)
    box = np.minimum(problem.upper - problem.lower, np.abs(a).max())
    a = np.where(a - problem.lower < 1e-6 * box, problem.lower, a)
    a = np.where(problem.upper - a < 1e-6 * box, problem.upper, a)
    offset = optimality.offsets(problem, a, problem.gradient(K @ problem.coefficients(a), a))
    b, rho, epsilon = problem.scalars(offset)
    assert b == pytest.approx(answer.intercept, abs=1e-4)
    has_rho = problem.kind in ("nu_svc", "one_class")
    assert (rho if has_rho else epsilon) == pytest.approx(answer.third, abs=1e-4)
    assert (epsilon if has_rho else rho) == 0.0


def test_start_is_zero_where_zero_is_feasible(posed):
    problem, _, _ = posed
    if not problem.totals.any():
        assert not problem.start().any()


def check_feasible(problem, a, point):
    """Inside every bound exactly, and every total met to rounding, relative to what was summed to get there."""
    clipped = np.clip(point, problem.lower, problem.upper)
    assert np.isfinite(a).all()
    assert (a >= problem.lower).all()
    assert (a <= problem.upper).all()
    for g, total in enumerate(problem.totals):
        mine = problem.group == g
        size = max(abs(total), np.abs(a[mine]).sum(), np.abs(clipped[mine]).sum())
        assert abs(a[mine].sum() - total) <= 1e-12 * size


@st.composite
def any_problem(draw):
    """A problem of any kind whose bounds may be zero, tiny or large; and a point anywhere."""
    kind, intercept = draw(st.sampled_from(qp.VARIANTS))
    n = draw(st.integers(2, 7))
    scale = 10.0 ** draw(st.integers(-15, 9))
    weight = scale * np.array(draw(st.lists(st.sampled_from([0.0, 0.1, 0.7, 1.0, 3.0]), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    y[:2], weight[:2] = (1.0, -1.0), scale
    nu = draw(st.sampled_from([1e-3, 0.3, 0.5, 1.0]))
    if kind == "c_svc":
        problem = problems.c_svc(y, weight, fit_intercept=intercept)
    elif kind == "hard_margin":
        problem = problems.c_svc(y, np.full(n, np.inf), fit_intercept=intercept)
    elif kind == "nu_svc":
        nu = min(nu, problems.largest_nu(y, weight)) if intercept else nu
        problem = problems.nu_svc(y, weight, nu, fit_intercept=intercept)
    elif kind == "eps_svr":
        problem = problems.eps_svr(y, weight, 0.1, fit_intercept=intercept)
    elif kind == "nu_svr":
        problem = problems.nu_svr(y, weight, nu, fit_intercept=intercept)
    else:
        problem = problems.one_class(weight, nu)
    m = problem.n_variables
    reach = scale * 10.0 ** draw(st.integers(-3, 3))
    point = np.array(draw(st.lists(st.integers(-999, 999), min_size=m, max_size=m))) * (reach / 999)
    return problem, point


SMALL = problems.nu_svr(np.array([1.0, -1.0]), np.full(2, 1e-13), 0.5)


@given(any_problem())
@example((SMALL, np.zeros(4)))
@settings(max_examples=300, deadline=None)
def test_feasible_is_inside_bounds_and_meets_totals(drawn):
    problem, point = drawn
    check_feasible(problem, problem.feasible(point), point)


@given(any_problem())
@settings(max_examples=100, deadline=None)
def test_feasible_leaves_one_side_of_the_tube(drawn):
    """What both multipliers of a row share is not in f, and costs epsilon in the dual objective: a solution that kept
    it would report a smaller objective than its coefficients have."""
    problem, point = drawn
    if problem.kind == "eps_svr":
        above, below = np.split(problem.feasible(point), 2)
        assert not ((above > 0) & (below < 0)).any()


@given(any_problem())
@example((SMALL, np.zeros(4)))
@settings(max_examples=100, deadline=None)
def test_start_is_feasible(drawn):
    problem, _ = drawn
    check_feasible(problem, problem.start(), np.zeros(problem.n_variables))


@given(any_problem())
@settings(max_examples=100, deadline=None)
def test_feasible_keeps_a_feasible_point(drawn):
    problem, point = drawn
    once = problem.feasible(point)
    size = np.abs(once).max(initial=0.0)
    np.testing.assert_allclose(problem.feasible(once), once, rtol=1e-9, atol=1e-9 * size)


@pytest.mark.parametrize("error", [-4e-16, 0.0, 4e-16, 1e-13])
def test_rounding_in_a_total_takes_no_variable_off_its_bound(error):
    """A variable at its bound is no candidate for the violation; one that a repair of rounding moves by an ulp is."""
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    problem = problems.c_svc(y, np.ones(6))
    a = problem.feasible(np.array([1.0, 0.0, 0.3 + error, -1.0, -0.3, 0.0]))
    check_feasible(problem, a, a)
    assert a[[0, 1, 3, 5]].tolist() == [1.0, 0.0, -1.0, 0.0]


def test_feasible_does_not_change_its_argument():
    problem = problems.one_class(np.ones(4), 0.5)
    point = np.array([5.0, -1.0, 0.3, 0.2])
    problem.feasible(point)
    assert point.tolist() == [5.0, -1.0, 0.3, 0.2]


@given(
    st.lists(st.tuples(st.sampled_from([-1.0, 1.0]), st.sampled_from([0.0, 0.5, 1.0, 4.0])), min_size=1, max_size=10)
)
@settings(deadline=None)
def test_largest_nu_is_feasible_and_no_larger_one_is(rows):
    y = np.array([1.0, -1.0, *(row[0] for row in rows)])
    weight = np.array([1.0, 0.5, *(row[1] for row in rows)])
    largest = problems.largest_nu(y, weight)
    assert 0 < largest <= 1
    for nu in (largest, 1.01 * largest):
        problem = problems.nu_svc(y, weight, nu)
        capacity = [problem.upper[y > 0].sum(), -problem.lower[y < 0].sum()]
        fits = all(total <= room * (1 + 1e-12) for total, room in zip(np.abs(problem.totals), capacity, strict=True))
        assert fits == (nu == largest)


def test_hard_margin_is_a_classifier_with_an_infinite_bound():
    y = np.array([1.0, -1.0])
    assert problems.c_svc(y, np.array([np.inf, np.inf])).hard_margin
    assert not problems.c_svc(y, np.array([5.0, 5.0])).hard_margin
    assert not problems.eps_svr(y, np.array([5.0, 5.0]), 0.1).hard_margin


def test_joint_problem_by_definition():
    problem = JointProblem(np.array([2, 0, 1]), np.array([1.0, np.inf, 0.5]), 3)
    assert problem.losses().tolist() == [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    assert problem.upper().tolist() == [[0, 0, 1], [np.inf, 0, 0], [0, 0.5, 0]]
    assert problem.hard_margin
    assert problem.n_rows == 3


def test_joint_feasible_keeps_a_full_row_full():
    """Three parts whose sum rounds to more than the bound: the label's variable stays exactly at it."""
    problem = JointProblem(np.array([0]), np.array([0.6]), 4)
    A = problem.feasible(np.array([[0.6, -0.1, -0.2, -0.3]]))
    assert A[0, 0] == 0.6


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1e-9, 1.0, 1e6, np.inf]))
@settings(max_examples=60, deadline=None)
def test_joint_feasible_is_feasible(seed, bound):
    rng = np.random.default_rng(seed)
    problem = JointProblem(rng.integers(0, 4, 6), np.full(6, bound), 4)
    A = problem.feasible(rng.standard_normal((6, 4)) * 10.0 ** rng.integers(-3, 4))
    assert (problem.upper() >= A).all()
    assert np.abs(A.sum(axis=1)).max() <= 1e-14 * np.abs(A).max(initial=0.0)
