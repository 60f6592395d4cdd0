"""Solvers against textbook quadratic programs: every solver of the registry, every problem, several kernels.

A solver that is added to ``SOLVERS`` and accepts kernel problems is tested here. ``REACH`` is the violation that a
solver may leave where it is not tol itself: an interior point is close to the optimum, not at it.
"""

from __future__ import annotations

import inspect
import math
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import problems
from maxmargin.kernels import RBF, Linear
from maxmargin.kernels.gram.choice import make_gram
from maxmargin.kernels.gram.operator import KernelGram, StoredGram
from maxmargin.kernels.gram.tiled import TiledGram
from maxmargin.problems import optimality
from maxmargin.problems.joint import JointProblem, certify_joint
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers import SMO, CrammerSinger, choose_solver, solvers_for
from maxmargin.solvers import SOLVERS as EVERY_SOLVER
from maxmargin.solvers.active_set import ActiveSet
from maxmargin.solvers.active_set import solver as active_set
from maxmargin.solvers.hulls import nearest_points
from reference import crammer_singer, qp
from reference.dual_cases import KERNEL_MATRICES, case, check_feasible, gaussian, pose

TOL = 1e-6
REACH = {"qp_dual": 1e-3}
SOLVERS = {name: EVERY_SOLVER[name] for name in solvers_for("kernel")}
WITH_BLOCKS = [name for name, solver in SOLVERS.items() if inspect.signature(type(solver)).parameters]


def solve(solver, problem, K, tol=TOL, start=None, **limits):
    return solver.solve(problem, StoredGram(K), tol=tol, control=Control(**limits), start=start)


def violation(problem, K, a):
    return optimality.violation(problem, a, problem.gradient(K @ problem.coefficients(a), a))


def check_solved(name, problem, K, solution, objective, tol=TOL):
    """Optimal by its own word, feasible, certified, and of the oracle's value."""
    assert solution.status is Status.OPTIMAL
    check_feasible(problem, solution.a)
    f = K @ problem.coefficients(solution.a)
    np.testing.assert_allclose(solution.f, f, atol=1e-5 * max(1.0, np.abs(f).max()))
    goal = REACH.get(name, tol * problem.tol_scale)
    assert violation(problem, K, solution.a) <= goal + 1e-12 * np.abs(f).max()
    assert -problem.objective(f, solution.a) == pytest.approx(objective, rel=1e-6, abs=1e-6)


def accepting(problem):
    return {name: solver for name, solver in SOLVERS.items() if solver.refuses(problem) is None}


def accepted(*kinds, solvers=tuple(SOLVERS)):
    """Parametrize by every solver with every problem (of these kinds) that it does not refuse."""
    taken = [
        (name, kind, intercept)
        for name in solvers
        for kind, intercept in qp.VARIANTS
        if (not kinds or kind in kinds) and SOLVERS[name].refuses(pose(kind, qp.draw(kind, intercept, 0)[1])) is None
    ]
    ids = [f"{name}-{kind}-{'b' if intercept else 'no_b'}" for name, kind, intercept in taken]
    return pytest.mark.parametrize(("name", "kind", "intercept"), taken, ids=ids)


@accepted()
@pytest.mark.parametrize("kernel", KERNEL_MATRICES)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_solver_finds_the_oracle_s_optimum(name, kind, intercept, kernel, seed):
    problem, K, objective = case(kind, intercept, kernel, seed)
    check_solved(name, problem, K, solve(SOLVERS[name], problem, K), objective)


@accepted("c_svc", "one_class")
def test_steps_are_counted(name, kind, intercept):
    problem, K, _ = case(kind, intercept, "rbf")
    assert solve(SOLVERS[name], problem, K).n_iter > 0


@pytest.mark.parametrize(("kind", "intercept"), qp.VARIANTS)
def test_every_problem_has_a_solver_and_refusals_say_why(kind, intercept):
    problem, _, _ = case(kind, intercept, "rbf")
    assert accepting(problem)
    for name, solver in SOLVERS.items():
        assert solver.name == name
        reason = solver.refuses(problem)
        if reason is None:
            assert choose_solver(name, problem) == (solver, "asked for")
        else:
            assert len(reason) > 10
            with pytest.raises(ValueError, match=f"solver='{name}' cannot solve this problem"):
                choose_solver(name, problem)
    chosen, why = choose_solver("auto", problem)
    assert chosen.name in accepting(problem)
    assert why


