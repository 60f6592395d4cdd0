"""K without its small entries: which ones are kept, products and blocks with them, and when there is such a matrix."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.kernels import RBF
from maxmargin.kernels.gram import sparse, tiled
from maxmargin.kernels.gram.operator import KernelGram
from maxmargin.kernels.gram.tiled import TiledGram


@pytest.fixture(autouse=True)
def small_problems_too(monkeypatch):
    monkeypatch.setattr(sparse, "SPARSE_MIN_ROWS", 500)


def clusters(n: int = 4500, d: int = 130, seed: int = 0) -> np.ndarray:
    """Points far from each other, of which some have near neighbours."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[: n // 5] = X[0] + 0.15 * X[: n // 5]
    return X


def grams(X: np.ndarray, gamma: float = 0.05, threads: int = 2) -> tuple[TiledGram, np.ndarray]:
    kernel = RBF(gamma=gamma).resolve(X)
    gram = TiledGram(kernel, X, threads)
    return gram, kernel.matrix(X, X)


def held(gram: TiledGram) -> sparse.SparseGram:
    found = sparse.large_entries(gram)
    assert found is not None
    return found


def test_large_entries_and_no_others():
    gram, K = grams(clusters())
    S = held(gram)
    every = np.arange(gram.n)
    dense = S.block(every, every)
    kept = dense != 0
    np.testing.assert_array_equal(kept, kept.T)
    np.testing.assert_allclose(dense[kept], K[kept], rtol=1e-3)
    np.testing.assert_array_equal(np.diag(dense), 1.0)
    assert K[~kept].max() < 1.001 * K[kept].min()
    assert (K * ~kept).sum(axis=1).mean() < 2 * sparse.NEGLECTED_SUM
    stored = sum(len(strip.data) for strip in S.strips)
    assert stored == np.count_nonzero(np.triu(kept, 1))


def test_products_and_blocks():
    gram, _ = grams(clusters())
    S, rng = held(gram), np.random.default_rng(1)
    every = np.arange(gram.n)
    dense = S.block(every, every)
    cols, rows = rng.permutation(gram.n)[:700], rng.permutation(gram.n)[:333]
    coef = rng.normal(size=(700, 2))
    np.testing.assert_allclose(S.product(cols, coef), dense[:, cols] @ coef, atol=1e-10)
    np.testing.assert_allclose(S.product(cols, coef[:, 0], rows), dense[np.ix_(rows, cols)] @ coef[:, 0], atol=1e-10)
    np.testing.assert_array_equal(S.block(rows, cols), dense[np.ix_(rows, cols)])
    again = np.concatenate((rows, rows[::-3]))  # two variables of one row, and padding
    for dtype in (np.float32, np.float64):
        out = np.full((500, 510), np.nan, dtype)
        S.fill(again, out)
        np.testing.assert_array_equal(out[: len(again), : len(again)], dense[np.ix_(again, again)])
        assert np.isnan(out[len(again) :]).all()


def test_threads_do_not_change_a_bit():
    X, coef = clusters(), np.random.default_rng(0).normal(size=4500)
    every, found = np.arange(len(X)), []
    for threads in (1, 2, 3):
        gram, _ = grams(X, threads=threads)
        S = held(gram)
        out = np.empty((400, 400), np.float32)
        S.fill(every[::12][:400], out[:375, :375])
        found.append((S.product(every, coef), out[:375, :375].copy(), gram.product(every, coef, single=True)))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_memory_raises_the_threshold():
    gram, _ = grams(clusters())
    plenty = held(gram)
    gram.budget = 6e6
    little = held(gram)
    size = [sum(strip.indices.nbytes + strip.data.nbytes for strip in S.strips) for S in (plenty, little)]
    assert size[1] <= gram.budget < size[0]
    assert little.budget <= gram.budget - size[1]
    gram.budget = 1e3  # only the diagonal would fit
    assert sparse.large_entries(gram) is None


def test_ordinary_matrices_are_left_alone(monkeypatch):
    X = clusters()
    for gamma in (1e-4, 3e-3):
        assert sparse.large_entries(grams(X, gamma=gamma)[0]) is None
    assert sparse.large_entries(KernelGram(RBF(gamma=0.05).resolve(X), X)) is None
    monkeypatch.setattr(sparse, "SPARSE_MIN_ROWS", len(X) + 1)
    assert sparse.large_entries(grams(X)[0]) is None


@pytest.mark.parametrize("gamma", [0.05, 0.001])
def test_products_with_nearly_all_columns_use_one_side_of_the_diagonal(gamma, monkeypatch):
    X = clusters(4300)
    gram, K = grams(X, gamma)
    rng = np.random.default_rng(2)
    cols = rng.permutation(len(X))[:4000]
    coef = rng.normal(size=4000)
    before = gram.evaluations
    mirrored = gram.product(cols, coef, single=True)
    assert gram.evaluations - before < 1.1 * len(X) ** 2
    np.testing.assert_allclose(mirrored, K[:, cols] @ coef, atol=2e-4)
    part = gram.subset(np.arange(4299, -1, -1))
    np.testing.assert_allclose(part.product(cols, coef, single=True), (K[::-1, ::-1][:, cols]) @ coef, atol=2e-4)
    monkeypatch.setattr(tiled, "MIRRORED_MIN_SHARE", 2.0)
    np.testing.assert_allclose(mirrored, gram.product(cols, coef, single=True), atol=2e-4)
