import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import rows as twin

reals = st.sampled_from([np.float32, np.float64])


@st.composite
def matrices(draw, order=("C", "F", "rows", "reversed")):
    """A matrix in any memory order, of either precision."""
    n, d, dtype = draw(st.integers(1, 30)), draw(st.integers(1, 90)), draw(reals)
    K = np.random.default_rng(draw(st.integers(0, 99))).standard_normal((n, d)).astype(dtype)
    order = draw(st.sampled_from(order))
    if order == "F":
        return np.asfortranarray(K)
    if order == "rows":  # rows of a larger array
        return np.hstack((K, K))[:, :d]
    return K[::-1, ::-1] if order == "reversed" else K


def places(data, bound, most=40):
    return np.array(data.draw(st.lists(st.integers(0, bound - 1), max_size=most)), np.int64)


@given(A=matrices(order=("C", "rows")), room=st.integers(0, 3))
def test_transpose(level, A, room):
    n, d = A.shape
    whole, expected = np.full((d, n + room), -7, A.dtype), np.empty((d, n), A.dtype)
    _native.transpose(A, whole[:, :n])
    twin.transpose(A, expected)
    np.testing.assert_array_equal(whole[:, :n], expected)
    assert np.all(whole[:, n:] == -7)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (130, 70), (64, 128)])
def test_transpose_of_tiles(level, shape):
    A = np.arange(shape[0] * shape[1], dtype=float).reshape(shape)
    out = np.full(shape[::-1], np.nan)
    _native.transpose(A, out)
    np.testing.assert_array_equal(out, A.T)


@given(K=matrices(), dtype=reals, data=st.data())
def test_gather(level, K, dtype, data):
    rows, columns = places(data, K.shape[0]), places(data, K.shape[1])
    out, expected = (np.full((len(rows), len(columns)), np.nan, dtype) for _ in range(2))
    _native.gather(K, rows, columns, out)
    twin.gather(K, rows, columns, expected)
    np.testing.assert_array_equal(out, expected)


@given(K=matrices(), data=st.data())
def test_sums_of_entries(level, K, data):
    rows, columns = places(data, K.shape[0]), places(data, K.shape[1])
    coef = np.random.default_rng(0).standard_normal(len(columns))
    out, expected = np.full(len(rows), np.nan), np.empty(len(rows))
    _native.gather_product(K, rows, columns, coef, out)
    twin.gather_product(K, rows, columns, coef, expected)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    out, expected = np.ones(K.shape[0]), np.ones(K.shape[0])
    _native.add_columns(K, columns, coef, out)
    twin.add_columns(K, columns, coef, expected)
    np.testing.assert_allclose(out, expected, atol=1e-12)


@given(K=matrices(order=("C", "rows")), data=st.data())
def test_sums_of_rows(level, K, data):
    rows = places(data, K.shape[0])
    coef = np.random.default_rng(0).standard_normal(len(rows))
    out = np.ones(data.draw(st.integers(0, K.shape[1])))
    expected = out.copy()
    _native.add_rows(K, rows, coef, out)
    twin.add_rows(K, rows, coef, expected)
    np.testing.assert_allclose(out, expected, atol=1e-12)


A = np.ones((3, 4))
READ_ONLY = np.ones((4, 3))
READ_ONLY.flags.writeable = False
UNALIGNED = np.frombuffer(bytes(1 + 12 * 8), np.uint8)[1:].view(np.float64).reshape(3, 4)
GOOD = np.array([0, 2])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1.0]], np.ones((1, 1))), TypeError, "A must be an array, got list"),
        ((None, np.ones((1, 1))), TypeError, "transpose"),
        ((A.astype(int), np.ones((4, 3))), TypeError, "A must be a float32 or float64 array, got int64"),
        ((A.astype(">f8"), np.ones((4, 3))), TypeError, "A must be a float32 or float64 array, got format '>d'"),
        ((A.astype(complex), np.ones((4, 3))), TypeError, "A must be a float32 or float64 array, got format 'Zd'"),
        ((A, np.ones((4, 3), np.float32)), TypeError, "out must be a float64 array of 2 dimensions, got float32"),
        ((A[0], np.ones((4, 3))), TypeError, "A must be .* of 2 dimensions, got 1 dimension"),
        ((np.asfortranarray(A), np.ones((4, 3))), TypeError, "A must have the entries of a row side by side"),
        ((A, np.asfortranarray(np.ones((4, 3)))), TypeError, "out must have the entries of a row side by side"),
        ((UNALIGNED, np.ones((4, 3))), TypeError, "not aligned"),
        ((A, np.ones((3, 4))), ValueError, r"out.shape\[0\] must be 4 \(columns of A\), got 3"),
        ((A, np.ones((4, 2))), ValueError, r"out.shape\[1\] must be 3 \(rows of A\), got 2"),
        ((A, READ_ONLY), ValueError, "out must be writable"),
        ((A,), TypeError, "transpose"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        _native.transpose(*arguments)


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        ("gather", (A, np.array([3]), GOOD, np.ones((1, 2))), ValueError, r"rows must lie in \[0, 3\)"),
        ("gather", (A, np.array([-1]), GOOD, np.ones((1, 2))), ValueError, "rows must lie"),
        ("gather", (A, GOOD, np.array([4]), np.ones((2, 1))), ValueError, "columns must lie"),
        ("gather", (A, GOOD.astype(np.int32), GOOD, np.ones((2, 2))), TypeError, "rows must be .* int64"),
        ("gather", (A, GOOD, GOOD, np.ones((2, 3))), ValueError, r"out\.shape"),
        ("gather", (A, GOOD, GOOD, np.ones((2, 2), int)), TypeError, "out must be"),
        ("gather_product", (A, GOOD, GOOD, np.ones(3), np.ones(2)), ValueError, r"coef\.shape"),
        ("gather_product", (A, GOOD, GOOD, np.ones(2), np.ones(3)), ValueError, r"out\.shape"),
        ("gather_product", (A, GOOD, np.array([9, 0]), np.ones(2), np.ones(2)), ValueError, "columns must lie"),
        ("add_rows", (A, np.array([3]), np.ones(1), np.ones(4)), ValueError, "rows must lie"),
        ("add_rows", (A, GOOD, np.ones(2), np.ones(5)), ValueError, r"K\.shape\[1\] must be at least 5"),
        ("add_rows", (np.asfortranarray(A), GOOD, np.ones(2), np.ones(4)), TypeError, "side by side"),
        ("add_rows", (A, GOOD, np.ones(2, np.float32), np.ones(4)), TypeError, "coef must be"),
        ("add_columns", (A, np.array([4]), np.ones(1), np.ones(3)), ValueError, "columns must lie"),
        ("add_columns", (A, GOOD, np.ones(2), np.ones(4)), ValueError, r"K\.shape\[0\] must be at least 4"),
    ],
)
def test_wrong_places(function, arguments, error, message):
    with pytest.raises(error, match=message):
        getattr(_native, function)(*arguments)