@st.composite
def small_problem(draw):
    """Few points on a coarse grid, so that repetitions, opposite labels and zero rows abound; prices may be zero."""
    kind, intercept = draw(st.sampled_from([v for v in qp.VARIANTS if v[0] != "hard_margin"]))
    n = draw(st.integers(2, 9))
    X = np.array(draw(st.lists(st.tuples(*[st.integers(-2, 2)] * 2), min_size=n, max_size=n)), float)
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    y[:2] = 1.0, -1.0
    price = np.array(draw(st.lists(st.sampled_from([0.0, 0.01, 1.0, 30.0]), min_size=n, max_size=n)))
    price[:2] = 1.0
    values = np.array(draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), float)
    nu = draw(st.sampled_from([0.1, 0.5, 0.9]))
    extra = {"fit_intercept": intercept}
    if kind == "c_svc":
        arguments = {"y": y, "bound": price, **extra}
    elif kind == "nu_svc":
        largest = problems.largest_nu(y, price) if intercept else 1.0
        arguments = {"y": y, "weight": price, "nu": min(nu, largest), **extra}
    elif kind == "eps_svr":
        arguments = {"y": values, "bound": price, "epsilon": draw(st.sampled_from([0.0, 0.5])), **extra}
    elif kind == "nu_svr":
        arguments = {"y": values, "bound": price, "nu": nu, **extra}
    elif kind == "quantile":
        arguments = {"y": values, "bound": price, "q": nu, **extra}
    else:
        arguments = {"weight": price, "nu": nu}
    return kind, arguments, KERNEL_MATRICES[draw(st.sampled_from(sorted(KERNEL_MATRICES)))](X)


@given(small_problem())
@settings(max_examples=60, deadline=None)
def test_degenerate_problems_are_solved_by_every_solver(drawn):
    kind, arguments, K = drawn
    problem = pose(kind, arguments)
    objective = qp.solve(kind, K, arguments).objective
    for solver in accepting(problem).values():
        solution = solve(solver, problem, K)
        check_feasible(problem, solution.a)
        assert solution.status is Status.OPTIMAL, solver.name
        value = -problem.objective(K @ problem.coefficients(solution.a), solution.a)
        assert value == pytest.approx(objective, rel=1e-6, abs=1e-6), solver.name


@accepted("c_svc", "nu_svr")
def test_indefinite_kernels_end(name, kind, intercept):
    """Without convexity nothing is promised but an end and a feasible point."""
    X, arguments = qp.draw(kind, intercept, 3)
    K = np.tanh(2 * X @ X.T - 1)
    problem = pose(kind, arguments)
    solution = solve(SOLVERS[name], problem, K, tol=1e-3)
    assert isinstance(solution.status, Status)
    check_feasible(problem, solution.a)


# Limits


@accepted()
@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_iteration_limit_gives_a_feasible_point_and_says_so(name, kind, intercept, max_iter):
    problem, K, objective = case(kind, intercept, "rbf")
    solution = solve(SOLVERS[name], problem, K, max_iter=max_iter)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter <= max_iter
    check_feasible(problem, solution.a)
    assert -problem.objective(K @ problem.coefficients(solution.a), solution.a) <= objective + 1e-6


@accepted()
def test_deadline_gives_a_feasible_point(name, kind, intercept):
    problem, K, _ = case(kind, intercept, "rbf")
    solution = solve(SOLVERS[name], problem, K, max_seconds=1e-9)
    assert solution.status is Status.DEADLINE
    check_feasible(problem, solution.a)


@accepted()
def test_interruption_gives_a_feasible_point(name, kind, intercept):
    """The event is set by the progress callback; a solver with nothing to report before it ends may also end."""
    problem, K, _ = case(kind, intercept, "rbf")
    seen = []

    def interrupt(progress):
        seen.append(progress)
        control._interrupted.set()

    control = Control(callback=interrupt)
    solution = SOLVERS[name].solve(problem, StoredGram(K), tol=TOL, control=control)
    check_feasible(problem, solution.a)
    assert solution.status is (Status.INTERRUPTED if seen else Status.OPTIMAL)
    for progress in seen:
        assert progress.seconds >= 0
        assert progress.violation >= 0


