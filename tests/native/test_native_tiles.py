"""Kernel tiles against their twins: values, sums, packing, bits, and wrong arguments."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from maxmargin.kernels import RBF
from maxmargin.kernels.gram.tiled import TiledGram
from reference.native import tiles as twin

NAMES = ("EXP2", "POWER", "TANH", "DECAY", "MATERN", "RATIONAL", "ANGLE", "TANIMOTO")
EXP2, POWER, TANH, DECAY, MATERN, RATIONAL, ANGLE, TANIMOTO = (getattr(_native, name) for name in NAMES)
KINDS = [
    *((EXP2, 1), (POWER, 1), (POWER, 2), (POWER, 3), (POWER, 7), (TANH, 1), (DECAY, 1)),
    *((MATERN, 1), (MATERN, 3), (MATERN, 5), (RATIONAL, 1), (RATIONAL, 0.7), (RATIONAL, 3)),
    *((ANGLE, 0), (ANGLE, 1), (ANGLE, 2), (TANIMOTO, 1)),
]
OF_DIFFERENCES = (DECAY, MATERN, RATIONAL)
reals = st.sampled_from([np.float32, np.float64])
indices = st.sampled_from([np.int32, np.int64])


def test_kinds_are_the_twin_s():
    assert [getattr(_native, name) for name in NAMES] == [getattr(twin, name) for name in NAMES]


def points(kind, n, m, d, dtype, seed, density=1.0):
    """Rows, their u, columns, their v, as an operator would scale them."""
    rng = np.random.default_rng(seed)
    A, B = (
        ((rng.standard_normal((k, d)) / np.sqrt(d + 1)) * (rng.random((k, d)) < density)).astype(dtype) for k in (n, m)
    )
    if kind == EXP2:
        u, v = (-0.5 * (Z.astype(float) ** 2).sum(axis=1) for Z in (A, B))
    elif kind in OF_DIFFERENCES:
        u, v = np.zeros(n), np.zeros(m)
    elif kind in (ANGLE, TANIMOTO):
        u, v = ((Z.astype(float) ** 2).sum(axis=1) ** (0.5 if kind == ANGLE else 1) for Z in (A, B))
    else:
        u, v = np.full(n, 0.3), np.zeros(m)
    return A, u.astype(dtype), B, v.astype(dtype)


def packed(B, v):
    width = _native.panel_width(B.dtype)
    P = np.full((-(-len(B) // width), B.shape[1], width), np.nan, B.dtype)
    out = np.full(P.shape[0] * width, np.nan, B.dtype)
    _native.pack_dense(B, v, np.arange(len(B)), P, out)
    return P, out


def tolerance(A, u, B, v, kind, degree, exact):
    """Rounding of s times the kernel's derivative, and a few units of the value itself."""
    eps = np.finfo(A.dtype).eps
    error_of_s = eps * (2 + np.log2(A.shape[1] + 2)) * twin.term_sizes(A, u, B, v, kind)
    if kind in (MATERN, RATIONAL, TANIMOTO):  # t has a small relative error, and t dk/dt is at most the degree
        error_of_s = np.full(exact.shape, eps * (2 + np.log2(A.shape[1] + 2)) * max(degree, 1))
    elif kind == ANGLE:
        size = np.multiply.outer(u.astype(float), v.astype(float))
        error = eps * (2 + np.log2(A.shape[1] + 2)) * (1 + (size > 0))
        error_of_s = np.sqrt(error) if degree == 0 else 4 * error * size**degree
    slope = degree * (1 + np.abs(exact.astype(float))) if kind == POWER else np.ones(exact.shape)
    return 4 * slope * error_of_s + 8 * max(degree, 1) * eps * np.abs(exact.astype(float)) + np.finfo(A.dtype).tiny


def coefficients(P, m, dtype, seed):
    coef = np.zeros(P.shape[0] * P.shape[2], dtype)
    coef[:m] = np.random.default_rng(seed).standard_normal(m)
    return coef


