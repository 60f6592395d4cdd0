"""Kernels against their definitions, and everything that holds for all of them."""

from __future__ import annotations

import itertools
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
from sklearn.gaussian_process import kernels as gaussian_process
from sklearn.metrics.pairwise import pairwise_kernels

from maxmargin import SVC
from maxmargin import kernels as fast
from maxmargin.kernels import (
    KERNELS,
    RBF,
    ArcCosine,
    Callable,
    Centered,
    ChiSquared,
    Columns,
    HistogramIntersection,
    Jaccard,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Periodic,
    Polynomial,
    Power,
    Precomputed,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
    Tanimoto,
    as_kernel,
    validate_gram,
)
from maxmargin.kernels.gram.choice import make_gram
from maxmargin.kernels.objects.base import ObjectKernel
from reference import kernels as slow

rng = np.random.default_rng(0)
A = np.round(rng.gamma(1.0, size=(9, 5)), 3)
A[rng.random(A.shape) < 0.4] = 0.0
A[3] = 0.0
B = np.round(rng.gamma(1.0, size=(7, 5)), 3)
B[rng.random(B.shape) < 0.4] = 0.0
ROWS = np.vstack([A, B])
SCALE = 1.0 / (5 * np.vstack([A, B]).var())


def affinity(A, B):
    """A valid kernel written by a user, for dense and sparse points."""
    P = A @ B.T
    return (P.toarray() if sp.issparse(P) else P) + 1.0


# name -> the kernel and the definition it must agree with on A and B
CASES: dict[str, tuple[Kernel, object]] = {
    "linear": (Linear(), slow.linear),
    "poly": (Polynomial(), slow.polynomial(SCALE, 0.0, 3)),
    "rbf": (RBF(), slow.rbf(SCALE)),
    "sigmoid": (Sigmoid(), slow.sigmoid(SCALE, 0.0)),
    "laplacian": (Laplacian(), slow.laplacian(SCALE)),
    "matern": (Matern(), slow.matern(SCALE, 1.5)),
    "matern 1/2": (Matern(sigma=0.7, nu=0.5), slow.matern(1 / (2 * 0.7**2), 0.5)),
    "matern 5/2": (Matern(0.4, 2.5), slow.matern(0.4, 2.5)),
    "rational quadratic": (RationalQuadratic(), slow.rational_quadratic(SCALE, 1.0)),
    "rational quadratic 0.3": (RationalQuadratic(0.5, 0.3), slow.rational_quadratic(0.5, 0.3)),
    "periodic": (Periodic(1.7, 0.3), slow.periodic(1.7, 0.3)),
    "arc cosine 0": (ArcCosine(0), slow.arc_cosine(0)),
    "arc cosine 1": (ArcCosine(), slow.arc_cosine(1)),
    "arc cosine 2": (ArcCosine(2), slow.arc_cosine(2)),
    "tanimoto": (Tanimoto(), slow.tanimoto),
    "chi2": (ChiSquared(), slow.chi_squared(1.0)),
    "intersection": (HistogramIntersection(), slow.intersection),
    "poly degree 0": (Polynomial(degree=0, gamma=2.0), slow.polynomial(2.0, 0.0, 0)),
    "poly degree 13": (Polynomial(degree=13, gamma=0.1, coef0=1.0), slow.polynomial(0.1, 1.0, 13)),
    "poly degree 40": (Polynomial(degree=40.0, gamma=0.1, coef0=-0.5), slow.polynomial(0.1, -0.5, 40)),
    "poly degree 2.5": (Polynomial(degree=2.5, gamma="auto"), slow.polynomial(0.2, 0.0, 2.5)),
    "rbf sigma": (RBF(sigma=0.7), slow.rbf(1 / (2 * 0.7**2))),
    "rbf tiny gamma": (RBF(gamma=1e-300), lambda x, z: 1.0),
    "sigmoid coef0": (Sigmoid(gamma="auto", coef0=-1.0), slow.sigmoid(0.2, -1.0)),
    "chi2 gamma": (ChiSquared(gamma=0.3), slow.chi_squared(0.3)),
    "callable": (Callable(affinity), lambda x, z: slow.linear(x, z) + 1.0),
    "sum": (
        RBF(0.5) + Linear() + ChiSquared(),
        lambda x, z: slow.rbf(0.5)(x, z) + slow.linear(x, z) + slow.chi_squared(1.0)(x, z),
    ),
    "product": (RBF(0.5) * Linear(), lambda x, z: slow.rbf(0.5)(x, z) * slow.linear(x, z)),
    "scaled": (0.25 * Laplacian(1.5), lambda x, z: 0.25 * slow.laplacian(1.5)(x, z)),
    "power": (Linear() ** 3, lambda x, z: slow.linear(x, z) ** 3),
    "power 0.5": (HistogramIntersection() ** 0.5, lambda x, z: slow.intersection(x, z) ** 0.5),
    "normalized": (Normalized(Linear()), slow.normalized(slow.linear)),
    "normalized poly": (Normalized(Polynomial(2, 1.0, 1.0)), slow.normalized(slow.polynomial(1.0, 1.0, 2))),
    "centered": (Centered(RBF(0.5)), slow.centered(slow.rbf(0.5), ROWS.tolist(), [1.0] * len(ROWS))),
    "columns": (Columns(RBF(0.5), [-1, 0]), slow.restricted(slow.rbf(0.5), [4, 0])),
    "columns mask": (
        Columns(Linear(), np.array([True, False, True, False, False])),
        slow.restricted(slow.linear, [0, 2]),
    ),
    "columns slice": (Columns(Laplacian(1.0), slice(1, 4)), slow.restricted(slow.laplacian(1.0), [1, 2, 3])),
    "nested": (
        2.0
        * (Columns(RBF(0.5), slice(0, 2)) + Columns(HistogramIntersection(), [2, 3, 4]))
        * Normalized(Linear() + Polynomial(2, 0.1, 1.0)),
        lambda x, z: (
            2.0
            * (slow.rbf(0.5)(x[:2], z[:2]) + slow.intersection(x[2:], z[2:]))
            * slow.normalized(lambda s, t: slow.linear(s, t) + slow.polynomial(0.1, 1.0, 2)(s, t))(x, z)
        ),
    ),
}
every_kernel = pytest.mark.parametrize("kernel", [pytest.param(kernel, id=name) for name, (kernel, _) in CASES.items()])