@accepted("c_svc")
def test_interruption_before_the_start_is_obeyed(name, kind, intercept):
    problem, K, _ = case("c_svc", intercept, "rbf")
    control = Control()
    control._interrupted.set()
    solution = SOLVERS[name].solve(problem, StoredGram(K), tol=TOL, control=control)
    assert solution.status is Status.INTERRUPTED
    check_feasible(problem, solution.a)


@accepted("c_svc")
def test_a_deadline_is_met_within_a_second(name, kind, intercept):
    X, arguments = qp.draw("c_svc", intercept, 0, n=600)
    problem = pose("c_svc", {**arguments, "bound": np.full(600, 1e9)})
    began = time.perf_counter()
    solution = SOLVERS[name].solve(problem, StoredGram(X @ X.T), tol=1e-12, control=Control(max_seconds=0.2))
    assert time.perf_counter() - began < 1.2
    check_feasible(problem, solution.a)


# Starts


@accepted()
def test_start_at_the_solution_and_start_outside_the_feasible_set(name, kind, intercept):
    problem, K, objective = case(kind, intercept, "rbf")
    solver = SOLVERS[name]
    first = solve(solver, problem, K)
    again = solve(solver, problem, K, tol=2 * TOL, start=first.a)
    check_solved(name, problem, K, again, objective, tol=2 * TOL)
    if name != "qp_dual":
        assert again.n_iter == 0
    wild = np.random.default_rng(0).standard_normal(problem.n_variables)
    check_solved(name, problem, K, solve(solver, problem, K, start=wild), objective)


@accepted("c_svc")
def test_start_is_not_changed(name, kind, intercept):
    problem, K, _ = case("c_svc", intercept, "rbf")
    start = np.ones(problem.n_variables)
    solve(SOLVERS[name], problem, K, start=start)
    assert (start == 1).all()


# Working sets


def in_small_blocks(name, size):
    """The solver with every size it takes set to this one."""
    kind = type(SOLVERS[name])
    return kind(**dict.fromkeys(inspect.signature(kind).parameters, size))


@accepted(solvers=WITH_BLOCKS)
@pytest.mark.parametrize(("size", "n"), [(2, 60), (16, 150)])
def test_small_working_sets_reach_the_same_optimum(name, kind, intercept, size, n):
    problem, K, objective = case(kind, intercept, "rbf", 0, n)
    rounds = []
    control = Control(callback=rounds.append)
    solution = in_small_blocks(name, size).solve(problem, StoredGram(K), tol=TOL, control=control)
    check_solved(name, problem, K, solution, objective)
    assert len(rounds) > 2  # it really went through several blocks
    assert [r.iteration for r in rounds] == sorted(r.iteration for r in rounds)


@accepted("c_svc", solvers=WITH_BLOCKS)
def test_blocks_ask_for_a_part_of_the_matrix_only(name, kind, intercept):
    X, _ = qp.draw(kind, intercept, 0, n=500)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = problems.c_svc(y, np.full(500, 1.0), fit_intercept=intercept)
    gram = KernelGram(RBF(gamma=0.1).resolve(X), X)
    largest = []
    block, fill = gram.block, gram.fill
    gram.block = lambda rows, cols: largest.append(len(rows) * len(cols)) or block(rows, cols)
    gram.fill = lambda rows, out, **stop: largest.append(len(rows) ** 2) or fill(rows, out, **stop)
    solution = in_small_blocks(name, 20).solve(problem, gram, tol=1e-3, control=Control())
    assert solution.status is Status.OPTIMAL
    assert max(largest) <= 160**2


FORMS = {"float64": np.asarray, "float32": lambda X: X.astype(np.float32), "csr": sp.csr_matrix}


@accepted("c_svc", "nu_svr", "one_class")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear()], ids=["rbf", "linear"])
@pytest.mark.parametrize("operator", [KernelGram, make_gram])
def test_kernel_values_on_demand_give_the_same_optimum(name, kind, intercept, operator, kernel, form):
    """Points in any form, computed plainly or by tiles: the solution is that of the matrix they stand for."""
    X, arguments = qp.draw(kind, intercept, 0, n=100)
    points = FORMS[form](X)
    gram = operator(kernel.resolve(points), points, threads=2)
    problem = pose(kind, arguments)
    solution = SOLVERS[name].solve(problem, gram, tol=TOL, control=Control())
    K = gram.block(np.arange(100), np.arange(100))
    check_solved(name, problem, K, solution, qp.solve(kind, K, arguments).objective)


