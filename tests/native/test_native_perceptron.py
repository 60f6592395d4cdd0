import numpy as np
import pytest
from drawn import INDICES, REALS, refused, seeds, sparse_rows
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import perceptron as twin


@given(
    n=st.integers(1, 12),
    d=st.integers(0, 40),
    dtype=st.sampled_from(REALS),
    eta=st.sampled_from([0.0, 1.0, 0.25]),
    intercept=st.sampled_from([0.0, 1.0]),
    seed=seeds,
)
def test_passes(level, n, d, dtype, eta, intercept, seed):
    """Small integers, so that no rounding decides who is on the wrong side."""
    rng = np.random.default_rng(seed)
    (indptr, indices, data), X = sparse_rows(rng, n, d, dtype, INDICES[seed % 2], 0.5)
    X[:], data[:] = np.ceil(4 * X), np.ceil(4 * data)
    rest = rng.choice([-1.0, 1.0], n), rng.integers(0, n, 20)
    state = np.round(rng.standard_normal((2, d + 1)))
    for form in ("dense", "csr"):
        vectors = [state.copy() for _ in range(2)]
        found = []
        for module, own in zip((_native, twin), vectors, strict=True):
            if form == "dense":
                found.append(module.perceptron_pass(X, *rest, *own, 5, eta, intercept))
            else:
                found.append(module.perceptron_pass_csr((indptr, indices, data), d, *rest, *own, 5, eta, intercept))
        assert found[0][0] == found[1][0]
        assert found[0][1] == pytest.approx(found[1][1], rel=1e-12)
        np.testing.assert_allclose(vectors[0], vectors[1], rtol=1e-11, atol=1e-11)


DENSE = {
    "X": np.ones((3, 2)),
    "y": np.ones(3),
    "order": np.array([0, 2]),
    "v": np.zeros(3),
    "s": np.zeros(3),
    "t": 0,
    "eta": 1.0,
    "intercept": 1.0,
}
SPARSE = {**DENSE, "X": (np.array([0, 1, 2, 3]), np.array([0, 1, 1]), np.ones(3)), "columns": 2}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"X": np.ones((2, 3)).T}, TypeError, "X must be"),
        ({"X": np.ones((3, 2), int)}, TypeError, "X must be"),
        ({"y": np.ones(2)}, ValueError, "y.shape"),
        ({"order": np.array([0, 3])}, ValueError, r"order must lie in \[0, 3\)"),
        ({"order": np.array([-1])}, ValueError, "order"),
        ({"v": np.zeros(2)}, ValueError, "v.shape"),
        ({"s": np.zeros(4)}, ValueError, "s.shape"),
    ],
)
def test_wrong_arguments(changed, error, message):
    refused("perceptron_pass", DENSE, changed, error, message)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"X": (np.array([0, 1, 2, 4]), np.array([0, 1, 1]), np.ones(3))}, ValueError, "outside .* in row 2"),
        ({"X": (np.array([0, 1, 2, 1]), np.array([0, 1, 1]), np.ones(3))}, ValueError, "outside .* in row 2"),
        ({"X": (np.array([-1, 1, 2, 3]), np.array([0, 1, 1]), np.ones(3))}, ValueError, "outside .* in row 0"),
        ({"X": (np.array([0, 1, 2, 3]), np.array([0, 1, 2]), np.ones(3))}, ValueError, "outside .* 2 columns in row 2"),
        ({"X": (np.array([0, 1, 2, 3]), np.array([-1, 1, 1]), np.ones(3))}, ValueError, "outside .* in row 0"),
        ({"X": (np.array([0, 1, 2, 3]), np.array([0, 1, 1]), np.ones(2))}, ValueError, "X.data"),
        ({"X": (np.array([0, 1, 2, 3], np.int32), np.array([0, 1, 1]), np.ones(3))}, TypeError, "X.indptr"),
        ({"columns": -1}, ValueError, "columns"),
        ({"columns": 3}, ValueError, "v.shape"),
        ({"order": np.array([3])}, ValueError, "order"),
    ],
)
def test_wrong_sparse_arguments(changed, error, message):
    refused("perceptron_pass_csr", SPARSE, changed, error, message)