def same_params(one, two):
    one, two = repr(one), repr(two)
    return one == two


def test_every_registered_kernel_is_tested():
    tested = {type(kernel) for kernel, _ in CASES.values()}
    on_vectors = {kind for kind in KERNELS.values() if not issubclass(kind, ObjectKernel)}
    assert on_vectors - {Precomputed} <= tested  # for others, see test_object_kernels.py


# What holds for every kernel


@pytest.mark.parametrize(("kernel", "definition"), list(CASES.values()), ids=list(CASES))
def test_definition(kernel, definition):
    K = kernel(A, B)
    assert K.dtype == np.float64
    assert K.flags.c_contiguous
    np.testing.assert_allclose(K, slow.gram(definition, A, B), rtol=1e-11, atol=1e-13)


@every_kernel
def test_symmetric_with_its_diagonal(kernel):
    K = kernel(A)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K.diagonal(), kernel.diagonal(A))
    resolved = kernel.resolve(A)
    np.testing.assert_allclose(resolved.matrix(A, A), K, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(resolved.matrix(A, B), resolved.matrix(B, A).T, rtol=1e-12, atol=1e-14)


@every_kernel
def test_positive_semidefinite_if_it_says_so(kernel):
    if kernel.psd:
        assert validate_gram(kernel(ROWS), tol=1e-10)


@every_kernel
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_sparse_equals_dense(kernel, container):
    resolved, sparse_resolved = kernel.resolve(ROWS), kernel.resolve(container(ROWS))
    K = resolved.matrix(A, B)
    exact = {"rtol": 1e-12, "atol": 1e-13 * np.abs(K).max()}
    for left, right in itertools.product((A, container(A)), (B, container(B))):
        for ready in (resolved, sparse_resolved):
            values = ready.matrix(left, right)
            assert type(values) is np.ndarray
            assert values.flags.c_contiguous
            np.testing.assert_allclose(values, K, **exact)
    np.testing.assert_allclose(sparse_resolved.self_similarity(container(A)), resolved.self_similarity(A), **exact)
    np.testing.assert_allclose(kernel(container(A), B), K, **exact)
    np.testing.assert_allclose(kernel(container(A)), kernel(A), **exact)


@every_kernel
def test_float32_points_are_computed_in_float64(kernel):
    A32, B32 = A.astype(np.float32), B.astype(np.float32)
    K = kernel(A32, B32)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, kernel(A32.astype(float), B32.astype(float)), rtol=1e-11, atol=1e-13)
    resolved = kernel.resolve(A32)
    np.testing.assert_allclose(resolved.matrix(A32, B), resolved.matrix(A32.astype(float), B), rtol=1e-11, atol=1e-13)
    assert resolved.self_similarity(sp.csr_array(A32)).dtype == np.float64


