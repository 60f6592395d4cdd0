"""Feature maps against the kernels they belong to, and against their definitions."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC
from maxmargin.kernel_methods.feature_maps import (
    GaussianBasis,
    GaussianSeriesMap,
    MonomialMap,
    PolarMap,
    PolynomialMap,
    RadialMap,
)
from maxmargin.kernels import Polynomial
from maxmargin.runtime import validation as _validation

MAPS = [
    PolynomialMap(),
    PolynomialMap(degree=3, gamma="scale", coef0=1.0),
    MonomialMap(degree=3),
    MonomialMap(include_bias=True),
    RadialMap(),
    GaussianSeriesMap(order=3),
    GaussianBasis(),
    GaussianBasis(sigma=2.0),
]
POINTS = np.round(np.random.default_rng(0).standard_normal((12, 3)), 2)
POINTS[np.random.default_rng(1).random(POINTS.shape) < 0.4] = 0.0
POINTS[5] = 0.0
every_map = pytest.mark.parametrize("feature_map", MAPS, ids=repr)


class TwoOfMany(PolarMap):
    """PolarMap without its refusal, on the first and the last of any number of columns, for scikit-learn's checks."""

    def _check(self, X):
        pass

    def _features(self, X):
        return super()._features(X[:, [0, -1]])


@parametrize_with_checks([*MAPS, TwoOfMany()])
def test_maps_keep_scikit_learns_contract(estimator, check):
    check(estimator)


def exponents(d, m):
    """All exponents of total degree m in d columns, lexicographically by the columns they use."""
    for columns in itertools.combinations_with_replacement(range(d), m):
        yield [columns.count(j) for j in range(d)]


def slow_polynomial(x, degree, gamma, coef0):
    """The map from the multinomial theorem, one feature at a time."""
    features = []
    for m in range(degree + 1):
        if coef0 == 0 and m < degree:
            continue
        for a in exponents(len(x), m):
            ways = math.factorial(degree) / (math.factorial(degree - m) * math.prod(map(math.factorial, a)))
            monomial = math.prod(v**power for v, power in zip(x, a, strict=True))
            features.append(math.sqrt(ways * coef0 ** (degree - m) * gamma**m) * monomial)
    return features


# PolynomialMap


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.floats(-3, 3, width=32)),
    st.integers(1, 6),
    st.sampled_from([0.25, 1.0, 3.0]),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
)
def test_polynomial_map_has_the_kernel_as_inner_product(X, degree, gamma, coef0):
    Z = PolynomialMap(degree, gamma, coef0).fit_transform(X)
    expected = (gamma * (X @ X.T) + coef0) ** degree
    size = (gamma * np.abs(X) @ np.abs(X).T + coef0) ** degree
    np.testing.assert_allclose(Z @ Z.T, expected, rtol=0, atol=1e-12 * max(1.0, size.max()))
    slow = [slow_polynomial(x, degree, gamma, coef0) for x in X]
    np.testing.assert_allclose(Z, slow, rtol=1e-12, atol=1e-300)


def test_polynomial_map_is_the_lectures():
    x1, x2 = 3.0, -2.0
    root = math.sqrt(2)
    np.testing.assert_allclose(PolynomialMap().fit_transform([[x1, x2]]), [[x1**2, root * x1 * x2, x2**2]], rtol=1e-15)
    six = [1, root * x1, root * x2, x1**2, root * x1 * x2, x2**2]
    np.testing.assert_allclose(PolynomialMap(coef0=1.0).fit_transform([[x1, x2]]), [six], rtol=1e-15)


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_polynomial_map_counts_its_features(d, degree):
    X = np.ones((2, d))
    complete, top = PolynomialMap(degree, coef0=1.0).fit(X), PolynomialMap(degree).fit(X)
    assert complete.n_output_features_ == math.comb(d + degree, degree) == complete.transform(X).shape[1]
    assert top.n_output_features_ == math.comb(d + degree - 1, degree) == top.transform(X).shape[1]
    assert (
        len(complete.get_feature_names_out())
        == len(set(complete.get_feature_names_out()))
        == complete.n_output_features_
    )


