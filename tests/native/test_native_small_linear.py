"""Small linear problems in one call: the certificate against its NumPy twin, the solution against the gap that the
definitions give it, at every instruction level; and wrong arguments."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import small_linear


@st.composite
def problems(draw):
    """X, y, above, below, eps, squared, free, scaling."""
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, d)) * 10.0 ** draw(st.integers(-1, 1)) + draw(st.sampled_from([0.0, 3.0]))
    weight = rng.uniform(0.1, 2.0, n) * 10.0 ** draw(st.integers(-2, 1))
    squared, kind = draw(st.booleans()), draw(st.sampled_from(["free", "penalised", "none"]))
    free, scaling = kind == "free", 1.7 if kind == "penalised" else 0.0
    if draw(st.booleans()):
        y = rng.choice([-1.0, 1.0], n)
        y[:2] = -1.0, 1.0
        return X, y, np.where(y > 0, weight, 0.0), np.where(y > 0, 0.0, weight), 0.0, squared, free, scaling
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    return X, y, weight, weight, draw(st.sampled_from([0.0, 0.3])), squared, free, scaling


def solve(problem, tol=1e-6, max_iter=200, start=0.0, centre=0.0):
    X = problem[0]
    w, f, beta, records = np.empty(X.shape[1]), np.empty(len(X)), np.empty(len(X)), np.empty((max_iter + 1, 4))
    found = _native.solve_small_linear(*problem, start, centre, tol, max_iter, w, f, beta, records)
    return w, f, beta, records[: found[4]], found


def certify(problem, w, b, beta, centre=0.0, form="dense"):
    (X, *rest), n = problem, len(problem[0])
    chosen, f, support = beta.copy(), np.empty(n), np.empty(n, bool)
    S = sp.csr_matrix(X)
    rows = _native.LinearRows(X) if form == "dense" else _native.LinearRows(S.data, S.indptr, S.indices, X.shape[1])
    return _native.certify_linear(rows, *rest, centre, w, b, chosen, f, support), chosen, f, support


@given(problems())
@settings(max_examples=60, deadline=None)
def test_the_solution_has_the_gap_that_was_asked_for(level, problem):
    X, y, above, below, eps, squared, free, scaling = problem
    w, f, beta, records, (b, primal, dual, n_iter, count) = solve(problem, start=0.0 if eps == 0 else float(y.mean()))
    np.testing.assert_allclose(f, X @ w, rtol=1e-8, atol=1e-8 * (1 + np.abs(f).max()))
    assert count == n_iter + 1
    assert records[:, 0].min() == primal
    assert records[:, 1].max() == dual
    chosen = small_linear.feasible(beta, above, below, squared, free)
    np.testing.assert_allclose(chosen, beta, rtol=1e-9, atol=1e-9 * np.abs(beta).max(initial=0.0))
    true, lower, _ = small_linear.objectives(X, y, above, below, eps, squared, free, scaling, w, b, chosen)
    if primal > 1e-9 * (above + below).sum():  # an optimum of zero has no relative gap
        assert true - lower <= 1.01e-6 * max(abs(true), abs(lower)) + 1e-12
    assert lower <= true + 1e-9 * abs(true)


@given(problems(), st.integers(0, 2**32 - 1), st.sampled_from(["dense", "csr"]))
@settings(max_examples=60, deadline=None)
def test_the_certificate_is_that_of_the_definitions(level, problem, seed, form):
    X, y, above, below, eps, squared, free, scaling = problem
    rng = np.random.default_rng(seed)
    n, d = X.shape
    w, b, centre = rng.standard_normal(d), float(rng.standard_normal()), float(y.mean()) if free else 0.0
    b = b if free or scaling > 0 else 0.0
    beta = rng.standard_normal(n) * (above + below)
    (primal, dual, moved, in_w, in_b, size, complementarity, norm), chosen, f, support = certify(
        problem, w, b, beta, centre, form
    )
    expected = small_linear.feasible(beta, above, below, squared, free)
    np.testing.assert_allclose(chosen, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(f, X @ w, rtol=1e-10, atol=1e-10)
    true, lower, of_beta = small_linear.objectives(X, y, above, below, eps, squared, free, scaling, w, b, expected)
    assert primal == pytest.approx(true, rel=1e-10)
    assert dual == pytest.approx(lower, rel=1e-8, abs=1e-8 * (1 + of_beta @ of_beta))
    r, step = y - X @ w - b, (2.0 if squared else 1.0) * np.maximum(above, below)
    target = small_linear.after_step(r, expected, above, below, eps, squared)
    assert moved == pytest.approx(np.max(np.abs(target - expected) / step), rel=1e-8)
    np.testing.assert_array_equal(support, target != 0)
    assert in_w == pytest.approx(np.linalg.norm(w - of_beta), rel=1e-7)
    total = expected.sum()
    assert in_b == pytest.approx(abs(total) if free else abs(b / scaling - scaling * total) if scaling else 0, abs=1e-8)
    assert size == pytest.approx(np.abs(expected).sum())
    assert norm == pytest.approx(np.linalg.norm(w))
    assert complementarity >= 0


def test_the_limit_of_iterations_is_kept(level):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(50))
    above, below = np.where(y > 0, 1.0, 0.0), np.where(y > 0, 0.0, 1.0)
    for squared in (False, True):
        problem = (X, y, above, below, 0.0, squared, True, 0.0)
        for limit in (0, 1, 2):
            assert solve(problem, tol=0.0, max_iter=limit)[4][3] == limit


def test_same_bits_for_every_call(level):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    problem = (X, y, np.ones(40), np.ones(40), 0.1, False, True, 0.0)
    first, second = solve(problem), solve(problem)
    for one, other in zip(first[:4], second[:4], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"X": np.ones((4, 2), np.float32)}, TypeError, "X"),
        ({"X": np.ones(4)}, TypeError, "X"),
        ({"y": np.ones(3)}, ValueError, "y"),
        ({"above": np.ones(5)}, ValueError, "above"),
        ({"below": np.ones(4, int)}, TypeError, "below"),
        ({"epsilon": -1.0}, ValueError, "epsilon"),
        ({"scaling": 1.0}, ValueError, "scaling"),
        ({"max_iter": 3}, ValueError, "max_iter"),
        ({"max_iter": -1}, ValueError, "max_iter"),
        ({"records": np.empty((3, 5))}, ValueError, "records"),
        ({"w": np.empty(3)}, ValueError, "w"),
        ({"f": np.empty(3)}, ValueError, "f"),
        ({"beta": np.empty(9)}, ValueError, "beta"),
    ],
)
def test_wrong_arguments_of_solve(change, kind, message):
    right = {
        "X": np.ones((4, 2)),
        **{name: np.ones(4) for name in ("y", "above", "below")},
        **{"epsilon": 0.0, "squared": False, "free": True, "scaling": 0.0, "start": 0.0, "centre": 0.0, "tol": 1e-3},
        **{"max_iter": 2, "w": np.empty(2), "f": np.empty(4), "beta": np.empty(4), "records": np.empty((3, 4))},
    }
    with pytest.raises(kind, match=message):
        _native.solve_small_linear(**{**right, **change})


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"X": np.ones((4, 2))}, TypeError, "incompatible function arguments"),
        ({"X": _native.LinearRows(np.ones((4, 2)), shift=np.ones(2))}, ValueError, "shift"),
        ({"y": np.ones(3)}, ValueError, "y"),
        ({"epsilon": -1.0}, ValueError, "epsilon"),
        ({"w": np.ones(3)}, ValueError, "w"),
        ({"support": np.empty(4)}, TypeError, "support"),
        ({"support": np.empty(3, bool)}, ValueError, "support"),
        ({"f": np.empty(3)}, ValueError, "f"),
    ],
)
def test_wrong_arguments_of_certify(change, kind, message):
    right = {
        "X": _native.LinearRows(np.ones((4, 2))),
        **{name: np.ones(4) for name in ("y", "above", "below")},
        **{"epsilon": 0.0, "squared": False, "free": True, "scaling": 0.0, "centre": 0.0, "w": np.ones(2), "b": 0.0},
        **{"beta": np.zeros(4), "f": np.empty(4), "support": np.empty(4, bool)},
    }
    with pytest.raises(kind, match=message):
        _native.certify_linear(**{**right, **change})