# Hard places


@accepted("c_svc")
def test_the_same_point_with_opposite_labels(name, kind, intercept):
    """No function can part them: both pay, and the objective says how much."""
    X = np.repeat(np.random.default_rng(0).standard_normal((5, 2)), 2, axis=0)
    y = np.tile([1.0, -1.0], 5)
    bound = np.full(10, 4.0)
    problem = problems.c_svc(y, bound, fit_intercept=intercept)
    K = gaussian(X)
    solver = SOLVERS[name]
    check_solved(name, problem, K, solve(solver, problem, K), qp.c_svc(K, y, bound, fit_intercept=intercept).objective)


@accepted("c_svc")
def test_zero_curvature(name, kind, intercept):
    """All kernel values equal (or zero): the quadratic part is flat along every pair, and the bounds decide."""
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    for K in (np.zeros((5, 5)), np.ones((5, 5))):
        problem = problems.c_svc(y, np.full(5, 2.0), fit_intercept=intercept)
        solver = SOLVERS[name]
        objective = qp.c_svc(K, y, np.full(5, 2.0), fit_intercept=intercept).objective
        check_solved(name, problem, K, solve(solver, problem, K), objective)


@accepted("c_svc", "eps_svr")
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scaling_the_kernel_and_its_prices_inversely_scales_the_solution(name, kind, intercept, scale):
    """s K with C / s has the coefficients of K with C, divided by s: f is the same function."""
    X, arguments = qp.draw(kind, intercept, 0)
    problem = pose(kind, arguments)
    scaled = pose(kind, {**arguments, "bound": arguments["bound"] / scale})
    K = gaussian(X)
    solver = SOLVERS[name]
    expected, solution = solve(solver, problem, K), solve(solver, scaled, scale * K)
    assert solution.status is Status.OPTIMAL
    check_feasible(scaled, solution.a)
    np.testing.assert_allclose(solution.f, expected.f, atol=1e-4)


@accepted("c_svc")
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_huge_and_tiny_kernels_with_ordinary_prices_end_honestly(name, kind, intercept, scale):
    """Where rounding alone exceeds tol a solver may say that it stalled; what it calls optimal is optimal."""
    X, arguments = qp.draw(kind, intercept, 0)
    problem = pose(kind, arguments)
    K = scale * gaussian(X)
    solution = solve(SOLVERS[name], problem, K, tol=1e-3, max_seconds=5)
    check_feasible(problem, solution.a)
    assert solution.status in (Status.OPTIMAL, Status.STALLED)
    if solution.status is Status.OPTIMAL:
        rounding = 1e-15 * np.abs(K).max() * np.abs(solution.a).sum()
        assert violation(problem, K, solution.a) <= REACH.get(name, 0.0) + 1e-3 + rounding


@accepted("c_svc")
def test_rows_of_price_zero_count_for_nothing(name, kind, intercept):
    X, arguments = qp.draw("c_svc", intercept, 2)
    bound = arguments["bound"].copy()
    bound[::3] = 0.0
    keep = bound > 0
    K = gaussian(X)
    problem = problems.c_svc(arguments["y"], bound, fit_intercept=intercept)
    solver = SOLVERS[name]
    solution = solve(solver, problem, K)
    without = qp.c_svc(K[np.ix_(keep, keep)], arguments["y"][keep], bound[keep], fit_intercept=intercept)
    check_solved(name, problem, K, solution, without.objective)
    assert not solution.a[~keep].any()


@accepted("hard_margin")
def test_hard_rows_beside_soft_rows(name, kind, intercept):
    X, arguments = qp.draw("hard_margin", intercept, 2)
    bound = arguments["bound"].copy()
    bound[::2] = 0.3
    K = X @ X.T
    problem = problems.c_svc(arguments["y"], bound, fit_intercept=intercept)
    solver = SOLVERS[name]
    objective = qp.c_svc(K, arguments["y"], bound, fit_intercept=intercept).objective
    check_solved(name, problem, K, solve(solver, problem, K), objective)