def test_polynomial_map_names_its_features():
    table = pd.DataFrame({"width": [1.0, 2.0], "height": [3.0, 5.0]})
    lifted = PolynomialMap(3, coef0=1.0).fit(table)
    assert lifted.get_feature_names_out().tolist() == [
        "1",
        "1.732 width",
        "1.732 height",
        "1.732 width^2",
        "2.449 width height",
        "1.732 height^2",
        "width^3",
        "1.732 width^2 height",
        "1.732 width height^2",
        "height^3",
    ]
    values = lifted.set_output(transform="pandas").transform(table)
    np.testing.assert_allclose(values["2.449 width height"], math.sqrt(6) * table["width"] * table["height"])
    again = clone(lifted).set_output(transform="polars").fit_transform(pl.DataFrame(table))
    np.testing.assert_allclose(again["width^3"], table["width"] ** 3)


def test_scale_is_the_kernels():
    K = Polynomial(degree=3, gamma="scale", coef0=1.0)(POINTS)
    Z = PolynomialMap(3, "scale", 1.0).fit_transform(POINTS)
    np.testing.assert_allclose(Z @ Z.T, K, rtol=1e-12, atol=1e-13)


def test_many_columns_and_rows_do_not_change_the_features():
    """More rows than are computed at a time, and a row alone, give the same numbers."""
    X = np.random.default_rng(0).standard_normal((700, 40))
    lifted = PolynomialMap(3, 0.1, 1.0).fit(X)
    Z = lifted.transform(X)
    np.testing.assert_array_equal(Z[650:651], lifted.transform(X[650:651]))
    np.testing.assert_allclose(Z[::100] @ Z[5::100].T, (0.1 * X[::100] @ X[5::100].T + 1) ** 3, rtol=1e-10)


def test_high_degrees_of_one_column():
    x = np.array([[0.9], [1.1], [0.01]])
    Z = PolynomialMap(300, 1.0, 0.5).fit_transform(x)
    np.testing.assert_allclose(Z @ Z.T, (x @ x.T + 0.5) ** 300, rtol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"degree": 0}, "degree must be >= 1.*degree=0"),
        ({"degree": 2.5}, "degree must be an integer"),
        ({"coef0": -1.0}, "coef0 must be >= 0.*negative constant the kernel is no inner product"),
        ({"gamma": -1.0}, "gamma must be > 0; got gamma=-1.0"),
        ({"gamma": 0.0}, "gamma must be > 0; got gamma=0.0"),
        ({"gamma": "scal"}, "Did you mean 'scale'"),
        ({"degree": 400, "coef0": 1e10}, "overflow"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PolynomialMap(**parameters).fit([[1.0]])


def test_maps_that_do_not_fit_are_refused_with_their_number(monkeypatch):
    X = np.ones((10, 1000))
    with pytest.raises(MemoryError, match=r"degree 6 of 1,000 columns, 1,\d{3},\d{3},\d{3},\d{3},\d{3} features"):
        PolynomialMap(6, coef0=1.0).fit(X)
    with pytest.raises(MemoryError, match="GaussianSeriesMap of order 9"):
        GaussianSeriesMap(9).fit(X)
    lifted = PolynomialMap(2, coef0=1.0).fit(X)
    monkeypatch.setattr(_validation, "available_memory", lambda: 1e7)
    with pytest.raises(MemoryError, match=r"10 rows, 501,501 features each, needs about 0.0 GB.*use the kernel"):
        lifted.transform(X)
    sparse = sp.random(500, 1000, 0.1, format="csr", random_state=0)
    with pytest.raises(MemoryError, match="entries that are not zero"):
        lifted.transform(sparse)


def test_overflow_is_an_error_that_names_the_row():
    X = np.array([[1.0], [1e200]])
    for points in (X, sp.csr_matrix(X)):
        with pytest.raises(ValueError, match=r"features overflow in row 1 of X.*Scale the data"):
            PolynomialMap(2).fit_transform(points)
    with pytest.raises(ValueError, match=r"do not fit float32"):
        PolynomialMap(3).fit_transform(np.array([[1e15]], np.float32))


# Sparse points


def test_sparse_points_have_sparse_features_of_the_same_values():
    for feature_map in (
        PolynomialMap(4, 0.5, 1.0),
        PolynomialMap(3),
        MonomialMap(3, include_bias=True),
        RadialMap(),
        GaussianSeriesMap(4, sigma=2.0),
    ):
        dense = feature_map.fit_transform(POINTS)
        for form in (sp.csr_matrix, sp.csc_array):
            sparse = feature_map.fit_transform(form(POINTS))
            assert sp.issparse(sparse)
            assert sparse.format == "csr"
            np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-14)
            assert np.count_nonzero(dense) == sparse.nnz
            ordered = sp.csr_matrix((sparse.data, sparse.indices, sparse.indptr), shape=sparse.shape)
            ordered.has_sorted_indices = False
            ordered.sort_indices()
            np.testing.assert_array_equal(ordered.indices, sparse.indices)