@every_kernel
def test_clone_pickle_and_repr(kernel):
    names = {**vars(fast), "affinity": affinity, "array": np.array}
    K = kernel(A, B)
    assert same_params(clone(kernel), kernel)
    if not isinstance(kernel, Callable):
        again = eval(repr(kernel), names)
        assert same_params(again, kernel)
        np.testing.assert_array_equal(again(A, B), K)
    resolved = kernel.resolve(ROWS)
    loaded = pickle.loads(pickle.dumps(resolved))
    np.testing.assert_array_equal(loaded.matrix(A, B), resolved.matrix(A, B))
    fresh = clone(resolved)
    assert not [name for name in vars(fresh) if name.endswith("_")]
    np.testing.assert_allclose(fresh(A, B), K, rtol=1e-12, atol=1e-13)


@every_kernel
def test_resolving_changes_nothing_and_twice_is_once(kernel):
    before = pickle.dumps(kernel)
    resolved = kernel.resolve(ROWS)
    assert pickle.dumps(kernel) == before
    assert resolved is not kernel
    np.testing.assert_array_equal(resolved.resolve(ROWS).matrix(A, B), resolved.matrix(A, B))
    np.testing.assert_allclose(resolved(A, B), resolved.matrix(A, B), rtol=1e-12, atol=1e-13)


@every_kernel
def test_tables_and_lists(kernel):
    K = kernel(A, B)
    names = list("abcde")
    for table in (pd.DataFrame, pl.DataFrame):
        left, right = (table(dict(zip(names, M.T, strict=True))) for M in (A, B))
        np.testing.assert_allclose(kernel(left, right), K, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(kernel(A.tolist(), B.tolist()), K)


@every_kernel
def test_input_is_not_changed(kernel):
    left, right = A.copy(), B.copy()
    kernel(left, right)
    kernel(left)
    np.testing.assert_array_equal(left, A)
    np.testing.assert_array_equal(right, B)


@every_kernel
def test_one_point(kernel):
    assert kernel(A[:1]).shape == (1, 1)
    assert kernel(A[:1], B).shape == (1, 7)


@pytest.mark.parametrize(
    ("kernel", "metric", "params"),
    [
        (Linear(), "linear", {}),
        (Polynomial(2, 0.3, 0.7), "polynomial", {"degree": 2, "gamma": 0.3, "coef0": 0.7}),
        (RBF(0.3), "rbf", {"gamma": 0.3}),
        (Sigmoid(0.3, 0.7), "sigmoid", {"gamma": 0.3, "coef0": 0.7}),
        (Laplacian(0.3), "laplacian", {"gamma": 0.3}),
        (ChiSquared(0.3), "chi2", {"gamma": 0.3}),
        (Normalized(Linear()), "cosine", {}),
    ],
    ids=repr,
)
def test_against_scikit_learn(kernel, metric, params):
    rng = np.random.default_rng(1)
    for d in (1, 3, 300):  # above and below the width of a block
        left, right = rng.random((70, d)), rng.random((200, d))
        np.testing.assert_allclose(kernel(left, right), pairwise_kernels(left, right, metric, **params), rtol=1e-10)


points = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 4)),
    elements=st.one_of(st.just(0.0), st.floats(0.0, 100.0, allow_subnormal=False)),
)


@settings(max_examples=30, deadline=None)
@given(points)
def test_any_points(X):
    for name, kind in KERNELS.items():
        if kind is Precomputed or issubclass(kind, ObjectKernel):
            continue
        kernel = kind()
        K = kernel(X)
        assert np.isfinite(K).all(), name
        np.testing.assert_array_equal(K, K.T)
        if kernel.psd:
            assert validate_gram(K), name
        scale = np.abs(K).max()
        np.testing.assert_allclose(kernel(sp.csr_array(X)), K, rtol=1e-9, atol=1e-9 * scale, err_msg=name)


# gamma


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weighted_scale_equals_repetition(container, dtype):
    X = A.astype(dtype)
    weights = np.array([1, 2, 0, 3, 1, 1, 4, 0, 1])
    repeated = container(np.repeat(X, weights, axis=0))
    weighted = RBF().resolve(container(X), weights.astype(float)).gamma
    assert weighted == pytest.approx(RBF().resolve(repeated).gamma, rel=1e-13)
    assert weighted == pytest.approx(1 / (5 * slow.variance(X, weights)), rel=1e-12)