@accepted("eps_svr")
def test_regression_with_an_infinite_price(name, kind, intercept):
    x = np.linspace(-1, 1, 9)
    y = x + 0.05 * (-1.0) ** np.arange(9)
    bound, K = np.full(9, np.inf), np.outer(x, x)
    problem = problems.eps_svr(y, bound, 0.1, fit_intercept=intercept)
    solver = SOLVERS[name]
    objective = qp.eps_svr(K, y, bound, 0.1, fit_intercept=intercept).objective
    check_solved(name, problem, K, solve(solver, problem, K), objective)


@accepted("hard_margin")
def test_a_hard_margin_where_nothing_separates_ends(name, kind, intercept):
    """XOR with a linear kernel: the dual is unbounded. A limit is obeyed, and optimality is not claimed."""
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    problem = problems.c_svc(np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, np.inf), fit_intercept=intercept)
    solver = SOLVERS[name]
    solution = solve(solver, problem, X @ X.T, max_iter=200)
    assert solution.status is not Status.OPTIMAL
    check_feasible(problem, solution.a)


@accepted("c_svc")
def test_one_class_only(name, kind, intercept):
    """All labels equal: with an intercept, zero is optimal; without, it is the one-sided model."""
    y, bound, K = np.ones(4), np.ones(4), np.eye(4) + 1
    problem = problems.c_svc(y, bound, fit_intercept=intercept)
    objective = qp.c_svc(K, y, bound, fit_intercept=intercept).objective
    check_solved(name, problem, K, solve(SOLVERS[name], problem, K), objective)


# The joint multiclass model


def joint_case(seed, bound=2.0, n=30, classes=3):
    rng = np.random.default_rng(seed)
    label = np.concatenate((np.arange(classes), rng.integers(0, classes, n - classes)))
    X = rng.standard_normal((n, 3)) + np.eye(3)[label % 3]
    price = bound * rng.choice([0.5, 1.0, 2.0], n) if math.isfinite(bound) else np.full(n, math.inf)
    return X, JointProblem(label, price, classes)


def solve_joint(problem, K, solver=None, tol=TOL, start=None, **limits):
    solver = solver or CrammerSinger()
    return solver.solve(problem, StoredGram(K), tol=tol, control=Control(**limits), start=start)


def check_joint_feasible(problem, A):
    assert np.isfinite(A).all()
    assert (problem.upper() - A).min() >= 0
    assert np.abs(A.sum(axis=1)).max() <= 1e-9 * max(1.0, np.abs(A).max())


def check_joint(problem, K, solution, tol=TOL):
    assert solution.status is Status.OPTIMAL
    check_joint_feasible(problem, solution.a)
    certificate = certify_joint(problem, solution.a, K @ solution.a)
    assert certificate.violation <= tol * 1.001
    objective = crammer_singer.solve(K, problem.label, problem.bound, problem.n_classes).objective
    assert certificate.dual == pytest.approx(objective, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kernel", KERNEL_MATRICES)
@pytest.mark.parametrize("bound", [0.1, 3.0])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_joint_estimator_finds_the_oracle_s_optimum(kernel, bound, classes):
    X, problem = joint_case(0, bound, classes=classes)
    K = KERNEL_MATRICES[kernel](X)
    check_joint(problem, K, solve_joint(problem, K))


def test_joint_hard_margin():
    X, problem = joint_case(1, math.inf)
    K = gaussian(X)
    check_joint(problem, K, solve_joint(problem, K))


def test_joint_small_working_sets_reach_the_same_optimum():
    X, problem = joint_case(2, 1.0, n=60)
    K = gaussian(X)
    rounds = []
    control = Control(callback=rounds.append)
    solution = CrammerSinger(working_set=8).solve(problem, StoredGram(K), tol=TOL, control=control)
    check_joint(problem, K, solution)
    assert len(rounds) > 2


def test_joint_price_of_zero():
    X, problem = joint_case(3)
    bound = problem.bound.copy()
    bound[::2] = 0.0
    problem = JointProblem(problem.label, bound, 3)
    K = gaussian(X)
    solution = solve_joint(problem, K)
    check_joint(problem, K, solution)
    assert not solution.a[::2].any()


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_joint_zero_rows(classes):
    """A point at the origin has K_ii = 0: every model gives it 0, so it pays its full price."""
    X, problem = joint_case(4, classes=classes)
    X[[1, 5]] = 0.0
    K = X @ X.T
    check_joint(problem, K, solve_joint(problem, K))


@given(
    st.lists(
        st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.integers(0, 2), st.sampled_from([0.0, 0.1, 5.0])),
        min_size=2,
        max_size=8,
    )
)
@settings(max_examples=40, deadline=None)
def test_joint_degenerate_problems(rows):
    table = np.array([(1, 0, 0, 1.0), *rows], float)
    K = table[:, :2] @ table[:, :2].T
    problem = JointProblem(table[:, 2].astype(np.int64), table[:, 3].copy(), 3)
    check_joint(problem, K, solve_joint(problem, K))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_joint_scaling_the_kernel_and_its_prices_inversely(scale):
    X, problem = joint_case(5)
    K = gaussian(X)
    scaled = JointProblem(problem.label, problem.bound / scale, 3)
    solution = solve_joint(scaled, scale * K)
    assert solution.status is Status.OPTIMAL
    check_joint_feasible(scaled, solution.a)
    np.testing.assert_allclose(solution.f, solve_joint(problem, K).f, atol=1e-4)