def test_sparse_points_of_very_many_columns():
    """Half a million millions of features, of which a row has few."""
    d = 1_000_000
    X = sp.csr_matrix(([2.0, 3.0, 5.0], ([0, 0, 1], [7, d - 1, 999])), shape=(3, d))
    Z = PolynomialMap(2, coef0=1.0).fit_transform(X)
    assert Z.shape == (3, math.comb(d + 2, 2))
    rows = [dict(zip(Z[[i]].indices.tolist(), Z[[i]].data, strict=True)) for i in range(3)]
    products = [[sum(a[j] * b.get(j, 0.0) for j in a) for b in rows] for a in rows]
    np.testing.assert_allclose(products, ((X @ X.T).toarray() + 1.0) ** 2)
    # before (7, 7) stand the constant, d columns, and the products that begin with column 0, ..., 6
    squares = 1 + d + sum(d - j for j in range(7))
    np.testing.assert_array_equal(Z[[0]].indices, [0, 8, d, squares, squares + d - 8, math.comb(d + 2, 2) - 1])
    with pytest.raises(ValueError, match="more columns than can be numbered"):
        PolynomialMap(4).fit_transform(X)


def test_stored_zeros_are_zeros():
    X = sp.csr_matrix(([1.0, 0.0, 2.0], [0, 1, 2], [0, 3]), shape=(1, 3))
    Z = PolynomialMap(2).fit_transform(X)
    assert Z.nnz == 3
    assert X.nnz == 3
    np.testing.assert_allclose(Z.toarray(), PolynomialMap(2).fit_transform([[1.0, 0.0, 2.0]]))


@every_map
def test_float32_stays_and_is_as_exact_as_it_can_be(feature_map):
    for points in (POINTS, sp.csr_matrix(POINTS)):
        single = clone(feature_map).fit_transform(points.astype(np.float32))
        double = clone(feature_map).fit_transform(points)
        assert single.dtype == np.float32
        assert double.dtype == np.float64
        single, double = (Z.toarray() if sp.issparse(Z) else Z for Z in (single, double))
        np.testing.assert_allclose(single, double, rtol=2e-6, atol=1e-7)


@every_map
def test_maps_can_be_pickled_and_cloned(feature_map):
    fitted = clone(feature_map).fit(POINTS)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(POINTS), fitted.transform(POINTS))
    names = again.get_feature_names_out()
    assert len(set(names)) == len(names) == again.transform(POINTS).shape[1]
    assert clone(fitted).get_params() == feature_map.get_params()


# The plain maps


def test_monomial_map_is_powers_of_every_column():
    X = np.array([[2.0, -1.0], [0.5, 3.0]])
    Z = MonomialMap(3, include_bias=True).fit(X)
    np.testing.assert_allclose(Z.transform(X), [[1, 2, -1, 4, 1, 8, -1], [1, 0.5, 3, 0.25, 9, 0.125, 27]])
    assert Z.get_feature_names_out().tolist() == ["1", "x0", "x1", "x0^2", "x1^2", "x0^3", "x1^3"]
    np.testing.assert_array_equal(MonomialMap(1).fit_transform(X), X)


