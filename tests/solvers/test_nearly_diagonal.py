"""Nearly diagonal kernel matrices: solved on their large entries, certified on all of them."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from maxmargin import SVC, SVR
from maxmargin.kernels import RBF
from maxmargin.kernels.gram import sparse
from maxmargin.kernels.gram.tiled import TiledGram
from maxmargin.problems import optimality
from maxmargin.problems.dual import c_svc, eps_svr, one_class
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers.active_set import ActiveSet, nearly_diagonal

GAMMA = 0.04


@pytest.fixture(autouse=True)
def small_problems_too(monkeypatch):
    monkeypatch.setattr(sparse, "SPARSE_MIN_ROWS", 500)


def drawn(seed: int, n: int = 2500, d: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Points of which most have no near neighbour; a quarter lies in clusters."""
    rng = np.random.default_rng(seed)
    X = 2 * rng.normal(size=(n, d))
    at = rng.integers(0, 5, n // 4)
    X[: n // 4] = X[-5:][at] + 0.4 * rng.normal(size=(n // 4, d))
    y = np.sign(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n))
    return X, y


def problem_of(name: str, X: np.ndarray, y: np.ndarray):
    n = len(y)
    if name == "c_svc":
        return c_svc(y, np.full(n, 5.0))
    if name == "weighted":
        return c_svc(y, np.random.default_rng(1).uniform(0.1, 20.0, n))
    if name == "one_class":
        return one_class(np.ones(n), 0.3)
    return eps_svr(y * X[:, 0], np.full(n, 3.0), 0.1)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["c_svc", "weighted", "eps_svr", "one_class"])
@pytest.mark.parametrize("budget", [2e8, 4e6])
def test_the_certificate_is_that_of_all_entries(name, seed, budget):
    X, y = drawn(seed)
    problem = problem_of(name, X, y)
    gram = TiledGram(RBF(gamma=GAMMA).resolve(X), X, 2)
    gram.budget = budget  # with little memory, more is neglected and corrected for
    solution = ActiveSet().solve(problem, gram, tol=1e-3, control=Control())
    assert solution.status is Status.OPTIMAL
    assert "nearly diagonal" in solution.note
    f = gram.kernel.matrix(X, X) @ problem.coefficients(solution.a)
    gradient = problem.gradient(f, solution.a)
    assert optimality.violation(problem, solution.a, gradient) <= 1e-3 * problem.tol_scale
    other = ActiveSet().solve(problem, gram.subset(np.arange(len(X))), tol=1e-6, control=Control(max_iter=10**7))
    assert "nearly diagonal" not in other.note
    K = gram.kernel.matrix(X, X)
    best = problem.objective(K @ problem.coefficients(other.a), other.a)
    assert problem.objective(f, solution.a) - best <= 1e-3 * problem.tol_scale * np.abs(other.a).sum()


def test_estimators_report_it_and_agree_with_working_sets(monkeypatch):
    X, y = drawn(3)
    fitted = SVC(C=5, gamma=GAMMA, tol=1e-5, solver="active_set").fit(X, y)
    assert "nearly diagonal" in str(fitted.report_)
    tube = SVR(C=5, gamma=GAMMA, tol=1e-5, solver="active_set").fit(X, X[:, 0])
    monkeypatch.setattr(sparse, "SPARSE_MIN_ROWS", len(X) + 1)
    np.testing.assert_allclose(
        fitted.decision_function(X),
        SVC(C=5, gamma=GAMMA, tol=1e-5, solver="active_set").fit(X, y).decision_function(X),
        atol=1e-4,
    )
    np.testing.assert_allclose(
        tube.predict(X), SVR(C=5, gamma=GAMMA, tol=1e-5, solver="active_set").fit(X, X[:, 0]).predict(X), atol=1e-4
    )


def test_threads_do_not_change_a_bit():
    X, y = drawn(4)
    one, two = (SVC(C=5, gamma=GAMMA, n_jobs=n, solver="active_set").fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_a_warm_start_at_the_solution_stays_there():
    X, y = drawn(5)
    problem = problem_of("c_svc", X, y)
    gram = TiledGram(RBF(gamma=GAMMA).resolve(X), X, 2)
    solution = ActiveSet().solve(problem, gram, tol=1e-4, control=Control())
    again = ActiveSet().solve(problem, gram, tol=1e-3, control=Control(), start=solution.a)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.a, solution.a)


@pytest.mark.parametrize("when", ["sample", "entries", "step", "product"])
def test_a_stopped_run_keeps_what_it_has(when, monkeypatch):
    """The run is stopped at each of its stages; what it has then is feasible, and its f belongs to it."""
    X, y = drawn(6, n=5000)
    problem, control = problem_of("c_svc", X, y), Control()
    gram = TiledGram(RBF(gamma=GAMMA).resolve(X), X, 2)

    def stopping(function):
        def wrapped(*args, **kwargs):
            control._interrupted.set()
            return function(*args, **kwargs)

        return wrapped

    place, name = {
        "sample": (sparse, "_threshold"),
        "entries": (sparse, "_strip"),
        "step": (sparse.SparseGram, "fill"),
        "product": (TiledGram, "_mirrored_product"),
    }[when]
    monkeypatch.setattr("maxmargin.kernels.gram.tiled.MIRRORED_MIN_COLUMNS", 1)
    monkeypatch.setattr(place, name, stopping(getattr(place, name)))
    control._interrupted = threading.Event()
    solution = ActiveSet().solve(problem, gram, tol=1e-3, control=control)
    assert solution.status is Status.INTERRUPTED
    assert np.all((problem.lower <= solution.a) & (solution.a <= problem.upper))
    assert abs(solution.a.sum()) < 1e-9
    if when in ("step", "product"):
        assert np.any(solution.a)
    f = gram.kernel.matrix(X, X) @ problem.coefficients(solution.a)
    np.testing.assert_allclose(solution.f, f, atol=0.05)


def test_a_deadline_leaves_a_model_with_its_gap():
    X, y = drawn(7, n=5000)
    start = time.perf_counter()
    SVC(C=5, gamma=GAMMA, solver="active_set").fit(X, y)
    full = time.perf_counter() - start
    with pytest.warns(match="time limit"):
        report = SVC(C=5, gamma=GAMMA, solver="active_set", max_seconds=0.3 * full).fit(X, y).report_
    assert report.status is Status.DEADLINE
    assert report.duality_gap > 0


def test_ordinary_problems_are_not_touched():
    X, y = drawn(8)
    gram = TiledGram(RBF(gamma=1e-3).resolve(X), X, 2)
    control = Control()
    found = nearly_diagonal.solve_nearly_diagonal(
        problem_of("c_svc", X, y), gram, ActiveSet().solve, tol=1e-3, control=control, start=None
    )
    assert found is None
