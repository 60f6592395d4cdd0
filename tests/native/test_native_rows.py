import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import rows

REALS = (np.float32, np.float64)


@given(n=st.integers(0, 150), d=st.integers(0, 150), dtype=st.sampled_from(REALS))
def test_transpose(level, n, d, dtype):
    A = np.arange(n * d, dtype=dtype).reshape(n, d)
    out, expected = np.full((d, n), np.nan, dtype), np.empty((d, n), dtype)
    _native.transpose(A, out)
    rows.transpose(A, expected)
    np.testing.assert_array_equal(out, expected)


A = np.ones((3, 4))
READ_ONLY = np.ones((4, 3))
READ_ONLY.flags.writeable = False
UNALIGNED = np.frombuffer(bytes(1 + 12 * 8), np.uint8)[1:].view(np.float64).reshape(3, 4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1.0]], np.ones((1, 1))), TypeError, "A must be an array, got list"),
        ((None, np.ones((1, 1))), TypeError, "transpose"),
        ((A.astype(int), np.ones((4, 3))), TypeError, "A must be a float32 or float64 array, got int64"),
        ((A.astype(">f8"), np.ones((4, 3))), TypeError, "A must be a float32 or float64 array, got format '>d'"),
        ((A.astype(complex), np.ones((4, 3))), TypeError, "A must be a float32 or float64 array, got format 'Zd'"),
        (
            (A, np.ones((4, 3), np.float32)),
            TypeError,
            "out must be a C-contiguous float64 array of 2 dimensions, got f",
        ),
        ((A[0], np.ones((4, 3))), TypeError, "A must be .* of 2 dimensions, got 1 dimension"),
        (
            (np.asfortranarray(A), np.ones((4, 3))),
            TypeError,
            "A must be a C-contiguous .*, got an array in another order",
        ),
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
