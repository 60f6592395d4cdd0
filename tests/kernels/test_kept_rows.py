"""Rows of K in memory: products and blocks are those of the matrix, no value is computed twice, memory is bounded."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC
from maxmargin.kernels import RBF, HistogramIntersection, Linear, Polynomial
from maxmargin.kernels.gram import kept_rows
from maxmargin.kernels.gram.choice import make_gram
from maxmargin.kernels.gram.kept_rows import KeptRows
from maxmargin.kernels.gram.operator import KernelGram
from maxmargin.runtime.threads import Halted

N = 700
POINTS = sp.random(N, 9000, 0.004, format="csr", random_state=0)
KERNELS = {"rbf": RBF(gamma=0.3), "poly": Polynomial(degree=2, gamma=0.5, coef0=1.0)}


def made(kernel="rbf", rows: float = N, threads: int = 2):
    """The operator with room for so many rows, and K."""
    resolved = KERNELS[kernel].resolve(POINTS)
    gram = KeptRows(KernelGram(resolved, POINTS, threads))
    gram.budget = 4.0 * N * (rows + 0.5) / kept_rows.KEPT_MAX_SHARE
    assert gram.capacity == rows
    return gram, resolved.matrix(POINTS, POINTS)


@pytest.fixture(autouse=True)
def few_rows_too(monkeypatch):
    monkeypatch.setattr(kept_rows, "KEPT_MIN_ROWS", 16)
    monkeypatch.setattr(kept_rows, "COMPUTED_MAX_VALUES", 50 * N)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rows", [N, 300, 37])
def test_products_and_blocks(kernel, rows):
    gram, K = made(kernel, rows)
    rng = np.random.default_rng(1)
    for size in (1, 30, 200, N, 60, 250):
        cols, coef = rng.permutation(N)[:size], rng.normal(size=size)
        expected = K[:, cols] @ coef
        found = gram.product(cols, coef, single=True)
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(K).max() * np.abs(coef).sum())
        some = rng.permutation(N)[:90]
        np.testing.assert_allclose(gram.product(cols, coef, some, single=True), found[some], rtol=1e-5, atol=1e-9)
        W = np.concatenate((rng.permutation(N)[:120], [5, 5]))
        out = np.full((130, 140), np.nan, np.float32)
        gram.fill(W, out)
        np.testing.assert_allclose(out[:122, :122], K[np.ix_(W, W)], rtol=1e-6)
        assert np.isnan(out[122:]).all()
        assert np.isnan(out[:, 122:]).all()
        assert len(gram.kept) <= rows
        kept = np.flatnonzero(gram.slot >= 0)
        np.testing.assert_allclose(gram.kept[gram.slot[kept]], K[kept], rtol=1e-6)
        np.testing.assert_array_equal(gram.owner[gram.slot[kept]], kept)


def test_double_precision_is_that_of_the_points():
    gram, K = made()
    every, coef = np.arange(N), np.random.default_rng(0).normal(size=N)
    np.testing.assert_allclose(gram.product(every, coef), K @ coef, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        gram.product(every, np.column_stack((coef, coef)), single=True)[:, 1], K @ coef, rtol=1e-12
    )
    np.testing.assert_allclose(gram.block(every[:9], every), K[:9], rtol=1e-14)
    out = np.empty((N, N))
    gram.fill(every, out)
    np.testing.assert_allclose(out, K, rtol=1e-14)
    assert len(gram.kept) == 0


def test_no_value_is_computed_twice():
    gram, _ = made()
    before = gram.evaluations
    for _ in range(3):
        gram.product(np.arange(N), np.ones(N), single=True)
    assert gram.evaluations - before <= 0.6 * N * N  # of a symmetric matrix, with the blocks on its diagonal


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(2)
    cols, coef = rng.permutation(N)[:400], rng.normal(size=400)
    one, two = (made(rows=150, threads=threads)[0] for threads in (1, 2))
    for _ in range(2):
        np.testing.assert_array_equal(one.product(cols, coef, single=True), two.product(cols, coef, single=True))


def test_a_stopped_product_leaves_what_is_kept_as_it_was():
    gram, K = made()
    calls = []

    def stop():
        calls.append(1)
        return "now" if len(calls) == 4 else None

    with pytest.raises(Halted):
        gram.product(np.arange(N), np.ones(N), single=True, stop=stop)
    kept = np.flatnonzero(gram.slot >= 0)
    assert 0 < len(kept) < N
    np.testing.assert_allclose(gram.product(np.arange(N), np.ones(N), single=True), K.sum(axis=1), rtol=1e-5)


def test_rows_of_a_subset():
    gram, K = made()
    rows = np.random.default_rng(3).permutation(N)[:200]
    part = gram.subset(rows)
    found = part.product(np.arange(200), np.ones(200), single=True)
    np.testing.assert_allclose(found, K[np.ix_(rows, rows)].sum(axis=1), rtol=1e-5)


def test_when_rows_are_kept():
    few = 4.0 * N**2  # less than K in float64
    assert isinstance(make_gram(KERNELS["rbf"].resolve(POINTS), POINTS, budget=few), KeptRows)
    assert type(make_gram(Linear().resolve(POINTS), POINTS, budget=few)) is KernelGram
    assert type(make_gram(KERNELS["rbf"].resolve(POINTS), POINTS, budget=100.0)) is KernelGram
    huge = 1e12 * POINTS  # beyond the range of float32
    assert type(make_gram(KERNELS["poly"].resolve(huge), huge, budget=few)) is KernelGram


@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), HistogramIntersection()], ids=str)
def test_a_fit_computes_each_row_once(kernel):
    rng = np.random.default_rng(0)
    n = 1800
    X = np.abs(sp.random(n, 6000, 0.01, format="csr", random_state=1))
    X = sp.csr_matrix(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))))
    y = np.asarray(X[:, :600].sum(axis=1)).ravel() + 0.1 * rng.normal(size=n) > 0.4
    if isinstance(kernel, HistogramIntersection):
        X = X[:, :200].toarray()
    model = SVC(C=10.0, kernel=kernel, cache_size=16.0).fit(X, y)  # K takes 26 MB in float64, 13 in float32
    assert model.report_.status.name == "OPTIMAL"
    assert model.report_.kernel_evaluations < n * n
    held = SVC(C=10.0, kernel=kernel, cache_size=200.0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), held.decision_function(X), atol=5e-3)
