"""Newton's method on raw rows: against the exact models, against linear models on explicit features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import SVC, LinearSVC, LinearSVR
from maxmargin.kernels import RBF
from maxmargin.large_scale import newton
from maxmargin.large_scale.features.factor import Factor
from maxmargin.large_scale.newton import RowNewton
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.targets import Labels, Values
from maxmargin.large_scale.rows.tiles import KernelRows, LinearRows, stored
from maxmargin.problems.losses import make_loss
from maxmargin.runtime.control import Control, Status


def problem(seed=0, n=300, m=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    codes = (X[:, 0] * X[:, 1] + 0.4 * rng.normal(size=n) > 0).astype(np.int64)
    kernel = RBF(gamma=0.4).resolve(X)
    Z = X[:m]
    return X, codes, kernel, Z, Factor.of(kernel.matrix(Z, Z))


def two_classes(codes, C=1.0):
    return Labels.one_vs_rest(codes, np.ones(len(codes)), C, np.ones(2))


@pytest.mark.parametrize("way", ["exact", "cg"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_same_as_a_linear_model_on_the_features(monkeypatch, way, loss, intercept):
    monkeypatch.setattr(newton, "EXACT_MAX_COLUMNS", 1000 if way == "exact" else 0)
    X, codes, kernel, Z, factor = problem()
    oracle = LocalOracle(KernelRows(kernel, X, Z, dtype=np.float64), two_classes(codes, 2.0))
    solution = RowNewton(factor.T, make_loss(loss), tol=1e-7, intercept=intercept).solve(oracle)
    assert solution.status is Status.OPTIMAL
    assert solution.method == way
    linear = LinearSVC(C=2.0, loss=loss, fit_intercept=intercept, tol=1e-8).fit(kernel.matrix(X, Z) @ factor.T, codes)
    assert solution.certificates[0].primal == pytest.approx(linear.report_.primal_objective, rel=1e-6)
    np.testing.assert_allclose(solution.w[:, 0], linear.coef_[0], atol=2e-3 * np.abs(linear.coef_).max())
    np.testing.assert_allclose(solution.b, linear.intercept_, atol=2e-3 * (1 + abs(linear.intercept_[0])))


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_same_as_a_linear_tube_on_the_features(loss):
    X, _, kernel, Z, factor = problem(1)
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1] + 5.0
    oracle = LocalOracle(KernelRows(kernel, X, Z, dtype=np.float64), Values(y[:, None], np.ones(len(y)), 3.0))
    solution = RowNewton(factor.T, make_loss(loss, epsilon=0.05), tol=1e-7, scale=y.std()).solve(oracle, first_b=y[:1])
    assert solution.status is Status.OPTIMAL
    linear = LinearSVR(C=3.0, epsilon=0.05, loss=loss, tol=1e-8).fit(kernel.matrix(X, Z) @ factor.T, y)
    assert solution.certificates[0].primal == pytest.approx(linear.report_.primal_objective, rel=1e-6)


def test_all_rows_as_landmarks_give_the_exact_model():
    X, codes, kernel, _, _ = problem(2, n=150)
    factor = Factor.of(kernel.matrix(X, X))
    oracle = LocalOracle(KernelRows(kernel, X, X, dtype=np.float64), two_classes(codes))
    solution = RowNewton(factor.T, make_loss("hinge"), tol=1e-7).solve(oracle)
    exact = SVC(kernel=kernel, tol=1e-8).fit(X, codes)
    assert solution.certificates[0].primal == pytest.approx(exact.report_.primal_objective, rel=1e-6)
    f = kernel.matrix(X, X) @ (factor.T @ solution.w) + solution.b
    np.testing.assert_allclose(f[:, 0], exact.decision_function(X), atol=5e-3)


def test_squares_are_a_linear_system():
    rng = np.random.default_rng(0)
    A, Y = rng.normal(size=(400, 6)), rng.normal(size=(400, 2))
    c = rng.uniform(0.5, 2, 400)
    solution = RowNewton(None, make_loss("squared"), tol=1e-12).solve(LocalOracle(LinearRows(A), Values(Y, c, 0.3)))
    wide = np.column_stack((A, np.ones(400)))
    penalty = np.diag([1.0] * 6 + [0.0])
    expected = np.linalg.solve(penalty + 2 * 0.3 * wide.T @ (c[:, None] * wide), 2 * 0.3 * wide.T @ (c[:, None] * Y))
    np.testing.assert_allclose(solution.w, expected[:-1], rtol=1e-8)
    np.testing.assert_allclose(solution.b, expected[-1], rtol=1e-8)
    assert solution.n_iter == 1


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_long_data_begins_with_parts(monkeypatch, loss):
    """The same optimum, with most steps on a sixteenth and a quarter of the rows."""
    monkeypatch.setattr(newton, "PARTS_MIN_ROWS", 1000)
    monkeypatch.setattr(newton, "EXACT_MAX_COLUMNS", 0)
    X, codes, kernel, Z, factor = problem(3, n=3000, m=20)
    rows = stored(KernelRows(kernel, X, Z, dtype=np.float64, height=10))
    parts = LocalOracle(rows, two_classes(codes))
    solution = RowNewton(factor.T, make_loss(loss), tol=1e-5).solve(parts)
    monkeypatch.setattr(newton, "PARTS_MIN_ROWS", 10**9)
    complete = RowNewton(factor.T, make_loss(loss), tol=1e-5).solve(LocalOracle(rows, two_classes(codes)))
    assert solution.status is Status.OPTIMAL
    assert solution.certificates[0].primal == pytest.approx(complete.certificates[0].primal, rel=2e-5)
    assert len(solution.history) > len(complete.history)


def test_outputs_side_by_side_are_those_alone():
    X, _, kernel, Z, factor = problem(4)
    codes = np.digitize(X[:, 0], [-0.5, 0.5])
    rows = KernelRows(kernel, X, Z, dtype=np.float64)
    three = RowNewton(factor.T, make_loss("squared_hinge"), tol=1e-9).solve(
        LocalOracle(rows, Labels.one_vs_rest(codes, np.ones(300), 1.0, np.ones(3)))
    )
    for k in range(3):
        one = RowNewton(factor.T, make_loss("squared_hinge"), tol=1e-9).solve(
            LocalOracle(rows, two_classes((codes == k).astype(np.int64)))
        )
        np.testing.assert_allclose(three.w[:, k], one.w[:, 0], atol=1e-3)
        assert three.certificates[k].primal == pytest.approx(one.certificates[0].primal, rel=1e-8)


def test_limits_leave_the_best_so_far():
    X, codes, kernel, Z, factor = problem(5)
    oracle = LocalOracle(KernelRows(kernel, X, Z, dtype=np.float64), two_classes(codes))
    few = RowNewton(factor.T, make_loss("hinge"), tol=1e-9, control=Control(max_iter=2)).solve(oracle)
    assert few.status is Status.MAX_ITER
    assert few.n_iter == 2
    assert few.certificates[0].gap > 0
    control = Control(max_seconds=0.0)
    oracle = LocalOracle(KernelRows(kernel, X, Z), two_classes(codes), stop=control.stop)
    none = RowNewton(factor.T, make_loss("hinge"), control=control).solve(oracle)
    assert none.status is Status.DEADLINE
    assert not none.w.any()


def test_a_warm_start_takes_fewer_steps():
    X, codes, kernel, Z, factor = problem(6)
    rows = KernelRows(kernel, X, Z, dtype=np.float64)
    cold = RowNewton(factor.T, make_loss("squared_hinge"), tol=1e-6).solve(LocalOracle(rows, two_classes(codes)))
    warm = RowNewton(factor.T, make_loss("squared_hinge"), tol=1e-6).solve(
        LocalOracle(rows, two_classes(codes)), start=(cold.w, cold.b)
    )
    assert warm.n_iter == 0
    assert warm.status is Status.OPTIMAL


def test_a_tube_that_nearly_all_points_fit_into():
    """Few rows near a kink, a high C and an intercept that the features can imitate."""
    x = np.linspace(0, 6, 1000)[:, None]
    kernel = RBF(gamma=0.3).resolve(x)
    Z = x[::60]
    factor = Factor.of(kernel.matrix(Z, Z))
    oracle = LocalOracle(KernelRows(kernel, x, Z, dtype=np.float64), Values(np.sin(x), np.ones(1000), 10.0))
    solution = RowNewton(factor.T, make_loss("epsilon_insensitive", epsilon=0.01), tol=1e-5, scale=0.7).solve(oracle)
    assert solution.status is Status.OPTIMAL
    linear = LinearSVR(C=10.0, epsilon=0.01, tol=1e-6).fit(kernel.matrix(x, Z) @ factor.T, np.sin(x).ravel())
    assert solution.certificates[0].primal == pytest.approx(linear.report_.primal_objective, rel=1e-4)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive", "squared"]),
    st.floats(-2, 2),
    st.booleans(),
)
def test_any_small_problem_is_certified(seed, loss, log_C, intercept):
    """The certificate against the objective at random neighbours: none is below the dual."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    A = rng.normal(size=(n, d)).round(1)
    named = make_loss(loss, **({} if "hinge" in loss else {"epsilon": 0.1}))
    y = rng.normal(size=(n, 1)) if not named.classifies else None
    codes = rng.integers(0, 2, n)
    targets = Values(y, np.ones(n), 10**log_C) if not named.classifies else two_classes(codes, 10**log_C)
    solution = RowNewton(None, named, tol=1e-4, intercept=intercept).solve(LocalOracle(LinearRows(A), targets))
    assert solution.status is Status.OPTIMAL
    Y, c = targets.tile(slice(0, n))

    def objective(w, b):
        return 0.5 * w @ w + named.value(Y[:, 0], A @ w + b, c[:, 0]).sum()

    w, b, certificate = solution.w[:, 0], solution.b[0], solution.certificates[0]
    assert objective(w, b) == pytest.approx(certificate.primal, rel=1e-9, abs=1e-12)
    for size in (1e-3, 1e-1, 1.0):
        step = size * rng.normal(size=d + 1)
        assert objective(w + step[:-1], b + intercept * step[-1]) >= certificate.dual - 1e-9 * (1 + certificate.primal)