def test_scale_is_scikit_learns():
    X = np.random.default_rng(2).normal(3.0, 2.0, size=(5000, 300))  # more than one chunk
    assert RBF().resolve(X).gamma == pytest.approx(1 / (300 * X.var()), rel=1e-13)
    assert Polynomial(gamma="auto").resolve(X).gamma == 1 / 300


@pytest.mark.parametrize("value", [0.0, 0.1, 1e7 + 0.3])
def test_scale_of_constant_data_is_one(value):
    X = np.full((7, 3), value)
    assert RBF().resolve(X).gamma == 1.0
    assert RBF().resolve(sp.csr_array(X)).gamma == 1.0
    np.testing.assert_array_equal(RBF()(X), np.ones((7, 7)))


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (RBF("scal"), ValueError, "Did you mean 'scale'"),
        (RBF(-1.0), ValueError, "gamma must be > 0; got gamma=-1.0"),
        (RBF(0), ValueError, "gamma must be > 0; got gamma=0"),
        (Laplacian(0.0), ValueError, "gamma must be > 0; got gamma=0.0"),
        (Polynomial(gamma=0.0), ValueError, "gamma must be > 0; got gamma=0.0"),
        (Sigmoid(gamma=0.0), ValueError, "gamma must be > 0; got gamma=0.0"),
        (ChiSquared(gamma=0.0), ValueError, "gamma must be > 0; got gamma=0.0"),
        (RBF(np.inf), ValueError, "finite"),
        (RBF(None), TypeError, "gamma must be a number"),
        (RBF(0.5, sigma=1.0), ValueError, "not both"),
        (RBF(sigma=0.0), ValueError, "sigma must be > 0"),
        (RBF(sigma=1e-200), ValueError, "too small"),
        (Polynomial(degree=-1), ValueError, "degree"),
        (Polynomial(degree="3"), TypeError, "degree"),
        (Polynomial(coef0=np.nan), ValueError, "coef0"),
        (Sigmoid(coef0=np.inf), ValueError, "coef0"),
        (ChiSquared(gamma=-1), ValueError, "gamma"),
        (Scaled(RBF(), 0.0), ValueError, "factor"),
        (Scaled("rbf", 1.0), TypeError, "needs a kernel object"),
        (Power(RBF(), -1), ValueError, "exponent"),
        (Sum([]), ValueError, "at least one"),
        (Product([RBF(), "linear"]), TypeError, "list of kernel objects"),
        (Callable(3), TypeError, "callable"),
        (Columns(RBF(), [5]), ValueError, "there are 5 columns"),
        (Columns(RBF(), [-6]), ValueError, "there are 5 columns"),
        (Columns(RBF(), []), ValueError, "no column"),
        (Columns(RBF(), slice(5, 9)), ValueError, "no column"),
        (Columns(RBF(), [True, False]), ValueError, "mask of 2"),
        (Columns(RBF(), ["a"]), ValueError, "no column names"),
        (Columns(RBF(), [0, "a"]), TypeError, "positions, names"),
        (Columns(RBF(), [0.5]), TypeError, "positions, names"),
    ],
    ids=repr,
)
def test_wrong_parameters(kernel, error, message):
    with pytest.raises(error, match=message):
        kernel.resolve(A)
    with pytest.raises(error, match=message):
        kernel(A)


# Precision and range


@pytest.mark.parametrize("offset", [0.0, 1e7, -3e9])
def test_far_from_the_origin(offset):
    X = np.random.default_rng(3).integers(-1000, 1000, size=(40, 3)) / 256.0
    moved = X + offset  # exact: the noise is a multiple of 2^-8
    np.testing.assert_allclose(RBF(0.5)(moved), RBF(0.5)(X), rtol=1e-10, atol=1e-14)
    resolved = RBF(0.5).resolve(moved[:20])
    np.testing.assert_allclose(
        resolved.matrix(moved[20:], moved[:20]), RBF(0.5)(X[20:], X[:20]), rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(), RBF(), RBF(1.0), Sigmoid(1.0), Linear() ** 3, Sum([Linear()])], ids=repr
)
@pytest.mark.filterwarnings("error")
def test_overflow_is_an_error(kernel):
    with pytest.raises(ValueError, match=r"overflow|variance"):
        kernel.resolve(A * 1e160)


