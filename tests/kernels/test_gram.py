"""Kernel values as an operator: blocks and products are those of the matrix, for every kind of points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.kernels import RBF, Columns, HistogramIntersection, Linear, Normalized, Polynomial, Sum, Tanimoto
from maxmargin.kernels.definition import kernel_values
from maxmargin.kernels.gram.choice import make_gram
from maxmargin.kernels.gram.kept_rows import KeptRows
from maxmargin.kernels.gram.matrices import (
    HalfMatrix,
    kernel_matrices,
    kernel_matrix,
    squared_norms,
    weighted_sum,
)
from maxmargin.kernels.gram.operator import (
    TILE_COLS,
    TILE_ROWS,
    KernelGram,
    StoredGram,
    computing_form,
    kernel_product,
    precomputed_gram,
)
from maxmargin.kernels.gram.tiled import TiledGram
from maxmargin.runtime.threads import Halted

rng = np.random.default_rng(0)
N = max(TILE_ROWS, TILE_COLS) + 90  # more than one tile both ways, and a ragged end
POINTS = np.round(rng.standard_normal((N, 4)), 2)
POINTS[rng.random(POINTS.shape) < 0.5] = 0.0
KERNELS = {"linear": Linear(), "rbf": RBF(gamma=0.3), "poly": Polynomial(degree=2, gamma=0.5, coef0=1.0)}
FORMS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csr_float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}
ROWS = np.array([5, 0, 300, 7, 7, N - 1])
COLS = np.array([2, N - 1, 5])


def reference(kernel):
    """The matrix from scratch."""
    P = POINTS @ POINTS.T
    if kernel == "linear":
        return P
    if kernel == "rbf":
        return np.exp(-0.3 * ((POINTS[:, None] - POINTS) ** 2).sum(axis=2))
    return (0.5 * P + 1) ** 2


def operators(kernel, form):
    """The same matrix computed on demand, by tiles, and stored, complete and by index."""
    X = FORMS[form](POINTS)
    fresh = KernelGram(KERNELS[kernel].resolve(X), X)
    K = fresh.block(np.arange(N), np.arange(N))
    shuffled = np.random.default_rng(1).permutation(N)
    back = np.argsort(shuffled)
    return {
        "on demand": KernelGram(KERNELS[kernel].resolve(X), X),
        "tiled": TiledGram(KERNELS[kernel].resolve(X), X),
        "stored": StoredGram(K),
        "stored, by index": StoredGram(K[np.ix_(shuffled, shuffled)], back),
    }


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", FORMS)
def test_diagonal_block_and_product_are_those_of_the_matrix(kernel, form):
    K = reference(kernel)
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if "32" in form else {"rtol": 1e-10, "atol": 1e-10}
    vector, table = rng.standard_normal(len(COLS)), rng.standard_normal((len(COLS), 3))
    for gram in operators(kernel, form).values():
        assert gram.n == N
        np.testing.assert_allclose(gram.diagonal(), K.diagonal(), **tolerance)
        block = gram.block(ROWS, COLS)
        np.testing.assert_allclose(block, K[np.ix_(ROWS, COLS)], **tolerance)
        np.testing.assert_allclose(gram.product(COLS, vector), K[:, COLS] @ vector, **tolerance)
        np.testing.assert_allclose(gram.product(COLS, table), K[:, COLS] @ table, **tolerance)
        np.testing.assert_allclose(gram.product(COLS, table, ROWS), K[np.ix_(ROWS, COLS)] @ table, **tolerance)
        for values in (gram.diagonal(), block, gram.product(COLS, vector)):
            assert values.dtype == np.float64


@pytest.mark.parametrize("kernel", KERNELS)
def test_product_over_all_columns_crosses_every_tile(kernel):
    K, coefficients = reference(kernel), rng.standard_normal(N)
    for gram in operators(kernel, "dense").values():
        np.testing.assert_allclose(gram.product(np.arange(N), coefficients), K @ coefficients, atol=1e-9)


def test_subset_is_the_operator_of_some_rows_and_so_is_its_subset():
    K = reference("rbf")
    first, second = np.array([9, 3, 400, 11, 2]), np.array([4, 0, 2])
    for gram in operators("rbf", "dense").values():
        inner = gram.subset(first).subset(second)
        assert inner.n == 3
        every = np.arange(3)
        expected = K[np.ix_(first[second], first[second])]
        np.testing.assert_allclose(inner.block(every, every), expected, atol=1e-12)
        np.testing.assert_allclose(inner.diagonal(), expected.diagonal(), atol=1e-12)
        np.testing.assert_allclose(inner.product(every, np.ones(3)), expected.sum(axis=1), atol=1e-12)


def test_blocks_are_new_arrays():
    K = np.eye(4)
    gram = StoredGram(K)
    every = np.arange(4)
    gram.block(every, every)[:] = 7.0
    gram.diagonal()[:] = 7.0
    assert (np.eye(4) == K).all()


def test_empty_blocks_and_products():
    none = np.empty(0, int)
    for gram in operators("rbf", "dense").values():
        assert gram.block(none, COLS).shape == (0, 3)
        assert not gram.product(none, np.empty(0)).any()
        assert gram.product(COLS, np.ones((3, 2)), none).shape == (0, 2)


@pytest.mark.parametrize("operator", ["on demand", "tiled"])
def test_every_kernel_value_is_counted_once(operator):
    gram = operators("rbf", "dense")[operator]
    assert gram.evaluations == 0
    gram.diagonal()
    assert gram.evaluations == N
    gram.block(ROWS, COLS)
    assert gram.evaluations == N + 18
    gram.product(COLS, np.ones(3))
    assert gram.evaluations == N + 18 + 3 * N
    gram.product(COLS, np.ones((3, 5)), ROWS)
    assert gram.evaluations == N + 18 + 3 * N + 18
    assert gram.subset(ROWS).evaluations == 0


@pytest.mark.parametrize("operator", ["on demand", "tiled"])
@pytest.mark.parametrize("form", FORMS)
def test_long_passes_end_when_the_run_is_to_stop(operator, form):
    """A run that is to stop raises from inside: no block of a working set, and no product, is finished first."""
    gram, every = operators("rbf", form)[operator], np.arange(N)
    for dtype in (np.float32, np.float64):
        with pytest.raises(Halted):
            gram.fill(every, np.zeros((N, N), dtype), stop=lambda: True)
    with pytest.raises(Halted):
        gram.product(every, np.ones(N), stop=lambda: True)


def test_stored_values_are_not_counted_again():
    gram = StoredGram(np.eye(5), evaluations=25)
    gram.block(np.arange(5), np.arange(5))
    gram.product(np.arange(5), np.ones(5))
    assert gram.evaluations == 25
    assert gram.subset(np.arange(3)).evaluations == 0  # the sum over subsets counts nothing twice


def test_make_gram_stores_what_fits_the_budget_where_there_are_no_tiles():
    X = POINTS[:50]
    kernel = (RBF(gamma=0.3) + Linear()).resolve(X)
    stored = make_gram(kernel, X, budget=8 * 50 * 50)
    assert isinstance(stored, StoredGram)
    assert stored.evaluations == 2500
    assert isinstance(make_gram(kernel, X, budget=8 * 50 * 50 - 1), KeptRows)
    assert type(make_gram(kernel, X, budget=4 * 50 * 50 - 1)) is KernelGram


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", FORMS)
def test_single_precision_is_close_and_sums_stay_double(kernel, form):
    """``single`` allows an error of float32's size in each kernel value, relative to the largest one."""
    K, every, coefficients = reference(kernel), np.arange(N), rng.standard_normal(N)
    for gram in operators(kernel, form).values():
        values = gram.product(every, coefficients, single=True)
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, K @ coefficients, atol=2e-6 * np.abs(K).max() * np.abs(coefficients).sum())
        if gram.single_is_exact and "32" not in form:
            np.testing.assert_allclose(values, K @ coefficients, atol=1e-9)
        out = np.full((len(ROWS) + 8, len(ROWS) + 64), np.nan, np.float32)
        gram.fill(ROWS, out)
        np.testing.assert_allclose(
            out[: len(ROWS), : len(ROWS)], K[np.ix_(ROWS, ROWS)], rtol=1e-5, atol=1e-5 * np.abs(K).max()
        )


