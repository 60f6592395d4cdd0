"""Kernel values of points out of each other's reach are left out: the same products, parts that are really apart."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.kernels import RBF
from maxmargin.kernels.definition import kernel_values
from maxmargin.kernels.gram import local
from maxmargin.kernels.gram.choice import make_gram
from maxmargin.kernels.gram.local import LocalGram, divide
from maxmargin.kernels.gram.tiled import TiledGram

GAMMA = 40.0


def categories(n: int = 1500, kinds: int = 5, seed: int = 0) -> np.ndarray:
    """Three numbers in [0, 1], and a category as columns of zeros and ones."""
    rng = np.random.default_rng(seed)
    shares = np.r_[0.6, np.full(kinds - 1, 0.4 / (kinds - 1))]
    return np.hstack([rng.random((n, 3)), np.eye(kinds)[rng.choice(kinds, n, p=shares)]])


def local_gram(X: np.ndarray, threads: int = 2) -> LocalGram:
    plain = TiledGram(RBF(gamma=GAMMA).resolve(X), X, threads)
    return LocalGram(plain, divide(plain.side.A))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("single", [True, False])
def test_products_and_blocks_are_those_of_all_values(seed, single):
    X = categories(seed=seed)
    rng = np.random.default_rng(seed)
    gram = local_gram(X)
    K = kernel_values(gram.kernel, X, X)
    cols, rows = rng.permutation(len(X))[:700], rng.permutation(len(X))[:333]
    coef = rng.normal(size=700)
    close = 2e-3 if single else 1e-9
    np.testing.assert_allclose(gram.product(cols, coef, single=single), K[:, cols] @ coef, atol=close)
    np.testing.assert_allclose(gram.product(cols, coef, rows, single=single), K[np.ix_(rows, cols)] @ coef, atol=close)
    two = rng.normal(size=(700, 2))
    np.testing.assert_allclose(gram.product(cols, two, single=single), K[:, cols] @ two, atol=close)
    part = gram.subset(rows)
    np.testing.assert_allclose(
        part.product(np.arange(50), coef[:50]), K[np.ix_(rows, rows[:50])] @ coef[:50], atol=1e-9
    )
    for order in (rows, rows[gram.arranged(rows)]):
        out = np.full((400, 410), np.nan, np.float32 if single else np.float64)
        gram.fill(order, out)
        np.testing.assert_allclose(out[:333, :333], K[np.ix_(order, order)], atol=1e-4 if single else 1e-10)
        assert np.isnan(out[333:]).all()
        assert np.isnan(out[:, 333:]).all()


def test_threads_do_not_change_a_bit():
    X = categories(4000)
    coef = np.random.default_rng(0).normal(size=len(X))
    every = np.arange(len(X))
    one, two = (local_gram(X, threads).product(every, coef, single=True) for threads in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_cells_that_are_not_near_have_no_kernel_value():
    X = categories()
    gram = local_gram(X)
    K = kernel_values(gram.kernel, X, X)
    label = gram.cells.label
    assert K[~gram.cells.near[np.ix_(label, label)]].max() <= 2.0**-local.ZERO_EXPONENT
    parts = gram.parts()
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(X)))
    assert len(parts) == 5
    for k, rows in enumerate(parts):
        others = np.concatenate(parts[:k] + parts[k + 1 :])
        assert K[np.ix_(rows, others)].max() <= 2.0**-local.ZERO_EXPONENT


def test_a_long_cell_is_halved(monkeypatch):
    monkeypatch.setattr(local, "CELL_MAX_ROWS", 100)
    X = np.random.default_rng(0).random((1000, 2))
    cells = divide(X * np.sqrt(2 * 1.4427 * 5000))
    assert np.bincount(cells.label).max() <= 200
    assert cells.share() < 0.7
    equal = divide(np.ones((1000, 2)))
    assert equal.near.shape == (1, 1)


def test_it_is_chosen_where_most_values_are_zero(monkeypatch):
    monkeypatch.setattr(local, "LOCAL_MIN_ROWS", 1200)
    X = np.random.default_rng(0).permutation(np.vstack([categories(1200, 8), categories(1200, 8, 1)]))
    assert type(make_gram(RBF(gamma=GAMMA).resolve(X), X)) is LocalGram
    assert type(make_gram(RBF(gamma=0.1).resolve(X), X)) is TiledGram
    assert type(make_gram(RBF(gamma=GAMMA).resolve(X), X, pairs=True)) is TiledGram
    assert [len(rows) for rows in make_gram(RBF(gamma=0.1).resolve(X), X).parts()] == [len(X)]
