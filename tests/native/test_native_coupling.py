import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import coupling as twin

LEAST = 1e-7


@given(n=st.integers(0, 20), k=st.integers(1, 9), certain=st.sampled_from([0.0, 0.3, 1.0]), seed=seeds)
def test_coupling(level, n, k, certain, seed):
    """Pairs in any columns of r; some of them decided."""
    rng = np.random.default_rng(seed)
    pairs = k * (k - 1) // 2
    r = rng.random((n, pairs + 3))
    decided = rng.random(r.shape) < certain
    r[decided] = np.round(r[decided])
    columns = rng.permutation(pairs + 3)[:pairs]
    out, expected = np.full((n, k), np.nan), np.full((n, k), np.nan)
    _native.couple_pairs(r, columns, LEAST, out)
    twin.couple_pairs(r, columns, LEAST, expected)
    np.testing.assert_allclose(out, expected, atol=1e-12)


@given(k=st.integers(2, 9), seed=seeds)
def test_consistent_pairs_are_recovered(level, k, seed):
    """r_ij = p_i / (p_i + p_j) makes Q singular, and p its null vector."""
    p = np.random.default_rng(seed).random((5, k)) ** 3 + 1e-6
    p /= p.sum(axis=1, keepdims=True)
    i, j = np.triu_indices(k, 1)
    out = np.empty((5, k))
    _native.couple_pairs(np.ascontiguousarray(p[:, i] / (p[:, i] + p[:, j])), np.arange(len(i)), LEAST, out)
    np.testing.assert_allclose(out, p, atol=1e-11)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"r": np.ones((2, 3), np.float32)}, TypeError, "r must be"),
        ({"columns": np.array([0, 1])}, ValueError, r"columns.shape\[0\] must be 3"),
        ({"columns": np.array([0, 1, 3])}, ValueError, r"columns must lie in \[0, 3\)"),
        ({"columns": np.array([0, 1, -1])}, ValueError, "columns"),
        ({"least": 0.0}, ValueError, "least"),
        ({"least": 0.5}, ValueError, "least"),
        ({"out": np.ones((2, 0))}, ValueError, "out"),
        ({"out": np.ones((3, 3))}, ValueError, "out"),
        ({"out": np.ones((2, 4))}, ValueError, "columns"),
    ],
)
def test_wrong_arguments(changed, error, message):
    right = {"r": np.full((2, 3), 0.5), "columns": np.arange(3), "least": LEAST, "out": np.ones((2, 3))}
    refused("couple_pairs", right, changed, error, message)