@pytest.mark.parametrize("gamma", [1e-300, 0.5, 1e10])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_new_points_out_of_range_are_far_from_all(gamma, container):
    huge = container(np.full((2, 5), 1e200))
    kernel = RBF(gamma).resolve(container(A))
    np.testing.assert_array_equal(kernel.matrix(huge, container(A)), 0.0)
    np.testing.assert_array_equal(kernel.matrix(container(A), huge), 0.0)


def test_overflow_names_kernel_and_remedy():
    with pytest.raises(ValueError, match=r"kernel values overflow: scale the data or lower degree.*Polynomial"):
        Polynomial(degree=100, gamma=1.0).resolve(A * 100)


def test_fractional_power_of_a_negative_number():
    with pytest.raises(ValueError, match="not an integer"):
        Polynomial(degree=1.5, gamma=1.0)([[1.0], [-1.0]])
    with pytest.raises(ValueError, match="not an integer"):
        (Linear() ** 0.5)([[1.0], [-1.0]])
    X = np.array([[1.0, 1.0, 1.0], [0.1, 0.2, -0.3]])  # orthogonal, up to rounding
    assert Polynomial(degree=0.5, gamma=1.0)(X)[0, 1] < 1e-7
    assert (Linear() ** 0.5)(X)[0, 1] < 1e-7


def test_positive_semidefinite_as_the_parameters_say():
    assert Polynomial(2, coef0=1).psd
    assert Polynomial(2.0).psd
    assert not Polynomial(2.5).psd
    assert not Polynomial(2, coef0=-1).psd
    assert not Sigmoid().psd
    assert not Callable(affinity).psd
    assert not (RBF() + Sigmoid()).psd
    assert (RBF() * Linear()).psd
    assert (RBF() ** 2).psd
    assert not (RBF() ** 0.5).psd
    assert not Normalized(Centered(Columns(Scaled(Sigmoid(), 2), 0))).psd


# Histograms


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("kind", [ChiSquared, HistogramIntersection])
def test_negative_histograms(kind, container):
    bad = A.copy()
    bad[4, 2] = -0.5
    for kernel in (kind(), 2 * kind() + Linear(), Normalized(kind()), Columns(kind(), [2])):
        for use in (kernel, kernel.diagonal, kernel.resolve):
            with pytest.raises(ValueError, match=rf"{kind.__name__}.*negative.*-0.5 in row 4"):
                use(container(bad))
        with pytest.raises(ValueError, match="negative"):
            kernel.resolve(container(A)).check_points(container(bad))
        kernel.resolve(container(A)).check_points(container(B))
    Columns(kind(), [0, 1]).resolve(container(A)).check_points(container(bad))


# Functions and matrices of the user


def test_precomputed_has_no_function():
    kernel = Precomputed().resolve(A)
    for use in (lambda: kernel.matrix(A, B), lambda: kernel.self_similarity(A), lambda: Precomputed()(A)):
        with pytest.raises(ValueError, match="give the kernel matrix itself"):
            use()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda A, B: np.zeros((len(B), len(A))), "shape"),
        (lambda A, B: np.zeros(len(A)), "shape"),
        (lambda A, B: 1.0, "shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "finite"),
        (lambda A, B: np.full((len(A), len(B)), "x"), "real numbers"),
        (lambda A, B: np.full((len(A), len(B)), 1j), "real numbers"),
        (lambda A, B: None, "kernel function"),
    ],
)
def test_wrong_results_of_a_function(result, message):
    def my_function(A, B):
        return result(A, B)

    with pytest.raises(ValueError, match=rf"my_function.*{message}|{message}.*my_function"):
        Callable(my_function)(A, B)


def test_asymmetric_function():
    with pytest.raises(ValueError, match="not a kernel"):
        Callable(lambda A, B: np.add.outer(A[:, 0], 2 * B[:, 0]))(A)


def test_function_gets_the_points_once():
    observed = []

    def spy(A, B):
        observed.append(A is B)
        return A @ B.T

    Callable(spy).resolve(A).matrix(A.astype(np.float32), B)
    kernel = Callable(spy)
    kernel(A.astype(np.float32))
    probe = [False, True]  # some points among fewer, and among more
    assert observed == [*probe, True, False, *probe, True, True, True]


# Algebra