@pytest.mark.parametrize("form", ["dense", "float32", "csr_matrix"])
def test_precomputed_gram_is_the_user_s_matrix_at_the_used_rows(form):
    K = reference("rbf")[:40, :40]
    given = FORMS[form](K)
    used = np.array([3, 1, 30])
    gram = precomputed_gram(given, used)
    every = np.arange(3)
    assert gram.n == 3
    np.testing.assert_allclose(gram.block(every, every), K[np.ix_(used, used)], atol=1e-6)
    assert gram.block(every, every).dtype == np.float64
    complete = precomputed_gram(given, np.arange(40))
    assert complete.n == 40
    np.testing.assert_allclose(complete.diagonal(), K.diagonal(), atol=1e-6)


def test_precomputed_gram_does_not_copy_a_dense_matrix():
    K = np.eye(6)
    assert precomputed_gram(K, np.arange(6)).K is K
    assert precomputed_gram(K, np.array([1, 0])).K is K


@pytest.mark.parametrize("operator", [KernelGram, TiledGram])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", FORMS)
def test_bits_do_not_depend_on_the_number_of_threads(operator, kernel, form):
    X = FORMS[form](POINTS)
    resolved, every = KERNELS[kernel].resolve(X), np.arange(N)
    vector, table = rng.standard_normal(N), rng.standard_normal((N, 3))
    results = []
    for threads in (1, 2, 4):
        gram = operator(resolved, X, threads)
        out = np.zeros((N + 80, N + 80), np.float32)
        gram.fill(every, out)
        results.append(
            [
                out[:N, :N].tobytes(),
                gram.product(every, vector, single=True).tobytes(),
                gram.block(every, COLS).tobytes(),
                gram.product(every, vector).tobytes(),
                gram.product(every, table).tobytes(),
                gram.product(COLS, table[: len(COLS)], ROWS).tobytes(),
                kernel_product(resolved, X, X, table, threads).tobytes(),
            ]
        )
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "density"), [(50, 4, 0.5), (3000, 400, 0.001), (3000, 400, 0.6)])
def test_computing_form_depends_on_the_values_and_not_on_the_form_they_came_in(n, d, density, dtype):
    sparse = sp.random(n, d, density=density, format="csr", random_state=0, dtype=dtype)
    dense = sparse.toarray()
    forms = [computing_form(dense), computing_form(sparse)]
    assert sp.issparse(forms[0]) == sp.issparse(forms[1])
    for form in forms:
        assert form.dtype == dtype
        assert ((form.toarray() if sp.issparse(form) else form) == dense).all()


