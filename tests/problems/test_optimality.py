"""Certificates, field by field from their definitions, and what they say of right and wrong solutions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from maxmargin import problems
from maxmargin.kernels.gram.operator import StoredGram
from maxmargin.problems import optimality
from maxmargin.problems.joint import JointProblem, certify_joint
from reference import crammer_singer, qp

SOFT = [variant for variant in qp.VARIANTS if variant[0] != "hard_margin"]


def name(variant):
    return f"{variant[0]}-{'with' if variant[1] else 'without'}-intercept"


def case(variant, seed=0, n=16):
    """(problem, K, oracle's answer)."""
    kind, _ = variant
    X, arguments = qp.draw(*variant, seed=seed, n=n)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    problem = getattr(problems, {"hard_margin": "c_svc"}.get(kind, kind))(**arguments)
    return problem, K, qp.solve(kind, K, arguments)


def certify(problem, K, a):
    f = K @ problem.coefficients(a)
    offset = optimality.offsets(problem, a, problem.gradient(f, a))
    return optimality.certify(problem, a, f, offset)


def optimum(problem, answer):
    """The oracle's solution as variables of the problem, exactly at the bounds it is close to."""
    c = answer.coefficients
    if problem.n_variables == problem.n_rows:
        a = c * problem.sign
    else:
        side = 1.0 if problem.sign[-1] < 0 else -1.0
        a = np.concatenate((np.maximum(c, 0), side * np.maximum(-c, 0)))
    box = np.minimum(problem.upper - problem.lower, np.abs(a).max())
    a = np.where(a - problem.lower < 1e-6 * box, problem.lower, a)
    return np.where(problem.upper - a < 1e-6 * box, problem.upper, a)


def somewhere(problem, seed):
    """A feasible point that is far from optimal, with free and bounded variables."""
    rng = np.random.default_rng(seed)
    spread = np.where(np.isfinite(problem.upper - problem.lower), problem.upper - problem.lower, 1.0)
    low = np.maximum(problem.lower, -1.0)
    return problem.feasible(low + spread * rng.choice([0.0, 0.3, 0.6, 1.0], problem.n_variables))


@pytest.mark.parametrize("variant", qp.VARIANTS, ids=name)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_field_is_what_its_definition_says(variant, seed):
    problem, K, _ = case(variant, seed)
    rng = np.random.default_rng(seed)
    a = somewhere(problem, seed) + 0.05 * rng.standard_normal(problem.n_variables)  # not even feasible
    f = K @ problem.coefficients(a)
    gradient = problem.gradient(f, a)
    offset = rng.standard_normal(len(problem.totals))
    certificate = optimality.certify(problem, a, f, offset)

    def partners(u):
        """Variables that u may trade with; without an equality, a fixed one of gradient zero that may move."""
        if problem.group[u] < 0:
            yield 0.0, True
        for v in range(problem.n_variables):
            if problem.group[v] == problem.group[u]:
                yield gradient[v], a[v] < problem.upper[v]

    worst = 0.0
    for u in range(problem.n_variables):
        if a[u] > problem.lower[u]:
            worst = max([worst, *(gradient[u] - g for g, may_rise in partners(u) if may_rise)])
        if a[u] < problem.upper[u] and problem.group[u] < 0:
            worst = max(worst, -gradient[u])
    assert certificate.violation == pytest.approx(worst, rel=1e-12)

    outside = max(max(problem.lower[v] - a[v], a[v] - problem.upper[v], 0.0) for v in range(problem.n_variables))
    assert certificate.dual_infeasibility == pytest.approx(outside, rel=1e-12)

    residual = [abs(a[problem.group == g].sum() - total) for g, total in enumerate(problem.totals)]
    assert certificate.stationarity == pytest.approx(max(residual, default=0.0), rel=1e-9, abs=1e-13)

    product = 0.0
    for v in range(problem.n_variables):
        pull = gradient[v] - (offset[problem.group[v]] if problem.group[v] >= 0 else 0.0)
        if pull > 0 and math.isfinite(problem.lower[v]):
            product = max(product, pull * (a[v] - problem.lower[v]))
        if pull < 0 and math.isfinite(problem.upper[v]):
            product = max(product, -pull * (problem.upper[v] - a[v]))
    assert certificate.complementarity == pytest.approx(product, rel=1e-12)

    c = problem.coefficients(a)
    norm2 = sum(c[i] * c[j] * K[i, j] for i in range(len(c)) for j in range(len(c)))
    assert certificate.norm == pytest.approx(math.sqrt(norm2), rel=1e-9)
    assert certificate.dual == pytest.approx(-0.5 * norm2 - float(problem.linear @ a), rel=1e-9)
    assert certificate.primal == pytest.approx(primal(problem, f, problem.scalars(offset), norm2), rel=1e-9)
    assert certificate.gap == certificate.primal - certificate.dual


def primal(problem, f, scalars, norm2):
    """The primal objective, sample by sample."""
    b, rho, epsilon = scalars
    y, c = problem.target, problem.bound
    if problem.hard_margin:
        closest = min(y[i] * (f[i] + b) for i in range(len(y)))
        return 0.5 * norm2 / min(1.0, closest) ** 2 if closest > 0 else math.inf
    total = 0.5 * norm2
    for i in range(len(y)):
        if problem.kind == "c_svc":
            total += c[i] * max(0.0, 1 - y[i] * (f[i] + b))
        elif problem.kind == "nu_svc":
            total += c[i] * (max(0.0, rho - y[i] * (f[i] + b)) - problem.nu * rho)
        elif problem.kind == "one_class":
            total += c[i] * (max(0.0, rho - f[i]) - problem.nu * rho)
        elif problem.kind == "quantile":  # drawn with q = 0.8
            total += c[i] * max(0.8 * (y[i] - f[i] - b), 0.2 * (f[i] + b - y[i]))
        else:
            total += c[i] * max(0.0, abs(y[i] - f[i] - b) - epsilon)
            if problem.kind == "nu_svr":
                total += c[i] * problem.nu * epsilon
    return total


@pytest.mark.parametrize("variant", qp.VARIANTS, ids=name)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_certificate_of_the_oracle_s_solution_is_clean(variant, seed):
    problem, K, answer = case(variant, seed)
    certificate = certify(problem, K, optimum(problem, answer))
    size = max(1.0, abs(answer.objective))
    assert certificate.primal == pytest.approx(answer.objective, abs=1e-5 * size)
    assert certificate.dual == pytest.approx(answer.objective, abs=1e-5 * size)
    assert abs(certificate.gap) < 1e-5 * size
    for field in ("violation", "stationarity", "dual_infeasibility", "primal_infeasibility", "complementarity"):
        assert getattr(certificate, field) < 1e-4, field


@pytest.mark.parametrize("variant", qp.VARIANTS, ids=name)
def test_perturbed_optimum_has_a_gap_and_a_violation(variant):
    problem, K, _ = case(variant)
    certificate = certify(problem, K, somewhere(problem, 3))
    assert certificate.gap > 1e-2
    assert certificate.violation > 1e-2


@pytest.mark.parametrize("variant", qp.VARIANTS, ids=name)
@pytest.mark.parametrize("seed", range(5))
def test_weak_duality_for_every_feasible_point_and_every_offset(variant, seed):
    """dual(feasible point) <= optimum <= primal(any function, any offset)."""
    problem, K, answer = case(variant)
    a = somewhere(problem, seed)
    offset = np.random.default_rng(seed).standard_normal(len(problem.totals)) * 3
    certificate = optimality.certify(problem, a, K @ problem.coefficients(a), offset)
    slack = 1e-9 * max(1.0, abs(answer.objective))
    assert certificate.dual <= answer.objective + slack
    assert certificate.primal >= answer.objective - slack


@pytest.mark.parametrize("variant", SOFT, ids=name)
@pytest.mark.parametrize("noise", [0.0, 1e-6, 10.0])
def test_audited_values_give_the_violation_of_exact_ones(variant, noise, monkeypatch):
    """Whatever the solver believed f to be, the rows that decide the violation are computed in float64."""
    monkeypatch.setattr(optimality, "ALL_ROWS_MAX_VALUES", 0)
    monkeypatch.setattr(optimality, "SAMPLED_ROWS", 10)
    problem, K, _ = case(variant, n=60)
    for seed in range(3):
        a = somewhere(problem, seed)
        exact = K @ problem.coefficients(a)
        believed = exact + noise * np.random.default_rng(seed).uniform(-1, 1, len(exact))
        f = optimality.audited(problem, a, believed, StoredGram(K))
        expected = optimality.violation(problem, a, problem.gradient(exact, a))
        assert optimality.violation(problem, a, problem.gradient(f, a)) == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(f, exact, atol=2e-6)


# How to break one condition at an optimum, and the field that must show it.
def outside_bounds(problem, a):
    a = a.copy()
    a[0] = problem.upper[0] + 0.25
    return a


def off_the_total(problem, a):
    free = np.flatnonzero((a > problem.lower) & (a < problem.upper))
    a = a.copy()
    a[free[0]] += 0.01
    return a


@pytest.mark.parametrize("variant", SOFT, ids=name)
def test_a_variable_outside_its_bounds_shows_as_dual_infeasibility(variant):
    problem, K, answer = case(variant)
    certificate = certify(problem, K, outside_bounds(problem, optimum(problem, answer)))
    assert certificate.dual_infeasibility == pytest.approx(0.25)


@pytest.mark.parametrize("variant", [v for v in SOFT if v[1]], ids=name)
def test_a_missed_total_shows_as_stationarity(variant):
    problem, K, answer = case(variant)
    certificate = certify(problem, K, off_the_total(problem, optimum(problem, answer)))
    assert certificate.stationarity == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("variant", qp.VARIANTS, ids=name)
def test_a_wrong_offset_shows_as_complementarity(variant):
    problem, K, answer = case(variant)
    a = optimum(problem, answer)
    if len(problem.totals):
        offset = optimality.offsets(problem, a, problem.gradient(K @ problem.coefficients(a), a)) + 0.5
    else:
        offset, a = np.empty(0), somewhere(problem, 1)
    assert optimality.certify(problem, a, K @ problem.coefficients(a), offset).complementarity > 1e-2


def test_hard_margin_shows_a_point_inside_the_margin_and_scales_the_direction():
    """Two points at distance 2: the optimum is w = 1 with objective 1/2; half of it has margins of a half."""
    problem = problems.c_svc(np.array([1.0, -1.0]), np.full(2, np.inf))
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    best = certify(problem, K, np.array([0.5, -0.5]))
    assert (best.primal, best.dual, best.gap) == (0.5, 0.5, 0.0)
    assert best.primal_infeasibility == 0
    half = certify(problem, K, np.array([0.25, -0.25]))
    assert half.primal_infeasibility == pytest.approx(0.5)
    assert half.primal == pytest.approx(0.5)  # the same direction, scaled up
    assert half.dual == pytest.approx(0.375)
    wrong = optimality.certify(problem, np.array([0.5, -0.5]), np.array([-1.0, 1.0]), np.zeros(1))
    assert wrong.primal == math.inf
    assert wrong.gap == wrong.relative_gap == math.inf


@pytest.mark.parametrize("free_price", [0.0, 0.2])
@pytest.mark.parametrize("intercept", [True, False])
def test_hard_rows_beside_soft_rows(free_price, intercept):
    """``bound`` is C of each row, inf allowed: only the rows of infinite price may have no slack."""
    X = np.array([[2.0, 0.0], [1.0, 0.5], [-1.0, 0.2], [-2.0, 0.0], [-1.5, 1.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0, 1.0])  # the last one is on the wrong side, at a finite price
    bound = np.array([np.inf, np.inf, np.inf, np.inf, free_price])
    K = X @ X.T
    answer = qp.c_svc(K, y, bound, fit_intercept=intercept)
    problem = problems.c_svc(y, bound, fit_intercept=intercept)
    certificate = certify(problem, K, optimum(problem, answer))
    assert certificate.primal == pytest.approx(answer.objective, rel=1e-5)
    assert certificate.gap == pytest.approx(0.0, abs=1e-5)
    assert certificate.primal_infeasibility < 1e-5


@pytest.mark.parametrize("intercept", [True, False])
def test_regression_with_an_infinite_price_has_a_finite_certificate(intercept):
    """C=inf asks every point to lie inside the tube; an optimum that does has no gap."""
    x = np.linspace(-1, 1, 9)
    y = x + 0.05 * (-1.0) ** np.arange(9)
    K = np.outer(x, x)
    bound = np.full(9, np.inf)
    answer = qp.eps_svr(K, y, bound, 0.1, fit_intercept=intercept)
    problem = problems.eps_svr(y, bound, 0.1, fit_intercept=intercept)
    certificate = certify(problem, K, optimum(problem, answer))
    assert certificate.primal == pytest.approx(answer.objective, rel=1e-4)
    assert certificate.gap == pytest.approx(0.0, abs=1e-4)


def test_regression_outside_a_tube_of_infinite_price_is_infeasible():
    problem = problems.eps_svr(np.array([0.0, 1.0]), np.full(2, np.inf), 0.1)
    certificate = certify(problem, np.eye(2), np.zeros(4))
    assert certificate.primal == math.inf
    assert certificate.primal_infeasibility == pytest.approx(0.4)


def test_offset_without_free_variables_lies_between_the_two_sides():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    problem = problems.c_svc(y, np.ones(4))
    gradient = np.array([-3.0, -2.0, 5.0, 7.0])
    a = np.array([1.0, 1.0, -1.0, -1.0])  # all at their bounds: -2 <= offset <= 5
    assert optimality.offsets(problem, a, gradient).tolist() == [1.5]
    # All at their upper bounds, none may rise: offset >= 7 is all that is known; all at their lower ones: <= -3.
    assert optimality.offsets(problem, np.array([1.0, 1.0, 0.0, 0.0]), gradient).tolist() == [7.0]
    assert optimality.offsets(problem, np.array([0.0, 0.0, -1.0, -1.0]), gradient).tolist() == [-3.0]


def test_offset_of_a_group_without_variables_that_can_move_is_zero():
    problem = problems.c_svc(np.array([1.0, -1.0]), np.zeros(2))
    assert optimality.offsets(problem, np.zeros(2), np.array([-1.0, 1.0])).tolist() == [0.0]
    assert optimality.violation(problem, np.zeros(2), np.array([-1.0, 1.0])) == 0.0


def test_offset_is_the_mean_gradient_of_the_free_variables():
    problem = problems.c_svc(np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4))
    a = np.array([0.25, 0.5, -0.75, 0.0])
    assert optimality.offsets(problem, a, np.array([1.0, 2.0, 6.0, 100.0])).tolist() == [3.0]


def test_relative_gap():
    problem = problems.c_svc(np.array([1.0, -1.0]), np.ones(2))
    zero = certify(problem, np.zeros((2, 2)), np.zeros(2))
    assert zero.primal == 2.0
    assert zero.dual == 0.0
    assert zero.relative_gap == 1.0
    full = certify(problem, np.zeros((2, 2)), np.array([1.0, -1.0]))
    assert full.gap == full.relative_gap == 0.0


# The joint multiclass model


def joint_case(seed, bound=2.0, n=15, classes=3):
    rng = np.random.default_rng(seed)
    label = np.concatenate((np.arange(classes), rng.integers(0, classes, n - classes)))
    X = rng.standard_normal((n, 3)) + 1.5 * np.eye(3)[label % 3]
    K = X @ X.T if math.isfinite(bound) else np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    price = bound * rng.choice([0.5, 1.0, 2.0], n) if math.isfinite(bound) else np.full(n, math.inf)
    return JointProblem(label, price, classes), K


@pytest.mark.parametrize("seed", range(3))
def test_joint_fields_are_what_their_definitions_say(seed):
    problem, K = joint_case(seed)
    rng = np.random.default_rng(seed)
    A = problem.feasible(rng.standard_normal((problem.n_rows, 3))) + 0.02 * rng.standard_normal((problem.n_rows, 3))
    F = K @ A
    certificate = certify_joint(problem, A, F)
    norm2 = sum(A[:, k] @ K @ A[:, k] for k in range(3))
    loss = violation = product = outside = 0.0
    for i, y in enumerate(problem.label):
        G = [F[i, k] + (k != y) for k in range(3)]
        upper = [problem.bound[i] if k == y else 0.0 for k in range(3)]
        loss += problem.bound[i] * max(0.0, max(1 + F[i, k] - F[i, y] for k in range(3) if k != y))
        rising = [G[k] for k in range(3) if A[i, k] < upper[k]]
        violation = max(violation, max(G) - min(rising, default=math.inf))
        product = max([product, *((max(G) - G[k]) * (upper[k] - A[i, k]) for k in range(3))])
        outside = max([outside, *(A[i, k] - upper[k] for k in range(3))])
    assert certificate.primal == pytest.approx(0.5 * norm2 + loss)
    assert certificate.dual == pytest.approx(-0.5 * norm2 - float((problem.losses() * A).sum()))
    assert certificate.violation == pytest.approx(violation)
    assert certificate.complementarity == pytest.approx(product)
    assert certificate.dual_infeasibility == pytest.approx(outside)
    assert certificate.stationarity == pytest.approx(np.abs(A.sum(axis=1)).max())
    assert certificate.norm == pytest.approx(math.sqrt(norm2))


@pytest.mark.parametrize("bound", [0.5, 5.0, math.inf])
def test_joint_certificate_of_the_oracle_s_solution_is_clean_and_of_another_point_is_not(bound):
    problem, K = joint_case(1, bound)
    answer = crammer_singer.solve(K, problem.label, problem.bound, 3)
    A = np.where(np.abs(answer.coefficients) < 1e-7, 0.0, answer.coefficients)
    A = problem.feasible(A)
    certificate = certify_joint(problem, A, K @ A)
    assert certificate.primal == pytest.approx(answer.objective, rel=1e-5)
    assert certificate.dual == pytest.approx(answer.objective, rel=1e-5)
    assert certificate.primal_infeasibility < 1e-5
    other = problem.feasible(-np.ones_like(A) * min(1.0, bound))
    assert certify_joint(problem, other, K @ other).gap > 1e-2


def test_joint_hard_rows_beside_soft_rows():
    """Rows of infinite price have no slack, the others pay for theirs."""
    problem, K = joint_case(2, math.inf)
    bound = problem.bound.copy()
    bound[::3] = 0.1
    problem = JointProblem(problem.label, bound, 3)
    answer = crammer_singer.solve(K, problem.label, bound, 3)
    A = problem.feasible(np.where(np.abs(answer.coefficients) < 1e-7, 0.0, answer.coefficients))
    certificate = certify_joint(problem, A, K @ A)
    assert certificate.primal == pytest.approx(answer.objective, rel=1e-5)
    assert certificate.dual == pytest.approx(answer.objective, rel=1e-5)