def test_operators():
    assert same_params(RBF() + Linear() + Sigmoid(), Sum([RBF(), Linear(), Sigmoid()]))
    assert same_params(RBF() + (Linear() + Sigmoid()), Sum([RBF(), Linear(), Sigmoid()]))
    assert same_params(RBF() * Linear() * Sigmoid(), Product([RBF(), Linear(), Sigmoid()]))
    assert same_params(RBF() + Linear() * Sigmoid(), Sum([RBF(), Product([Linear(), Sigmoid()])]))
    assert same_params(2 * RBF(), Scaled(RBF(), 2))
    assert same_params(RBF() * 2, Scaled(RBF(), 2))
    assert isinstance(np.float64(2.0) * RBF(), Scaled)
    assert same_params(RBF() ** 2, Power(RBF(), 2))
    for wrong in (
        lambda: RBF() + 1,
        lambda: RBF() * "x",
        lambda: "x" * RBF(),
        lambda: RBF() ** "x",
        lambda: RBF() ** RBF(),
    ):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (RBF(0.5) * RBF(0.25), RBF(0.75)),
        (RBF(0.5) ** 2, RBF(1.0)),
        (RBF(0.5) ** 0.5, RBF(0.25)),
        (Linear() ** 2, Polynomial(2, 1.0, 0.0)),
        (Linear() * Linear(), Linear() ** 2),
        (Columns(Linear(), [0, 1]) + Columns(Linear(), [2, 3, 4]), Linear()),
        (Columns(RBF(0.5), [0, 1]) * Columns(RBF(0.5), [2, 3, 4]), RBF(0.5)),
        (Linear() + Linear(), 2 * Linear()),
        (Normalized(RBF(0.5)), RBF(0.5)),
        (Normalized(3 * Laplacian(1.0)), Laplacian(1.0)),
        (Centered(Centered(RBF(0.5))), Centered(RBF(0.5))),
        (Columns(Columns(RBF(0.5), [0, -1]), [4, 2, 0]), Columns(RBF(0.5), [4, 0])),
    ],
    ids=repr,
)
def test_identities(one, two):
    np.testing.assert_allclose(one(A, B), two(A, B), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(one(A), two(A), rtol=1e-11, atol=1e-13)


def test_nested_parameters():
    kernel = RBF() + 2.0 * Polynomial()
    assert {"kernels", "k0", "k0__gamma", "k1__factor", "k1__kernel__degree"} <= set(kernel.get_params())
    assert set(kernel.get_params(deep=False)) == {"kernels"}
    kernel.set_params(k0__gamma=0.5, k1__factor=3.0, k1__kernel__degree=2)
    assert same_params(kernel, Sum([RBF(0.5), Scaled(Polynomial(2), 3.0)]))
    members = kernel.kernels
    kernel.set_params(k0=Linear(), k1__factor=4.0)
    assert same_params(kernel, Sum([Linear(), Scaled(Polynomial(2), 4.0)]))
    assert isinstance(members[0], RBF)
    kernel.set_params(kernels=[RBF(), Linear(), Sigmoid()], k2__coef0=1.0)
    assert kernel.get_params()["k2__coef0"] == 1.0
    with pytest.raises(ValueError, match="Invalid parameter 'k3'"):
        kernel.set_params(k3__gamma=1.0)
    copied = clone(kernel).set_params(k0__gamma=9.0)
    assert kernel.kernels[0].gamma == "scale"
    assert copied.kernels[0].gamma == 9.0


def test_normalized_needs_positive_self_similarity():
    with pytest.raises(ValueError, match="positive semidefinite"):
        Normalized(Sigmoid(1.0, -10.0))(A)


def test_point_without_features_has_no_cosine():
    assert Normalized(Linear())(A)[3, 3] == 0.0
    same = np.full((4, 2), 0.3)
    np.testing.assert_array_equal(Normalized(Centered(RBF(1.0)))(same).diagonal(), np.zeros(4))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_centered_by_weight(container, monkeypatch):
    weights = np.array([1.0, 2, 0, 3, 1, 1, 4, 0, 1])
    kernel = Centered(RBF(0.5)).resolve(container(A), weights)
    repeated = Centered(RBF(0.5)).resolve(container(np.repeat(A, weights.astype(int), axis=0)))
    K = kernel.matrix(container(A), container(B))
    np.testing.assert_allclose(K, repeated.matrix(container(A), container(B)), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        K, slow.gram(slow.centered(slow.rbf(0.5), A.tolist(), weights.tolist()), A, B), rtol=1e-11, atol=1e-13
    )
    # the weighted mean feature is zero
    np.testing.assert_allclose(weights @ K, 0.0, atol=1e-12)
    # small tiles change nothing
    monkeypatch.setattr("maxmargin.kernels.feature_space._TILE_BYTES", 100)
    tiled = Centered(RBF(0.5)).resolve(container(A), weights)
    np.testing.assert_allclose(tiled.matrix(container(A), container(B)), K, rtol=1e-12, atol=1e-14)


def test_centered_keeps_its_reference():
    X = A.copy()
    kernel = Centered(RBF(0.5)).resolve(X)
    K = kernel.matrix(A, B)
    np.testing.assert_allclose(kernel.resolve(B)(A, B), K, rtol=1e-14)
    X[:] = 0.0  # the reference is a copy
    np.testing.assert_array_equal(kernel.matrix(A, B), K)
    with pytest.raises(ValueError, match="5 features"):
        kernel.resolve(A[:, :2])
    changed = kernel.set_params(kernel__gamma=2.0)
    np.testing.assert_array_equal(changed(A, B), Centered(RBF(2.0))(A, B))


def test_centered_looks_training_points_up():
    calls = []

    def spy(A, B):
        calls.append((len(A), len(B)))
        return A @ B.T

    kernel = Centered(Callable(spy)).resolve(A)
    calls.clear()
    kernel.matrix(A[[1, 5]], A[2:8])
    assert calls == [(2, 6)]
    kernel.matrix(A[:2].astype(np.float32).astype(float) + 1.0, A)
    assert calls[1:] == [(2, 9), (2, 9)]


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_columns_by_name(table):
    X = table(dict(zip("abcde", A.T, strict=True)))
    expected = RBF(0.5)(A[:, [3, 1]])
    kernel = Columns(RBF(0.5), ["d", "b"])
    np.testing.assert_array_equal(kernel(X), expected)
    np.testing.assert_array_equal(Columns(RBF(0.5), "d")(X), RBF(0.5)(A[:, [3]]))
    np.testing.assert_array_equal(
        (kernel + Columns(Columns(Linear(), "b"), ["c", "b"]))(X), expected + Linear()(A[:, [1]])
    )
    resolved = kernel.resolve(A, feature_names=np.array(list("abcde"), dtype=object))
    np.testing.assert_array_equal(resolved(A), expected)
    assert resolved.columns == ["d", "b"]
    with pytest.raises(ValueError, match="got columns='f'"):
        Columns(RBF(), ["f"])(X)
    with pytest.raises(ValueError, match="columns of A and B differ"):
        kernel(X, table(dict(zip("bacde", A.T, strict=True))))
    with pytest.raises(ValueError, match="resolved for 5 columns"):
        resolved(A[:, :4])


def test_points_of_different_width():
    with pytest.raises(ValueError, match="A has 5 columns and B has 4"):
        RBF()(A, B[:, :4])


# By name


def test_as_kernel():
    assert same_params(as_kernel("rbf", gamma=0.5), RBF(0.5))
    assert same_params(as_kernel("poly", degree=2, coef0=1.0, gamma="auto"), Polynomial(2, "auto", 1.0))
    assert same_params(as_kernel("sigmoid", coef0=1.0), Sigmoid(coef0=1.0))
    assert same_params(as_kernel("chi2"), ChiSquared())
    assert same_params(as_kernel("chi2", gamma=2.0), ChiSquared(2.0))
    for name, kind in KERNELS.items():
        assert type(as_kernel(name)) is kind
    kernel = RBF()
    assert as_kernel(kernel) is kernel
    assert as_kernel(affinity).function is affinity


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("rfb", ValueError, "Did you mean 'rbf'"),
        ("", ValueError, "'linear'"),
        (3, ValueError, "kernel"),
        (RBF, TypeError, r"RBF\(\)"),
    ],
)
def test_unknown_kernel(spec, error, message):
    with pytest.raises(error, match=message):
        as_kernel(spec)