@given(
    n=st.integers(0, 40),
    m=st.integers(0, 200),
    d=st.integers(0, 40),
    form=st.sampled_from(KINDS),
    dtype=reals,
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_dense_rows(level, n, m, d, form, dtype, seed, data):
    kind, degree = form
    A, u, B, v = points(kind, n, m, d, dtype, seed)
    exact = twin.kernel_values(A, u, B, v, kind, degree)
    error = tolerance(A, u, B, v, kind, degree, exact)
    P, v_packed = packed(B, v)
    start = data.draw(st.integers(0, n))
    stop = data.draw(st.integers(start, n))
    room = np.full((n, m + data.draw(st.integers(0, 3))), -7.0, dtype)
    _native.kernel_block_dense(A, u, P, v_packed, kind, degree, room[:, :m], start, stop)
    assert np.all(np.abs(room[start:stop, :m] - exact[start:stop]) <= error[start:stop])
    assert np.all(room[:, m:] == -7)
    assert np.all(room[:start] == -7)
    assert np.all(room[stop:] == -7)
    coef = coefficients(P, m, dtype, seed)
    out = np.full(n, 0.5)
    _native.kernel_matvec_dense(A, u, P, v_packed, coef, kind, degree, out, start, stop)
    weights = np.abs(coef[:m]).astype(float)
    close = error @ weights + 50 * np.finfo(dtype).eps * (np.abs(exact.astype(float)) @ weights) + 1e-15
    expected = 0.5 + exact @ coef[:m].astype(twin.WIDE)
    assert np.all(np.abs(out - expected)[start:stop] <= close[start:stop])
    assert np.all(out[:start] == 0.5)
    assert np.all(out[stop:] == 0.5)


@given(
    n=st.integers(1, 30),
    m=st.integers(0, 300),
    d=st.integers(1, 50),
    form=st.sampled_from([form for form in KINDS if form[0] not in OF_DIFFERENCES]),
    dtype=reals,
    index=indices,
    seed=st.integers(0, 99),
)
def test_sparse_rows(level, n, m, d, form, dtype, index, seed):
    kind, degree = form
    A, u, B, v = points(kind, n, m, d, dtype, seed, density=0.3)
    exact = twin.kernel_values(A, u, B, v, kind, degree)
    error = tolerance(A, u, B, v, kind, degree, exact)
    left, right = sp.csr_matrix(A), sp.csr_matrix(B)
    rng = np.random.default_rng(seed)
    width = _native.panel_width(dtype)
    P, v_packed = np.full((-(-m // width), d, width), np.nan, dtype), np.full(-(-m // width) * width, np.nan, dtype)
    columns = right.indptr.astype(index), right.indices.astype(index), right.data
    _native.pack_csr(columns, v, np.arange(m), P, v_packed)
    expected_P, expected_v = twin.pack(B, v, np.arange(m), width)
    np.testing.assert_array_equal(P, expected_P)
    np.testing.assert_array_equal(v_packed, expected_v)
    rows = rng.integers(0, n, 2 * n)
    csr = left.indptr.astype(index), left.indices.astype(index), left.data
    start, stop = 1, 2 * n - 1
    out = np.full((2 * n, m), -7, dtype)
    _native.kernel_block_csr(csr, rows, u, P, v_packed, kind, degree, out, start, stop)
    assert np.all(np.abs(out - exact[rows])[start:stop] <= error[rows][start:stop])
    assert np.all(out[[0, -1]] == -7)
    coef = coefficients(P, m, dtype, seed)
    sums = np.zeros(2 * n)
    _native.kernel_matvec_csr(csr, rows, u, P, v_packed, coef, kind, degree, sums, start, stop)
    weights = np.abs(coef[:m]).astype(float)
    close = error @ weights + 50 * np.finfo(dtype).eps * (np.abs(exact.astype(float)) @ weights) + 1e-15
    assert np.all(np.abs(sums - (exact @ coef[:m])[rows])[start:stop] <= close[rows][start:stop])
    assert sums[0] == sums[-1] == 0


@given(m=st.integers(0, 200), d=st.integers(0, 40), dtype=reals, given_v=st.booleans(), seed=st.integers(0, 9))
def test_packing(level, m, d, dtype, given_v, seed):
    rng = np.random.default_rng(seed)
    A, own = rng.standard_normal((50, d + 3)).astype(dtype)[:, :d], rng.standard_normal(50).astype(dtype)
    own = own if given_v else None
    at = rng.integers(0, 50, m)
    width = _native.panel_width(dtype)
    expected = twin.pack(A, own, at, width)
    P, v = (np.full_like(x, np.nan) for x in expected)
    _native.pack_dense(A, own, at, P, v)
    np.testing.assert_array_equal(P, expected[0])
    np.testing.assert_array_equal(v, expected[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kind", "degree"), KINDS)
def test_how_rows_are_divided_changes_no_bit(level, kind, degree, dtype):
    n, m, d = 401, 333, 17
    A, u, B, v = points(kind, n, m, d, dtype, 3)
    P, v_packed = packed(B, v)
    coef = coefficients(P, m, dtype, 4)
    whole, K = np.zeros(n), np.empty((n, m), dtype)
    _native.kernel_matvec_dense(A, u, P, v_packed, coef, kind, degree, whole, 0, n)
    _native.kernel_block_dense(A, u, P, v_packed, kind, degree, K, 0, n)
    for size in (1, 2, 3, 5, 6, 7, 100, 200):
        pieces, parts = np.zeros(n), np.empty((n, m), dtype)
        for start in range(0, n, size):
            stop = min(start + size, n)
            _native.kernel_matvec_dense(A, u, P, v_packed, coef, kind, degree, pieces, start, stop)
            _native.kernel_block_dense(A, u, P, v_packed, kind, degree, parts, start, stop)
        np.testing.assert_array_equal(pieces, whole)
        np.testing.assert_array_equal(parts, K)


def test_a_gram_operator_on_every_level(level):
    """The tile adapts to narrower and fewer registers, and computes the same kernel."""
    X = np.random.default_rng(0).standard_normal((150, 7))
    kernel = RBF(gamma=0.2).resolve(X)
    exact = kernel.matrix(X, X)
    gram, every = TiledGram(kernel, X), np.arange(150)
    np.testing.assert_allclose(gram.product(every, np.ones(150), single=True), exact.sum(axis=1), atol=1e-4)
    np.testing.assert_allclose(gram.product(every, np.ones(150)), exact.sum(axis=1), atol=1e-11)
    np.testing.assert_allclose(gram.block(every, every[:9]), exact[:, :9], atol=1e-13)


def values_of(kind, s, dtype, degree=1):
    """The kernel's function of given numbers (of their squares for squared differences, of cosines for angles): one row
    (1), one column per number."""
    B = np.asarray(s, dtype)[:, None]
    P, v = packed(B, np.ones(len(B), dtype) if kind == ANGLE else None)
    out = np.empty((1, len(B)), dtype)
    one = np.zeros((1, 1), dtype) if kind in OF_DIFFERENCES else np.ones((1, 1), dtype)
    _native.kernel_block_dense(one, np.full(1, kind == ANGLE, dtype), P, v, kind, degree, out, 0, 1)
    return out[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_are_accurate_relative_to_their_values(level, dtype):
    eps, top = np.finfo(dtype).eps, 99.0 if dtype is np.float32 else 999.0
    rng = np.random.default_rng(0)
    tiny = np.exp(rng.uniform(np.log(1e-30), np.log(top), 20_000)).astype(dtype)
    wide = rng.uniform(0, top, 20_000).astype(dtype)
    s = np.concatenate((tiny, wide, np.arange(90, dtype=dtype) + dtype(0.5), np.arange(90, dtype=dtype)))
    exact = s.astype(twin.WIDE)
    for kind, sign, expected in (
        (EXP2, -1, np.exp2(-exact)),
        (DECAY, 1, np.exp2(-exact)),
        (DECAY, -1, np.exp2(-exact)),
        (TANH, 1, np.tanh(exact * np.log(twin.WIDE(2)) / 2)),
        (TANH, -1, -np.tanh(exact * np.log(twin.WIDE(2)) / 2)),
        (POWER, 1, exact),
    ):
        error = np.abs(values_of(kind, sign * s, dtype) - expected)
        assert np.all(error <= 4 * eps * np.abs(expected)), (kind, sign)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_distances_and_angles_are_accurate(level, dtype):
    eps, top = np.finfo(dtype).eps, 99.0 if dtype is np.float32 else 999.0
    rng = np.random.default_rng(0)
    tiny = np.exp(rng.uniform(np.log(1e-15), np.log(top), 20_000)).astype(dtype)
    r = np.concatenate((tiny, rng.uniform(0, top, 20_000).astype(dtype), np.zeros(1, dtype)))
    exact = r.astype(twin.WIDE)
    decay, length = np.exp2(-exact), exact * np.log(twin.WIDE(2))
    for degree, factor in ((1, 1), (3, 1 + length), (5, 1 + length + length**2 / 3)):
        error = np.abs(values_of(MATERN, r, dtype, degree) - decay * factor)
        assert np.all(error <= (6 + 2 * exact) * eps * decay * factor), degree
    for alpha in (0.01, 0.5, 1, 2.5, 40, 1e6):
        q = (r / dtype(np.sqrt(max(alpha, 1)))).astype(dtype)
        exponent = alpha * np.log1p(q.astype(twin.WIDE) ** 2)
        kept = exponent < np.log(2) * top
        error = np.abs(values_of(RATIONAL, q, dtype, alpha) - np.exp(-exponent))
        assert np.all(error[kept] <= (6 + 6 * exponent[kept]) * eps * np.exp(-exponent[kept])), alpha
    near = 1 - np.exp(rng.uniform(np.log(eps), 0, 5000))
    c = np.concatenate((rng.uniform(-1, 1, 20_000), near, -near, [-1, 0, 1])).astype(dtype)
    cosine, pi = c.astype(twin.WIDE), 4 * np.arctan(twin.WIDE(1))
    t = np.arccos(cosine)
    J = {0: pi - t, 1: np.sin(t) + (pi - t) * cosine, 2: 3 * np.sin(t) * cosine + (pi - t) * (1 + 2 * cosine**2)}
    for order, expected in J.items():
        error = np.abs(values_of(ANGLE, c, dtype, order) - expected / pi)
        assert np.all(error <= 8 * eps), order


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ends_of_the_range(level, dtype):
    far, nothing = dtype(1e30), 1e-29
    assert values_of(EXP2, [0, 3, -far], dtype)[:2].tolist() == [1, 1]
    assert 0 <= values_of(EXP2, [-far], dtype)[0] < nothing
    assert 0 <= values_of(DECAY, [far], dtype)[0] < nothing
    assert values_of(TANH, [0.0, far, -far, np.inf, -np.inf], dtype).tolist() == [0, 1, -1, 1, -1]
    for kind in (EXP2, TANH, DECAY, POWER, MATERN, RATIONAL, ANGLE, TANIMOTO):
        assert np.isnan(values_of(kind, [np.nan], dtype)[0])
    for kind in (MATERN, RATIONAL):
        values = values_of(kind, [0.0, far, np.inf], dtype, 3)
        assert values[0] == 1
        assert np.all(values[1:] < 1e-27)
    angles = values_of(ANGLE, [1.0, -1.0, 1.5, -1.5], dtype)
    np.testing.assert_allclose(angles, [1, 0, 1, 0], rtol=0, atol=np.finfo(dtype).eps)


def good(dtype=np.float64):
    A, u, B, v = points(EXP2, 9, 20, 3, dtype, 0)
    P, v_packed = packed(B, v)
    left = sp.csr_matrix(A)
    return {
        **{"A": A, "u": u, "P": P, "v": v_packed, "coef": coefficients(P, 20, dtype, 0), "kind": EXP2, "degree": 1},
        **{"csr": (left.indptr, left.indices, left.data), "rows": np.arange(9)},
        **{"start": 0, "stop": 9},
    }


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"kind": 8}, ValueError, "kind must be"),
        ({"kind": -1}, ValueError, "kind must be"),
        ({"degree": 0}, ValueError, "degree must be"),
        ({"degree": 1.5}, ValueError, "degree must be"),
        ({"kind": ANGLE, "degree": 3}, ValueError, "degree must be"),
        ({"start": -1}, ValueError, "start and stop"),
        ({"start": 5, "stop": 4}, ValueError, "start and stop"),
        ({"stop": 10}, ValueError, "start and stop"),
        ({"u": np.zeros(8)}, ValueError, r"u\.shape"),
        ({"u": np.zeros(9, np.float32)}, TypeError, "u must be .* float64"),
        ({"v": np.zeros(3)}, ValueError, r"v\.shape"),
        ({"P": np.zeros((1, 3, 5))}, ValueError, "panel_width of the instruction level"),
        ({"P": np.zeros((1, 4, 1024))}, ValueError, r"P\.shape\[2\]"),
        ({"coef": np.zeros(1)}, ValueError, r"coef\.shape"),
        ({"out": np.zeros(8)}, ValueError, r"out\.shape"),
        ({"out": np.zeros(9, np.float32)}, TypeError, "out must be"),
        ({"block": np.zeros((8, 20))}, ValueError, r"out\.shape"),
        ({"block": np.zeros((9, 500))}, ValueError, "do not fit 500 columns"),
        ({"block": np.zeros((20, 9)).T}, TypeError, "entries of a row side by side"),
        ({"block": np.zeros((9, 20), np.float32)}, TypeError, "out must be"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_wrong_arguments(change, error, message, sparse):
    arguments = {**good(), "out": np.zeros(9), "block": np.zeros((9, 20)), **change}
    rows = ["csr", "rows"] if sparse else ["A"]
    form, end = ["kind", "degree"], ["start", "stop"]
    matvec = _native.kernel_matvec_csr if sparse else _native.kernel_matvec_dense
    block = _native.kernel_block_csr if sparse else _native.kernel_block_dense
    calls = []
    if "block" not in change:
        calls.append((matvec, [*rows, "u", "P", "v", "coef", *form, "out", *end]))
    if not {"out", "coef"} & set(change):
        calls.append((block, [*rows, "u", "P", "v", *form, "block", *end]))
    for call, names in calls:
        with pytest.raises(error, match=message):
            call(*(arguments[name] for name in names))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"kind": DECAY}, ValueError, "for sparse rows"),
        ({"kind": MATERN}, ValueError, "for sparse rows"),
        ({"indices": np.full(27, 3, np.int32)}, ValueError, r"A.indices must lie in \[0, 3\)"),
        ({"indices": np.full(27, -1, np.int32)}, ValueError, "A.indices must lie"),
        ({"indices": np.zeros(27)}, TypeError, "A.indices must be an int32 or int64"),
        ({"indices": np.zeros(27, np.int64)}, TypeError, "A.indptr must be"),
        ({"indptr": np.arange(10, dtype=np.int32) * 4}, ValueError, "A.indptr must rise"),
        ({"indptr": np.arange(10, dtype=np.int32)[::-1].copy()}, ValueError, "A.indptr must rise"),
        ({"indptr": np.zeros(0, np.int32)}, ValueError, r"A.indptr\.shape"),
        ({"data": np.ones(5)}, ValueError, r"A.data\.shape"),
        ({"rows": np.full(9, 9)}, ValueError, "rows must lie"),
        ({"rows": np.full(9, -1)}, ValueError, "rows must lie"),
        ({"rows": np.zeros(9, np.int32)}, TypeError, "rows must be"),
    ],
)
def test_wrong_sparse_rows(change, error, message):
    arguments = {**good(), "out": np.zeros(9), **change}
    parts = zip(("indptr", "indices", "data"), arguments["csr"], strict=True)
    arguments["csr"] = tuple(change.get(name, part) for name, part in parts)
    names = ["csr", "rows", "u", "P", "v", "coef", "kind", "degree", "out", "start", "stop"]
    with pytest.raises(error, match=message):
        _native.kernel_matvec_csr(*(arguments[name] for name in names))


def test_wrong_packing():
    width = _native.panel_width(np.float64)
    A, at = np.ones((5, 2)), np.arange(5)
    P, v = np.zeros((-(-5 // width), 2, width)), np.zeros(-(-5 // width) * width)
    for arguments, error in (
        ((A, None, np.array([5]), P, v), ValueError),
        ((A, None, np.array([-1]), P, v), ValueError),
        ((A, np.ones(4), at, P, v), ValueError),
        ((A, None, np.tile(at, width), P, v), ValueError),
        ((A, None, at, P[:, :1].copy(), v), ValueError),
        ((A, None, at, P, v[1:].copy()), ValueError),
        ((A, None, at.astype(np.int32), P, v), TypeError),
        ((A.T.copy().T, None, at, P, v), TypeError),
        ((A.astype(np.float32), None, at, P, v), TypeError),
    ):
        with pytest.raises(error):
            _native.pack_dense(*arguments)
    with pytest.raises(TypeError, match="float32 or float64"):
        _native.panel_width(np.int32)


@given(st.integers(0, 5), st.integers(0, 40), st.floats(0, 1e3), reals, st.integers(0, 2**32 - 1))
def test_decays(n, m, rate, dtype, seed):
    """2^-(rate s), with the rounding of the exponent, and cut where the tiles cut it."""
    s = np.random.default_rng(seed).exponential(size=(n, m)).astype(dtype)
    out = np.full_like(s, np.nan)
    _native.decays(s, rate, out)
    exact = twin.decays(s, rate).astype(float)
    eps, least = np.finfo(dtype).eps, 2.0 ** (-100 if dtype == np.float32 else -1000)
    assert (np.abs(out - exact) <= (4 * eps * (1 + rate * s)) * exact + least).all()


def test_decays_keep_nan_and_never_exceed_one():
    s, out = np.array([[np.nan, -1.0, 0.0, np.inf]]), np.empty((1, 4))
    _native.decays(s, 2.0, out)
    assert np.isnan(out[0, 0])
    assert (out[0, 1:3] == 1).all()
    assert out[0, 3] <= 2.0**-1000


@pytest.mark.parametrize(
    ("s", "rate", "out", "error"),
    [
        (np.ones((2, 3)), -1.0, np.ones((2, 3)), ValueError),
        (np.ones((2, 3)), np.inf, np.ones((2, 3)), ValueError),
        (np.ones((2, 3)), 1.0, np.ones((3, 3)), ValueError),
        (np.ones((2, 3)), 1.0, np.ones((2, 2)), ValueError),
        (np.ones((2, 3)), 1.0, np.ones((2, 3), np.float32), TypeError),
        (np.ones((2, 3), int), 1.0, np.ones((2, 3)), TypeError),
        (np.ones((3, 2)).T, 1.0, np.ones((2, 3)), TypeError),
    ],
)
def test_wrong_decays(s, rate, out, error):
    with pytest.raises(error):
        _native.decays(s, rate, out)