def test_joint_limits_give_feasible_points():
    X, problem = joint_case(6)
    K = gaussian(X)
    for max_iter in (0, 1, 5):
        limited = solve_joint(problem, K, max_iter=max_iter)
        assert limited.status is Status.MAX_ITER
        assert limited.n_iter == max_iter
        check_joint_feasible(problem, limited.a)
    late = solve_joint(problem, K, max_seconds=1e-9)
    assert late.status is Status.DEADLINE
    control = Control(callback=lambda progress: control._interrupted.set())
    stopped = CrammerSinger().solve(problem, StoredGram(K), tol=TOL, control=control)
    assert stopped.status is Status.INTERRUPTED
    check_joint_feasible(problem, stopped.a)


def test_joint_start():
    X, problem = joint_case(7)
    K = gaussian(X)
    first = solve_joint(problem, K)
    again = solve_joint(problem, K, tol=2 * TOL, start=first.a)
    assert again.n_iter == 0
    check_joint(problem, K, solve_joint(problem, K, start=np.random.default_rng(0).standard_normal(first.a.shape)))


SAME_POINT_IN_TWO_CLASSES = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def test_joint_hard_margin_where_nothing_separates_ends():
    problem = JointProblem(np.array([0, 1, 2]), np.full(3, math.inf), 3)
    solution = solve_joint(problem, SAME_POINT_IN_TWO_CLASSES, max_iter=500)
    assert solution.status is not Status.OPTIMAL
    check_joint_feasible(problem, solution.a)


def test_joint_hard_margin_where_nothing_separates_is_found_out():
    """Without a limit on its steps the solver says why it cannot succeed, and does not run on for ten million."""
    problem = JointProblem(np.array([0, 1, 2]), np.full(3, math.inf), 3)
    assert solve_joint(problem, SAME_POINT_IN_TWO_CLASSES, max_seconds=2).status is Status.INSEPARABLE


# Convex hulls


def hulls(points, y):
    X = np.array(points, float)
    return nearest_points(np.array(y, float), KernelGram(Linear().resolve(X), X), Control()), X


def check_weights(found, X, y):
    """Two convex combinations at the distance that is claimed."""
    y = np.array(y, float)
    assert (found.weights >= 0).all()
    assert found.weights[y > 0].sum() == pytest.approx(1.0)
    assert found.weights[y < 0].sum() == pytest.approx(1.0)
    apart = np.linalg.norm((found.weights * y) @ X)
    assert apart == pytest.approx(found.distance, abs=1e-6 * max(1.0, np.abs(X).max()))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_hulls_that_are_apart(scale):
    """A segment and a triangle, two apart."""
    y = [1, 1, -1, -1, -1]
    found, X = hulls(scale * np.array([[1, 3], [1, -3], [-1, 0], [-2, 1], [-2, -1]]), y)
    assert found.separable
    assert found.distance == pytest.approx(2 * scale, rel=1e-6)
    check_weights(found, X, y)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_hulls_that_cross(scale):
    """The diagonals of a square."""
    y = [1, 1, -1, -1]
    found, X = hulls(scale * np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]]), y)
    assert not found.separable
    check_weights(found, X, y)