def test_an_interval_is_separated_by_a_line_in_x_and_x_squared():
    x = np.array([[-3.0], [-2.0], [-0.5], [0.0], [0.7], [2.2], [4.0]])
    y = (np.abs(x) < 1).ravel()
    model = make_pipeline(MonomialMap(2), SVC(kernel="linear", C=math.inf)).fit(x, y)
    np.testing.assert_array_equal(model.predict(x), y)


def test_radial_map_makes_a_circle_a_plane():
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, 2 * np.pi, 60), np.arange(60) % 2
    X = (1.0 + y)[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    Z = RadialMap().fit(X).transform(X)
    np.testing.assert_allclose(Z, np.column_stack((X, (X**2).sum(axis=1))))
    model = SVC(kernel="linear", C=math.inf, tol=1e-8).fit(Z, y)  # planes |x|^2 = 1 and |x|^2 = 4
    assert model.report_.margin == pytest.approx(3.0, rel=1e-6)
    assert RadialMap().fit(pd.DataFrame({"a": [1.0], "b": [2.0]})).get_feature_names_out().tolist() == [
        "a",
        "b",
        "|x|^2",
    ]


def test_polar_map_can_be_undone():
    X = np.random.default_rng(0).standard_normal((50, 2))
    r, theta = PolarMap().fit_transform(X).T
    np.testing.assert_allclose(np.column_stack((r * np.cos(theta), r * np.sin(theta))), X, atol=1e-14)
    special = [[0.0, 0.0], [-1.0, -0.0], [0.0, -2.0], [1e200, 1e200]]
    expected = [[0, 0], [1, np.pi], [2, -np.pi / 2], [math.sqrt(2) * 1e200, np.pi / 4]]
    np.testing.assert_allclose(PolarMap().fit_transform(special), expected)
    np.testing.assert_allclose(PolarMap().fit_transform(sp.csr_matrix(special)), expected)
    assert PolarMap().fit_transform(X.astype(np.float32)).dtype == np.float32


def test_polar_map_refuses_other_than_two_columns():
    with pytest.raises(ValueError, match=r"PolarMap takes exactly 2 columns, and X has 3 feature\(s\): choose the two"):
        PolarMap().fit(np.ones((2, 3)))
    table = pd.DataFrame({"east": [1.0, 0.0], "north": [1.0, 3.0], "height": [5.0, 6.0]})
    with pytest.raises(ValueError, match=r"\(east, north, height\)"):
        PolarMap().fit(table)
    chosen = ColumnTransformer([("polar", PolarMap(), ["east", "north"])], remainder="passthrough")
    np.testing.assert_allclose(chosen.fit_transform(table), [[math.sqrt(2), np.pi / 4, 5], [3, np.pi / 2, 6]])
    assert chosen.get_feature_names_out().tolist() == ["polar__r", "polar__theta", "remainder__height"]


# Gaussians


def gaussian(X, Z, sigma):
    return np.exp(-((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2) / (2 * sigma**2))


def test_gaussian_series_is_the_lectures():
    x = np.linspace(-2, 2, 9)[:, None]
    Z = GaussianSeriesMap(6).fit_transform(x)
    for k in range(7):
        np.testing.assert_allclose(Z[:, [k]], np.exp(-(x**2) / 2) * x**k / math.sqrt(math.factorial(k)), rtol=1e-14)
    wide = GaussianSeriesMap(6, sigma=2.5).fit_transform(2.5 * x)
    np.testing.assert_allclose(wide, Z, rtol=1e-13)
    names = GaussianSeriesMap(2, sigma=2.0).fit(np.ones((1, 2))).get_feature_names_out()
    assert names.tolist() == ["g", "0.5 g x0", "0.5 g x1", "0.1768 g x0^2", "0.25 g x0 x1", "0.1768 g x1^2"]


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=st.floats(-4, 4)),
    st.integers(0, 7),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_truncation_error_is_the_largest_there_is(X, order, sigma):
    series = GaussianSeriesMap(order, sigma).fit(X)
    Z = series.transform(X)
    errors = np.abs(gaussian(X, X, sigma) - Z @ Z.T)
    stated = series.truncation_error(X)
    assert errors.max() <= stated + 1e-14
    assert errors.max() >= stated - 1e-13  # the longest row with itself


def test_truncation_error_falls_to_nothing():
    X = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    stated = [GaussianSeriesMap(order).fit(X).truncation_error(X) for order in range(25)]
    assert (np.diff(stated) < 0).all()
    assert stated[-1] < 1e-15
    Z = GaussianSeriesMap(24).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, gaussian(X, X, 1.0), atol=1e-14)