# Valid matrices


def test_valid_gram():
    validity = validate_gram(RBF()(A))
    assert validity
    assert str(validity).startswith("valid kernel matrix: symmetric")
    assert validity.relative_violation == pytest.approx(0.0, abs=1e-12)
    assert validate_gram(sp.csr_array(np.eye(3))).smallest_eigenvalue == 1.0
    assert validate_gram(np.zeros((2, 2))).valid
    assert validate_gram(np.eye(2) * 1e308).largest_eigenvalue == 1e308


def test_invalid_gram():
    K = np.diag([2.0, 1.0, -0.5])
    validity = validate_gram(K)
    assert not validity
    assert validity.symmetric
    assert not validity.psd
    assert (validity.smallest_eigenvalue, validity.relative_violation) == (-0.5, 0.25)
    assert str(validity).startswith("not a kernel: smallest eigenvalue -0.5 (25 % of the largest")
    assert validate_gram(K, tol=0.3).valid
    lopsided = validate_gram([[1.0, 0.5], [0.0, 1.0]])
    assert not lopsided.symmetric
    assert lopsided.psd
    assert lopsided.asymmetry == 0.5
    assert "not symmetric" in str(lopsided)
    assert validate_gram(-np.eye(2)).relative_violation == 1.0


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.ones(4), "square"),
        (np.ones((0, 0)), "empty"),
        ([[1.0, np.nan], [0.0, 1.0]], r"K\[0, 1\] is nan"),
        ([[1.0, np.inf], [0.0, 1.0]], "finite"),
        ([["a"]], "real numbers"),
        ([[1j]], "real numbers"),
        (None, "square|real"),
    ],
)
def test_not_a_matrix(K, message):
    with pytest.raises(ValueError, match=message):
        validate_gram(K)


