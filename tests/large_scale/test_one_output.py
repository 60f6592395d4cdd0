"""One output in one pass over the rows: the same sums as those of several outputs, which BLAS forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.kernels import RBF
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.targets import Values
from maxmargin.large_scale.rows.tiles import KernelRows, StoredRows, row_ordered, stored
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.losses import make_loss

LOSSES = {
    "hinge": SmoothedLoss(make_loss("hinge"), 0.8),
    "squared_hinge": SmoothedLoss(make_loss("squared_hinge")),
    "tube": SmoothedLoss(make_loss("epsilon_insensitive", epsilon=0.2), 0.5),
    "squares": SmoothedLoss(make_loss("squared")),
}


def targets_of(loss, rng, n, outputs):
    """Targets and weights of several outputs, of which the first one is evaluated."""
    y = rng.normal(size=(n, outputs)) if not loss.loss.classifies else rng.choice([-1.0, 1.0], (n, outputs))
    return y, rng.uniform(0.1, 2.0, (n, outputs))


@pytest.mark.parametrize("sides", [False, True])
@pytest.mark.parametrize("name", list(LOSSES))
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 100), m=st.integers(1, 40), single=st.booleans())
def test_sums_are_those_of_several_outputs(name, sides, seed, n, m, single):
    rng, loss = np.random.default_rng(seed), LOSSES[name]
    padded_array = rng.normal(size=(n, m + 5)).astype(np.float32 if single else np.float64)
    K = padded_array[:, :m]  # rows with padding between them
    y, c = targets_of(loss, rng, n, 2)
    B, b = rng.normal(size=(m, 2)), rng.normal(size=2)
    one = LocalOracle(StoredRows(K, 7), Values(y[:, :1], c[:, :1]))
    two = LocalOracle(StoredRows(K, 7), Values(y, c))
    for given_B, given_b in ((B, b), (None, None)):
        own = [None if part is None else part[..., :1] for part in (given_B, given_b)]
        found = one.evaluate(*own, loss, sides=sides)
        expected = two.evaluate(given_B, given_b, loss, sides=sides)
        np.testing.assert_allclose(one.F, two.F[:, :1], rtol=1e-12, atol=1e-12)
        for part in ("loss", "smooth", "gradient", "slope", "linear", "quadratic", "weight", "curvature"):
            np.testing.assert_allclose(
                getattr(found, part), getattr(expected, part)[..., :1], rtol=1e-11, atol=1e-11, err_msg=part
            )


def test_kernel_values_with_padded_columns():
    """Tiles round the number of columns up: what lies there is not read."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(100, 3)), rng.normal(size=(13, 3))
    kernel = RBF(gamma=0.5).resolve(X)
    y, B = rng.choice([-1.0, 1.0], (100, 1)), rng.normal(size=(13, 1))
    K, loss = kernel.matrix(X, Z), LOSSES["squared_hinge"]
    slack = np.maximum(0.0, 1.0 - y * (K @ B + 0.3))
    for rows in (KernelRows(kernel, X, Z), stored(KernelRows(kernel, X, Z))):
        sums = LocalOracle(rows, Values(y, np.ones(100))).evaluate(B, np.array([0.3]), loss)
        np.testing.assert_allclose(sums.loss, (slack**2).sum(), rtol=1e-5)
        np.testing.assert_allclose(sums.gradient[0], K.T @ (-2 * y * slack), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "K",
    [np.ones((3, 4))[:, :2], np.ones((3, 4)), np.ones((4, 3)).T, np.ones((3, 8))[:, ::2], np.ones((0, 3))],
    ids=["padded", "contiguous", "by columns", "every second", "empty"],
)
def test_rows_whose_entries_lie_side_by_side(K):
    found = row_ordered(K)
    assert found.size == 0 or found.strides[1] == K.itemsize
    np.testing.assert_array_equal(found, K)
    assert found is K or not np.shares_memory(found, K)