def test_computing_form_leaves_dense_points_alone():
    assert computing_form(POINTS) is POINTS


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [
        RBF(gamma=0.3),
        0.5 * Columns(RBF(gamma=0.3), [0, 2]) + 2.0 * Columns(Linear(), slice(1, None)),
        Columns(RBF(gamma=0.3), [3]) * Columns(HistogramIntersection(), [0, 1]) + Tanimoto(),
        Normalized(Polynomial(degree=2, gamma=0.5, coef0=1.0)),
    ],
    ids=repr,
)
def test_a_matrix_from_the_tiles_of_a_kernel_s_parts(kernel, sparse):
    X = np.abs(np.random.default_rng(0).normal(size=(150, 4)))
    points = sp.csr_array(X) if sparse else X
    resolved = kernel.resolve(points)
    K = kernel_matrix(resolved, points, threads=2)
    np.testing.assert_allclose(K, resolved.matrix(points, points), rtol=1e-12, atol=1e-12)
    small = make_gram(resolved, points, budget=8.0 * 150**2)  # no room for the parts
    np.testing.assert_allclose(small.block(np.arange(150), np.arange(9)), K[:, :9], rtol=1e-12, atol=1e-12)


def all_of(halves):
    """The matrices of halves, each as the weighted sum with the weight one for it."""
    n, found = halves[0].strips[0].shape[1], []
    for weights in np.eye(len(halves)):
        found.append(np.empty((n, n)))
        weighted_sum(weights, halves, found[-1])
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_of_several_kernels(dtype):
    """Gaussian kernels of the same columns share their distances; each matrix is that of its kernel by definition."""
    rng = np.random.default_rng(0)
    X = (5.0 + rng.normal(size=(150, 7))).astype(dtype)
    X[40] = X[3]
    left, right = [0, 2, 3], slice(4, 7)
    kernels = [RBF(0.1), Columns(RBF(2.0), left), RBF("scale"), Columns(RBF(0.5), left), Columns(RBF(), right)]
    resolved = Sum([*kernels, Linear(), RBF(30.0)]).resolve(X).kernels
    found = all_of(kernel_matrices(resolved, X, threads=2))
    for kernel, K in zip(resolved, found, strict=True):
        np.testing.assert_allclose(K, kernel_values(kernel, X, X), rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(K, K.T, rtol=1e-12)
    again = all_of(kernel_matrices(resolved, X, threads=1))
    assert all((other == K).all() for K, other in zip(found, again, strict=True))
    X[0] = 1e9  # so far away that squares lose the distances of the others: left to tiles
    resolved = Sum([RBF(0.1), RBF(2.0)]).resolve(X).kernels
    for kernel, K in zip(resolved, all_of(kernel_matrices(resolved, X)), strict=True):
        np.testing.assert_allclose(K, kernel_values(kernel, X, X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_products_of_the_linear_kernel_are_a_pass_over_the_points(form):
    X = FORMS[form](POINTS)
    for gram in (KernelGram(Linear(), X), TiledGram(Linear(), X)):
        some = gram.subset(np.arange(1, N, 2))
        coef = rng.standard_normal(some.n)
        expected = POINTS[1::2] @ (POINTS[1::2].T @ coef)
        np.testing.assert_allclose(some.product(np.arange(some.n), coef), expected, rtol=1e-5, atol=1e-5)
        assert some.evaluations == some.n  # and not some.n ** 2
        threaded = TiledGram(Linear(), X, threads=2).subset(np.arange(1, N, 2))
        if isinstance(gram, TiledGram):
            np.testing.assert_array_equal(
                threaded.product(np.arange(some.n), coef), some.product(np.arange(some.n), coef)
            )
        with pytest.raises(Halted):
            some.product(np.arange(some.n), coef, stop=lambda: True)


@pytest.mark.parametrize("n", [1, 255, 256, 600])  # of one strip and of several
def test_halves_of_matrices_against_all_of_them(n):
    rng = np.random.default_rng(n)
    full = [A + A.T for A in rng.normal(size=(3, n, n))]
    halves, weights, K = [HalfMatrix.of(A) for A in full], np.array([0.5, 0.0, 2.0]), np.empty((n, n))
    weighted_sum(weights, halves, K, threads=2)
    np.testing.assert_allclose(K, sum(w * A for w, A in zip(weights, full, strict=True)), rtol=1e-13, atol=1e-13)
    for count, share in ((1, 0.3), (4, 1.0), (40, 0.05), (6, 0.9), (2, 0.0)):  # few and many, sparse and dense
        B = rng.normal(size=(n, count)) * (rng.random((n, count)) < share)
        expected = [np.einsum("ip,ij,jp->", B, A, B, optimize=True) for A in full]
        found = squared_norms(halves, B, threads=2)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-9 * n)
        np.testing.assert_array_equal(found, squared_norms(halves, B, threads=1))


def test_the_matrix_of_a_sum_of_several_strips():
    X = np.random.default_rng(0).normal(size=(600, 5))
    parts = [2.0 * Columns(RBF(0.2), [0, 1]), Columns(RBF(3.0), [0, 1]), RBF(0.1), Linear(), 0.5 * RBF(2.0) * Linear()]
    kernel = Sum(parts).resolve(X)
    np.testing.assert_allclose(kernel_matrix(kernel, X, threads=2), kernel.matrix(X, X), rtol=1e-11, atol=1e-12)
