"""Values of the linear kernel's sums, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from maxmargin.kernels import Linear
from maxmargin.kernels.definition import DefinedValues
from maxmargin.kernels.linear_sums import CHUNK_MAX_VALUES, linear_values


def exact(X, cols, coef, rows):
    """sum_j c_j x_i'x_j of some rows."""
    points = [[Fraction(float(value)) for value in row] for row in X]
    chosen = [(Fraction(float(c)), points[int(j)]) for c, j in zip(coef, cols, strict=True)]
    w = [sum((c * point[k] for c, point in chosen), Fraction(0)) for k in range(X.shape[1])]
    return np.array([float(sum((w[k] * points[int(i)][k] for k in range(len(w))), Fraction(0))) for i in rows])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "m"), [(1, 1, 1), (7, 1, 3), (30, 3, 30), (41, 17, 25)])
def test_values_are_exact_to_the_last_digit(n, d, m, dtype):
    rng = np.random.default_rng(n)
    X = (rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 8, d)).astype(dtype)
    cols, rows, coef = rng.permutation(n)[:m], rng.permutation(n), rng.standard_normal(m) * 1e3
    np.testing.assert_array_max_ulp(linear_values(X, cols, coef, rows), exact(X, cols, coef, rows), 1)


def test_several_outputs_and_many_chunks():
    rng = np.random.default_rng(0)
    n, d = 5, CHUNK_MAX_VALUES // 3  # a chunk holds three rows
    X, coef = rng.standard_normal((n, d)), rng.standard_normal((n, 2))
    values = linear_values(X, np.arange(n), coef)
    np.testing.assert_allclose(values, X @ (X.T @ coef), rtol=1e-9)
    np.testing.assert_array_equal(values[:, 1], linear_values(X, np.arange(n), coef[:, 1]))


def test_no_coefficient_no_row_and_no_range_left():
    X = np.array([[1.5e308, 0.0], [1.0, 2.0]])
    nothing = np.empty(0, np.int64)
    np.testing.assert_array_equal(linear_values(X, nothing, np.empty(0)), [0.0, 0.0])
    assert linear_values(X, nothing, np.empty(0), nothing).shape == (0,)
    np.testing.assert_allclose(linear_values(X, np.array([0]), np.array([1e-308])), [np.inf, 1.5], rtol=1e-15)
    np.testing.assert_allclose(linear_values(X, np.array([0]), np.array([1e-310]))[1], 1e-310 * 1.5e308, rtol=1e-15)


def test_fitted_values_by_definition_keep_the_digits_of_sums_that_cancel():
    X = np.array([[1e8, 1.0], [1e8, 2.0], [-1e8, 1.0]])
    values = DefinedValues(Linear(), X, np.array([0, 1, 2]))
    coef = np.array([1e3, -1e3, 1e-9])
    np.testing.assert_array_max_ulp(
        values.product(np.arange(3), coef, np.array([1, 2])), exact(X, range(3), coef, [1, 2]), 1
    )
