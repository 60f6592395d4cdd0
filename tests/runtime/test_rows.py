"""Canonical rows: what is merged, what is not, and an order that the input's does not change."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.runtime import canonical_rows as _rows
from maxmargin.runtime.canonical_rows import canonical_rows, row_hashes
from maxmargin.runtime.class_weights import check_class_weights

X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0], [0.5, 0.25, 0.0], [1.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
TARGET = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
WEIGHT = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 0.0])


def content(rows, X, target):
    """The merged rows in their order: content, target and weight."""
    X = X.toarray() if sp.issparse(X) else X
    return [(*X[r], target[r], w) for r, w in zip(rows.representative, rows.weight, strict=True)]


@st.composite
def tables(draw):
    """Points on a coarse grid, so that many are equal, with targets and whole weights."""
    n = draw(st.integers(1, 12))
    points = draw(st.lists(st.tuples(*[st.integers(-1, 1)] * 2), min_size=n, max_size=n))
    target = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    weight = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return np.array(points, float), np.array(target, float), np.array([1, *weight[1:]], float)


@given(tables())
@settings(deadline=None)
def test_merged_rows_are_the_distinct_pairs_of_content_and_target_with_their_weights(table):
    X, target, weight = table
    expected = {}
    for x, y, w in zip(X, target, weight, strict=True):
        if w > 0:
            expected[(*x, y)] = expected.get((*x, y), 0.0) + w
    rows = canonical_rows(X, target, weight)
    merged = content(rows, X, target)
    assert {row[:-1]: row[-1] for row in merged} == expected
    assert len(merged) == len(expected)
    for i, group in enumerate(rows.member_of):
        assert (group == -1) == (weight[i] == 0)
        if group >= 0:
            first = rows.representative[group]
            assert first <= i
            assert weight[first] > 0
            assert (X[first] == X[i]).all()
            assert target[first] == target[i]


@given(tables(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_order_of_the_result_does_not_depend_on_the_order_of_the_input(table, random):
    X, target, weight = table
    order = list(range(len(X)))
    random.shuffle(order)
    before, after = canonical_rows(X, target, weight), canonical_rows(X[order], target[order], weight[order])
    assert content(before, X, target) == content(after, X[order], target[order])
    assert (before.key == after.key).all()
    assert (before.member_of[order] == after.member_of).all()


@given(tables())
@settings(deadline=None)
def test_a_weight_of_two_is_a_repetition(table):
    X, target, weight = table
    times = weight.astype(int)
    repeated, targets = np.repeat(X, times, axis=0), np.repeat(target, times)
    once, twice = canonical_rows(X, target, weight), canonical_rows(repeated, targets, np.ones(len(targets)))
    assert content(once, X, target) == content(twice, repeated, targets)


def test_rows_of_weight_zero_leave():
    rows = canonical_rows(X, TARGET, WEIGHT)
    assert rows.member_of[5] == -1
    assert rows.weight.sum() == WEIGHT.sum()
    assert 5 not in rows.representative


def test_equal_rows_of_different_target_stay_apart():
    rows = canonical_rows(X, TARGET, WEIGHT)
    assert rows.member_of[0] == rows.member_of[2] != rows.member_of[4]


def test_share_divides_a_merged_row_by_weight():
    rows = canonical_rows(X, TARGET, WEIGHT)
    assert rows.share(WEIGHT).tolist() == [0.25, 1.0, 0.75, 1.0, 1.0, 0.0]
    used = rows.member_of >= 0
    sums = np.bincount(rows.member_of[used], weights=rows.share(WEIGHT)[used])
    np.testing.assert_allclose(sums, 1.0)


def test_minus_zero_is_zero():
    signed = X.copy()
    signed[2, 1] = signed[1, 0] = -0.0
    assert (row_hashes(signed) == row_hashes(X)).all()
    assert content(canonical_rows(signed, TARGET, WEIGHT), X, TARGET) == content(
        canonical_rows(X, TARGET, WEIGHT), X, TARGET
    )
    target = TARGET.copy()
    target[5] = -0.0
    weight = np.ones(6)
    assert len(canonical_rows(X, target, weight).weight) == len(canonical_rows(X, TARGET, weight).weight)


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_and_single_precision_rows_are_those_of_dense_double_ones(make, dtype):
    expected = canonical_rows(X, TARGET, WEIGHT)
    for other in (make(X.astype(dtype)), X.astype(dtype), np.asfortranarray(X.astype(dtype))):
        rows = canonical_rows(other, TARGET, WEIGHT)
        for field in ("representative", "member_of", "weight", "key"):
            assert (getattr(rows, field) == getattr(expected, field)).all(), field


def test_stored_zeros_of_a_sparse_matrix_are_zeros():
    stored = sp.csr_matrix((np.array([1.0, 0.0, 1.0]), np.array([0, 2, 0]), np.array([0, 2, 3])), shape=(2, 3))
    assert stored.nnz == 3
    assert len(canonical_rows(stored, np.zeros(2), np.ones(2)).weight) == 1


def test_the_column_and_the_order_of_values_matter_to_the_hash():
    different = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [1.0, 1.0]])
    assert len(set(row_hashes(different).tolist())) == len(different)


def value_of_hash(hashed, column):
    """The number whose hash in this column is ``hashed``: SplitMix64's finaliser, step by step backwards."""

    def unshifted(z, bits):  # the inverse of z ^ (z >> bits)
        found = z
        for _ in range(64 // bits):
            found = z ^ (found >> bits)
        return found

    z = unshifted(hashed % 2**64, 31) * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
    z = unshifted(z, 27) * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
    z = unshifted(z, 30) ^ ((column + 1) * 0x9E3779B97F4A7C15 % 2**64)
    return np.array([z], np.uint64).view(np.float64)[0]


def colliding(rows, seed):
    """Different rows of three columns that have one hash: the last entry of each makes up for the others."""
    points = np.random.default_rng(seed).integers(-9, 9, (rows, 3)).astype(float)
    for point in points[1:]:
        point[2] = 0.0
        missing = int(row_hashes(points[:1])[0]) - int(row_hashes(point[None])[0])
        point[2] = value_of_hash(missing, 2)
    return points[np.isfinite(points).all(axis=1)]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("seed", range(5))
def test_colliding_hashes_of_numbers_merge_nothing_unequal(make, seed):
    """Rows that differ stay apart although their hashes are equal; equal rows are merged wherever they are neighbours
    in the order of the weights, and no weight is lost."""
    points = colliding(6, seed)
    assert len(set(row_hashes(points).tolist())) == 1
    assert len(np.unique(points, axis=0)) == len(points) > 2
    rows = canonical_rows(make(points), np.zeros(len(points)), np.ones(len(points)))
    assert sorted(rows.member_of.tolist()) == list(range(len(points)))
    assert sorted(rows.representative.tolist()) == list(range(len(points)))

    twice = np.repeat(points, 2, axis=0)
    weight = np.repeat(np.arange(1.0, len(points) + 1), 2)
    rows = canonical_rows(make(twice), np.zeros(len(twice)), weight)
    assert len(rows.weight) == len(points)
    np.testing.assert_array_equal(rows.weight[rows.member_of], 2 * weight)
    np.testing.assert_array_equal(twice[rows.representative[rows.member_of]], twice)


@given(tables())
@settings(deadline=None)
def test_colliding_hashes_of_objects_merge_nothing_unequal(table):
    """All hashes equal: objects may then fail to be merged, but no two different ones are, and no weight is lost."""
    points, target, weight = table
    X = np.empty(len(points), object)
    X[:] = [tuple(row) for row in points.tolist()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_rows, "object_hashes", lambda X: np.zeros(len(X), np.uint64))
        rows = canonical_rows(X, target, weight)
    for i, group in enumerate(rows.member_of):
        if group >= 0:
            first = rows.representative[group]
            assert X[first] == X[i]
            assert target[first] == target[i]
    used = rows.member_of >= 0
    assert (np.bincount(rows.member_of[used], weights=weight[used]) == rows.weight).all()
    assert used.tolist() == (weight > 0).tolist()


def test_without_merging_rows_keep_their_order():
    rows = canonical_rows(X, TARGET, WEIGHT, merge=False)
    assert rows.representative.tolist() == [0, 1, 2, 3, 4]
    assert rows.member_of.tolist() == [0, 1, 2, 3, 4, -1]
    assert rows.weight.tolist() == WEIGHT[:5].tolist()


def test_hashes_do_not_pile_up():
    """10,000 random rows: no collision, and the top bits are spread evenly."""
    points = np.random.default_rng(0).standard_normal((10_000, 3))
    hashes = row_hashes(points)
    assert len(np.unique(hashes)) == 10_000
    counts = np.bincount((hashes >> np.uint64(60)).astype(int), minlength=16)
    assert counts.min() > 500


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, lambda X: np.array(["a"] * len(X), object)])
def test_sums_of_weights_do_not_depend_on_the_order_of_the_rows(make):
    """Not in the last bit: 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floating point."""
    rng = np.random.default_rng(0)
    X, weight = np.ones((40, 1)), rng.uniform(0.1, 3.0, 40)
    first = canonical_rows(make(X), np.zeros(40), weight).weight
    for _ in range(20):
        order = rng.permutation(40)
        assert np.array_equal(canonical_rows(make(X[order]), np.zeros(40), weight[order]).weight, first)


def test_balanced_class_weights_do_not_depend_on_the_order_of_the_rows():
    rng = np.random.default_rng(1)
    codes, weight, classes = rng.integers(3, size=50), rng.uniform(0.1, 3.0, 50), np.arange(3)
    first = check_class_weights("balanced", classes, codes, weight)
    for _ in range(20):
        order = rng.permutation(50)
        assert np.array_equal(check_class_weights("balanced", classes, codes[order], weight[order]), first)