def test_hulls_that_touch():
    """A point on the other class's edge; a common corner."""
    for points, y in (
        ([[0, 0], [1, 1], [0, 1], [0, -1]], [1, 1, -1, -1]),
        ([[0, 0], [1, 0], [0, 0], [-1, 0]], [1, 1, -1, -1]),
        ([[0.3, 0.1], [0.3, 0.1]], [1, -1]),
    ):
        found, X = hulls(points, y)
        assert not found.separable
        check_weights(found, X, y)


def test_hulls_of_identical_points():
    found, _ = hulls(np.ones((6, 2)), [1, 1, 1, -1, -1, -1])
    assert not found.separable
    assert found.distance == pytest.approx(0.0, abs=1e-6)


def test_hulls_in_feature_space():
    """Different points are always separable with a Gaussian kernel; a repeated one never."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    assert nearest_points(y, StoredGram(gaussian(3 * X)), Control()).separable
    X[1] = X[0]
    assert not nearest_points(y, StoredGram(gaussian(3 * X)), Control()).separable


@pytest.mark.parametrize("seed", range(4))
def test_hull_distance_is_the_hard_margin(seed):
    """2 / |w| of the hard-margin model is the distance of the hulls."""
    X, arguments = qp.draw("hard_margin", True, seed)
    K = X @ X.T
    margin = 2 / math.sqrt(2 * qp.c_svc(K, **arguments).objective)
    found = nearest_points(arguments["y"], StoredGram(K), Control())
    assert found.separable
    assert found.distance == pytest.approx(margin, rel=1e-5)


def test_the_engine_is_patient_while_the_objective_improves(monkeypatch):
    """The largest violation of all rows may not fall for many rounds while support vectors come in one after another:
    that is no reason to leave the problem to the slower solver."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = np.where(X[:, 0] * X[:, 1] + rng.normal(size=4000) > 0, 1.0, -1.0)
    problem = problems.c_svc(y, np.full(4000, 10.0))
    gram = make_gram(RBF(gamma=0.5).resolve(X), X)
    monkeypatch.setattr(SMO, "solve", lambda *_, **__: pytest.fail("left to the slower solver"))
    control = Control()
    solution = ActiveSet(smallest=256, largest=256).solve(problem, gram, tol=1e-3, control=control)
    seen = [progress.violation for progress in control.reports]
    assert min(seen[2:43]) > 0.98 * min(seen[:2])  # forty rounds without a smaller violation
    assert solution.status is Status.OPTIMAL
    f = optimality.audited(problem, solution.a, solution.f, gram)
    assert optimality.violation(problem, solution.a, problem.gradient(f, solution.a)) <= 1e-3


def test_a_million_steps_on_few_rows_are_few_rounds():
    """Where pair steps creep, the rounds between which f is brought up to date grow longer: the time and the history of
    a run do not grow with every fifty steps."""
    rng = np.random.default_rng(0)
    X = np.column_stack((1e5 * rng.standard_normal(20), rng.standard_normal(20)))
    y = np.where(rng.random(20) < 0.5, 1.0, -1.0)
    rounds = []
    control = Control(max_iter=1_000_000, callback=lambda record: rounds.append(record))
    solution = SMO().solve(problems.c_svc(y, np.full(20, 100.0)), StoredGram(X @ X.T), tol=1e-9, control=control)
    assert solution.n_iter == 1_000_000
    assert len(rounds) < 300


def test_a_quadratic_program_whose_solution_is_zero():
    """All targets inside the tube: the general solver's 1e-11 are zeros."""
    problem = problems.eps_svr(np.array([10.3, 10.1, 9.9, 9.8]), np.ones(4), 1.0)
    X = np.array([[0.0], [0.0], [-1.534], [-0.645]])
    gram = StoredGram(np.exp(-0.15 * (X - X.T) ** 2))
    solution = EVERY_SOLVER["qp_dual"].solve(problem, gram, tol=1e-3, control=Control())
    assert not solution.a.any()
    assert solution.status is Status.OPTIMAL