@pytest.mark.parametrize(("size", "order"), [(5.0, 80), (20.0, 600), (30.0, 1000), (45.0, 1000), (1e160, 3)])
def test_far_points_neither_overflow_nor_break_the_bound(size, order):
    x = size * np.array([[1.0], [0.97], [-1.0], [0.1]])
    series = GaussianSeriesMap(order).fit(x)
    Z = series.transform(x)
    with np.errstate(over="ignore"):
        errors = np.abs(gaussian(x, x, 1.0) - Z @ Z.T)
    assert errors.max() <= series.truncation_error(x) + 1e-12
    if size == 30.0:
        assert series.truncation_error(x) < 1e-3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"order": -1}, "order must be >= 0"), ({"order": 1001}, "<= 1000"), ({"sigma": 0.0}, "sigma must be > 0")],
)
def test_series_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        GaussianSeriesMap(**parameters).fit([[1.0]])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_gaussian_basis_is_a_bump_on_each_training_point(form):
    centers = POINTS[[0, 1, 2, 3]]
    X = form(np.vstack((centers, centers[[1, 1]])))
    basis = GaussianBasis(sigma=1.5).fit(X)
    expected = [
        [math.exp(-sum((a - c) ** 2 for a, c in zip(x, z, strict=True)) / 1.5**2) for z in centers] for x in POINTS
    ]
    for points in (POINTS, sp.csr_matrix(POINTS)):
        np.testing.assert_allclose(basis.transform(points), expected, rtol=1e-12)
    kept = basis.centers_.toarray() if sp.issparse(basis.centers_) else basis.centers_
    np.testing.assert_array_equal(kept, centers)  # equal points once, in the order of their appearance


def test_gaussian_basis_takes_centers():
    x = np.array([[0.0], [2.0]])
    expected = np.exp(-((x - np.array([[1.0, 2.0, 5.0]])) ** 2) / 4)
    for centers in ([1.0, 2.0, 5.0], [[1.0], [2.0], [5.0]], np.array([1, 2, 5])):
        basis = GaussianBasis(sigma=2.0, centers=centers).fit(x)
        np.testing.assert_allclose(basis.transform(x), expected)
        assert clone(basis).centers is not None
    with pytest.raises(ValueError, match=r"centers has 1 column\(s\) and X has 2"):
        GaussianBasis(centers=[1.0, 2.0]).fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match="sigma must be > 0"):
        GaussianBasis(sigma=-1).fit(x)
    with pytest.raises(ValueError, match="too small"):
        GaussianBasis(sigma=1e-200).fit(x)


def test_centers_do_not_follow_the_users_array():
    X = np.array([[0.0], [1.0]])
    basis = GaussianBasis().fit(X)
    before = basis.transform([[0.5]])
    X += 10.0
    np.testing.assert_array_equal(basis.transform([[0.5]]), before)


def test_features_do_not_depend_on_the_number_of_rows_at_a_time():
    X = np.random.default_rng(0).standard_normal((600, 2))
    basis = GaussianBasis(centers=X[:5]).fit(X)
    np.testing.assert_allclose(basis.transform(X)[[0, 300, 599]], basis.transform(X[[0, 300, 599]]), rtol=1e-14)
