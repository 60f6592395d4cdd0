import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import symmetric_entries as twin


@given(
    height=st.integers(0, 30),
    width=st.integers(0, 90),
    diagonal=st.integers(-40, 100),
    threshold=st.sampled_from([0.0, 0.3, 0.9, 2.0]),
    seed=seeds,
)
def test_select_entries(level, height, width, diagonal, threshold, seed):
    rng = np.random.default_rng(seed)
    wide = np.full((height, width + 5), np.nan, np.float32)  # what lies between rows is not read
    wide[:, :width] = rng.uniform(-1, 1, (height, width))
    found = []
    for module in (_native, twin):
        counts, indices = np.empty(height, np.int64), np.empty(height * width, np.uint16)
        data = np.empty(height * width, np.float32)
        count = module.select_entries(wide[:, :width], diagonal, threshold, counts, indices, data)
        found.append((counts, indices[:count], data[:count]))
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, expected)


def strip(rng, n, first, density):
    """Entries above the diagonal in the columns from first."""
    upper = np.triu(rng.standard_normal((n, n)) * (rng.random((n, n)) < density), 1).astype(np.float32)[:, first:]
    rows, columns = np.nonzero(upper)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
    return indptr, columns.astype(np.uint16), upper[rows, columns], first


@given(n=st.integers(1, 60), share=st.floats(0, 1), density=st.sampled_from([0.0, 0.1, 1.0]), seed=seeds)
def test_symmetric_product(level, n, share, density, seed):
    rng = np.random.default_rng(seed)
    entries, x, out = strip(rng, n, int(share * n), density), rng.standard_normal(n), np.ones((2, n))
    for t, module in enumerate((_native, twin)):
        module.symmetric_product(*entries, x, out[t])
    np.testing.assert_allclose(out[0], out[1], rtol=1e-12, atol=1e-12)


@given(n=st.integers(1, 60), share=st.floats(0, 1), density=st.sampled_from([0.0, 0.1, 1.0]), seed=seeds)
def test_symmetric_fill(level, n, share, density, seed):
    rng = np.random.default_rng(seed)
    entries = strip(rng, n, int(share * n), density)
    rows = np.sort(rng.permutation(n)[: rng.integers(0, n + 1)])
    place = np.full(n, -1, np.int32)
    place[rows] = rng.permutation(len(rows))
    out = np.zeros((2, len(rows), len(rows) + 3), np.float32)[:, :, : len(rows)]
    for t, module in enumerate((_native, twin)):
        module.symmetric_fill(*entries, rows, place, out[t])
    np.testing.assert_array_equal(out[0], out[1])


SELECT = {
    "block": np.ones((3, 4), np.float32),
    "diagonal": 0,
    "threshold": 0.5,
    "counts": np.empty(3, np.int64),
    "indices": np.empty(12, np.uint16),
    "data": np.empty(12, np.float32),
}
ENTRIES = {
    "indptr": np.array([0, 1, 2]),
    "indices": np.array([0, 1], np.uint16),
    "data": np.ones(2, np.float32),
    "first": 1,
}
PRODUCT = {**ENTRIES, "x": np.ones(3), "out": np.ones(3)}
FILL = {
    **ENTRIES,
    "rows": np.arange(2),
    "place": np.array([0, 1, -1], np.int32),
    "out": np.zeros((2, 2), np.float32),
}


@pytest.mark.parametrize(
    ("function", "right", "changed", "error", "message"),
    [
        ("select_entries", SELECT, {"block": np.ones((3, 4))}, TypeError, "block"),
        ("select_entries", SELECT, {"block": np.ones((4, 3), np.float32).T}, TypeError, "block must have"),
        ("select_entries", SELECT, {"block": np.ones((0, 65537), np.float32)}, ValueError, "at most 65536"),
        ("select_entries", SELECT, {"counts": np.empty(2, np.int64)}, ValueError, "counts"),
        ("select_entries", SELECT, {"indices": np.empty(11, np.uint16)}, ValueError, "indices"),
        ("select_entries", SELECT, {"indices": np.empty(12, np.int32)}, TypeError, "indices"),
        ("select_entries", SELECT, {"data": np.empty(11, np.float32)}, ValueError, "data"),
        ("symmetric_product", PRODUCT, {"indptr": np.array([0, 2, 1])}, ValueError, "indptr must rise"),
        ("symmetric_product", PRODUCT, {"indptr": np.array([0, 1, 3])}, ValueError, "indptr must rise"),
        ("symmetric_product", PRODUCT, {"indptr": np.zeros(5, int)}, ValueError, "rows must be at most"),
        ("symmetric_product", PRODUCT, {"indices": np.array([0, 2], np.uint16)}, ValueError, "indices must lie"),
        ("symmetric_product", PRODUCT, {"data": np.ones(3, np.float32)}, ValueError, "data"),
        ("symmetric_product", PRODUCT, {"first": -1}, ValueError, "first"),
        ("symmetric_product", PRODUCT, {"first": 2}, ValueError, "indices must lie"),
        ("symmetric_product", PRODUCT, {"out": np.ones(2)}, ValueError, "out"),
        ("symmetric_fill", FILL, {"rows": np.array([0, 3])}, ValueError, "rows"),
        ("symmetric_fill", FILL, {"place": np.array([0, 2, -1], np.int32)}, ValueError, "place"),
        ("symmetric_fill", FILL, {"out": np.zeros((2, 3), np.float32)}, ValueError, "out"),
        ("symmetric_fill", FILL, {"out": np.zeros((2, 2))}, TypeError, "out"),
    ],
)
def test_wrong_arguments(function, right, changed, error, message):
    refused(function, right, changed, error, message)