# Against scikit-learn's kernels of Gaussian processes


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Matern(sigma=0.8, nu=0.5), gaussian_process.Matern(0.8, nu=0.5)),
        (Matern(sigma=0.8, nu=1.5), gaussian_process.Matern(0.8, nu=1.5)),
        (Matern(sigma=0.8, nu=2.5), gaussian_process.Matern(0.8, nu=2.5)),
        (RationalQuadratic(alpha=0.6, sigma=0.8), gaussian_process.RationalQuadratic(0.8, 0.6)),
        (RBF(sigma=0.8), gaussian_process.RBF(0.8)),
    ],
    ids=str,
)
def test_kernels_of_gaussian_processes(ours, theirs):
    np.testing.assert_allclose(ours(A, B), theirs(A, B), rtol=1e-10, atol=1e-14)


def test_the_periodic_kernel_of_one_column_is_scikit_learn_s():
    x, z = A[:, :1], B[:, :1]
    theirs = gaussian_process.ExpSineSquared(length_scale=0.7, periodicity=1.3)(x, z)
    np.testing.assert_allclose(Periodic(1.3, sigma=0.7)(x, z), theirs, rtol=1e-12)
    np.testing.assert_allclose(Periodic(1.3, gamma=0.5)(x + 13e6, z), Periodic(1.3, gamma=0.5)(x, z), rtol=1e-6)


def test_tanimoto_of_bits_is_jaccard_of_sets():
    bits = (rng.random((12, 9)) < 0.4).astype(float)
    bits[0] = bits[1] = 0.0
    sets = [set(np.flatnonzero(row).tolist()) for row in bits]
    np.testing.assert_array_equal(Tanimoto()(bits), Jaccard()(sets))
    np.testing.assert_array_equal(Tanimoto()(sp.csr_array(bits)), Jaccard()(sets))


def test_angles_that_are_small_keep_their_digits():
    near = np.array([[1.0, 0.0], [1.0, 1e-9]])
    assert ArcCosine(0)(near)[0, 1] == pytest.approx(1.0 - 1e-9 / np.pi, abs=1e-15)
    assert ArcCosine(0)(near, -near)[0, 1] == pytest.approx(1e-9 / np.pi, rel=1e-14)
    assert make_gram(ArcCosine(0), near).block(np.arange(2), np.arange(2))[1, 1] == 1.0
    assert Matern(gamma=1.0, nu=0.5)(near)[0, 1] == pytest.approx(1.0 - np.sqrt(2.0) * 1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Matern(nu=1.0), r"nu must be 0.5, 1.5 or 2.5; got nu=1.0"),
        (Matern(gamma=1.0, sigma=1.0), "Matern takes gamma or sigma, not both"),
        (RationalQuadratic(alpha=0.0), "alpha must be > 0"),
        (Periodic(period=0.0), "period must be > 0"),
        (ArcCosine(order=3), "order must be"),
    ],
    ids=str,
)
def test_parameters_of_the_new_kernels_are_checked(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(A)


# A function whose values depend on the other points


@pytest.mark.parametrize(
    "function",
    [
        lambda A, B: A @ B.T / len(A),
        lambda A, B: (A - A.mean(axis=0)) @ (B - B.mean(axis=0)).T,
        lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / B.std()),
    ],
    ids=["count", "means", "scale"],
)
def test_a_function_that_depends_on_the_other_points_is_named(function):
    with pytest.raises(ValueError, match=r"lambda.* a kernel value must depend on its two points only"):
        SVC(kernel=function).fit(ROWS, np.arange(len(ROWS)) % 2)
