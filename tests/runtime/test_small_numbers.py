"""Points of one or two bytes per number: exact, and never copied to float64."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, KernelRidge, LinearSVC, OneClassSVM

SMALL = [np.int8, np.uint8, np.int16, np.uint16, np.float16]


def drawn(dtype, n=120, d=9):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 120, (n, d)).astype(dtype)
    return X, (X[:, 0].astype(float) > X[:, 1]).astype(int)


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_the_model_is_that_of_the_same_numbers(dtype, kernel):
    X, y = drawn(dtype)
    small, double = (SVC(kernel=kernel).fit(points, y) for points in (X, X.astype(np.float64)))
    assert small.support_vectors_.dtype == np.float32
    np.testing.assert_array_equal(small.support_vectors_, X[small.support_])
    np.testing.assert_array_equal(small.predict(X), double.predict(X))
    scale = np.abs(double.decision_function(X)).max()
    np.testing.assert_allclose(small.decision_function(X), double.decision_function(X), atol=5e-3 * scale)
    np.testing.assert_array_equal(small.predict(X), small.predict(X.astype(np.float32)))
    assert small.report_.converged


@pytest.mark.parametrize("dtype", SMALL)
def test_other_estimators_and_sparse_points(dtype):
    X, y = drawn(dtype)
    sparse = sp.csr_matrix(X.astype(np.float32)) if dtype is np.float16 else sp.csr_matrix(X)
    for model in (SVR(), LinearSVC(), OneClassSVM(), KernelRidge()):
        dense = model.fit(X, y).predict(X)
        np.testing.assert_allclose(model.fit(sparse, y).predict(sparse), dense, rtol=1e-3, atol=1e-3)


def test_what_is_no_number_is_named():
    X, y = drawn(np.float16)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SVC().fit(X, y)


def test_pixels_are_never_held_in_float64():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (20_000, 784), dtype=np.uint8)
    y = (X[:, 0] > 127).astype(int)
    X[y == 1, :50] = 255  # far apart, so that a fit takes a moment
    double = 8 * X.size
    model = SVC(kernel="linear", C=1e-4, cache_size=1)
    tracemalloc.start()
    model.fit(X, y)
    fitted = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert (model.predict(X) == y).mean() > 0.99
    predicted = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert predicted < 0.7 * double
    # The validated rows, the canonical ones, the tiles' and what a step picks of them are half of float64 each.
    assert fitted < 2.4 * double
