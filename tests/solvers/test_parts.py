"""Problems that fall apart are solved in parts: the certificate is that of the whole."""

from __future__ import annotations

import time

import numpy as np
import pytest

from maxmargin import SVC, SVR, OneClassSVM
from maxmargin.kernels import RBF
from maxmargin.kernels.definition import kernel_values
from maxmargin.kernels.gram import local
from maxmargin.kernels.gram.local import LocalGram, divide
from maxmargin.kernels.gram.tiled import TiledGram
from maxmargin.problems import optimality
from maxmargin.problems.dual import c_svc, eps_svr, one_class
from maxmargin.runtime.control import Control
from maxmargin.solvers.active_set import ActiveSet, parts

GAMMA = 40.0


@pytest.fixture(autouse=True)
def small_problems_too(monkeypatch):
    monkeypatch.setattr(parts, "PARTS_MIN_ROWS", 1000)
    monkeypatch.setattr(parts, "JOINED_MIN_ROWS", 100)
    monkeypatch.setattr(local, "LOCAL_MIN_ROWS", 1000)


def drawn(seed: int, n: int = 1600, kinds: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Points of several categories, each with its own share of the classes; one category has one class only."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(kinds, n, p=np.r_[0.4, np.full(kinds - 1, 0.6 / (kinds - 1))])
    X = np.hstack([rng.random((n, 2)), np.eye(kinds)[kind]])
    y = np.sign(np.sin(7 * X[:, 0]) + X[:, 1] - 0.3 * kind + 0.5 * rng.normal(size=n))
    y[kind == kinds - 1] = 1.0
    return X, y


def problem_of(name: str, X: np.ndarray, y: np.ndarray):
    n = len(y)
    if name == "c_svc":
        return c_svc(y, np.full(n, 5.0))
    if name == "weighted":
        return c_svc(y, np.random.default_rng(1).uniform(0.1, 20.0, n))
    return eps_svr(y * X[:, 0], np.full(n, 3.0), 0.1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["c_svc", "weighted", "eps_svr"])
def test_the_whole_problem_is_solved(name, seed):
    X, y = drawn(seed)
    problem = problem_of(name, X, y)
    plain = TiledGram(RBF(gamma=GAMMA).resolve(X), X, 2)
    gram = LocalGram(plain, divide(plain.side.A))
    control = Control()
    assert len(parts.falls_apart(problem, gram, control)) == 6
    solution = ActiveSet().solve(problem, gram, tol=1e-3, control=control)
    K = kernel_values(gram.kernel, X, X)
    a = solution.a
    f = K @ problem.coefficients(a)
    assert solution.status.converged
    assert optimality.violation(problem, a, problem.gradient(f, a)) <= 1.05e-3 * problem.tol_scale
    assert (a >= problem.lower).all()
    assert (a <= problem.upper).all()
    assert abs(a.sum() - problem.totals[0]) <= 1e-9 * np.abs(a).sum()
    whole = ActiveSet().solve(problem, plain, tol=1e-5, control=Control())
    best = problem.objective(K @ problem.coefficients(whole.a), whole.a)
    assert problem.objective(f, a) <= best + 1e-3 * problem.tol_scale * np.abs(a).sum()
    again = ActiveSet().solve(problem, gram, tol=1e-4, control=Control(), start=a)
    f = K @ problem.coefficients(again.a)
    assert optimality.violation(problem, again.a, problem.gradient(f, again.a)) <= 1.2e-4 * problem.tol_scale


def test_small_parts_are_joined(monkeypatch):
    monkeypatch.setattr(parts, "JOINED_MIN_ROWS", 300)
    X, y = drawn(0)
    plain = TiledGram(RBF(gamma=GAMMA).resolve(X), X, 2)
    gram = LocalGram(plain, divide(plain.side.A))
    found = parts.falls_apart(problem_of("c_svc", X, y), gram, Control())
    assert 1 < len(found) < 6
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(len(y)))
    K = kernel_values(gram.kernel, X, X)
    assert all(K[np.ix_(found[0], rows)].max() <= 2.0**-local.ZERO_EXPONENT for rows in found[1:])


def test_what_stays_whole():
    X, y = drawn(0)
    plain = TiledGram(RBF(gamma=GAMMA).resolve(X), X, 2)
    gram = LocalGram(plain, divide(plain.side.A))
    problem = problem_of("c_svc", X, y)
    assert parts.falls_apart(problem, plain, Control()) is None
    assert parts.falls_apart(problem, gram, Control(max_iter=5)) is None
    assert parts.falls_apart(c_svc(y, np.full(len(y), np.inf)), gram, Control()) is None
    assert parts.falls_apart(c_svc(y, np.ones(len(y)), fit_intercept=False), gram, Control()) is None
    assert parts.falls_apart(one_class(np.ones(len(y)), 0.3), gram, Control()) is None


def test_estimators_say_so(caplog):
    X, y = drawn(3, n=7000)
    model = SVC(C=5.0, gamma=GAMMA, verbose=True).fit(X, y)
    assert "6 parts out of each other's reach" in str(model.report_)
    assert "part 6 of 6" in caplog.text
    assert model.report_.kkt_violation <= 1e-3
    assert abs(model.dual_coef_.sum()) <= 1e-9 * np.abs(model.dual_coef_).sum()
    regressor = SVR(C=3.0, gamma=GAMMA).fit(X, y * X[:, 0])
    assert regressor.report_.kkt_violation <= 1e-3
    assert OneClassSVM(nu=0.2, gamma=GAMMA).fit(X).report_.converged


def test_a_stopped_run_keeps_a_feasible_model():
    X, y = drawn(4, n=7000)
    for seconds in (1e-6, 0.05, 0.2):
        problem = problem_of("c_svc", X, y)
        plain = TiledGram(RBF(gamma=GAMMA).resolve(X), X, 2)
        gram = LocalGram(plain, divide(plain.side.A))
        control = Control(max_seconds=seconds, started=time.perf_counter())
        a = ActiveSet().solve(problem, gram, tol=1e-3, control=control).a
        assert abs(a.sum()) <= 1e-9 * max(1.0, np.abs(a).sum())
        assert (a >= problem.lower).all()
        assert (a <= problem.upper).all()