def test_a_quadratic_program_of_kernel_values_of_many_sizes():
    """The general solver's tolerances refer to the largest kernel value, 1e6, where most are a thousandth of it."""
    rng = np.random.default_rng(0)
    X = 3 * np.round(rng.standard_normal((300, 3)), 1)
    y = np.where(X[:, 0] + 3 * rng.standard_normal(300) > 0, 1.0, -1.0)
    problem, K = problems.nu_svc(y, np.ones(300), 0.05), (0.756 * X @ X.T) ** 3
    solution = EVERY_SOLVER["qp_dual"].solve(problem, StoredGram(K), tol=1e-3, control=Control())
    assert solution.status is Status.OPTIMAL
    assert optimality.violation(problem, solution.a, problem.gradient(solution.f, solution.a)) <= 1e-3


def test_multipliers_that_overflow_float32_leave_single_precision():
    """Of a hard margin multipliers may reach 1e39, whose products float32 does not hold: no comparison with NaN is
    true, and phases that wait for one would go on for ever."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1100, 3)), rng.permutation(np.repeat([-1.0, 1.0], 550))
    start = np.zeros(len(y))
    start[[np.argmax(y), np.argmin(y)]] = 1e39, -1e39
    gram = TiledGram(RBF(gamma=0.5).resolve(X), X, 1)
    with np.errstate(all="ignore"):
        problem = problems.c_svc(y, np.full(len(y), math.inf))
        found = ActiveSet().solve(problem, gram, tol=0.5, control=Control(max_iter=2000), start=start)
    assert found.status is Status.MAX_ITER
    assert np.isfinite(found.a).all()


@pytest.mark.parametrize("values", [40_000, 1])
def test_updates_in_slices_change_no_bit(values, monkeypatch):
    """Between slices the clock is looked at; a row's sum does not depend on which others are computed with it."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((900, 4)), np.where(rng.random(900) < 0.5, -1.0, 1.0)
    monkeypatch.setattr(active_set, "ONE_BLOCK_MAX_VARIABLES", 100)

    def solved(values):
        monkeypatch.setattr(active_set, "SLICE_MAX_VALUES", values)
        gram = TiledGram(RBF(gamma=0.5).resolve(X), X, 1)
        gram.single_is_exact = False
        solver = ActiveSet(smallest=64, largest=128)
        return solver.solve(problems.c_svc(y, np.full(len(y), 10.0)), gram, tol=1e-4, control=Control())

    expected, found = solved(10**12), solved(values)
    assert found.status is Status.OPTIMAL
    assert found.n_iter == expected.n_iter
    np.testing.assert_array_equal(found.a, expected.a)
    np.testing.assert_array_equal(found.f, expected.f)


def test_a_round_that_is_stopped_is_undone(monkeypatch):
    """A stop between two slices leaves f of the variables before the round: they and f belong together."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((900, 4)), np.where(rng.random(900) < 0.5, -1.0, 1.0)
    kernel = RBF(gamma=0.5).resolve(X)
    monkeypatch.setattr(active_set, "SLICE_MAX_VALUES", 1)
    stopped = 0
    for checks in range(3, 60, 7):
        control = Control()
        calls = iter(range(10**9))
        monkeypatch.setattr(
            type(control), "stop", lambda self, c=checks, n=calls: Status.DEADLINE if next(n) > c else None
        )
        gram = TiledGram(kernel, X, 1)
        problem = problems.c_svc(y, np.full(len(y), 10.0))
        found = ActiveSet(smallest=64, largest=128).solve(problem, gram, tol=1e-6, control=control)
        stopped += found.status is Status.DEADLINE
        f = kernel.matrix(X, X) @ problem.coefficients(found.a)
        np.testing.assert_allclose(found.f, f, atol=1e-5 * (1.0 + np.abs(found.a).sum()))
    assert stopped > 3


@pytest.mark.parametrize("size", [0.0, 1e-12, 1.0])
@pytest.mark.parametrize("bound", [1e-3, 1.0, 1e6])
def test_joint_rows_without_length_go_to_their_bounds(size, bound):
    """Without curvature a step ends at the bound: x = 0 has the loss 1, and no multiplier changes it."""
    K = np.zeros((5, 5))
    K[4, 4] = size
    problem = JointProblem(np.array([0, 1, 2, 0, 1]), np.full(5, bound), 3)
    found = CrammerSinger().solve(problem, StoredGram(K), tol=1e-6, control=Control())
    assert found.status is Status.OPTIMAL
    for row, label in zip(found.a[:4], problem.label, strict=False):
        assert row[label] == bound
        assert row.sum() == pytest.approx(0.0, abs=1e-12 * bound)
